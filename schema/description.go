package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// description is an OpenAPI 3.1 document together with the compiler that finds
// schemas in it by JSON pointer.
type description struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

// documentURL is the name of the document inside the compiler. Nothing is ever
// loaded from it, nor from anywhere else.
const documentURL = "mem:///openapi.json"

// readDescription reads a document. The library resolves references and holds
// every schema that is compiled against the JSON Schema 2020-12 meta-schema.
func readDescription(document []byte) (*description, error) {
	d := &description{compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(document, &d.root); err != nil {
		return nil, fmt.Errorf("schema: the description is not a JSON object: %w", err)
	}
	d.compiler.Draft = jsonschema.Draft2020
	d.compiler.AssertFormat = true
	d.compiler.Formats = map[string]func(any) bool{"date-time": isTimeValue}
	d.compiler.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("the description refers to %s: nothing outside of it is loaded", url)
	}
	if err := d.compiler.AddResource(documentURL, bytes.NewReader(document)); err != nil {
		return nil, fmt.Errorf("schema: reading the description: %w", err)
	}
	return d, nil
}

// component compiles the component schema with a name.
func (d *description) component(name string) (*jsonschema.Schema, error) {
	s, err := d.compile(pointer("/components/schemas", name))
	if err != nil {
		return nil, fmt.Errorf("schema: component %s: %w", name, err)
	}
	return s, nil
}

// compile compiles the schema at a JSON pointer.
func (d *description) compile(at string) (*jsonschema.Schema, error) {
	return d.compiler.Compile(documentURL + "#" + at)
}

// follow returns the object at a JSON pointer, references resolved, and the
// pointer at which it really stands.
func (d *description) follow(at string) (map[string]any, string, error) {
	for range 8 {
		var value any = d.root
		for token := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
			object, _ := value.(map[string]any)
			value = object[unescapePointer(token)]
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, "", fmt.Errorf("there is no object at %s", at)
		}
		ref, ok := object["$ref"].(string)
		if !ok {
			return object, at, nil
		}
		at = strings.TrimPrefix(ref, "#")
	}
	return nil, "", fmt.Errorf("the references at %s do not end", at)
}

func unescapePointer(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}
