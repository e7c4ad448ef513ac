package memory

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// naivePage is what a list should show, by sorting everything.
func naivePage(all []*entry, p storage.Page) []*entry {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *entry) int { return comparePositions(b.place(), a.place()) })
	var out []*entry
	for _, e := range all {
		if p.After != nil && comparePositions(e.place(), *p.After) >= 0 {
			continue
		}
		if len(out) < p.Limit {
			out = append(out, e)
		}
	}
	return out
}

func anyPage(t *rapid.T) storage.Page {
	p := storage.Page{Limit: rapid.IntRange(-1, 8).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "has position") {
		after := anyEntry().Draw(t, "after").place()
		p.After = &after
	}
	return p
}

func TestIndex(t *testing.T) {
	t.Parallel()

	t.Run("Behaves like a list that is sorted after every change", func(t *testing.T) {
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
					isNew := position(e) < 0
					if got := x.add(e); got != isNew {
						t.Fatalf("add = %v, want %v", got, isNew)
					}
					if isNew {
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
				"keep newest": func(t *rapid.T) {
					n := rapid.IntRange(-1, 40).Draw(t, "n")
					x.keepNewest(n)
					model = naivePage(model, storage.Page{Limit: n})
				},
				"": func(t *rapid.T) {
					p := anyPage(t)
					if diff := cmp.Diff(naivePage(model, p), newest(x.after(p.After), p.Limit)); diff != "" {
						t.Fatalf("page (-want +got):\n%s", diff)
					}
					bound := anyEntry().Draw(t, "bound")
					older, upTo := 0, 0
					for _, e := range model {
						if comparePositions(e.place(), bound.place()) < 0 {
							older++
						}
						if !e.Time.After(bound.Time) {
							upTo++
						}
					}
					if got := x.older(bound.place()); got != older {
						t.Fatalf("older = %d, want %d", got, older)
					}
					if got := x.upTo(bound.Time); got != upTo {
						t.Fatalf("upTo = %d, want %d", got, upTo)
					}
				},
			})
		})
	})

	t.Run("A page is not changed by what happens to the index later", func(t *testing.T) {
		t.Parallel()
		var x index[*entry]
		a := &entry{Time: time.Unix(1, 0).UTC()}
		b := &entry{Time: time.Unix(2, 0).UTC()}
		x.add(a)
		x.add(b)
		page := newest(x.after(nil), 2)
		x.remove(a)
		if diff := cmp.Diff([]*entry{b, a}, page); diff != "" {
			t.Errorf("page (-want +got):\n%s", diff)
		}
	})
}

func TestMerge(t *testing.T) {
	t.Parallel()

	t.Run("Shows the same page as one sorted list of everything", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			all := rapid.SliceOfNDistinct(anyEntry(), 0, 30, func(e *entry) entry { return *e }).Draw(t, "entries")
			indexes := make([]*index[*entry], rapid.IntRange(0, 5).Draw(t, "indexes"))
			for i := range indexes {
				indexes[i] = new(index[*entry])
			}
			if len(indexes) == 0 {
				all = nil
			}
			for _, e := range all {
				indexes[rapid.IntRange(0, len(indexes)-1).Draw(t, "index")].add(e)
			}
			p := anyPage(t)
			if diff := cmp.Diff(naivePage(all, p), merge(indexes, p)); diff != "" {
				t.Fatalf("page (-want +got):\n%s", diff)
			}
		})
	})

	t.Run("Leaves the indexes as they were", func(t *testing.T) {
		t.Parallel()
		var x, y index[*entry]
		for i := range int64(4) {
			x.add(&entry{Time: time.Unix(2*i, 0).UTC()})
			y.add(&entry{Time: time.Unix(2*i+1, 0).UTC()})
		}
		indexes := []*index[*entry]{&x, &y}
		first := merge(indexes, storage.Page{Limit: 5})
		again := merge(indexes, storage.Page{Limit: 5})
		if len(first) != 5 || !slices.Equal(first, again) {
			t.Errorf("the second page differs: %v, then %v", first, again)
		}
	})
}
