package schema

import (
	"cmp"
	"slices"
)

// edit replaces raw[start:end] of a body; with start == end it inserts.
type edit struct {
	start, end int
	text       string
}

// anyWithin reports whether one of the edits lies inside raw[start:end].
func anyWithin(edits []edit, start, end int) bool {
	return slices.ContainsFunc(edits, func(e edit) bool { return e.start >= start && e.end <= end })
}

// splice returns a copy of raw[start:end] with the edits that lie inside it
// applied. Edits may come in any order but do not overlap.
func splice(raw []byte, start, end int, edits []edit) []byte {
	var within []edit
	size := end - start
	for _, e := range edits {
		if e.start >= start && e.end <= end {
			within = append(within, e)
			size += len(e.text)
		}
	}
	slices.SortStableFunc(within, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	out := make([]byte, 0, size)
	for _, e := range within {
		out = append(out, raw[start:e.start]...)
		out = append(out, e.text...)
		start = e.end
	}
	return append(out, raw[start:end]...)
}
