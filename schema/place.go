package schema

import (
	"strconv"
	"strings"
)

// place is where a value stands. It becomes a JSON Pointer only when something is
// wrong there.
type place struct {
	parent *place
	name   string // of a member; of the outermost place: a whole pointer
	index  int    // of an item; -1: a member
}

func (p *place) item(i int) place         { return place{parent: p, index: i} }
func (p *place) member(name string) place { return place{parent: p, name: name, index: -1} }

// maxPointer is the number of bytes from which on a pointer is that of a value
// further out. Names of a thousand bytes, 64 levels deep, would make one fault
// cost more than the body that has it.
const maxPointer = 4000

// String returns the JSON Pointer.
func (p *place) String() string {
	size := 0
	for q := p; q != nil; q = q.parent {
		size += q.size()
	}
	for p.parent != nil && size > maxPointer {
		size -= p.size()
		p = p.parent
	}
	var b strings.Builder
	b.Grow(size)
	p.write(&b)
	return b.String()
}

// size is about what the place adds to a pointer.
func (p *place) size() int {
	if p.parent != nil && p.index >= 0 {
		return len("/100000")
	}
	return 1 + len(p.name) + strings.Count(p.name, "~") + strings.Count(p.name, "/")
}

func (p *place) write(b *strings.Builder) {
	if p.parent == nil {
		b.WriteString(p.name)
		return
	}
	p.parent.write(b)
	b.WriteByte('/')
	if p.index >= 0 {
		b.WriteString(strconv.Itoa(p.index))
	} else {
		b.WriteString(escapeToken(p.name))
	}
}

// pointer appends one token to a JSON Pointer.
func pointer(parent, token string) string {
	return parent + "/" + escapeToken(token)
}

func escapeToken(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
