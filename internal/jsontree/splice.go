package jsontree

import (
	"cmp"
	"slices"
)

// Edit replaces the bytes of a text from Start up to End. If Start and End are equal, it inserts text.
type Edit struct {
	Start, End int
	Text       string
}

// SortEdits sorts edits for [ApplyEdits].
func SortEdits(edits []Edit) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
}

// ApplyEdits returns a copy of text[start:end] with the edits in that range applied. The edits must be sorted and must
// not overlap, but duplicates are allowed.
func ApplyEdits(text string, start, end int, edits []Edit) []byte {
	first, _ := slices.BinarySearchFunc(edits, start, func(e Edit, at int) int { return cmp.Compare(e.Start, at) })
	edits = edits[first:]
	size, last := end-start, 0
	for ; last < len(edits) && edits[last].End <= end; last++ {
		size += len(edits[last].Text) - (edits[last].End - edits[last].Start)
	}
	out := make([]byte, 0, size)
	for _, e := range edits[:last] {
		if e.Start < start {
			continue // duplicate
		}
		out = append(out, text[start:e.Start]...)
		out = append(out, e.Text...)
		start = e.End
	}
	return append(out, text[start:end]...)
}
