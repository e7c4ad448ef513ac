// Package apispec checks requests and responses against the API description, in the conformance suite and in tests. It
// validates bodies with the jsonschema library and the original description. Package validation, which the service
// uses, replaces references in the schemas and has its own validator for large bodies. So this package can find errors
// in that replacement and in that validator. The service never checks its own responses.
package apispec
