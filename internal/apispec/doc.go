// Package apispec checks requests and responses against the API description, for the conformance suite and for tests.
// The service never checks its own responses.
//
// The jsonschema library validates each body against the original API description. The service also validates request
// bodies with this library (package validation). It uses schemas without references, and its own validator for large
// bodies. This package can find errors in both.
package apispec
