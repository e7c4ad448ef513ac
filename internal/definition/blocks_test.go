package definition

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func stored(t testing.TB, raw string) *Blocks {
	t.Helper()
	return expect.Must(ParseStoredBlocks(json.RawMessage(raw)))
}

func wantRaw(t testing.TB, b *Blocks, want string) {
	t.Helper()
	expect.Same(t, want, string(b.Raw()), "raw")
}

func TestStoredBlocks(t *testing.T) {

	wantRaw(t, stored(t, ``), `[]`)
	wantRaw(t, stored(t, ` [ {"id":"a", "n":1.50} ] `), `[ {"id":"a", "n":1.50} ]`)
	// Neither rules nor the bound of a body's values apply.
	wantRaw(t, stored(t, `[{"id":"","x":null},{"id":""}]`), `[{"id":"","x":null},{"id":""}]`)
	stored(t, `[{"id":"a","properties":{"rule":{"x":[0`+strings.Repeat(",0", 150_000)+`]}}}]`)

	for _, raw := range []string{`{}`, `null`, `[1]`, `[{"children":1}]`, `[{"children":[{"children":[null]}]}]`, `[`, `[] []`} {
		expect.That(t, expect.ErrorOf(ParseStoredBlocks(json.RawMessage(raw))) != nil, "%s is accepted", raw)
	}
}

func TestBlocksReads(t *testing.T) {
	b := stored(t, `[ {"id":"a"}, {"children":[{"id":"c"}],"id":"b","n":1e2} ]`)

	if diff := cmp.Diff([]json.RawMessage{json.RawMessage(`{"id":"a"}`), json.RawMessage(`{"children":[{"id":"c"}],"id":"b","n":1e2}`)}, b.Items()); diff != "" {
		t.Error(diff)
	}
	got, ok := b.Get("b")
	expect.That(t, ok && string(got) == `{"children":[{"id":"c"}],"id":"b","n":1e2}`, "got %s, %t", got, ok)
	for _, id := range []string{"c", "", "A"} {
		_, ok := b.Get(id)
		expect.That(t, !ok, "%q is a top-level block", id)
	}
	items := stored(t, `[]`).Items()
	expect.That(t, items != nil && len(items) == 0, "got %v", items)
}

func TestBlocksCannotBeGrownByTheirReader(t *testing.T) {
	b := stored(t, `[{"id":"a"},{"id":"b"}]`)
	_ = append(b.Items()[0], "xxxxx"...)
	wantRaw(t, b, `[{"id":"a"},{"id":"b"}]`)
}

func TestHasAnyOf(t *testing.T) {
	b := stored(t, `[{"id":"a","children":[{"id":"in"}]}]`)
	for raw, want := range map[string]bool{
		`[]`:                                    false,
		`[{"id":"x"}]`:                          false,
		`[{"id":"a"}]`:                          true,
		`[{"id":"in"}]`:                         true,
		`[{"id":"x","children":[{"id":"in"}]}]`: true,
	} {
		expect.Equal(t, b.HasAnyOf(stored(t, raw)), want, "%s", raw)
	}
}

func TestTypesAreFilledIn(t *testing.T) {

	sent := stored(t, `[{"label":"l","id":"a","n":1.0},{"id":"b","type":"date"},
 {"id":"c","children":[{"id":"d"},{"id":"e\"","choices":[]}]},{"id":"f","choices":[],"properties":{"multiSelection":true}},
 {"id":"g","matrix_rows":[]},{"id":"h","choices":[],"matrix_rows":[],"children":[],"properties":{"multiSelection":false}}]`)
	filled := sent.WithTypesFrom(stored(t, `[{"id":"x","children":[{"id":"a","type":"email"}]},{"id":"b","type":"time"},{"id":"d","type":"phone"},{"id":"g"}]`))
	wantRaw(t, filled, `[{"label":"l","id":"a","type":"email","n":1.0},{"id":"b","type":"date"},
 {"id":"c","type":"group","children":[{"id":"d","type":"phone"},{"id":"e\"","type":"single_choice","choices":[]}]},{"id":"f","type":"multiple_choice","choices":[],"properties":{"multiSelection":true}},
 {"id":"g","type":"matrix","matrix_rows":[]},{"id":"h","type":"single_choice","choices":[],"matrix_rows":[],"children":[],"properties":{"multiSelection":false}}]`)
	expect.Equal(t, filled.WithTypesFrom(nil), filled, "blocks with all types")
	wantRaw(t, stored(t, `[{"id":"a"}]`).WithTypesFrom(nil), `[{"id":"a","type":"short_text"}]`)
	wantRaw(t, stored(t, `[{"id":"a","type":"group","children":[{"id":"b"}]}]`).WithTypesFrom(nil),
		`[{"id":"a","type":"group","children":[{"id":"b","type":"short_text"}]}]`)
}

