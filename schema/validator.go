package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// shape is a compiled schema in the form that a walk over nodes needs.
//
// The library's own Validate is built for any schema and any value: it visits
// every property that a schema has for every object (a block has sixty), makes a
// map for each object and array, and formats each integer. A form with 50 blocks
// costs it five times what decoding the form costs; and its errors name missing
// and unknown members in a sentence only, come in random order, and are all made
// before one can be dropped. The walk visits what is there. What it does not know,
// it leaves to the library (other); a test holds both to the same verdict.
type shape struct {
	types   kindSet
	integer bool // a number must be whole
	never   bool // the schema false

	allowed     map[any]struct{} // enum and const; nil: everything
	allowedList string

	minLength, maxLength int // characters; -1: no bound
	pattern              *regexp.Regexp
	time                 bool // format date-time

	minimum, maximum                   *float64
	exclusiveMinimum, exclusiveMaximum *float64

	members            map[string]*shape
	required           []string
	closed             bool   // members that are not named are refused
	rest               *shape // checks the members that are not named; nil: free
	memberNames        *shape
	minMembers         int
	maxMembers         int
	items              *shape
	minItems, maxItems int
	uniqueItems        bool

	also  []*shape           // $ref beside other keywords, allOf
	other *jsonschema.Schema // the library checks it; nothing else here is set
}

type kindSet uint8

func (s kindSet) has(k kind) bool { return s&(1<<k) != 0 }

// String lists the types for a message: "a string or null".
func (s kindSet) String() string {
	articles := [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}
	var names []string
	for _, k := range []kind{kindString, kindNumber, kindBool, kindArray, kindObject, kindNull} {
		if s.has(k) {
			names = append(names, articles[k])
		}
	}
	return strings.Join(names, " or ")
}

// shapes turns compiled schemas into shapes; schemas that refer to themselves are
// why it remembers what it has seen.
type shapes map[*jsonschema.Schema]*shape

// of returns the shape of a schema, nil for nil.
func (m shapes) of(s *jsonschema.Schema) *shape {
	if s == nil {
		return nil
	}
	if made, ok := m[s]; ok {
		return made
	}
	if s.Ref != nil && isReferenceOnly(s) {
		return m.of(s.Ref)
	}
	made := new(shape)
	m[s] = made
	switch {
	case s.Always != nil:
		*made = shape{never: !*s.Always, maxLength: -1, maxItems: -1, maxMembers: -1}
	case !walkable(s):
		made.other = s
	default:
		*made = shape{
			pattern: s.Pattern, minLength: s.MinLength, maxLength: s.MaxLength, time: s.Format == "date-time",
			required: s.Required, minMembers: s.MinProperties, maxMembers: s.MaxProperties,
			minItems: s.MinItems, maxItems: s.MaxItems, uniqueItems: s.UniqueItems,
			minimum: bound(s.Minimum), exclusiveMinimum: bound(s.ExclusiveMinimum),
			maximum: bound(s.Maximum), exclusiveMaximum: bound(s.ExclusiveMaximum),
		}
		made.setTypes(s.Types)
		made.setAllowed(slices.Concat(s.Enum, s.Constant))
		m.fill(made, s)
	}
	return made
}

// fill sets the shapes inside of one.
func (m shapes) fill(made *shape, s *jsonschema.Schema) {
	if s.Properties != nil {
		made.members = make(map[string]*shape, len(s.Properties))
	}
	for name, member := range s.Properties {
		made.members[name] = m.of(member)
	}
	switch rest := s.AdditionalProperties.(type) {
	case bool:
		made.closed = !rest
	case *jsonschema.Schema:
		made.rest = m.of(rest)
	}
	made.memberNames = m.of(s.PropertyNames)
	made.items = m.of(s.Items2020)
	for _, part := range s.AllOf {
		made.also = append(made.also, m.of(part))
	}
	if s.Ref != nil {
		made.also = append(made.also, m.of(s.Ref))
	}
}

// isReferenceOnly reports whether a schema with $ref says nothing else.
func isReferenceOnly(s *jsonschema.Schema) bool {
	return walkable(s) && len(s.Types) == 0 && s.Format == "" && len(s.Enum) == 0 && len(s.Constant) == 0 &&
		len(s.AllOf) == 0 && s.Properties == nil && len(s.Required) == 0 && s.AdditionalProperties == nil &&
		s.PropertyNames == nil && s.MinProperties < 0 && s.MaxProperties < 0 && s.Items2020 == nil &&
		s.MinItems < 0 && s.MaxItems < 0 && !s.UniqueItems && s.MinLength < 0 && s.MaxLength < 0 &&
		s.Pattern == nil && s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil
}

