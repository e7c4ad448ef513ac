package validation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/formsvc/formsvc/internal/jsontree"
)

var jsonTypes = []struct {
	name, article string
	kind          jsontree.Kind
}{
	{"string", "a string", jsontree.String}, {"number", "a number", jsontree.Number}, {"boolean", "a boolean", jsontree.Bool},
	{"array", "an array", jsontree.Array}, {"object", "an object", jsontree.Object}, {"null", "null", jsontree.Null},
}

// allowsType reports whether a schema allows a type. An integer is also a number.
func allowsType(s *jsonschema.Schema, name string) bool {
	return slices.Contains(s.Types, name) || name == "number" && slices.Contains(s.Types, "integer")
}

func hasType(n jsontree.Node, s *jsonschema.Schema) bool {
	for _, t := range jsonTypes {
		if t.kind == n.Kind() {
			return allowsType(s, t.name)
		}
	}
	return false
}

// describeTypes lists the types of a schema for a message, such as "a string or null".
func describeTypes(s *jsonschema.Schema) string {
	var names []string
	for _, t := range jsonTypes {
		if allowsType(s, t.name) {
			names = append(names, t.article)
		}
	}
	return strings.Join(names, " or ")
}

// allowsValue reports whether a schema's enum contains n. n must not be an array or object.
func allowsValue(s *jsonschema.Schema, n jsontree.Node) bool {
	value := n.Value()
	return slices.ContainsFunc(s.Enum, func(item any) bool {
		if literal, ok := item.(json.Number); ok {
			number, err := literal.Float64()
			return err == nil && value == number
		}
		return value == item
	})
}

func describeValues(s *jsonschema.Schema) string {
	var names []string
	for _, item := range s.Enum {
		if item != nil {
			names = append(names, fmt.Sprint(item))
		}
	}
	return strings.Join(names, ", ")
}
