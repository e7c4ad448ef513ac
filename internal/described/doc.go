// Package described holds answers of the service against the API description. It is made
// for the conformance suite and for tests: the service never checks its own answers.
//
// The jsonschema library judges each body. It is independent of the walk that checks
// requests (package jsonshape), so a fault of that walk cannot hide itself. The library
// is not made for hostile input, so a host's binary does not link it.
package described
