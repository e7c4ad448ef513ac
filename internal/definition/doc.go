// Package definition checks request bodies: against the schemas of the API
// description, and against the rules that no schema keyword can say (ids that are
// unique in a whole form, limits that a host can change, addresses, names that can
// be seen).
//
// Data flows one way. The bytes of a body are parsed once, strictly and within
// bounds. Rules and schemas look at the tree and report their faults together; what
// has to change before it is stored (times, integers, missing types) becomes a list
// of edits, applied in one splice. Nothing is decoded and encoded again, so number
// literals, the order of members and free JSON stay as the caller wrote them.
//
// Only writes are checked. A rule that becomes stricter never makes a stored form
// unreadable.
package definition
