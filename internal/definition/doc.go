// Package definition validates request bodies. It checks them against the schemas in the API description, and against
// rules that JSON Schema cannot express: IDs that are unique within a form, configurable limits, URLs, and names with
// visible characters.
//
// The body is parsed once. Rules and schemas check the resulting tree, and all violations are reported together. Values
// that must change before storage (times, integers, missing types) become edits, which are applied in one step. No
// value is decoded and re-encoded, so number literals, the order of fields and free-form JSON stay as sent.
//
// Only writes are checked, so a stricter rule never makes a stored form unreadable.
package definition
