// Package definition validates request bodies. It checks them against the schemas of the API description, and against
// rules that JSON Schema cannot express: unique IDs in a whole form, configurable limits, URLs, and names with
// visible characters.
//
// The parser reads the body once. Rules and schemas check the tree and report their violations together. Values that
// must change before storage (times, integers, missing types) become edits, which are applied in one step. No value
// is decoded and encoded again, so number literals, the order of fields and free-form JSON stay as sent.
//
// Only writes are checked, so a stricter rule never makes a stored form unreadable.
package definition
