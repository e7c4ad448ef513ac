package jsontree

import (
	"cmp"
	"slices"
)

// Edit replaces the bytes from Start to End of a text; with Start == End it
// inserts.
type Edit struct {
	Start, End int
	Text       string
}

// SortEdits puts edits into the order that [Splice] needs.
func SortEdits(edits []Edit) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
}

// Splice returns a copy of text[start:end] with the edits that lie inside it
// applied. The edits are sorted. They do not overlap, but one may be there twice.
func Splice(text string, start, end int, edits []Edit) []byte {
	first, _ := slices.BinarySearchFunc(edits, start, func(e Edit, at int) int { return cmp.Compare(e.Start, at) })
	edits = edits[first:]
	size, last := end-start, 0
	for ; last < len(edits) && edits[last].End <= end; last++ {
		size += len(edits[last].Text) - (edits[last].End - edits[last].Start)
	}
	out := make([]byte, 0, size)
	for _, e := range edits[:last] {
		if e.Start < start {
			continue // planned twice
		}
		out = append(out, text[start:e.Start]...)
		out = append(out, e.Text...)
		start = e.End
	}
	return append(out, text[start:end]...)
}
