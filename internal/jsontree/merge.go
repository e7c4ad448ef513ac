package jsontree

// Merge applies an RFC 7396 merge patch to a value, on the bytes of both. Members that
// the patch does not name are copied as they are written, in their order. New members
// follow in the order of the patch.
func Merge(target, patch Node) []byte { return appendMerged(nil, target, patch) }

// appendMerged appends the result of applying a patch to a target, which does not exist
// where the patch names something new.
func appendMerged(b []byte, target, patch Node) []byte {
	if patch.Kind() != Object {
		return append(b, patch.Raw()...)
	}
	b = append(b, '{')
	patched := lookup(patch)
	if target.Kind() == Object {
		for _, member := range target.All() {
			change := patched(member.Name())
			switch {
			case !change.Exists():
				b = append(appendName(b, member), member.Raw()...)
			case change.Kind() != Null:
				b = appendMerged(appendName(b, member), member, change)
			}
		}
	}
	existing := lookup(target)
	for _, member := range patch.All() {
		if member.Kind() != Null && !existing(member.Name()).Exists() {
			b = appendMerged(appendName(b, member), Node{}, member)
		}
	}
	return append(b, '}')
}

// appendName appends the name of a member with its colon, as they are written.
func appendName(b []byte, member Node) []byte {
	return append(appendComma(b, 0), member.Source()[member.NameStart():member.Start()]...)
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
