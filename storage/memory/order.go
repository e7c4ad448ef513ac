package memory

import (
	"bytes"
	"container/heap"
	"slices"
	"sort"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// placed is a record with a place in a list that never changes.
type placed interface{ place() storage.Position }

// comparePositions orders oldest first.
func comparePositions(a, b storage.Position) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	return compareIDs(a.ID, b.ID)
}

func compareIDs(a, b storage.ID) int { return bytes.Compare(a[:], b[:]) }

// index keeps records in the order of their places, in a sorted slice: the
// oldest first, because new records then are appended. Searching takes
// logarithmic time; adding or removing in the middle moves the pointers behind.
// The zero index is empty.
type index[T placed] struct{ items []T }

// older returns how many records come before p, the oldest first.
func (x *index[T]) older(p storage.Position) int {
	return sort.Search(len(x.items), func(i int) bool {
		return comparePositions(x.items[i].place(), p) >= 0
	})
}

// upTo returns how many records have t or an earlier time.
func (x *index[T]) upTo(t time.Time) int {
	return sort.Search(len(x.items), func(i int) bool {
		return x.items[i].place().Time.After(t)
	})
}

// add puts e at its place. It reports false, and adds nothing, when the place is
// taken.
func (x *index[T]) add(e T) bool {
	p, n := e.place(), len(x.items)
	if n == 0 || comparePositions(x.items[n-1].place(), p) < 0 {
		x.items = append(x.items, e)
		return true
	}
	i := x.older(p)
	if x.items[i].place() == p {
		return false
	}
	x.items = slices.Insert(x.items, i, e)
	return true
}

// remove takes out the record with the place of e, if there is one.
func (x *index[T]) remove(e T) {
	i := x.older(e.place())
	if i < len(x.items) && x.items[i].place() == e.place() {
		x.items = slices.Delete(x.items, i, i+1)
	}
}

// keepNewest removes all but the newest n records.
func (x *index[T]) keepNewest(n int) {
	if old := len(x.items) - max(n, 0); old > 0 {
		x.items = slices.Delete(x.items, 0, old)
	}
}

// after returns the records that a page may show: all that are older than its
// position. The slice is the index's own.
func (x *index[T]) after(p *storage.Position) []T {
	if p == nil {
		return x.items
	}
	return x.items[:x.older(*p)]
}

// newest returns at most limit records from the end of items, newest first, in a
// slice of its own.
func newest[T any](items []T, limit int) []T {
	limit = min(limit, len(items))
	if limit < 1 {
		return nil
	}
	out := slices.Clone(items[len(items)-limit:])
	slices.Reverse(out)
	return out
}

// merge returns one page over several indexes, newest first. Its cost grows with
// the number of indexes and the logarithm of their length, and not with the
// depth of the page.
func merge[T placed](indexes []*index[T], page storage.Page) []T {
	var h runs[T]
	for _, x := range indexes {
		if items := x.after(page.After); len(items) > 0 {
			h = append(h, items)
		}
	}
	if len(h) == 1 {
		return newest(h[0], page.Limit)
	}
	heap.Init(&h)
	var out []T
	for len(h) > 0 && len(out) < page.Limit {
		last := len(h[0]) - 1
		out = append(out, h[0][last])
		if last == 0 {
			heap.Pop(&h)
			continue
		}
		h[0] = h[0][:last]
		heap.Fix(&h, 0)
	}
	return out
}

// runs is a heap of sorted, non-empty slices; on top is the one whose last
// record is the newest.
type runs[T placed] [][]T

func (h runs[T]) Len() int      { return len(h) }
func (h runs[T]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h runs[T]) Less(i, j int) bool {
	return comparePositions(h[i][len(h[i])-1].place(), h[j][len(h[j])-1].place()) > 0
}

func (h *runs[T]) Push(x any) { *h = append(*h, x.([]T)) }

func (h *runs[T]) Pop() any {
	last := len(*h) - 1
	run := (*h)[last]
	*h = (*h)[:last]
	return run
}
