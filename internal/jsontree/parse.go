package jsontree

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxDepth    = 64
	maxNumber   = 64  // maximum characters in a number literal
	maxExponent = 400 // float64 needs 324
)

// MaxValues and MaxName are the limits for a request body.
const (
	MaxValues = 100_000
	MaxName   = 1000 // maximum bytes of a field name
)

// Limits are the limits for parsing. A zero value means no limit. The depth and the length of numbers are always
// limited.
type Limits struct {
	Values int // total number of values
	Name   int // maximum bytes of a field name
}

// BodyLimits are the limits for a request body. They ensure that checking a value takes only milliseconds and that no
// database stores the value in a longer form.
var BodyLimits = Limits{Values: MaxValues, Name: MaxName}

// Parse strictly parses one JSON value within limits. It rejects invalid UTF-8, trailing data, duplicate names and lone
// surrogates. Any error it returns is a *SyntaxError. The tree contains a copy of raw.
func Parse(raw []byte, b Limits) (*Tree, error) {
	t, _ := pool.Get().(*Tree)
	p := parser{Tree: t, raw: raw, limits: b}
	p.parseDocument()
	if p.err != nil {
		t.Release()
		return nil, p.err
	}
	return t, nil
}

// SyntaxError describes invalid JSON. Reason is human-readable.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("malformed JSON at offset %d: %s", e.Offset, e.Reason)
}

type parser struct {
	*Tree
	raw    []byte
	pos    int
	limits Limits
	err    *SyntaxError
}

