// Package described compares requests and responses with the API description. It is made for the
// conformance suite and for tests: the service never checks its own responses.
//
// The jsonschema library validates each body as the description has it. The service validates
// request bodies with it as well (package validation), but from schemas without references and
// with a walk for large bodies, whose faults this package would find.
package described
