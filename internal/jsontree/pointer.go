package jsontree

import (
	"strconv"
	"strings"
)

// MaxPointer is the maximum length of a pointer in bytes. A longer pointer is replaced by an ancestor's pointer,
// because deeply nested long names could otherwise make one violation larger than the body.
const MaxPointer = 4000

// Pointer returns the JSON Pointer of a value, or of an ancestor if it exceeds [MaxPointer]. base is the pointer of the
// root.
func (n Node) Pointer(base string) string {
	b, _ := n.appendPointer(append(make([]byte, 0, pointerCapacity), base...))
	return string(b)
}

// MemberPointer returns the JSON Pointer of an object's field, which may be missing.
func (n Node) MemberPointer(base, name string) string {
	b, whole := n.appendPointer(append(make([]byte, 0, pointerCapacity), base...))
	if whole {
		b, _ = appendToken(b, name)
	}
	return string(b)
}

const pointerCapacity = 256

func (n Node) appendPointer(b []byte) (_ []byte, whole bool) {
	if n.at == 0 {
		return b, true
	}
	d := n.node()
	if b, whole = (Node{n.tree, d.parent}).appendPointer(b); !whole {
		return b, false
	}
	if d.flags&isMember == 0 {
		return appendToken(b, strconv.Itoa(int(d.name[0])))
	}
	return appendToken(b, n.Name())
}

func appendToken(b []byte, token string) (_ []byte, fits bool) {
	if escapes := strings.Count(token, "~") + strings.Count(token, "/"); len(b)+1+len(token)+escapes > MaxPointer {
		return b, false
	}
	return append(append(b, '/'), pointerEscapes.Replace(token)...), true
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// JoinPointer appends one token to a JSON Pointer.
func JoinPointer(parent, token string) string {
	if !strings.ContainsAny(token, "~/") {
		return parent + "/" + token
	}
	return parent + "/" + pointerEscapes.Replace(token)
}

// Find returns the value at a JSON Pointer below n, or a zero Node.
func (n Node) Find(pointer string) Node {
	if pointer == "" {
		return n
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if n.Kind() != Array {
			n = n.Member(pointerTokens.Replace(token))
			continue
		}
		item := n.First()
		for item.Exists() && strconv.Itoa(int(item.node().name[0])) != token {
			item = item.Next()
		}
		n = item
	}
	return n
}

var pointerTokens = strings.NewReplacer("~1", "/", "~0", "~")
