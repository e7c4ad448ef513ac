package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// positioned is a record whose position in a list never changes.
type positioned interface{ position() storage.Position }

// comparePositions orders positions oldest first.
func comparePositions(a, b storage.Position) int {
	return cmp.Or(a.Time.Compare(b.Time), compareIDs(a.ID, b.ID))
}

func compareIDs(a, b storage.ID) int { return bytes.Compare(a[:], b[:]) }

// pageOf copies one page of the records for which shown returns true, newest first.
func pageOf[T, Own any](records iter.Seq[T], page storage.Page, place func(T) storage.Position, own func(T) Own, shown func(T) bool) []Own {
	var found []T
	for r := range records {
		if shown(r) && (page.After == nil || comparePositions(place(r), *page.After) < 0) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b T) int { return comparePositions(place(b), place(a)) })
	var out []Own
	for _, r := range found[:max(0, min(page.Limit, len(found)))] {
		out = append(out, own(r))
	}
	return out
}

// readPage calls pageOf while the store is locked, for methods that only list records.
func readPage[T, Own any](ctx context.Context, s *Store, records iter.Seq[T], page storage.Page, place func(T) storage.Position, own func(T) Own, shown func(T) bool) ([]Own, error) {
	return withLockResult(ctx, s, []any{page}, func() ([]Own, error) { return pageOf(records, page, place, own, shown), nil })
}

// index contains records sorted by position, oldest first, so that new records are appended. The zero index is empty.
type index[T positioned] struct{ items []T }

// search returns the number of records before p, and whether a record has the position p.
func (x *index[T]) search(p storage.Position) (int, bool) {
	return slices.BinarySearchFunc(x.items, p, func(e T, p storage.Position) int { return comparePositions(e.position(), p) })
}

// countBefore returns the number of records before p. If p has no ID, these are the records older than its time.
func (x *index[T]) countBefore(p storage.Position) int {
	n, _ := x.search(p)
	return n
}

// add adds e unless its position is taken.
func (x *index[T]) add(e T) {
	if i, taken := x.search(e.position()); !taken {
		x.items = slices.Insert(x.items, i, e)
	}
}

// remove removes the record at e's position, if any. It moves only the shorter side, because most removed records are
// old.
func (x *index[T]) remove(e T) {
	i, found := x.search(e.position())
	switch {
	case !found:
	case i < len(x.items)/2:
		copy(x.items[1:], x.items[:i])
		clear(x.items[:1])
		x.items = x.items[1:]
	default:
		x.items = slices.Delete(x.items, i, i+1)
	}
}

// addBounded adds e, and then retains only the newest n records.
func (x *index[T]) addBounded(n int, e T) {
	x.add(e)
	x.items = slices.Delete(x.items, 0, max(0, len(x.items)-n))
}