// walkable reports whether a schema has only keywords that the walk knows.
func walkable(s *jsonschema.Schema) bool {
	return s.Not == nil && s.AnyOf == nil && s.OneOf == nil && s.If == nil &&
		s.RecursiveRef == nil && s.DynamicRef == nil &&
		s.PatternProperties == nil && s.Dependencies == nil && s.DependentRequired == nil && s.DependentSchemas == nil &&
		s.UnevaluatedProperties == nil && s.UnevaluatedItems == nil &&
		s.Items == nil && s.AdditionalItems == nil && s.PrefixItems == nil && s.Contains == nil &&
		s.MultipleOf == nil && (s.Format == "" || s.Format == "date-time") &&
		(s.Enum == nil || s.Constant == nil) && !slices.ContainsFunc(slices.Concat(s.Enum, s.Constant), isComposite)
}

func isComposite(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func (s *shape) setTypes(names []string) {
	for _, name := range names {
		switch name {
		case "null":
			s.types |= 1 << kindNull
		case "boolean":
			s.types |= 1 << kindBool
		case "number":
			s.types |= 1 << kindNumber
		case "integer":
			s.types |= 1 << kindNumber
			s.integer = !slices.Contains(names, "number")
		case "string":
			s.types |= 1 << kindString
		case "array":
			s.types |= 1 << kindArray
		case "object":
			s.types |= 1 << kindObject
		}
	}
}

func (s *shape) setAllowed(values []any) {
	if len(values) == 0 {
		return
	}
	s.allowed = make(map[any]struct{}, len(values))
	var names []string
	for _, v := range values {
		if number, ok := v.(json.Number); ok {
			v, _ = number.Float64()
		}
		s.allowed[v] = struct{}{}
		if v != nil {
			names = append(names, fmt.Sprint(v))
		}
	}
	s.allowedList = strings.Join(names, ", ")
}

func bound(r *big.Rat) *float64 {
	if r == nil {
		return nil
	}
	f, _ := r.Float64()
	return &f
}

// check is one walk of a value against a shape: it collects violations, and the
// edits that normalise times.
type check struct {
	found violations
	edits []edit
	nuls  int                // places of U+0000 found so far
	skip  map[*node]struct{} // arrays whose items are not looked at
}

// add reports a fault of the value at a place.
func (c *check) add(at *place, code, message string) {
	if !c.found.full() {
		c.found.add(at.String(), code, message)
	}
}

// addIn reports a fault of a member, be it there or not, of the object at a place.
func (c *check) addIn(at *place, name, code, message string) {
	here := at.member(name)
	c.add(&here, code, message)
}

func (c *check) walk(n *node, s *shape, at *place) {
	if c.found.full() {
		return
	}
	if s.other != nil {
		if s.other.Validate(n.value()) != nil {
			c.add(at, CodeBadFormat, "does not have the described form")
		}
		return
	}
	if s.never {
		c.add(at, CodeUnknownField, "is not a known member")
		return
	}
	if s.types != 0 && !s.types.has(n.kind) {
		c.add(at, CodeWrongType, "must be "+s.types.String())
		return
	}
	if s.allowed != nil && !s.allows(n) {
		c.add(at, CodeNotAllowed, "must be one of: "+s.allowedList)
		return
	}
	switch n.kind {
	case kindString:
		c.text(n, s, at)
	case kindNumber:
		c.number(n, s, at)
	case kindArray:
		c.array(n, s, at)
	case kindObject:
		c.object(n, s, at)
	}
	for _, part := range s.also {
		c.walk(n, part, at)
	}
}

func (s *shape) allows(n *node) bool {
	var ok bool
	switch n.kind {
	case kindString:
		_, ok = s.allowed[n.text]
	case kindNumber:
		_, ok = s.allowed[n.num]
	case kindBool:
		_, ok = s.allowed[n.truth]
	case kindNull:
		_, ok = s.allowed[nil]
	}
	return ok
}

func (c *check) text(n *node, s *shape, at *place) {
	if s.minLength > 0 && utf8.RuneCountInString(n.text) < s.minLength {
		c.add(at, CodeTooShort, "must have at least "+count(s.minLength, "character"))
	}
	if s.maxLength >= 0 && longerThan(n.text, s.maxLength) {
		c.add(at, CodeTooLong, tooLong(s.maxLength))
	}
	if s.pattern != nil && !s.pattern.MatchString(n.text) {
		c.add(at, CodeBadFormat, "must match "+s.pattern.String())
	}
	if s.time {
		c.time(n, at)
	}
}

// time checks an RFC 3339 time and plans its normal form.
func (c *check) time(n *node, at *place) {
	t, ok := ParseTime(n.text)
	if !ok {
		c.add(at, CodeBadFormat, "must be a time of RFC 3339 such as 2026-11-20T08:33:01Z, in the years 1 to 9999")
		return
	}
	if normal := formatTime(t); normal != n.text {
		c.edits = append(c.edits, edit{start: n.start, end: n.end, text: `"` + normal + `"`})
	}
}

func (c *check) number(n *node, s *shape, at *place) {
	if s.integer && !n.isWhole() {
		c.add(at, CodeWrongType, "must be an integer")
		return
	}
	switch {
	case s.minimum != nil && n.num < *s.minimum:
		c.add(at, CodeOutOfRange, "must be at least "+decimal(*s.minimum))
	case s.maximum != nil && n.num > *s.maximum:
		c.add(at, CodeOutOfRange, "must be at most "+decimal(*s.maximum))
	case s.exclusiveMinimum != nil && n.num <= *s.exclusiveMinimum:
		c.add(at, CodeOutOfRange, "must be more than "+decimal(*s.exclusiveMinimum))
	case s.exclusiveMaximum != nil && n.num >= *s.exclusiveMaximum:
		c.add(at, CodeOutOfRange, "must be less than "+decimal(*s.exclusiveMaximum))
	}
}

// isWhole looks at the literal, not at its float64: 1.0 and 1e2 are whole,
// 9007199254740991.4 is not. The bounds of a literal keep the exact arithmetic
// small.
func (n *node) isWhole() bool {
	if !strings.ContainsAny(n.text, ".eE") {
		return true
	}
	exact, ok := new(big.Rat).SetString(n.text)
	return ok && exact.IsInt()
}

func (c *check) array(n *node, s *shape, at *place) {
	if _, skipped := c.skip[n]; skipped {
		return
	}
	if s.minItems > len(n.items) {
		c.add(at, CodeTooFew, "must have at least "+count(s.minItems, "item"))
	}
	if s.maxItems >= 0 && len(n.items) > s.maxItems {
		c.add(at, CodeTooMany, "must have at most "+count(s.maxItems, "item"))
	}
	var seen map[any]struct{}
	if s.uniqueItems {
		seen = make(map[any]struct{}, len(n.items))
	}
	for i := range n.items {
		item := &n.items[i]
		here := at.item(i)
		if s.items != nil {
			c.walk(item, s.items, &here)
		}
		if s.uniqueItems && item.kind <= kindString {
			value := item.value()
			if _, twice := seen[value]; twice {
				c.add(&here, CodeDuplicate, "must not be there twice")
			}
			seen[value] = struct{}{}
		}
	}
}

func (c *check) object(n *node, s *shape, at *place) {
	if s.minMembers > len(n.items) {
		c.add(at, CodeTooFew, "must have at least "+count(s.minMembers, "member"))
	}
	if s.maxMembers >= 0 && len(n.items) > s.maxMembers {
		c.add(at, CodeTooMany, "must have at most "+count(s.maxMembers, "member"))
	}
	for _, name := range s.required {
		if n.member(name) == nil {
			c.addIn(at, name, CodeRequired, "is required")
		}
	}
	if s.members == nil && s.rest == nil && s.memberNames == nil && !s.closed {
		return // free
	}
	for i := range n.items {
		here := at.member(n.names[i])
		if s.memberNames != nil {
			name := node{kind: kindString, text: n.names[i]}
			c.walk(&name, s.memberNames, &here)
		}
		switch inner, known := s.members[n.names[i]]; {
		case known:
			c.walk(&n.items[i], inner, &here)
		case s.closed:
			c.add(&here, CodeUnknownField, "is not a known member")
		case s.rest != nil:
			c.walk(&n.items[i], s.rest, &here)
		}
	}
}
