package schema

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one body. They are fixed: within them no value of a body, however it
// is made, costs more than milliseconds to check or grows when a database prints
// it.
const (
	maxDepth    = 64
	maxNodes    = 100_000
	maxName     = 1000 // bytes of a member name
	maxNumber   = 64   // characters of a number literal
	maxExponent = 400  // float64 needs 324; beyond that only zero would fit
)

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// node is one JSON value and the place of its bytes.
type node struct {
	kind       kind
	truth      bool
	nul        bool // U+0000 is in a string or a name of this value or of one inside it
	start, end int  // raw[start:end] are the value's own bytes
	text       string
	num        float64
	names      []string // object: member names in order, parallel to items
	items      []node   // array: elements; object: member values
}

// member returns the value of an object's member, nil when there is none or n is
// no object.
func (n *node) member(name string) *node {
	for i := range n.names {
		if n.names[i] == name {
			return &n.items[i]
		}
	}
	return nil
}

// value converts to what encoding/json decodes into an any.
func (n *node) value() any {
	switch n.kind {
	case kindBool:
		return n.truth
	case kindNumber:
		return n.num
	case kindString:
		return n.text
	case kindArray:
		list := make([]any, len(n.items))
		for i := range n.items {
			list[i] = n.items[i].value()
		}
		return list
	case kindObject:
		object := make(map[string]any, len(n.items))
		for i := range n.items {
			object[n.names[i]] = n.items[i].value()
		}
		return object
	default:
		return nil
	}
}

// parse reads raw as one JSON value in one strict pass: RFC 8259 in valid UTF-8,
// nothing after the value, no duplicate member names, no lone surrogates, and
// within the bounds above. Any fault is a *SyntaxError. Strings without escapes
// share one copy of the body: whoever keeps one longer than the request clones
// it.
func parse(raw []byte) (*node, error) {
	return parseWithin(raw, maxNodes, maxName)
}

// unbounded is a bound that nothing reaches.
const unbounded = math.MaxInt

// parseAnswer is parse for an answer. It may name the rows of a matrix, and their
// ids have no bound of their own.
func parseAnswer(raw []byte) (*node, error) {
	return parseWithin(raw, maxNodes, unbounded)
}

// parseStored is parse for what has passed the bounds of a body before. Merging,
// and types that were filled in, may have taken it beyond them since.
func parseStored(raw []byte) (*node, error) {
	return parseWithin(raw, unbounded, unbounded)
}

// parseWithin is parse with other bounds of the number of values and of the bytes
// of a member name.
func parseWithin(raw []byte, nodes, name int) (*node, error) {
	p := parser{raw: raw, maxNodes: nodes, maxName: name}
	root, ok := p.document()
	if !ok {
		return nil, p.err
	}
	return &root, nil
}

type parser struct {
	raw  []byte
	text string // raw as a string
	pos  int
	err  *SyntaxError

	nodes             int // values that were begun
	maxNodes, maxName int

	// Children are gathered on these stacks, then moved to exact slices cut from
	// the slabs: one allocation for many small objects.
	nodeStack []node
	nameStack []string
	nodeSlab  []node
	nameSlab  []string
	unescaped []byte
}

func (p *parser) document() (root node, ok bool) {
	if !utf8.Valid(p.raw) {
		return root, p.fail(invalidUTF8At(p.raw), "not valid UTF-8")
	}
	p.text = string(p.raw)
	p.space()
	if root, ok = p.value(0); !ok {
		return root, false
	}
	p.space()
	if p.pos != len(p.raw) {
		return root, p.fail(p.pos, "something follows the value")
	}
	return root, true
}

func invalidUTF8At(raw []byte) int {
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(raw)
}

// fail records the first fault and returns false.
func (p *parser) fail(offset int, reason string) bool {
	if p.err == nil {
		p.err = &SyntaxError{Offset: offset, Reason: reason}
	}
	return false
}

