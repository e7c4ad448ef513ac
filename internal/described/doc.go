// Package described holds answers of the service against the API description. It is made
// for the conformance suite and for tests: the service never checks what it sends.
//
// The verdict on a body is that of the jsonschema library, which is independent of the
// walk that checks requests (package jsonshape): a fault of that walk cannot hide itself.
// The library is not made for hostile input, so a host's binary does not link it.
package described
