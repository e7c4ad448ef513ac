// Package apispec checks requests and responses against the API description, in the conformance suite and in tests.
// It validates bodies with the jsonschema library and the original description. Package validation uses schemas
// without references, and its own validator for large bodies, so this package can find errors in both. The service
// never checks its own responses.
package apispec
