package jsonshape

import (
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Check holds a tree against shapes. It collects faults, and the edits that
// normalise times and integers. The zero value is ready.
type Check struct {
	// Base is the JSON pointer of the tree's root.
	Base   string
	Faults faults.List
	Edits  []jsontree.Edit

	settled map[jsontree.Node]bool // values that [Check.Walk] leaves to the caller
}

// Add reports a fault of a value.
func (c *Check) Add(n jsontree.Node, code, message string) {
	if c.Faults.Takes(code) {
		c.Faults.Add(n.Pointer(c.Base), code, message)
	}
}

// AddMember reports a fault of a member of an object, whether or not it is present.
func (c *Check) AddMember(n jsontree.Node, name, code, message string) {
	if c.Faults.Takes(code) {
		c.Faults.Add(n.MemberPointer(c.Base, name), code, message)
	}
}

// Skip tells [Check.Walk] to pass over the items of an array, or to leave a time as it is.
func (c *Check) Skip(n jsontree.Node) {
	if c.settled == nil {
		c.settled = make(map[jsontree.Node]bool)
	}
	c.settled[n] = true
}

// Replace plans to write another time for a value than the time that [Check.Walk] finds
// there.
func (c *Check) Replace(n jsontree.Node, t time.Time) {
	c.Skip(n)
	c.edit(n, `"`+jsontree.FormatTime(t)+`"`)
}

// Walk holds a value against a shape.
func (c *Check) Walk(n jsontree.Node, s *Shape) {
	if c.Faults.Full() {
		return
	}
	kind := n.Kind()
	switch {
	case s.never:
		c.Add(n, schema.CodeUnknownField, "is not a known member")
		return
	case s.types != 0 && !s.types.has(kind):
		c.Add(n, schema.CodeWrongType, "must be "+s.types.String())
		return
	case s.allowed != nil && !s.allows(n):
		c.Add(n, schema.CodeNotAllowed, "must be one of: "+s.allowedList)
		return
	}
	switch kind {
	case jsontree.String:
		c.text(n, s)
	case jsontree.Number:
		c.number(n, s)
	case jsontree.Array:
		c.array(n, s)
	case jsontree.Object:
		c.object(n, s)
	}
	for _, part := range s.union {
		if part.types.has(kind) {
			c.Walk(n, part)
		}
	}
}

func (s *Shape) allows(n jsontree.Node) bool {
	var ok bool
	switch n.Kind() {
	case jsontree.String:
		_, ok = s.allowed[n.Text()]
	case jsontree.Number:
		_, ok = s.allowed[n.Float()]
	case jsontree.Bool:
		_, ok = s.allowed[n.Bool()]
	case jsontree.Null:
		_, ok = s.allowed[nil]
	}
	return ok
}

func (c *Check) text(n jsontree.Node, s *Shape) {
	text := n.Text()
	if s.minLength > 0 && utf8.RuneCountInString(text) < s.minLength {
		c.Add(n, schema.CodeTooShort, "must have at least "+faults.Count(s.minLength, "character"))
	}
	if s.maxLength >= 0 && faults.LongerThan(text, s.maxLength) {
		c.Add(n, schema.CodeTooLong, faults.TooLong(s.maxLength))
	}
	if s.pattern != nil && !s.pattern.MatchString(text) {
		c.Add(n, schema.CodeBadFormat, "must match "+s.pattern.String())
	}
	if s.time {
		c.time(n, text)
	}
}

// time checks an RFC 3339 time and plans its normal form.
func (c *Check) time(n jsontree.Node, text string) {
	t, ok := jsontree.ParseTime(text)
	if !ok {
		c.Add(n, schema.CodeBadFormat, "must be a time of RFC 3339 such as 2026-11-20T08:33:01Z, from 0001-01-01T00:00:01Z to 9999-12-31T23:59:59Z")
		return
	}
	if normal := jsontree.FormatTime(t); normal != text && !c.settled[n] {
		c.edit(n, `"`+normal+`"`)
	}
}

func (c *Check) number(n jsontree.Node, s *Shape) {
	if s.integer && !c.integer(n) {
		c.Add(n, schema.CodeWrongType, "must be an integer")
		return
	}
	value := n.Float()
	switch {
	case s.minimum != nil && value < *s.minimum:
		c.Add(n, schema.CodeOutOfRange, "must be at least "+decimal(*s.minimum))
	case s.maximum != nil && value > *s.maximum:
		c.Add(n, schema.CodeOutOfRange, "must be at most "+decimal(*s.maximum))
	}
}

func decimal(f float64) string {
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// maxInteger is 2⁵³−1, the largest whole number that every JSON reader keeps.
const maxInteger = 1<<53 - 1

// integer reports whether a number is whole, and plans its plain form: typed
// readers take 10 and neither 1e1 nor 10.0. It looks at the literal, not at its
// float64: 1.0 and 1e2 are whole, 9007199254740991.4 is not. The bounds of a
// literal keep the exact arithmetic small.
func (c *Check) integer(n jsontree.Node) bool {
	literal := n.Text()
	if !strings.ContainsAny(literal, ".eE") && literal != "-0" {
		return true
	}
	if exact, ok := new(big.Rat).SetString(literal); !ok || !exact.IsInt() {
		return false
	}
	if value := n.Float(); value >= -maxInteger && value <= maxInteger { // else the description refuses it
		c.edit(n, strconv.FormatInt(int64(value), 10))
	}
	return true
}

// edit plans to replace a value.
func (c *Check) edit(n jsontree.Node, text string) {
	c.Edits = append(c.Edits, jsontree.Edit{Start: n.Start(), End: n.End(), Text: text})
}

func (c *Check) array(n jsontree.Node, s *Shape) {
	if c.settled[n] || s.items == nil {
		return
	}
	for _, item := range n.All() {
		c.Walk(item, s.items)
	}
}

func (c *Check) object(n jsontree.Node, s *Shape) {
	if s.minMembers > n.Len() {
		c.Add(n, schema.CodeTooFew, "must have at least "+faults.Count(s.minMembers, "member"))
	}
	for _, name := range s.required {
		if !n.Member(name).Exists() {
			c.AddMember(n, name, schema.CodeRequired, "is required")
		}
	}
	if s.members == nil && s.rest == nil && !s.closed {
		return // free
	}
	for _, member := range n.All() {
		switch inner, known := s.members[member.Name()]; {
		case known:
			c.Walk(member, inner)
		case s.closed:
			c.Add(member, schema.CodeUnknownField, "is not a known member")
		case s.rest != nil:
			c.Walk(member, s.rest)
		}
	}
}
