// Package validation checks request bodies against the schemas of the API description.
//
// The jsonschema library compiles the schemas and validates a body. It reports where the body
// differs, and [Check] names each difference with a code and a JSON Pointer. Check also plans
// the edits that normalize times and integers. A body for which the library needs too long is
// validated by a walk over the same compiled schemas.
//
// The package knows JSON Schema and nothing of forms. Bodies come from the strict and bounded
// parse of package jsontree, because the library panics or hangs on hostile numbers.
package validation
