// Package validation validates request bodies against the schemas of the API description.
//
// The jsonschema library compiles the schemas and validates a body. It reports where the body violates
// a schema, and [Check] assigns a code and a JSON Pointer to each violation. Check also creates
// the edits that normalize times and integers. The library is too slow for large bodies, so another
// validator checks these with the same compiled schemas.
//
// The package depends on JSON Schema, but not on forms. Package jsontree parses the bodies strictly and with
// limits first, because the library panics or hangs on malicious numbers.
package validation
