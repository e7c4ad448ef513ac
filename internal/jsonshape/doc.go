// Package jsonshape compiles schemas of an OpenAPI document into shapes, and holds
// parsed trees against them in one walk that reports every fault with its JSON
// pointer and code, and plans the edits that normalise a value.
//
// It knows JSON Schema and nothing of forms, and it is the only package that sees
// the jsonschema library.
package jsonshape
