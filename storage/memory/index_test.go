package memory

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/storage"
)

type entry storage.Position

func (e *entry) place() storage.Position { return storage.Position(*e) }

// anyEntry draws from few times and few ids, so that equal times, taken places
// and positions that name no record all come up.
func anyEntry() *rapid.Generator[*entry] {
	return rapid.Custom(func(t *rapid.T) *entry {
		return &entry{
			Time: time.Unix(rapid.Int64Range(0, 6).Draw(t, "time"), 0).UTC(),
			ID:   storage.ID{11: rapid.ByteRange(0, 6).Draw(t, "id")},
		}
	})
}

func TestIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var x index[*entry]
		var model []*entry
		position := func(e *entry) int {
			return slices.IndexFunc(model, func(m *entry) bool { return *m == *e })
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				e := anyEntry().Draw(t, "entry")
				x.add(e)
				if position(e) < 0 {
					model = append(model, e)
				}
			},
			"remove": func(t *rapid.T) {
				e := anyEntry().Draw(t, "entry")
				x.remove(e)
				if i := position(e); i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			},
			"add to newest": func(t *rapid.T) {
				n, e := rapid.IntRange(1, 40).Draw(t, "n"), anyEntry().Draw(t, "entry")
				x.addToNewest(n, e)
				if position(e) < 0 {
					model = append(model, e)
				}
				slices.SortFunc(model, func(a, b *entry) int { return comparePositions(a.place(), b.place()) })
				model = model[max(0, len(model)-n):]
			},
			"": func(t *rapid.T) {
				slices.SortFunc(model, func(a, b *entry) int { return comparePositions(a.place(), b.place()) })
				if !slices.EqualFunc(model, x.items, func(a, b *entry) bool { return *a == *b }) {
					t.Fatalf("records (-want +got):\n%s", cmp.Diff(model, x.items, cmpopts.EquateEmpty()))
				}
				bound := anyEntry().Draw(t, "bound")
				older, before := 0, 0
				for _, e := range model {
					if comparePositions(e.place(), bound.place()) < 0 {
						older++
					}
					if e.Time.Before(bound.Time) {
						before++
					}
				}
				if got, found := x.find(bound.place()); got != older || found != (position(bound) >= 0) {
					t.Fatalf("find = %d, %t, want %d", got, found, older)
				}
				if got := x.before(storage.Position{Time: bound.Time}); got != before {
					t.Fatalf("before = %d, want %d", got, before)
				}
			},
		})
	})
}
