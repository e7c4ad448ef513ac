// Package validation validates request bodies against the schemas in the API description. It knows about JSON Schema
// but not about forms. The jsonschema library compiles the schemas and validates a body. [Check] assigns a code and
// a JSON Pointer to each difference, and creates edits that normalize times and integers. For large bodies, where the
// library is too slow, another validator uses the same compiled schemas.
//
// Package jsontree parses the bodies first, strictly and with limits, because the library panics or hangs on
// malicious numbers.
package validation
