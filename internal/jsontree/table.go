package jsontree

import "hash/maphash"

// smallObject is the number of members up to which names are compared one by
// one; beyond it a table keeps the search linear.
const smallObject = 16

// table is a hash table of the members of one object: their indices in the list of
// values, 0 for a free slot (the value at 0 is not a member). Its size is a power of
// two, and at least half of it is free. A map of names would take four times the
// memory.
type table []uint32

// slot returns the slot of the member with that hash that is the same, or the free
// one where it belongs.
func (t table) slot(hash uint64, same func(at uint32) bool) *uint32 {
	mask := uint64(len(t) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if at := t[i]; at == 0 || same(at) {
			return &t[i]
		}
	}
}

// lookup finds a member by its name, in constant time for an object with many.
func lookup(object Node) func(name string) Node {
	if object.Len() <= smallObject {
		return object.Member
	}
	size := 2 * smallObject
	for size < 2*object.Len() {
		size *= 2
	}
	members, seed := make(table, size), object.tree.seed
	for _, member := range object.All() {
		*members.slot(maphash.String(seed, member.Name()), func(uint32) bool { return false }) = member.at
	}
	return func(name string) Node {
		at := *members.slot(maphash.String(seed, name), func(at uint32) bool { return Node{object.tree, at}.isNamed(name) })
		if at == 0 {
			return Node{}
		}
		return Node{object.tree, at}
	}
}