// byteOrderMarks lists the byte order marks that some programs write, with their encodings.
var byteOrderMarks = [...][2]string{
	{"\xef\xbb\xbf", "UTF-8"}, {"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
}

func (p *parser) parseDocument() bool {
	if int64(len(p.raw)) > math.MaxUint32 {
		return p.setError(0, "longer than 4 GiB")
	}
	for _, mark := range byteOrderMarks {
		if strings.HasPrefix(string(p.raw[:min(len(p.raw), 4)]), mark[0]) {
			return p.setError(0, "it starts with a byte order mark ("+mark[1]+"), send UTF-8 without it")
		}
	}
	if !utf8.Valid(p.raw) {
		return p.setError(invalidUTF8At(p.raw), "not valid UTF-8")
	}
	p.text = string(p.raw)
	if count := p.maxValueCount(); cap(p.nodes) < count {
		p.nodes = make([]node, 0, count)
	}
	p.skipSpace()
	if !p.parseValue(0, 0) {
		return false
	}
	p.skipSpace()
	if p.pos != len(p.raw) {
		return p.setError(p.pos, "unexpected data after the value")
	}
	p.plain = string(p.unescaped)
	return true
}

// maxValueCount returns an upper limit for the number of values. Allocating the list once is faster than growing it and
// needs half the memory.
func (p *parser) maxValueCount() int {
	// Every value except the first follows a comma or an opening bracket.
	count := 1 + bytes.Count(p.raw, []byte{','}) + bytes.Count(p.raw, []byte{'['}) + bytes.Count(p.raw, []byte{'{'})
	count = min(count, len(p.raw)/2+1) // each value takes at least one byte, and so does its separator
	if p.limits.Values > 0 {
		count = min(count, p.limits.Values)
	}
	return count
}

// invalidUTF8At returns the offset of the first invalid byte, which must exist.
func invalidUTF8At(raw []byte) (at int) {
	for {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

func (p *parser) setError(offset int, reason string) bool {
	if p.err == nil {
		p.err = &SyntaxError{Offset: offset, Reason: reason}
	}
	return false
}

func (p *parser) skipSpace() {
	for p.pos < len(p.raw) {
		switch p.raw[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end. U+0000 is always invalid outside strings.
func (p *parser) peek() byte {
	if p.pos < len(p.raw) {
		return p.raw[p.pos]
	}
	return 0
}

// parseValue parses the next value and adds it to the list. depth is the number of enclosing arrays and objects.
func (p *parser) parseValue(parent uint32, depth int) bool {
	if p.limits.Values > 0 && len(p.nodes) >= p.limits.Values {
		return p.setError(p.pos, "too many values")
	}
	at := uint32(len(p.nodes))
	p.nodes = append(p.nodes, node{start: uint32(p.pos), parent: parent})
	n := &p.nodes[at]
	ok := false
	switch c := p.peek(); {
	case c == '"':
		n.kind = String
		var text token
		text, ok = p.parseString()
		n.value = packSpan(text.from, text.to)
		n.flags = text.flags(textEscaped)
	case c == '{':
		n.kind = Object
		ok = p.parseChildren(at, depth+1, '}')
	case c == '[':
		n.kind = Array
		ok = p.parseChildren(at, depth+1, ']')
	case c == '-' || c >= '0' && c <= '9':
		n.kind = Number
		var num float64
		num, ok = p.parseNumber()
		n.value = math.Float64bits(num)
	case c == 't':
		n.kind, n.flags = Bool, isTrue
		ok = p.parseLiteral("true")
	case c == 'f':
		n.kind = Bool
		ok = p.parseLiteral("false")
	case c == 'n':
		ok = p.parseLiteral("null")
	default:
		p.setError(p.pos, "expected a value")
	}
	p.nodes[at].end = uint32(p.pos) // not via n, because the list may have been reallocated
	return ok
}

func (p *parser) parseLiteral(word string) bool {
	end := p.pos + len(word)
	if end > len(p.raw) || p.text[p.pos:end] != word {
		return p.setError(p.pos, "expected a value")
	}
	p.pos = end
	return true
}

func (p *parser) parseChildren(around uint32, depth int, end byte) bool {
	if depth > maxDepth {
		return p.setError(p.pos, "nested deeper than 64 levels")
	}
	p.pos++
	p.skipSpace()
	if p.peek() == end {
		p.pos++
		return true
	}
	isObject := end == '}'
	var name token
	var names table
	for last, index := uint32(0), uint32(0); ; index++ {
		from := p.pos
		if isObject {
			var ok bool
			if name, ok = p.parseName(); !ok {
				return false
			}
			if !p.addIfNew(name, around, &names) {
				return p.setError(from, "duplicate field name")
			}
		}
		at := uint32(len(p.nodes))
		if !p.parseValue(around, depth) {
			return false
		}
		n, outer := &p.nodes[at], &p.nodes[around]
		n.name[0] = index
		if isObject {
			n.name, n.nameAt = [2]uint32{name.from, name.to}, uint32(from)
			n.flags |= isMember | name.flags(nameEscaped)
		}
		outer.value++
		outer.flags |= n.flags & containsNUL
		if last != 0 {
			p.nodes[last].next = at
		}
		last = at
		p.skipSpace()
		switch p.peek() {
		case ',':
			p.pos++
			p.skipSpace()
		case end:
			p.pos++
			return true
		default:
			if isObject {
				return p.setError(p.pos, "expected a comma or the end of the object")
			}
			return p.setError(p.pos, "expected a comma or the end of the array")
		}
	}
}

func (p *parser) parseName() (name token, ok bool) {
	if p.peek() != '"' {
		return name, p.setError(p.pos, "expected a field name")
	}
	at := p.pos
	if name, ok = p.parseString(); !ok {
		return name, false
	}
	if p.limits.Name > 0 && int(name.to-name.from) > p.limits.Name {
		return name, p.setError(at, "a field name of more than 1,000 bytes")
	}
	p.skipSpace()
	if p.peek() != ':' {
		return name, p.setError(p.pos, "expected a colon")
	}
	p.pos++
	p.skipSpace()
	return name, true
}

// smallObject is the number of fields up to which names are compared one by one, without a hash table. It is a power of
// two.
const smallObject = 64

// table is a hash table of an object's fields. It contains indexes into the list of values, and 0 in free slots. Its
// size is a power of two, and at least half of the slots are free. A map would use four times as much memory.
type table []uint32

// addIfNew reports whether the object does not have the name yet. If the object is large, addIfNew also adds the next
// value to members.
func (p *parser) addIfNew(name token, object uint32, members *table) bool {
	around := Node{p.Tree, object}
	size := around.Len()
	if size < smallObject {
		for n := around.First(); n.Exists(); n = n.Next() {
			if p.isNamed(n.at, name) {
				return false
			}
		}
		return true
	}
	if 2*size >= len(*members) {
		*members = make(table, 8*size)
		for n := around.First(); n.Exists(); n = n.Next() {
			*p.findSlot(*members, p.nameOf(n.at)) = n.at
		}
	}
	slot := p.findSlot(*members, name)
	if *slot != 0 {
		return false
	}
	*slot = uint32(len(p.nodes))
	return true
}

func (p *parser) findSlot(members table, name token) *uint32 {
	mask := uint64(len(members) - 1)
	for i := maphash.Bytes(p.seed, p.tokenBytes(name)) & mask; ; i = (i + 1) & mask {
		if at := members[i]; at == 0 || p.isNamed(at, name) {
			return &members[i]
		}
	}
}

func (p *parser) isNamed(at uint32, name token) bool {
	other := p.nameOf(at)
	return name.to-name.from == other.to-other.from && bytes.Equal(p.tokenBytes(name), p.tokenBytes(other))
}

type token struct {
	from, to uint32 // in the text, or in unescaped if escaped is true
	escaped  bool
	nul      bool
}

func (t token) flags(escaped flags) flags {
	var f flags
	if t.escaped {
		f = escaped
	}
	if t.nul {
		f |= containsNUL
	}
	return f
}

func (p *parser) nameOf(at uint32) token {
	n := &p.nodes[at]
	return token{from: n.name[0], to: n.name[1], escaped: n.flags&nameEscaped != 0}
}

func (p *parser) tokenBytes(t token) []byte {
	if t.escaped {
		return p.unescaped[t.from:t.to]
	}
	return p.raw[t.from:t.to]
}

// parseNumber parses -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (p *parser) parseNumber() (num float64, ok bool) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.skipDigits() {
		return 0, p.setError(p.pos, "expected a digit")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.skipDigits() {
			return 0, p.setError(p.pos, "expected a digit")
		}
	}
	significand, exponent := p.text[start:p.pos], 0
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		from := p.pos
		if !p.skipDigits() {
			return 0, p.setError(p.pos, "expected a digit")
		}
		exponent, _ = strconv.Atoi(p.text[from:p.pos]) // Atoi returns the largest int if the exponent overflows
	}
	if p.pos-start > maxNumber {
		return 0, p.setError(start, "a number of more than 64 characters")
	}
	num, err := strconv.ParseFloat(p.text[start:p.pos], 64)
	lost := num == 0 && strings.ContainsAny(significand, "123456789")
	if err != nil || lost || exponent > maxExponent {
		return 0, p.setError(start, "a number outside the range of a 64-bit float")
	}
	return num, true
}

func (p *parser) skipDigits() bool {
	from := p.pos
	for p.pos < len(p.raw) && p.raw[p.pos] >= '0' && p.raw[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > from
}

// parseString parses a string with its quotes. U+0000 must be escaped.
func (p *parser) parseString() (text token, ok bool) {
	p.pos++
	from := p.pos
	for i, c := range p.raw[from:] {
		switch {
		case c == '"':
			p.pos = from + i + 1
			return token{from: uint32(from), to: uint32(from + i)}, true
		case c == '\\':
			p.pos = from + i
			return p.parseEscapedString(from)
		case c < 0x20:
			return text, p.setError(from+i, "a control character in a string")
		}
	}
	return text, p.setError(len(p.raw), "unterminated string")
}

// parseEscapedString parses the rest of a string from its first backslash.
func (p *parser) parseEscapedString(from int) (text token, ok bool) {
	text = token{from: uint32(len(p.unescaped)), escaped: true}
	p.unescaped = append(p.unescaped, p.raw[from:p.pos]...)
	// Preallocate, because growing would copy a long text five times.
	end := p.pos
	for ; end < len(p.raw) && p.raw[end] != '"'; end++ {
		if p.raw[end] == '\\' {
			end++
		}
	}
	p.unescaped = slices.Grow(p.unescaped, end-p.pos)
	for p.pos < len(p.raw) {
		switch c := p.raw[p.pos]; {
		case c == '"':
			p.pos++
			text.to = uint32(len(p.unescaped))
			return text, true
		case c == '\\':
			r, ok := p.parseEscape()
			if !ok {
				return text, false
			}
			text.nul = text.nul || r == 0
			p.unescaped = utf8.AppendRune(p.unescaped, r)
		case c < 0x20:
			return text, p.setError(p.pos, "a control character in a string")
		default:
			p.unescaped = append(p.unescaped, c)
			p.pos++
		}
	}
	return text, p.setError(p.pos, "unterminated string")
}

// escapes lists the characters that can follow a backslash, and escaped lists the bytes that they represent.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

func (p *parser) parseEscape() (rune, bool) {
	at := p.pos
	p.pos++
	c := p.peek()
	p.pos++
	if i := strings.IndexByte(escapes, c); i >= 0 {
		return rune(escaped[i]), true
	}
	if c != 'u' {
		return 0, p.setError(at, "invalid escape sequence")
	}
	r, ok := p.parseHex4()
	if !ok {
		return 0, p.setError(at, "invalid escape sequence")
	}
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if strings.HasPrefix(p.text[p.pos:], `\u`) {
		p.pos += 2
		if low, ok := p.parseHex4(); ok {
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, true
			}
		}
	}
	return 0, p.setError(at, "unpaired surrogate")
}

func (p *parser) parseHex4() (rune, bool) {
	if p.pos+4 > len(p.raw) {
		return 0, false
	}
	r, err := strconv.ParseUint(p.text[p.pos:p.pos+4], 16, 16)
	p.pos += 4
	return rune(r), err == nil
}
