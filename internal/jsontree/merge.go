package jsontree

// Merge applies an RFC 7396 merge patch to a value, on the bytes of both. Members that
// the patch does not name are copied as they are written, in their order. New members
// follow in the order of the patch.
func Merge(target, patch Node) []byte {
	var m merge
	m.value(target, patch)
	return m.out
}

type merge struct{ out []byte }

// value writes the result of applying a patch to a target, which does not exist
// where the patch names something new.
func (m *merge) value(target, patch Node) {
	if patch.Kind() != Object {
		m.out = append(m.out, patch.Raw()...)
		return
	}
	m.out = append(m.out, '{')
	patched := lookup(patch)
	if target.Kind() == Object {
		for _, member := range target.All() {
			change := patched(member.Name())
			switch {
			case !change.Exists():
				m.name(member)
				m.out = append(m.out, member.Raw()...)
			case change.Kind() != Null:
				m.name(member)
				m.value(member, change)
			}
		}
	}
	existing := lookup(target)
	for _, member := range patch.All() {
		if member.Kind() != Null && !existing(member.Name()).Exists() {
			m.name(member)
			m.value(Node{}, member)
		}
	}
	m.out = append(m.out, '}')
}

// name writes the name of a member with its colon, as they are written.
func (m *merge) name(member Node) {
	m.out = append(separate(m.out), member.Source()[member.NameStart():member.Start()]...)
}

// lookup finds a member by its name, in constant time for an object with many.
func lookup(object Node) func(name string) Node {
	if object.Len() <= smallObject {
		return object.Member
	}
	members := make(map[string]Node, object.Len())
	for _, member := range object.All() {
		members[member.Name()] = member
	}
	return func(name string) Node { return members[name] }
}
