package jsonshape

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// Shape is a compiled schema in the form that a walk over a tree needs. It is
// immutable and safe for concurrent use.
//
// The walk visits only the members of the body and names each fault with a code of its
// own. The jsonschema library visits every property of a schema for every object (a block
// has sixty), so a form with 50 blocks costs it five times as much as decoding the form.
// Its errors name missing and unknown members in a sentence only. Hostile numbers take it
// seconds or panic it. Of JSON Schema the walk knows the keywords that the description's
// request bodies have, and [Document.Compile] refuses a schema with any other.
type Shape struct {
	types   kindSet
	integer bool // a number must be whole
	never   bool // the schema false

	allowed     map[any]struct{} // enum; nil: everything
	allowedList string

	minLength, maxLength int // characters; -1: no bound
	pattern              *regexp.Regexp
	time                 bool // format date-time

	minimum, maximum *float64

	members    map[string]*Shape
	required   []string
	closed     bool   // members that are not named are refused
	rest       *Shape // checks the members that are not named; nil: free
	minMembers int
	items      *Shape

	union []*Shape // one of them holds: the one whose kinds the value's is among
}

type kindSet uint8

func (s kindSet) has(k jsontree.Kind) bool { return s&(1<<k) != 0 }

// String lists the types for a message: "a string or null".
func (s kindSet) String() string {
	var names []string
	for _, k := range []struct {
		kind jsontree.Kind
		name string
	}{
		{jsontree.String, "a string"}, {jsontree.Number, "a number"}, {jsontree.Bool, "a boolean"},
		{jsontree.Array, "an array"}, {jsontree.Object, "an object"}, {jsontree.Null, "null"},
	} {
		if s.has(k.kind) {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, " or ")
}

// annotations are the keywords that check nothing.
var annotations = []string{
	"$comment", "$defs", "$id", "$schema", "default", "deprecated", "description", "example", "examples",
	"readOnly", "title", "writeOnly",
}

// isAnnotation reports whether a keyword checks nothing.
func isAnnotation(name string) bool {
	return strings.HasPrefix(name, "x-") || slices.Contains(annotations, name)
}

// ranges are the formats that say how large a number may be. Schemas say that with
// minimum and maximum as well; the formats are for generators of clients.
var ranges = []string{"int32", "int64", "float", "double"}

// compile returns the shape of a schema.
func (d *Document) compile(schema jsontree.Node) (*Shape, error) {
	if made, ok := d.made[schema]; ok {
		return made, nil
	}
	if ref := schema.Member("$ref"); ref.Exists() && isReferenceOnly(schema) {
		return d.refer(ref)
	}
	s := &Shape{minLength: -1, maxLength: -1, minMembers: -1}
	d.made[schema] = s
	switch schema.Kind() {
	case jsontree.Bool:
		s.never = !schema.Bool()
		return s, nil
	case jsontree.Object:
	default:
		return nil, errors.New(schema.Pointer("") + " is not a schema")
	}
	for _, keyword := range schema.All() {
		known, err := d.keyword(s, keyword)
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, fmt.Errorf("%s is a keyword, or has a value, that the walk does not know", keyword.Pointer(""))
		}
	}
	return s, nil
}

func isReferenceOnly(schema jsontree.Node) bool {
	for _, keyword := range schema.All() {
		if name := keyword.Name(); name != "$ref" && !isAnnotation(name) {
			return false
		}
	}
	return true
}

// refer compiles the schema that a $ref names.
func (d *Document) refer(ref jsontree.Node) (*Shape, error) {
	pointer, ok := strings.CutPrefix(ref.Text(), "#")
	if !ok {
		return nil, fmt.Errorf("the description refers to %s: nothing outside of it is loaded", ref.Text())
	}
	return d.Compile(pointer)
}

