package apispec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
)

// Compiler compiles the schemas in an OpenAPI document. It is not safe for concurrent use, but the compiled schemas
// are.
type Compiler struct{ jsonschema *jsonschema.Compiler }

// NewCompiler parses a document. It never loads other documents.
func NewCompiler(document string) (*Compiler, error) {
	c, err := validation.NewCompiler(document, map[string]func(any) bool{"date-time": isTime})
	if err != nil {
		return nil, err
	}
	return &Compiler{c}, nil
}

// Compile compiles the schema at a JSON pointer and checks it against the JSON Schema 2020-12 meta-schema.
func (c *Compiler) Compile(pointer string) (*Schema, error) {
	s, err := c.jsonschema.Compile(validation.SchemaURL(pointer))
	if err != nil {
		return nil, err
	}
	return &Schema{s}, nil
}

func (c *Compiler) compileComponent(name string) (*Schema, error) {
	s, err := c.Compile("/components/schemas/" + name)
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", name, err)
	}
	return s, nil
}

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct{ jsonschema *jsonschema.Schema }

// Check returns an error that lists how a value differs from the schema.
func (s *Schema) Check(n jsontree.Node) error {
	err := s.jsonschema.Validate(n.Value())
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var reasons []string
	for _, leaf := range validation.Leaves(invalid) {
		reasons = append(reasons, leaf.InstanceLocation+" "+leaf.Message)
	}
	slices.Sort(reasons) // the library's order is random
	return errors.New(strings.Join(slices.Compact(reasons), "; "))
}

// isTime implements the date-time format. It accepts values that are not strings.
func isTime(v any) bool {
	s, ok := v.(string)
	if !ok {
		return true
	}
	_, ok = jsontree.ParseTime(s)
	return ok
}