func TestWithout(t *testing.T) {
	b := stored(t, `[ {"id":"a"} , {"id":"b","children":[{"id":"d"}]}, {"id":"c"} ]`)
	for id, want := range map[string]string{
		"a": `[{"id":"b","children":[{"id":"d"}]},{"id":"c"}]`,
		"b": `[{"id":"a"},{"id":"c"}]`,
		"c": `[{"id":"a"},{"id":"b","children":[{"id":"d"}]}]`,
	} {
		got, ok := b.Without(id)
		expect.Require(t, ok, "%s is not found", id)
		expect.That(t, string(got) == want, "%s: got %s, want %s", id, got, want)
	}
	_, ok := b.Without("d")
	expect.That(t, !ok, "a nested block is found")
	last, _ := stored(t, `[{"id":"a"}]`).Without("a")
	expect.That(t, string(last) == `[]`, "got %s", last)
	wantRaw(t, b, `[ {"id":"a"} , {"id":"b","children":[{"id":"d"}]}, {"id":"c"} ]`)
}

func TestBlockAndAppend(t *testing.T) {
	w := expect.Must(NewValidator(schema.Limits{Blocks: 2, AllBlocks: 4}, nil))
	one := func(t *testing.T, block string) *Blocks {
		t.Helper()
		return expect.Must(w.ParseBlock([]byte(`{"block": ` + block + ` }`)))
	}

	t.Run("a block is appended as it was sent", func(t *testing.T) {
		added := one(t, `{"id":"b", "properties":{"min":1.0,"afterDate":"2026-01-01T02:00:00+02:00"}}`)
		wantRaw(t, added, `{"id":"b", "properties":{"min":1.0,"afterDate":"2026-01-01T00:00:00Z"}}`)
		got := expect.Must(w.AppendBlock(stored(t, `[{"id":"a"}]`), added.WithTypesFrom(nil)))
		if diff := cmp.Diff(`[{"id":"a"},{"id":"b","type":"short_text", "properties":{"min":1.0,"afterDate":"2026-01-01T00:00:00Z"}}]`, string(got)); diff != "" {
			t.Error(diff)
		}
		first, err := w.AppendBlock(stored(t, ``), added)
		expect.That(t, err == nil && string(first) == `[{"id":"b", "properties":{"min":1.0,"afterDate":"2026-01-01T00:00:00Z"}}]`,
			"got %s, %v", first, err)
	})
	t.Run("faults of the block stand under /block", func(t *testing.T) {
		_, err := w.ParseBlock([]byte(`{"block":{"id":"` + strings.Repeat("a", 201) + `","type":"poem","children":[{"id":"x"},{"id":"x","properties":{"pdfLink":"x"}}]},"a":1}`))
		wantFaults(t, err, "/a UNKNOWN_FIELD", "/block/children/1/id DUPLICATE", "/block/children/1/properties/pdfLink BAD_FORMAT", "/block/id TOO_LONG", "/block/type NOT_ALLOWED")
		wantFaults(t, expect.ErrorOf(w.ParseBlock([]byte(`{}`))), "/block REQUIRED")
		wantFaults(t, expect.ErrorOf(w.ParseBlock([]byte(`{"block":[]}`))), "/block WRONG_TYPE")
		_, err = w.ParseBlock([]byte(`{"block":{"id":"a","children":[{"id":"b"},{"id":"c"},{"id":"d"},{"id":"e"}]}}`))
		wantFaults(t, err, "/block TOO_MANY")
	})
	t.Run("the form's limits and ids count", func(t *testing.T) {
		wantFaults(t, expect.ErrorOf(w.AppendBlock(stored(t, `[{"id":"a"},{"id":"b"}]`), one(t, `{"id":"c"}`))), "/block TOO_MANY")
		_, err := w.AppendBlock(stored(t, `[{"id":"a","children":[{"id":"b"},{"id":"c"}]}]`), one(t, `{"id":"d","children":[{"id":"e"}]}`))
		wantFaults(t, err, "/block TOO_MANY")
		_, err = w.AppendBlock(stored(t, `[{"id":"a","children":[{"id":"b"}]}]`), one(t, `{"id":"c","children":[{"id":"b"}]}`))
		wantFaults(t, err, "/block/children/0/id DUPLICATE")
	})
	t.Run("a form does not grow beyond what a body could carry", func(t *testing.T) {
		big := func(id string) string {
			return `{"id":"` + id + `","properties":{"image":{"x":[0` + strings.Repeat(",0", 60_000) + `]}}}`
		}
		wantFaults(t, expect.ErrorOf(w.AppendBlock(stored(t, "["+big("a")+"]"), one(t, big("b")))), "/block TOO_MANY")
	})
}

