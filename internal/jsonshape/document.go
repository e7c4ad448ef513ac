package jsonshape

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Document is an OpenAPI 3.1 document whose schemas are compiled by JSON pointer.
// It is not safe for concurrent use; the shapes are.
type Document struct {
	root jsontree.Node
	made map[jsontree.Node]*Shape // those that were begun: schemas refer to themselves
}

// description is the description of the API. It is the same for every service of a
// process, and parsing it is a third of making the first one.
var description = sync.OnceValues(func() (*jsontree.Tree, error) {
	return jsontree.Parse(schema.OpenAPI(), jsontree.Bounds{})
})

// Description reads the description of the API ([schema.OpenAPI]).
func Description() (*Document, error) { return documentOf(description()) }

// Read reads a document.
func Read(document []byte) (*Document, error) {
	return documentOf(jsontree.Parse(document, jsontree.Bounds{}))
}

func documentOf(tree *jsontree.Tree, err error) (*Document, error) {
	if err != nil {
		return nil, fmt.Errorf("the description: %w", err)
	}
	if tree.Root().Kind() != jsontree.Object {
		return nil, errors.New("the description is not a JSON object")
	}
	return &Document{root: tree.Root(), made: make(map[jsontree.Node]*Shape)}, nil
}

// Root returns the whole document.
func (d *Document) Root() jsontree.Node { return d.root }

// Component compiles the component schema with a name.
func (d *Document) Component(name string) (*Shape, error) {
	s, err := d.Compile(jsontree.Pointer("/components/schemas", name))
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", name, err)
	}
	return s, nil
}

// Compile compiles the schema at a JSON pointer.
func (d *Document) Compile(pointer string) (*Shape, error) {
	n, ok := d.Find(pointer)
	if !ok {
		return nil, fmt.Errorf("there is nothing at %s", pointer)
	}
	return d.compile(n)
}

// Find returns the value at a JSON pointer, which goes through objects only.
func (d *Document) Find(pointer string) (jsontree.Node, bool) {
	n := d.root
	if pointer == "" {
		return n, true
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		n = n.Member(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return n, n.Exists()
}