func (p *parser) space() {
	for p.pos < len(p.raw) {
		switch p.raw[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next returns the byte at the position, 0 at the end. U+0000 is no part of the
// grammar outside of strings, so the two need not be told apart.
func (p *parser) next() byte {
	if p.pos < len(p.raw) {
		return p.raw[p.pos]
	}
	return 0
}

// value reads the value that starts at the position; depth is the number of
// arrays and objects around it.
func (p *parser) value(depth int) (n node, ok bool) {
	p.nodes++
	if p.nodes > p.maxNodes {
		return n, p.fail(p.pos, "too many values")
	}
	n.start = p.pos
	switch c := p.next(); {
	case c == '"':
		n.kind = kindString
		n.text, n.nul, ok = p.string()
	case c == '{':
		n.kind = kindObject
		n.names, n.items, n.nul, ok = p.object(depth + 1)
	case c == '[':
		n.kind = kindArray
		n.items, n.nul, ok = p.array(depth + 1)
	case c == '-' || c >= '0' && c <= '9':
		n.kind = kindNumber
		n.text, n.num, ok = p.number()
	case c == 't':
		n.kind, n.truth = kindBool, true
		ok = p.literal("true")
	case c == 'f':
		n.kind = kindBool
		ok = p.literal("false")
	case c == 'n':
		ok = p.literal("null")
	default:
		p.fail(p.pos, "a value is expected")
	}
	n.end = p.pos
	return n, ok
}

func (p *parser) literal(word string) bool {
	end := p.pos + len(word)
	if end > len(p.raw) || p.text[p.pos:end] != word {
		return p.fail(p.pos, "a value is expected")
	}
	p.pos = end
	return true
}

func (p *parser) array(depth int) (items []node, nul, ok bool) {
	if depth > maxDepth {
		return nil, false, p.fail(p.pos, "nested deeper than 64 levels")
	}
	p.pos++
	base := len(p.nodeStack)
	p.space()
	if p.next() == ']' {
		p.pos++
		return nil, false, true
	}
	for {
		child, ok := p.value(depth)
		if !ok {
			return nil, false, false
		}
		nul = nul || child.nul
		p.nodeStack = append(p.nodeStack, child)
		p.space()
		switch p.next() {
		case ',':
			p.pos++
			p.space()
		case ']':
			p.pos++
			return p.keepNodes(base), nul, true
		default:
			return nil, false, p.fail(p.pos, "a comma or the end of the array is expected")
		}
	}
}

// smallObject is the number of members up to which names are compared one by
// one; beyond it a set keeps the search for duplicates linear.
const smallObject = 16

func (p *parser) object(depth int) (names []string, items []node, nul, ok bool) {
	if depth > maxDepth {
		return nil, nil, false, p.fail(p.pos, "nested deeper than 64 levels")
	}
	p.pos++
	base, nameBase := len(p.nodeStack), len(p.nameStack)
	var seen map[string]struct{}
	p.space()
	if p.next() == '}' {
		p.pos++
		return nil, nil, false, true
	}
	for {
		at := p.pos
		name, nameNUL, ok := p.name()
		if !ok {
			return nil, nil, false, false
		}
		if seen, ok = unique(p.nameStack[nameBase:], seen, name); !ok {
			return nil, nil, false, p.fail(at, "duplicate member name")
		}
		child, ok := p.value(depth)
		if !ok {
			return nil, nil, false, false
		}
		nul = nul || nameNUL || child.nul
		p.nameStack = append(p.nameStack, name)
		p.nodeStack = append(p.nodeStack, child)
		p.space()
		switch p.next() {
		case ',':
			p.pos++
			p.space()
		case '}':
			p.pos++
			return p.keepNames(nameBase), p.keepNodes(base), nul, true
		default:
			return nil, nil, false, p.fail(p.pos, "a comma or the end of the object is expected")
		}
	}
}

// name reads a member's name and the colon, up to the value.
func (p *parser) name() (name string, nul, ok bool) {
	if p.next() != '"' {
		return "", false, p.fail(p.pos, "a member name is expected")
	}
	at := p.pos
	if name, nul, ok = p.string(); !ok {
		return "", false, false
	}
	if len(name) > p.maxName {
		return "", false, p.fail(at, "a member name of more than 1,000 bytes")
	}
	p.space()
	if p.next() != ':' {
		return "", false, p.fail(p.pos, "a colon is expected")
	}
	p.pos++
	p.space()
	return name, nul, true
}

// unique reports whether name is not among names yet. seen is made when the list
// becomes long and holds the same names plus name.
func unique(names []string, seen map[string]struct{}, name string) (map[string]struct{}, bool) {
	if len(names) < smallObject {
		for _, other := range names {
			if other == name {
				return nil, false
			}
		}
		return nil, true
	}
	if seen == nil {
		seen = make(map[string]struct{}, 4*smallObject)
		for _, other := range names {
			seen[other] = struct{}{}
		}
	}
	if _, there := seen[name]; there {
		return seen, false
	}
	seen[name] = struct{}{}
	return seen, true
}

// Sizes of the first and of the largest slab.
const (
	minSlab = 64
	maxSlab = 4096
)

func (p *parser) keepNodes(base int) []node {
	children := p.nodeStack[base:]
	if free := cap(p.nodeSlab) - len(p.nodeSlab); free < len(children) {
		p.nodeSlab = make([]node, 0, max(len(children), p.slabSize()))
	}
	at := len(p.nodeSlab)
	p.nodeSlab = append(p.nodeSlab, children...)
	clear(children)
	p.nodeStack = p.nodeStack[:base]
	return p.nodeSlab[at:len(p.nodeSlab):len(p.nodeSlab)]
}

func (p *parser) keepNames(base int) []string {
	names := p.nameStack[base:]
	if free := cap(p.nameSlab) - len(p.nameSlab); free < len(names) {
		p.nameSlab = make([]string, 0, max(len(names), p.slabSize()))
	}
	at := len(p.nameSlab)
	p.nameSlab = append(p.nameSlab, names...)
	p.nameStack = p.nameStack[:base]
	return p.nameSlab[at:len(p.nameSlab):len(p.nameSlab)]
}

// slabSize grows with what the body has shown so far, and never beyond what the
// rest of it can hold: a value takes a byte, and so does what parts it from the
// next.
func (p *parser) slabSize() int {
	return min(max(p.nodes, minSlab), maxSlab, (len(p.raw)-p.pos)/2+1)
}

// number reads a literal: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (p *parser) number() (literal string, num float64, ok bool) {
	start := p.pos
	if p.next() == '-' {
		p.pos++
	}
	integer := p.pos
	zero := true // no digit but 0 in the significand
	if p.next() == '0' {
		p.pos++
	} else if !p.digits(&zero) {
		return "", 0, p.fail(p.pos, "a digit is expected")
	}
	plain := p.pos // end of the integer part
	if p.next() == '.' {
		p.pos++
		if !p.digits(&zero) {
			return "", 0, p.fail(p.pos, "a digit is expected")
		}
	}
	exponent := 0
	if c := p.next(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.next(); c == '+' || c == '-' {
			p.pos++
		}
		from := p.pos
		if !p.digits(new(bool)) {
			return "", 0, p.fail(p.pos, "a digit is expected")
		}
		for _, d := range p.raw[from:p.pos] {
			exponent = min(exponent*10+int(d-'0'), maxExponent+1)
		}
	}
	if p.pos-start > maxNumber {
		return "", 0, p.fail(start, "a number of more than 64 characters")
	}
	if exponent > maxExponent {
		return "", 0, p.fail(start, "a number outside the range of a 64-bit float")
	}
	literal = p.text[start:p.pos]
	if p.pos == plain && plain-integer <= 15 { // exact in a float64
		for _, d := range p.raw[integer:plain] {
			num = num*10 + float64(d-'0')
		}
		if integer > start {
			num = -num
		}
		return literal, num, true
	}
	num, err := strconv.ParseFloat(literal, 64)
	if err != nil || num == 0 && !zero {
		return "", 0, p.fail(start, "a number outside the range of a 64-bit float")
	}
	return literal, num, true
}

// digits reads one or more; it clears zero when one is not 0.
func (p *parser) digits(zero *bool) bool {
	from := p.pos
	for p.pos < len(p.raw) && p.raw[p.pos] >= '0' && p.raw[p.pos] <= '9' {
		if p.raw[p.pos] != '0' {
			*zero = false
		}
		p.pos++
	}
	return p.pos > from
}

// string reads a string, from its opening to behind its closing quote. nul tells
// whether U+0000 is in it, which can only be written as an escape.
func (p *parser) string() (text string, nul, ok bool) {
	p.pos++
	from := p.pos
	for p.pos < len(p.raw) {
		switch c := p.raw[p.pos]; {
		case c == '"':
			text = p.text[from:p.pos]
			p.pos++
			return text, false, true
		case c == '\\':
			return p.escapedString(from)
		case c < 0x20:
			return "", false, p.fail(p.pos, "a control character in a string")
		default:
			p.pos++
		}
	}
	return "", false, p.fail(p.pos, "a string without end")
}

// escapedString goes on with a string that began at from, at its first
// backslash.
func (p *parser) escapedString(from int) (text string, nul, ok bool) {
	buf := p.unescaped[:0]
	buf = append(buf, p.raw[from:p.pos]...)
	for p.pos < len(p.raw) {
		switch c := p.raw[p.pos]; {
		case c == '"':
			p.pos++
			p.unescaped = buf
			return string(buf), nul, true
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", false, false
			}
			nul = nul || r == 0
			buf = utf8.AppendRune(buf, r)
		case c < 0x20:
			return "", false, p.fail(p.pos, "a control character in a string")
		default:
			buf = append(buf, c)
			p.pos++
		}
	}
	return "", false, p.fail(p.pos, "a string without end")
}

// escape reads one escape sequence, or two that make up one character.
func (p *parser) escape() (rune, bool) {
	at := p.pos
	p.pos++
	c := p.next()
	p.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		r, ok := p.hex4()
		if !ok {
			return 0, p.fail(at, "a bad escape sequence")
		}
		if !utf16.IsSurrogate(r) {
			return r, true
		}
		if p.pos+1 < len(p.raw) && p.raw[p.pos] == '\\' && p.raw[p.pos+1] == 'u' {
			p.pos += 2
			if low, ok := p.hex4(); ok {
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					return r, true
				}
			}
		}
		return 0, p.fail(at, "a surrogate without its other half")
	default:
		return 0, p.fail(at, "a bad escape sequence")
	}
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+4 > len(p.raw) {
		return 0, false
	}
	var r rune
	for _, c := range p.raw[p.pos : p.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	p.pos += 4
	return r, true
}
