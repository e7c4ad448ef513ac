// Package definition validates request bodies. It checks them against the schemas of the API description, and against
// rules that JSON Schema cannot express: unique IDs in a whole form, limits that a host can change, URLs, and names
// with visible characters.
//
// Data flows in one direction. The parser reads the body once, strictly and with limits. Rules and schemas check the
// tree and report all their violations together. Values that must change before they are stored (times, integers,
// missing types) become a list of edits, which are applied in one step. No value is decoded and encoded again, so
// number literals, the order of fields and free-form JSON stay as the caller wrote them.
//
// Only writes are checked. A stricter rule therefore never makes a stored form unreadable.
package definition
