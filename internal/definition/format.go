package definition

// Format is the version of the encoding of stored definitions. It rises when a
// release stores a section in another way; readers then know which way a stored
// one is in. Rules are not part of it: only writes are validated, so that a rule
// that becomes stricter breaks no read.
const Format = 1
