package validation

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Check collects a body's violations, and edits that normalize times and integers. The zero value is ready to use.
type Check struct {
	Base       string // JSON Pointer of the tree's root
	Violations violation.List
	Edits      []jsontree.Edit

	skipped map[jsontree.Node]bool // values that the caller checks instead of [Check.Validate]
}

// Add reports a violation at a value.
func (c *Check) Add(n jsontree.Node, code, message string) {
	if c.Violations.CanAdd(code) {
		c.Violations.Add(n.Pointer(c.Base), code, message)
	}
}

// AddMember reports a violation at an object's field, which may be missing.
func (c *Check) AddMember(n jsontree.Node, name, code, message string) {
	if c.Violations.CanAdd(code) {
		c.Violations.Add(n.MemberPointer(c.Base, name), code, message)
	}
}

// SkipValue makes [Check.Validate] ignore the items of an array, or leave a time unchanged.
func (c *Check) SkipValue(n jsontree.Node) {
	if c.skipped == nil {
		c.skipped = make(map[jsontree.Node]bool)
	}
	c.skipped[n] = true
}

// ReplaceTime replaces a time with another time.
func (c *Check) ReplaceTime(n jsontree.Node, t time.Time) {
	c.SkipValue(n)
	c.addEdit(n, `"`+jsontree.FormatTime(t)+`"`)
}

func (c *Check) addEdit(n jsontree.Node, text string) {
	c.Edits = append(c.Edits, jsontree.Edit{Start: n.Start(), End: n.End(), Text: text})
}

// checkValue checks a value against a schema. If deep is true, it also checks nested values.
func (c *Check) checkValue(n jsontree.Node, s *jsonschema.Schema, deep bool) {
	if c.Violations.IsFull() {
		return
	}
	switch {
	case len(s.Types) > 0 && !hasType(n, s):
		c.Add(n, schema.CodeWrongType, "must be "+describeTypes(s))
		return
	case len(s.Enum) > 0 && !allowsValue(s, n):
		c.Add(n, schema.CodeNotAllowed, "must be one of: "+describeValues(s))
		return
	}
	switch n.Kind() {
	case jsontree.String:
		c.checkText(n, s)
	case jsontree.Number:
		c.checkNumber(n, s)
	case jsontree.Array:
		if deep && !c.skipped[n] && s.Items2020 != nil {
			for _, item := range n.All() {
				c.checkValue(item, s.Items2020, true)
			}
		}
	case jsontree.Object:
		c.checkObject(n, s, deep)
	}
}

func (c *Check) checkText(n jsontree.Node, s *jsonschema.Schema) {
	text := n.Text()
	if s.MinLength > 0 && utf8.RuneCountInString(text) < s.MinLength {
		c.Add(n, schema.CodeTooShort, "must have at least "+violation.FormatCount(s.MinLength, "character"))
	}
	if s.MaxLength >= 0 && violation.LongerThan(text, s.MaxLength) {
		c.Add(n, schema.CodeTooLong, violation.TooLongMessage(s.MaxLength))
	}
	if s.Pattern != nil && !s.Pattern.MatchString(text) {
		c.Add(n, schema.CodeBadFormat, "must match "+s.Pattern.String())
	}
	if s.Format == "date-time" {
		c.checkTime(n, text)
	}
}

func (c *Check) checkTime(n jsontree.Node, text string) {
	t, ok := jsontree.ParseTime(text)
	if !ok {
		c.Add(n, schema.CodeBadFormat, "must be an RFC 3339 time such as 2026-11-20T08:33:01Z, from 0001-01-01T00:00:01Z to 9999-12-31T23:59:59Z")
		return
	}
	if normal := jsontree.FormatTime(t); normal != text && !c.skipped[n] {
		c.addEdit(n, `"`+normal+`"`)
	}
}

func (c *Check) checkNumber(n jsontree.Node, s *jsonschema.Schema) {
	if slices.Contains(s.Types, "integer") && !slices.Contains(s.Types, "number") && !c.normalizeInteger(n) {
		c.Add(n, schema.CodeWrongType, "must be an integer")
		return
	}
	if s.Minimum != nil {
		if minimum, _ := s.Minimum.Float64(); n.Float() < minimum {
			c.Add(n, schema.CodeOutOfRange, "must be at least "+formatDecimal(minimum))
		}
	}
	if s.Maximum != nil {
		if maximum, _ := s.Maximum.Float64(); n.Float() > maximum {
			c.Add(n, schema.CodeOutOfRange, "must be at most "+formatDecimal(maximum))
		}
	}
}

func formatDecimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// maxInteger is 2⁵³−1, the largest integer that every JSON parser represents exactly.
const maxInteger = 1<<53 - 1

// normalizeInteger reports whether a number is an integer. It normalizes an integer, because typed decoders accept 10
// but reject 1e1 and 10.0. It checks the literal, because converting 9007199254740991.4 to a float64 would round it to
// an integer. The parser's limits keep the exact arithmetic cheap.
func (c *Check) normalizeInteger(n jsontree.Node) bool {
	literal := n.Text()
	if isPlainInteger(literal) {
		return true
	}
	if exact, ok := new(big.Rat).SetString(literal); !ok || !exact.IsInt() {
		return false
	}
	if value := n.Float(); value >= -maxInteger && value <= maxInteger { // the API description excludes other values
		c.addEdit(n, strconv.FormatInt(int64(value), 10))
	}
	return true
}

func isPlainInteger(literal string) bool {
	return !strings.ContainsAny(literal, ".eE") && literal != "-0"
}

func (c *Check) checkObject(n jsontree.Node, s *jsonschema.Schema, deep bool) {
	if s.MinProperties > n.Len() {
		c.Add(n, schema.CodeTooFew, "must have at least "+violation.FormatCount(s.MinProperties, "member"))
	}
	for _, name := range s.Required {
		if !n.Member(name).Exists() {
			c.AddMember(n, name, schema.CodeRequired, "is required")
		}
	}
	rest, _ := s.AdditionalProperties.(*jsonschema.Schema)
	closed := s.AdditionalProperties == false
	if len(s.Properties) == 0 && rest == nil && !closed {
		return // the schema allows any JSON
	}
	for _, member := range n.All() {
		property, known := s.Properties[member.Name()]
		switch {
		case !known && closed:
			c.Add(member, schema.CodeUnknownField, "is not a known field")
		case known && deep:
			c.checkValue(member, property, true)
		case rest != nil && deep:
			c.checkValue(member, rest, true)
		}
	}
}
