package validation

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

const documentURL = "mem:///openapi.json"

// SchemaURL returns the URL by which the library identifies the schema at a JSON Pointer.
func SchemaURL(pointer string) string { return documentURL + "#" + pointer }

// NewCompiler returns a compiler for an OpenAPI document, with URLs from [SchemaURL]. It never loads other documents.
func NewCompiler(document string, formats map[string]func(any) bool) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.Formats = formats
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("the API description refers to %s, but external references are not loaded", url)
	}
	if err := c.AddResource(documentURL, strings.NewReader(document)); err != nil {
		return nil, fmt.Errorf("read API description: %w", err)
	}
	return c, nil
}

// normalForms holds the formats that request bodies use. A value outside its normal form violates its format, and
// [Check] normalizes or rejects it.
var normalForms = map[string]func(any) bool{
	"date-time": isCanonicalTime, "int32": isNotJSONNumber, "int64": isNotJSONNumber,
}

func isCanonicalTime(v any) bool {
	text, ok := v.(string)
	if !ok {
		return true
	}
	t, ok := jsontree.ParseTime(text)
	return ok && jsontree.FormatTime(t) == text
}

// isNotJSONNumber implements the integer formats. convert converts only plain integers, so a json.Number violates the
// format.
func isNotJSONNumber(v any) bool {
	_, isLiteral := v.(json.Number)
	return !isLiteral
}

var compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	return NewCompiler(string(schema.OpenAPI()), normalForms)
})

// compiling guards the compiler, which is not safe for concurrent use.
var compiling sync.Mutex

// Schema is a component schema from the API description. It is safe for concurrent use.
type Schema struct {
	// compiled returns the schema, and its nested schemas by location. The schema is compiled for the first body, because
	// the largest schemas take 20 ms of CPU time.
	compiled func() (compiledSchema, error)
}

type compiledSchema struct {
	root *jsonschema.Schema
	at   map[string]*jsonschema.Schema
}

// ComponentSchema returns the component schema with the given name.
func ComponentSchema(name string) *Schema { return ComponentOutline(name, unlimited) }

const unlimited = -1

// ComponentOutline returns a component schema that checks only the given number of levels, and only the types in the
// last level.
func ComponentOutline(name string, levels int) *Schema {
	return &Schema{sync.OnceValues(func() (compiledSchema, error) {
		compiling.Lock()
		defer compiling.Unlock()
		c, err := compiler()
		if err != nil {
			return compiledSchema{}, err
		}
		s, err := c.Compile(SchemaURL("/components/schemas/" + name))
		if err != nil {
			return compiledSchema{}, fmt.Errorf("component %s: %w", name, err)
		}
		at := make(map[string]*jsonschema.Schema)
		return compiledSchema{simplify(s, at, levels), at}, nil
	})}
}

// simplify returns a copy of a compiled schema without references and unions. Request schemas have only unions of
// types, and references without other keywords that check values. A test enforces both.
func simplify(s *jsonschema.Schema, at map[string]*jsonschema.Schema, levels int) *jsonschema.Schema {
	for s.Ref != nil {
		s = s.Ref
	}
	if made, ok := at[s.Location]; ok {
		return made
	}
	out := *s
	at[s.Location] = &out
	out.Types, out.AnyOf = typesOf(s), nil
	if levels == 0 {
		out = jsonschema.Schema{
			Location: s.Location, Types: out.Types, MinLength: -1, MaxLength: -1,
			MinProperties: -1, MaxProperties: -1, MinItems: -1, MaxItems: -1, MinContains: 1, MaxContains: -1,
		}
		return &out
	}
	out.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
	for name, property := range s.Properties {
		out.Properties[name] = simplify(property, at, levels-1)
	}
	if rest, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		out.AdditionalProperties = simplify(rest, at, levels-1)
	}
	if s.Items2020 != nil {
		out.Items2020 = simplify(s.Items2020, at, levels-1)
	}
	return &out
}

func typesOf(s *jsonschema.Schema) []string {
	for s.Ref != nil {
		s = s.Ref
	}
	types := s.Types
	for _, branch := range s.AnyOf {
		types = slices.Concat(types, typesOf(branch))
	}
	return types
}