func TestBlocksReplace(t *testing.T) {
	w := newTestWrites(t)
	b, err := w.ParseBlocks([]byte(` {"blocks" : [ {"id":"b"},{"id":"a"} ] } `))
	expect.NoError(t, err)
	wantRaw(t, b, `[ {"id":"b"},{"id":"a"} ]`)
	_, err = w.ParseBlocks([]byte(`{"blocks":[{"id":"a"},{"label":"x"},{"id":"a"}]}`))
	wantFaults(t, err, "/blocks/1/id REQUIRED", "/blocks/2/id DUPLICATE")
	wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":{}}`))), "/blocks WRONG_TYPE")
}

func TestApply(t *testing.T) {
	w := newTestWrites(t)
	const form = `[{"id":"a"}, {"id":"b","type":"number","label":"B","properties":{"min":1.0, "max":2,"rule":{"x":{"y":1,"z":2}}},"choices":[{"id":"1"}]},{"id":"c","children":[{"id":"d"}]}]`

	apply := func(t *testing.T, id, patch string) (block *Blocks, all json.RawMessage, ok bool, err error) {
		t.Helper()
		p := expect.Must(w.ParseBlockPatch([]byte(`{"block":` + patch + `}`)))
		return w.ApplyPatch(stored(t, form), id, p)
	}
	for name, test := range map[string]struct{ patch, want string }{
		"a value is replaced in its place":      {`{"label":"\u0042 2"}`, `{"id":"b","type":"number","label":"\u0042 2","properties":{"min":1.0, "max":2,"rule":{"x":{"y":1,"z":2}}},"choices":[{"id":"1"}]}`},
		"null removes, at every level":          {`{"choices":null,"label":null,"properties":{"min":null,"rule":{"x":{"y":null}},"perRow":null}}`, `{"id":"b","type":"number","properties":{"max":2,"rule":{"x":{"z":2}}}}`},
		"arrays are replaced, new members last": {`{"properties":{"limit":3},"choices":[{"id":"2"},{"id":"3"}],"required":true}`, `{"id":"b","type":"number","label":"B","properties":{"min":1.0,"max":2,"rule":{"x":{"y":1,"z":2}},"limit":3},"choices":[{"id":"2"},{"id":"3"}],"required":true}`},
		"times are normalised":                  {`{"properties":{"rule":null,"afterDate":"2026-01-01T02:00:00+02:00"}}`, `{"id":"b","type":"number","label":"B","properties":{"min":1.0,"max":2,"afterDate":"2026-01-01T00:00:00Z"},"choices":[{"id":"1"}]}`},
		"the same id is no change":              {`{"id":"b","properties":null,"choices":null}`, `{"id":"b","type":"number","label":"B"}`},
		"a null type leaves the stored one":     {`{"type":null,"properties":null,"label":null}`, `{"id":"b","type":"number","choices":[{"id":"1"}]}`},
		"nested blocks get types":               {`{"properties":null,"choices":null,"children":[{"id":"x"}]}`, `{"id":"b","type":"number","label":"B","children":[{"id":"x","type":"short_text"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			block, all, ok, err := apply(t, "b", test.patch)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			wantRaw(t, block, test.want)
			if want := `[{"id":"a"},` + test.want + `,{"id":"c","children":[{"id":"d"}]}]`; string(all) != want {
				t.Errorf("got %s, want %s", all, want)
			}
		})
	}
	t.Run("an unknown or nested block is not found", func(t *testing.T) {
		for _, id := range []string{"x", "d"} {
			if _, _, ok, err := apply(t, id, `{"label":"x"}`); ok || err != nil {
				t.Errorf("%s: %t, %v", id, ok, err)
			}
		}
	})
	t.Run("the result is checked as a whole", func(t *testing.T) {
		_, _, ok, err := apply(t, "b", `{"id":"z","children":[{"id":"d"},{"id":"b"}],"properties":{"pdfLink":"x","disabledDays":128,"min":"1","rule":1}}`)
		expect.That(t, ok, "not found")
		wantFaults(t, err, "/block/children/0/id DUPLICATE", "/block/id NOT_ALLOWED",
			"/block/properties/disabledDays OUT_OF_RANGE", "/block/properties/min WRONG_TYPE", "/block/properties/pdfLink BAD_FORMAT", "/block/properties/rule WRONG_TYPE")
	})
	t.Run("the form's limits count", func(t *testing.T) {
		small, err := NewValidator(schema.Limits{AllBlocks: 5}, nil)
		expect.NoError(t, err)
		p := expect.Must(small.ParseBlockPatch([]byte(`{"block":{"children":[{"id":"x"},{"id":"y"}]}}`)))
		_, _, _, err = small.ApplyPatch(stored(t, form), "a", p)
		wantFaults(t, err, "/block TOO_MANY")
	})
	t.Run("a patch of the wrong shape is refused at once", func(t *testing.T) {
		for patch, want := range map[string][]string{
			`{"block":{"id":null}}`: {"/block/id WRONG_TYPE"},
			`{"block":{"x":null}}`:  {"/block/x UNKNOWN_FIELD"},
			`{"block":{"label":1}}`: {"/block/label WRONG_TYPE"},
			`{"block":null}`:        {"/block WRONG_TYPE"},
			`{}`:                    {"/block REQUIRED"},
			``:                      {" REQUIRED"},
			`{"block":{"properties":{"rule":"\u0000"}}}`: {"/block/properties/rule BAD_FORMAT"},
			`{"block":{}}`: {"/block TOO_FEW"},
		} {
			wantFaults(t, expect.ErrorOf(w.ParseBlockPatch([]byte(patch))), want...)
		}
	})
}

func TestCheckHiddenNames(t *testing.T) {
	w := newTestWrites(t)
	hidden := json.RawMessage(`["in","ok","b"]`)
	blocks := stored(t, `[{"id":"a","children":[{"id":"in"}]},{"id":"b"}]`)

	wantFaults(t, blocks.CheckHiddenNames(hidden),
		"/0/children/0/id DUPLICATE", "/1/id DUPLICATE")
	wantFaults(t, blocks.CheckHiddenFields(hidden, "/definition/hidden_fields"),
		"/definition/hidden_fields/0 DUPLICATE", "/definition/hidden_fields/2 DUPLICATE")
	wantFaults(t, blocks.CheckHiddenNames(json.RawMessage(`["x"]`)))
	wantFaults(t, blocks.CheckHiddenNames(nil))

	added := expect.Must(w.ParseBlock([]byte(`{"block":{"id":"b","children":[{"id":"in"}]}}`)))
	wantFaults(t, added.CheckHiddenNames(hidden), "/block/children/0/id DUPLICATE", "/block/id DUPLICATE")
	wantFaults(t, added.WithTypesFrom(nil).CheckHiddenNames(hidden), "/block/children/0/id DUPLICATE", "/block/id DUPLICATE")

	p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{"children":[{"id":"ok"}]}}`)))
	applied, _, _, err := w.ApplyPatch(stored(t, `[{"id":"x"},{"id":"y"}]`), "y", p)
	expect.NoError(t, err)
	wantFaults(t, applied.CheckHiddenNames(hidden), "/block/children/0/id DUPLICATE")
}

