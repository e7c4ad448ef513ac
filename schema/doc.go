// Package schema holds the API's description and everything that is checked
// against it.
//
// The description ([OpenAPI]) is the one source for the shape of a request:
// [NewWrites] compiles a validator for each request body from its components.
// What a schema keyword cannot say (ids that are unique in a whole form, limits
// that a host can change, addresses, times) is checked beside it, and both kinds
// of faults are reported together.
//
// Data flows one way: the bytes of a body are parsed once, strictly and within
// bounds; the parsed tree is checked; what is handed on are the bytes as they
// were sent, with times normalised. Nothing is decoded and encoded again, so
// number literals, the order of members and free JSON stay as the caller wrote
// them.
//
// Only writes are checked. A rule that becomes stricter never makes a stored
// form unreadable.
package schema
