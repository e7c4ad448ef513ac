// Package jsonshape compiles schemas of an OpenAPI document into shapes, and holds
// parsed trees against them in one walk that reports every fault with its JSON
// pointer and code, and plans the edits that normalise a value.
//
// It knows JSON Schema and nothing of forms. A test holds the walk to the jsonschema
// library, which package described runs.
package jsonshape
