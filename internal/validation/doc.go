// Package validation validates request bodies against the schemas of the API description. It depends on JSON Schema,
// but not on forms. The jsonschema library compiles the schemas and validates a body. [Check] assigns a code and a
// JSON Pointer to each difference, and creates the edits that normalize times and integers. Large bodies are checked
// by another validator with the same compiled schemas, because the library is too slow.
//
// Package jsontree parses the bodies first, strictly and with limits, because the library panics or hangs on
// malicious numbers.
package validation
