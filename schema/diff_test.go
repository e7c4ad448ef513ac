package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func TestDiff(t *testing.T) {
	before := storage.FormContent{
		Name: "Form", Definition: storage.Definition{
			Blocks:   json.RawMessage(`[{"id":"a","label":"A","properties":{"max":5}},{"id":"b"},{"id":"c"},{"id":"d"}]`),
			Settings: json.RawMessage(`{"closed":true,"x/y~":1}`), Theme: json.RawMessage(`{"font":"Sans"}`), Variables: json.RawMessage(`{"n":1}`), HiddenFields: json.RawMessage(`["h"]`),
		},
	}
	with := func(change func(*storage.FormContent)) storage.FormContent {
		after := before
		change(&after)
		return after
	}
	for name, c := range map[string]struct {
		after storage.FormContent
		want  string
	}{
		"nothing": {before, ""},
		"the same, written in another way": {with(func(f *storage.FormContent) {
			f.Blocks = json.RawMessage(` [ {"properties":{"max":5.0},"label":"\u0041","id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]`)
			f.Settings = json.RawMessage(`{"x/y~":1e0,"closed":true}`)
		}), ""},
		"name, a setting, the theme, a variable, hidden fields": {with(func(f *storage.FormContent) {
			f.Name, f.Settings, f.Theme = "Other", json.RawMessage(`{"closed":true,"x/y~":2}`), json.RawMessage(`{}`)
			f.Variables, f.HiddenFields = json.RawMessage(`{"n":1,"m":2}`), json.RawMessage(`[]`)
		}), "/hidden_fields /name /settings/x~1y~0 /theme/font /variables/m"},
		"empty sections": {storage.FormContent{Name: "Form"}, "/hidden_fields /settings/closed /settings/x~1y~0 /theme/font /variables/n -a -b -c -d"},
		"a block's members": {with(func(f *storage.FormContent) {
			f.Blocks = json.RawMessage(`[{"id":"a","description":"D","properties":{"max":6,"min":1}},{"id":"b"},{"id":"c"},{"id":"d"}]`)
		}), "a[/description /label /properties/max /properties/min]"},
		"properties that are gone": {with(func(f *storage.FormContent) {
			f.Blocks = json.RawMessage(`[{"id":"a","label":"A"},{"id":"b"},{"id":"c"},{"id":"d"}]`)
		}), "a[/properties/max]"},
		"added and removed": {with(func(f *storage.FormContent) {
			f.Blocks = json.RawMessage(`[{"id":"e"},{"id":"a","label":"A","properties":{"max":5}},{"id":"c"},{"id":"d"}]`)
		}), "+e -b"},
		"one that went to the end": {with(func(f *storage.FormContent) {
			f.Blocks = json.RawMessage(`[{"id":"b"},{"id":"c"},{"id":"d"},{"id":"a","label":"A","properties":{"max":5}}]`)
		}), ">a"},
		"one that came to the front, and changed": {with(func(f *storage.FormContent) {
			f.Blocks = json.RawMessage(`[{"id":"d","label":"D"},{"id":"a","label":"A","properties":{"max":5}},{"id":"b"},{"id":"c"}]`)
		}), ">d[/label]"},
	} {
		got, err := schema.Diff(before, c.after)
		expect.That(t, err == nil, "%s: %v", name, err)
		words := got.Fields
		for _, b := range got.Blocks {
			sign := map[bool]string{true: ">"}[b.Moved]
			switch {
			case b.Added:
				sign += "+"
			case b.Removed:
				sign += "-"
			}
			if b.Changed != nil {
				words = append(words, sign+b.ID+fmt.Sprint(b.Changed))
			} else {
				words = append(words, sign+b.ID)
			}
			expect.That(t, (b.Before == nil) == b.Added && (b.After == nil) == b.Removed,
				"%s: block %s was %q and is %q", name, b.ID, b.Before, b.After)
		}
		expect.Same(t, c.want, strings.Join(words, " "), "%s", name)
	}
	for _, section := range []storage.Definition{{Blocks: json.RawMessage(`{}`)}, {Blocks: json.RawMessage(`[1]`)}, {Blocks: json.RawMessage(`[{}]`)}, {Blocks: json.RawMessage(`[{"id":"a"},{"id":"a"}]`)}, {Settings: json.RawMessage(`{`)}} {
		expect.That(t, expect.ErrorOf(schema.Diff(before, storage.FormContent{Definition: section})) != nil, "%+v: no error", section)
	}
}

// Without the blocks that moved, the others are in the order that they had, and no smaller number
// of moved ones would do.
func TestDiffNamesTheFewestMovedBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(28, 1))
	for range 500 {
		n := 1 + random.IntN(7)
		order := random.Perm(n)
		text := func(ids []int) storage.FormContent {
			var blocks []string
			for _, id := range ids {
				blocks = append(blocks, fmt.Sprintf(`{"id":"%d"}`, id))
			}
			return storage.FormContent{Definition: storage.Definition{Blocks: json.RawMessage("[" + strings.Join(blocks, ",") + "]")}}
		}
		sorted := make([]int, n)
		for i := range sorted {
			sorted[i] = i
		}
		got := expect.Must(schema.Diff(text(sorted), text(order)))
		moved := map[string]bool{}
		for _, b := range got.Blocks {
			moved[b.ID] = b.Moved
		}
		last := -1
		for _, id := range order {
			if !moved[fmt.Sprint(id)] {
				expect.Require(t, id >= last, "%v: the blocks that stayed, without %v, are out of order", order, moved)
				last = id
			}
		}
		most := 0 // that can stay, of all choices
		for choice := range 1 << n {
			last, stay := -1, 0
			for i, id := range order {
				if choice>>i&1 == 1 {
					if id < last {
						stay = -n
					}
					last, stay = id, stay+1
				}
			}
			most = max(most, stay)
		}
		expect.Require(t, len(moved) == n-most, "%v: %d moved, %d would do", order, len(moved), n-most)
	}
}
