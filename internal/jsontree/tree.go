package jsontree

import (
	"hash/maphash"
	"iter"
	"math"
	"sync"
)

// Kind is the type of a JSON value.
type Kind uint8

// Types of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Tree is a parsed JSON text. Its values are immutable except for [Node.SetText].
type Tree struct {
	text      string
	unescaped []byte // decoded strings and names that had escapes
	plain     string // unescaped as a string, set after parsing
	nodes     []node // depth-first
	seed      maphash.Seed
}

// node is a value. The largest body has 100,000 values, which take 4 MB.
type node struct {
	start, end uint32    // the value's bytes in text
	name       [2]uint32 // the start and end of a field's name, or the index of an array item
	value      uint64    // the start (upper half) and end of a string, the bits of a float64, or the number of children
	parent     uint32
	next       uint32 // next sibling, or 0
	nameAt     uint32 // start of a field's name in text, including its quote
	kind       Kind
	flags      flags
}

type flags uint8

const (
	isTrue      flags = 1 << iota
	textEscaped       // the text of a string is in unescaped
	nameEscaped       // the name of a field is in unescaped
	containsNUL       // the value or a descendant contains U+0000
	isMember          // the value has a name
)

func packSpan(from, to uint32) uint64 { return uint64(from)<<32 | uint64(to) }

// Node is a value in a tree. The zero Node is a missing value, which is treated as null without fields.
type Node struct {
	tree *Tree
	at   uint32
}

// Root returns the root value.
func (t *Tree) Root() Node { return Node{tree: t} }

// Exists reports whether the value exists.
func (n Node) Exists() bool { return n.tree != nil }

func (n Node) node() *node { return &n.tree.nodes[n.at] }

// Kind returns the type of the value.
func (n Node) Kind() Kind {
	if n.tree == nil {
		return Null
	}
	return n.node().kind
}

// Start returns the offset of the value's first byte.
func (n Node) Start() int { return int(n.node().start) }

// End returns the offset after the value's last byte.
func (n Node) End() int { return int(n.node().end) }

// Raw returns the value's original bytes.
func (n Node) Raw() string {
	d := n.node()
	return n.tree.text[d.start:d.end]
}

// Source returns the whole text of the tree.
func (n Node) Source() string { return n.tree.text }

// Bool reports whether the value is true.
func (n Node) Bool() bool { return n.tree != nil && n.node().flags&isTrue != 0 }

// Float returns the value of a number, or 0 for other values.
func (n Node) Float() float64 {
	if n.Kind() != Number {
		return 0
	}
	return math.Float64frombits(n.node().value)
}

// Text returns a decoded string, a number literal, or "" for other values. The text shares memory with the tree, so
// clone it if it must outlive the tree.
func (n Node) Text() string {
	if n.tree == nil {
		return ""
	}
	switch d := n.node(); d.kind {
	case String:
		return n.tree.slice(uint32(d.value>>32), uint32(d.value), d.flags&textEscaped != 0)
	case Number:
		return n.tree.text[d.start:d.end]
	default:
		return ""
	}
}

func (t *Tree) slice(from, to uint32, escaped bool) string {
	if escaped {
		return t.plain[from:to]
	}
	return t.text[from:to]
}

// SetText replaces the decoded text of a string but not the original bytes.
func (n Node) SetText(text string) {
	d := n.node()
	from := uint32(len(n.tree.plain))
	n.tree.plain += text
	d.value, d.flags = packSpan(from, from+uint32(len(text))), d.flags|textEscaped
}

// HasNUL reports whether a string or name in the value contains U+0000.
func (n Node) HasNUL() bool { return n.tree != nil && n.node().flags&containsNUL != 0 }

// Name returns the name of a field, or "" for other values.
func (n Node) Name() string {
	d := n.node()
	if d.flags&isMember == 0 {
		return ""
	}
	return n.tree.slice(d.name[0], d.name[1], d.flags&nameEscaped != 0)
}

// NameStart returns the offset of the field's name.
func (n Node) NameStart() int { return int(n.node().nameAt) }

// Len returns the number of array items or object fields.
func (n Node) Len() int {
	if k := n.Kind(); k != Array && k != Object {
		return 0
	}
	return int(n.node().value)
}

// First returns the first item or field, or a zero Node.
func (n Node) First() Node {
	if n.Len() == 0 {
		return Node{}
	}
	return Node{n.tree, n.at + 1}
}

// Next returns the next sibling, or a zero Node.
func (n Node) Next() Node {
	next := n.node().next
	if next == 0 {
		return Node{}
	}
	return Node{n.tree, next}
}

// All iterates over the items or fields with their indexes.
func (n Node) All() iter.Seq2[int, Node] {
	return func(yield func(int, Node) bool) {
		i := 0
		for child := n.First(); child.Exists(); child = child.Next() {
			if !yield(i, child) {
				return
			}
			i++
		}
	}
}

// Member returns an object's field by name, or a zero Node.
func (n Node) Member(name string) Node {
	if n.Kind() != Object {
		return Node{}
	}
	for child := n.First(); child.Exists(); child = child.Next() {
		if child.Name() == name {
			return child
		}
	}
	return Node{}
}

// ValueCount returns the number of values in n, including n.
func (n Node) ValueCount() int {
	for at := n.at; ; at = n.tree.nodes[at].parent {
		if next := n.tree.nodes[at].next; next != 0 {
			return int(next - n.at)
		}
		if at == 0 {
			return len(n.tree.nodes) - int(n.at)
		}
	}
}

// Value decodes the value as encoding/json does.
func (n Node) Value() any {
	switch n.Kind() {
	case Bool:
		return n.Bool()
	case Number:
		return n.Float()
	case String:
		return n.Text()
	case Array:
		list := make([]any, 0, n.Len())
		for _, item := range n.All() {
			list = append(list, item.Value())
		}
		return list
	case Object:
		object := make(map[string]any, n.Len())
		for _, member := range n.All() {
			object[member.Name()] = member.Value()
		}
		return object
	default:
		return nil
	}
}

// Maximum sizes of pooled trees. Larger trees are rare. A definition with 500 blocks is smaller.
const (
	maxPooledNodes = 8192 // 320 kB
	maxPooledBytes = 64 << 10
)

var pool = sync.Pool{New: func() any { return &Tree{seed: maphash.MakeSeed()} }}

// Inspect parses raw, calls the function look with the root and releases the tree. It returns a zero value for invalid
// JSON.
func Inspect[T any](raw []byte, bounds Limits, look func(Node) T) (seen T) {
	tree, err := Parse(raw, bounds)
	if err != nil {
		return seen
	}
	defer tree.Release()
	return look(tree.Root())
}

// Release returns the tree's memory to a pool for [Parse]. Calling it is optional. After the call, the tree and its
// nodes must not be used, but texts and names remain valid.
func (t *Tree) Release() {
	if cap(t.nodes) > maxPooledNodes || cap(t.unescaped) > maxPooledBytes {
		return
	}
	t.text, t.plain, t.nodes, t.unescaped = "", "", t.nodes[:0], t.unescaped[:0]
	pool.Put(t)
}
