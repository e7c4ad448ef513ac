package jsontree

// Merge applies an RFC 7396 merge patch. Fields that are not in the patch keep their bytes and order. New fields follow
// in the order in which the patch lists them.
func Merge(target, patch Node) []byte { return appendMerged(nil, target, patch) }

// appendMerged appends the patched target. If the patch adds a field, target does not exist.
func appendMerged(b []byte, target, patch Node) []byte {
	if patch.Kind() != Object {
		return append(b, patch.Raw()...)
	}
	b = append(b, '{')
	patched := memberLookup(patch)
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
	existing := memberLookup(target)
	for _, member := range patch.All() {
		if member.Kind() != Null && !existing(member.Name()).Exists() {
			b = appendMerged(appendName(b, member), Node{}, member)
		}
	}
	return append(b, '}')
}

func appendName(b []byte, member Node) []byte {
	return append(appendComma(b, 0), member.Source()[member.NameStart():member.Start()]...)
}

// memberLookup returns a function that finds fields by name, in constant time even for large objects.
func memberLookup(object Node) func(name string) Node {
	if object.Len() <= smallObject {
		return object.Member
	}
	members := make(map[string]Node, object.Len())
	for _, member := range object.All() {
		members[member.Name()] = member
	}
	return func(name string) Node { return members[name] }
}
