package jsontree

// Merge applies an RFC 7396 merge patch to the bytes of a value. Members that the patch does not name keep their bytes
// and their order. New members follow in the order of the patch.
func Merge(target, patch Node) []byte { return appendMerged(nil, target, patch) }

// appendMerged appends the result of a patch. The target does not exist if the patch adds a member.
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

// appendName appends the name and colon of a member with their original bytes.
func appendName(b []byte, member Node) []byte {
	return append(appendComma(b, 0), member.Source()[member.NameStart():member.Start()]...)
}

// lookup returns a function that finds members by name, in constant time for large objects.
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
