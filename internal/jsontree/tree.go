package jsontree

import (
	"hash/maphash"
	"iter"
	"math"
	"sync"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Tree is one parsed JSON text. Its values are immutable but for [Node.SetText].
type Tree struct {
	text string
	// unescaped has the strings and names that are written with escapes, as they
	// read without them, one after the other.
	unescaped []byte
	plain     string // the same, once all is read
	nodes     []node // depth first
	seed      maphash.Seed
}

// node is one value. 100,000 of them, the most that a body may have, take 4 MB.
type node struct {
	start, end uint32 // the value's own bytes in text
	// Of a member: where its name begins and ends. Of an item: its index.
	name [2]uint32
	// Of a string: where its text begins (upper half) and ends. Of a number: the
	// bits of its float64. Of an array or object: how many values it has.
	value  uint64
	parent uint32
	next   uint32 // the next value of the same array or object; 0: none
	nameAt uint32 // of a member: where its name begins in text, with its quote
	kind   Kind
	flags  flags
}

type flags uint8

const (
	isTrue      flags = 1 << iota
	textEscaped       // the text of a string is in unescaped
	nameEscaped       // the name of a member is in unescaped
	containsNUL       // U+0000 is in a string or name of this value, or of one inside it
	isMember          // the value has a name
)

func span(from, to uint32) uint64 { return uint64(from)<<32 | uint64(to) }

// Node is one value of a tree. The zero Node stands for a value that is not there:
// its kind is Null and it has no members.
type Node struct {
	tree *Tree
	at   uint32
}

// Root returns the value of the text.
func (t *Tree) Root() Node { return Node{tree: t} }

// Exists reports whether there is a value.
func (n Node) Exists() bool { return n.tree != nil }

func (n Node) node() *node { return &n.tree.nodes[n.at] }

// Kind returns the kind of the value.
func (n Node) Kind() Kind {
	if n.tree == nil {
		return Null
	}
	return n.node().kind
}

// Start returns where the bytes of the value begin in the text of its tree.
func (n Node) Start() int { return int(n.node().start) }

// End returns where the bytes of the value end in the text of its tree.
func (n Node) End() int { return int(n.node().end) }

// Raw returns the bytes of the value as they were written.
func (n Node) Raw() string {
	d := n.node()
	return n.tree.text[d.start:d.end]
}

// Source returns the whole text that the value was read from.
func (n Node) Source() string { return n.tree.text }

// Bool reports whether the value is true.
func (n Node) Bool() bool { return n.tree != nil && n.node().flags&isTrue != 0 }

// Float returns the value of a number, 0 for any other value.
func (n Node) Float() float64 {
	if n.Kind() != Number {
		return 0
	}
	return math.Float64frombits(n.node().value)
}

// Text returns a string without its escapes, the literal of a number, and "" for any
// other value. It shares memory with the text of the tree: clone a value that is kept
// longer.
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

// slice returns bytes of the text, or of what was unescaped.
func (t *Tree) slice(from, to uint32, escaped bool) string {
	if escaped {
		return t.plain[from:to]
	}
	return t.text[from:to]
}

// SetText replaces a string's text. The bytes of the value stay.
func (n Node) SetText(text string) {
	d := n.node()
	from := uint32(len(n.tree.plain))
	n.tree.plain += text
	d.value, d.flags = span(from, from+uint32(len(text))), d.flags|textEscaped
}

// HasNUL reports whether U+0000 is in a string or name of the value or of one
// inside it.
func (n Node) HasNUL() bool { return n.tree != nil && n.node().flags&containsNUL != 0 }

// Name returns the name of a member, "" for any other value.
func (n Node) Name() string {
	d := n.node()
	if d.flags&isMember == 0 {
		return ""
	}
	return n.tree.slice(d.name[0], d.name[1], d.flags&nameEscaped != 0)
}

// NameStart returns where the name of a member begins in the text of its tree.
func (n Node) NameStart() int { return int(n.node().nameAt) }

// Len returns the number of items or members.
func (n Node) Len() int {
	if k := n.Kind(); k != Array && k != Object {
		return 0
	}
	return int(n.node().value)
}

// First returns the first item or member. It does not exist when there is none.
func (n Node) First() Node {
	if n.Len() == 0 {
		return Node{}
	}
	return Node{n.tree, n.at + 1}
}

// Next returns the value that follows in the same array or object. It does not
// exist after the last one.
func (n Node) Next() Node {
	next := n.node().next
	if next == 0 {
		return Node{}
	}
	return Node{n.tree, next}
}

// All ranges over the items of an array or the members of an object, with their
// index.
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

// Member returns the member of an object with that name. It does not exist when
// there is none, or n is not an object.
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

// Size returns the number of values that n consists of, itself included.
func (n Node) Size() int {
	for at := n.at; ; at = n.tree.nodes[at].parent {
		if next := n.tree.nodes[at].next; next != 0 {
			return int(next - n.at)
		}
		if at == 0 {
			return len(n.tree.nodes) - int(n.at)
		}
	}
}

// Value converts to what encoding/json decodes into an any.
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

// Most of what a released tree keeps for the next one: a definition of 500 blocks
// fits. Larger ones are rare and go to the garbage collector.
const (
	maxPooledNodes = 8192 // 320 kB
	maxPooledBytes = 64 << 10
)

var pool = sync.Pool{New: func() any { return &Tree{seed: maphash.MakeSeed()} }}

// Inspect parses a value, returns what look makes of it and releases the tree. For a value that
// is not JSON it returns zero.
func Inspect[T any](raw []byte, bounds Limits, look func(Node) T) (seen T) {
	tree, err := Parse(raw, bounds)
	if err != nil {
		return seen
	}
	defer tree.Release()
	return look(tree.Root())
}

// Release hands the memory of the tree to the next [Parse]. Neither the tree nor a
// Node of it may be used afterwards; texts and names that were taken out stay
// valid. Releasing is optional.
func (t *Tree) Release() {
	if cap(t.nodes) > maxPooledNodes || cap(t.unescaped) > maxPooledBytes {
		return
	}
	t.text, t.plain, t.nodes, t.unescaped = "", "", t.nodes[:0], t.unescaped[:0]
	pool.Put(t)
}
