package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// document holds the parts of an OpenAPI 3.1 document that the page shows.
type document struct {
	Info       struct{ Title, Version, Summary, Description string }
	Servers    []struct{ URL string }
	Tags       []tag
	Paths      ordered[pathItem]
	Webhooks   ordered[pathItem]
	Codes      ordered[int] `json:"x-error-codes"`
	Components struct {
		Parameters ordered[parameter]
		Responses  ordered[message]
		Headers    ordered[parameter]
		Schemas    ordered[node]
	}
}

type tag struct{ Name, Description string }

type pathItem struct {
	Parameters                    []parameter
	Get, Post, Put, Patch, Delete *operation
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Security                          []struct{ APIKey []string } // The required scopes.
	Parameters                        []parameter
	RequestBody                       message
	Responses                         ordered[message]

	Method, Path string `json:"-"`
	Event        bool   `json:"-"`
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Schema      node
	Example     any
}

type message struct {
	Ref         string `json:"$ref"`
	Description string
	Codes       []string `json:"x-error-codes"`
	Headers     ordered[parameter]
	Content     struct {
		JSON content `json:"application/json"`
	}
}

type content struct {
	Schema   node
	Example  json.RawMessage
	Examples ordered[example]
}

type example struct {
	Summary string
	Value   json.RawMessage
}

// node is a schema.
type node struct {
	Ref         string `json:"$ref"`
	Type        any    // A string or a list of strings.
	Format      string
	Pattern     string
	Description string
	Properties  ordered[node]
	Required    []string
	Items       *node
	Enum        []any
	OpenEnum    []any `json:"x-extensible-enum"`
	AnyOf       []node
	OneOf       []node
	Additional  additional `json:"additionalProperties"`
	BlockTypes  []string   `json:"x-block-types"`

	Default, Minimum, Maximum, MinLength, MaxLength, MinItems, MaxItems, MinProperties any
}

type additional struct {
	Open   bool
	Schema *node
}

func (a *additional) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.Open) == nil {
		return nil
	}
	return json.Unmarshal(raw, &a.Schema)
}

// resolveRef returns the component that ref refers to, or value if there is none.
func resolveRef[T any](value T, ref string, components ordered[T]) T {
	for _, c := range components {
		if ref != "" && c.Name == lastPart(ref) {
			return c.Value
		}
	}
	return value
}

func lastPart(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// ordered is a JSON object that preserves the order of its fields.
type ordered[T any] []field[T]

type field[T any] struct {
	Name  string
	Value T
}

func (o *ordered[T]) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil { // The opening brace.
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		m := field[T]{Name: fmt.Sprint(name)}
		if err := dec.Decode(&m.Value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}
