package jsontree

import (
	"strconv"
	"strings"
)

// MaxPointer is the number of bytes above which a pointer is replaced by the pointer of
// a value further out. Names of a thousand bytes, 64 levels deep, would make one fault
// cost more than the body that has it.
const MaxPointer = 4000

// Pointer returns the JSON Pointer of the value, after base, which is the pointer
// of the root. It is cut to that of a value around it beyond [MaxPointer].
func (n Node) Pointer(base string) string {
	return n.pointer(base, "", false)
}

// MemberPointer returns the JSON Pointer that the member of an object with that
// name has, or would have.
func (n Node) MemberPointer(base, name string) string {
	return n.pointer(base, name, true)
}

func (n Node) pointer(base, name string, hasName bool) string {
	nodes := n.tree.nodes
	size := 1 + tokenSize(base)
	for at := n.at; at != 0; at = nodes[at].parent {
		size += n.tree.step(at)
	}
	if hasName {
		if size+1+tokenSize(name) > MaxPointer {
			hasName = false
		} else {
			size += 1 + tokenSize(name)
		}
	}
	at := n.at
	for ; at != 0 && size > MaxPointer; at = nodes[at].parent {
		size -= n.tree.step(at)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(base)
	n.tree.writePointer(&b, at)
	if hasName {
		b.WriteByte('/')
		writeToken(&b, name)
	}
	return b.String()
}

// step is about the number of bytes that one value adds to a pointer.
func (t *Tree) step(at uint32) int {
	if t.nodes[at].flags&isMember == 0 {
		return len("/100000")
	}
	return 1 + tokenSize(Node{t, at}.Name())
}

func tokenSize(token string) int {
	return len(token) + strings.Count(token, "~") + strings.Count(token, "/")
}

func (t *Tree) writePointer(b *strings.Builder, at uint32) {
	if at == 0 {
		return
	}
	d := &t.nodes[at]
	t.writePointer(b, d.parent)
	b.WriteByte('/')
	if d.flags&isMember == 0 {
		b.WriteString(strconv.FormatUint(uint64(d.name[0]), 10))
	} else {
		writeToken(b, Node{t, at}.Name())
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func writeToken(b *strings.Builder, token string) {
	_, _ = pointerEscapes.WriteString(b, token)
}

// Pointer appends one token to a JSON Pointer.
func Pointer(parent, token string) string {
	if !strings.ContainsAny(token, "~/") {
		return parent + "/" + token
	}
	return parent + "/" + pointerEscapes.Replace(token)
}