func TestWritesAndBlocksAreSafeForConcurrentUse(t *testing.T) {
	w := newTestWrites(t)
	body := surveyBody()
	form := expect.Must(w.ParseFormUpdate(body))
	p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{"label":"x","properties":{"afterDate":"2026-01-01T02:00:00+02:00"}}}`)))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			expect.Nil(t, expect.ErrorOf(w.ParseFormUpdate(body)))
			if _, _, _, err := w.ApplyPatch(form.Blocks, "q3", p); err != nil {
				t.Error(err)
			}
			expect.That(t, len(form.Blocks.Items()) == 50, "the shared blocks changed")
		})
	}
	group.Wait()
}

// surveyBody is a FormUpdate with 50 blocks of four kinds, about 10 kB.
func surveyBody() []byte {
	var b strings.Builder
	b.WriteString(`{"name":"Customer survey","definition":{"blocks":[`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `{"id":"q%d","type":"short_text","label":"What is your name, number %d?","description":"As on the card","required":true,"properties":{"maxChars":120,"placeholderText":"Ada Lovelace"}}`, i, i)
		case 1:
			fmt.Fprintf(&b, `{"id":"q%d","type":"single_choice","label":"Which one do you use, %d?","required":false,"properties":{"randomize":true,"otherOption":true},"choices":[{"id":"a","label":"First"},{"id":"b","label":"Second"},{"id":"c","label":"Third"}]}`, i, i)
		case 2:
			fmt.Fprintf(&b, `{"id":"q%d","type":"number","label":"How many people work there, %d?","required":true,"properties":{"min":1,"max":1000,"minVal":true,"maxVal":true}}`, i, i)
		case 3:
			fmt.Fprintf(&b, `{"id":"q%d","type":"date","label":"When did it begin, question %d of the list?","description":"Day of the first order","properties":{"dateSeparator":"/","showDatePicker":true,"disabledDays":65,"afterDate":"2026-01-01T00:00:00+02:00"}}`, i, i)
		}
	}
	b.WriteString(`],"settings":{"progressBar":true,"responseLimit":500,"redirectUrl":"https://example.com/thanks"}}}`)
	return []byte(b.String())
}