// keyword adds one keyword to a shape. It is false for a keyword that the walk does not
// know, and for a value that the keyword may not have.
func (d *Document) keyword(s *Shape, k jsontree.Node) (known bool, err error) {
	switch k.Name() {
	case "type":
		return s.setTypes(k), nil
	case "enum":
		return k.Kind() == jsontree.Array && s.allow(k), nil
	case "format":
		s.time = k.Text() == "date-time"
		return s.time || slices.Contains(ranges, k.Text()), nil
	case "pattern":
		s.pattern, err = regexp.Compile(k.Text())
		return true, err
	case "minLength":
		return count(&s.minLength, k), nil
	case "maxLength":
		return count(&s.maxLength, k), nil
	case "minProperties":
		return count(&s.minMembers, k), nil
	case "minimum":
		return bound(&s.minimum, k), nil
	case "maximum":
		return bound(&s.maximum, k), nil
	case "required":
		for _, name := range k.All() {
			s.required = append(s.required, strings.Clone(name.Text()))
		}
		return k.Kind() == jsontree.Array, nil
	case "properties":
		return k.Kind() == jsontree.Object, d.members(s, k)
	case "additionalProperties":
		if k.Kind() == jsontree.Bool {
			s.closed = !k.Bool()
			return true, nil
		}
		s.rest, err = d.compile(k)
	case "items":
		s.items, err = d.compile(k)
	case "anyOf":
		return d.unite(s, k)
	default:
		return isAnnotation(k.Name()), nil
	}
	return true, err
}

// unite adds the branches of anyOf, when the kind of a value tells which
// one it is for. It is false for others.
func (d *Document) unite(s *Shape, branches jsontree.Node) (known bool, err error) {
	var kinds kindSet
	for _, branch := range branches.All() {
		shape, err := d.compile(branch)
		if err != nil {
			return false, err
		}
		if shape.types == 0 || shape.types&kinds != 0 || s.types != 0 && s.types != kinds {
			return false, nil
		}
		kinds |= shape.types
		s.types = kinds
		s.union = append(s.union, shape)
	}
	return branches.Len() > 0, nil
}

// Outline returns the shape that looks no deeper than some levels below a value: of
// what is further down nothing is checked, and of the last level the kinds only.
func (s *Shape) Outline(levels int) *Shape {
	if levels == 0 {
		return &Shape{types: s.types, minLength: -1, maxLength: -1, minMembers: -1}
	}
	out := *s
	out.members = make(map[string]*Shape, len(s.members))
	for name, member := range s.members {
		out.members[name] = member.Outline(levels - 1)
	}
	out.union = nil
	for _, branch := range s.union {
		out.union = append(out.union, branch.Outline(levels))
	}
	return &out
}

func (d *Document) members(s *Shape, properties jsontree.Node) (err error) {
	s.members = make(map[string]*Shape, properties.Len())
	for _, member := range properties.All() {
		if s.members[strings.Clone(member.Name())], err = d.compile(member); err != nil {
			return err
		}
	}
	return nil
}

// setTypes reads type, which is a name or a list of names.
func (s *Shape) setTypes(k jsontree.Node) bool {
	names := []string{k.Text()}
	if k.Kind() == jsontree.Array {
		names = nil
		for _, name := range k.All() {
			names = append(names, name.Text())
		}
	}
	for _, name := range names {
		kind, ok := kinds[name]
		if !ok {
			return false
		}
		s.types |= 1 << kind
	}
	s.integer = slices.Contains(names, "integer") && !slices.Contains(names, "number")
	return s.union == nil
}

var kinds = map[string]jsontree.Kind{
	"null": jsontree.Null, "boolean": jsontree.Bool, "number": jsontree.Number, "integer": jsontree.Number,
	"string": jsontree.String, "array": jsontree.Array, "object": jsontree.Object,
}

// allow reads the values of enum. It is false when one is an array or an object.
func (s *Shape) allow(values jsontree.Node) bool {
	s.allowed = make(map[any]struct{})
	var names []string
	for _, v := range values.All() {
		if v.Kind() == jsontree.Array || v.Kind() == jsontree.Object {
			return false
		}
		value := v.Value()
		s.allowed[value] = struct{}{}
		if value != nil {
			names = append(names, fmt.Sprint(value))
		}
	}
	s.allowedList = strings.Join(names, ", ")
	return true
}

func count(target *int, k jsontree.Node) bool {
	*target = int(k.Float())
	return k.Kind() == jsontree.Number
}

func bound(target **float64, k jsontree.Node) bool {
	*target = new(k.Float())
	return k.Kind() == jsontree.Number
}
