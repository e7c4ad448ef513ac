package schema

import "bytes"

// mergePatch applies an RFC 7396 merge patch to a value, on the bytes of both:
// what the patch does not name is copied as it stands, in its order; new members
// follow in the order of the patch.
func mergePatch(target []byte, t *node, patch []byte, p *node) []byte {
	m := merge{target: target, patch: patch}
	m.value(t, p)
	return m.out.Bytes()
}

type merge struct {
	target, patch []byte
	out           bytes.Buffer
}

// value writes the result of applying p to t; t is nil where the patch names
// something new.
func (m *merge) value(t, p *node) {
	if p.kind != kindObject {
		m.out.Write(m.patch[p.start:p.end])
		return
	}
	if t == nil || t.kind != kindObject {
		t = &node{kind: kindObject}
	}
	m.out.WriteByte('{')
	first := true
	member := func(raw []byte, object *node, i int) {
		if !first {
			m.out.WriteByte(',')
		}
		first = false
		m.out.Write(raw[nameStart(raw, object, i):object.items[i].start]) // the name and its colon
	}
	patched := lookup(p)
	for i := range t.items {
		j, named := patched(t.names[i])
		switch {
		case !named:
			member(m.target, t, i)
			m.out.Write(m.target[t.items[i].start:t.items[i].end])
		case p.items[j].kind != kindNull:
			member(m.target, t, i)
			m.value(&t.items[i], &p.items[j])
		}
	}
	existing := lookup(t)
	for j := range p.items {
		if _, there := existing(p.names[j]); there || p.items[j].kind == kindNull {
			continue
		}
		member(m.patch, p, j)
		m.value(nil, &p.items[j])
	}
	m.out.WriteByte('}')
}

// nameStart finds where the name of an object's member begins: behind the value
// before it, after white space and a comma.
func nameStart(raw []byte, object *node, i int) int {
	from := object.start + 1
	if i > 0 {
		from = object.items[i-1].end
	}
	return from + bytes.IndexByte(raw[from:], '"')
}

// lookup finds the position of a member by its name, in constant time for an
// object with many.
func lookup(object *node) func(name string) (int, bool) {
	if len(object.names) <= smallObject {
		return func(name string) (int, bool) {
			for i := range object.names {
				if object.names[i] == name {
					return i, true
				}
			}
			return 0, false
		}
	}
	index := make(map[string]int, len(object.names))
	for i, name := range object.names {
		index[name] = i
	}
	return func(name string) (int, bool) {
		i, ok := index[name]
		return i, ok
	}
}
