package definition

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func formUpdate(t *testing.T, w *Validator, body string) FormWrite {
	t.Helper()
	return expect.Must(w.ParseFormUpdate([]byte(body)))
}

func TestNewDefinitionFillsInWhatIsNotGiven(t *testing.T) {
	w := newTestWrites(t)
	got := expect.Must(w.NewDefinition(formUpdate(t, w, `{"definition":{"blocks":[{"id":"a"}],"theme":{"font":"x"}}}`)))
	want := storage.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"short_text"}]`), Settings: json.RawMessage(`{}`), Theme: json.RawMessage(`{"font":"x"}`),
		Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`), Format: Format,
	}
	expect.Same(t, want, got, "definition")
}

func TestChangeDefinitionDependsOnWhatIsStored(t *testing.T) {
	w := newTestWrites(t)
	stored := storage.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"date"},{"id":"b","type":"time"}]`), HiddenFields: json.RawMessage(`["h"]`)}
	got, err := w.ChangeDefinition(formUpdate(t, w, `{"definition":{"blocks":[{"id":"a"}],"settings":{}}}`), stored)
	expect.NoError(t, err)
	if diff := cmp.Diff(storage.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"date"}]`), Settings: json.RawMessage(`{}`), Format: Format}, got); diff != "" {
		t.Error(diff)
	}
	_, err = w.ChangeDefinition(formUpdate(t, w, `{"definition":{"blocks":[{"id":"a","children":[{"id":"h"}]}]}}`), stored)
	wantFaults(t, err, "/definition/blocks/0/children/0/id DUPLICATE")
	_, err = w.ChangeDefinition(formUpdate(t, w, `{"definition":{"hidden_fields":["x","b"]}}`), stored)
	wantFaults(t, err, "/definition/hidden_fields/1 DUPLICATE")
	if !formUpdate(t, w, `{"definition":{"variables":{}}}`).HasSections() || formUpdate(t, w, `{"name":"a","definition":{}}`).HasSections() {
		t.Error("sections that are given are not seen, or others are")
	}
}

func TestTheDefinitionLimitCountsAllSections(t *testing.T) {
	w := expect.Must(NewValidator(schema.Limits{Definition: 100}, nil))
	css := func(n int) string {
		return `"theme":{"customCss":"` + strings.Repeat("x", n-len(`{"customCss":""}`)) + `"}`
	}
	create := func(members string) error {
		_, err := w.NewDefinition(formUpdate(t, w, `{"definition":{`+members+`}}`))
		return err
	}
	// The four other sections take two bytes each, a block of one letter 31.
	wantFaults(t, create(css(92)))
	wantFaults(t, create(css(93)), "/definition TOO_LONG")
	wantFaults(t, create(css(62)+`,"blocks":[{"id":"a"}]`))
	wantFaults(t, create(css(63)+`,"blocks":[{"id":"a"}]`), "/definition TOO_LONG")

	stored := storage.Definition{Blocks: json.RawMessage(`[` + strings.Repeat(" ", 48) + `]`), Theme: json.RawMessage(`{}`)}
	change := func(members string, stored storage.Definition) error {
		_, err := w.ChangeDefinition(formUpdate(t, w, `{"definition":{`+members+`}}`), stored)
		return err
	}
	wantFaults(t, change(css(50), stored))
	wantFaults(t, change(css(51), stored), "/definition TOO_LONG")
	// A form that is too large already may shrink, and may stay as it is.
	large := storage.Definition{Blocks: json.RawMessage(`[` + strings.Repeat(" ", 198) + `]`), Theme: json.RawMessage(`{"customCss":"x"}`)}
	wantFaults(t, change(`"theme":{}`, large))
	wantFaults(t, change(`"theme":{"customCss":"y"}`, large))
	wantFaults(t, change(`"theme":{"customCss":"yy"}`, large), "/definition TOO_LONG")
	wantFaults(t, w.CheckSize(stored, storage.Definition{Blocks: json.RawMessage(strings.Repeat(" ", 99))}, "/block"), "/block TOO_LONG")
}

func TestTheRuleOfABlockIsBounded(t *testing.T) {
	w := newTestWrites(t)
	rule := func(n int) string {
		return `"properties":{"rule":{"x":"` + strings.Repeat("x", n-len(`{"x":""}`)) + `"}}`
	}
	for size, want := range map[int][]string{16_000: nil, 16_001: {"/block/properties/rule TOO_LONG"}} {
		wantFaults(t, expect.ErrorOf(w.ParseBlock([]byte(`{"block":{"id":"a",`+rule(size)+`}}`))), want...)
		p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{` + rule(size) + `}}`)))
		_, _, _, err := w.ApplyPatch(stored(t, `[{"id":"a"}]`), "a", p)
		wantFaults(t, err, want...)
	}
	_, err := w.ParseFormUpdate([]byte(`{"definition":{"blocks":[{"id":"a","children":[{"id":"b",` + rule(20_000) + `}]}]}}`))
	wantFaults(t, err, "/definition/blocks/0/children/0/properties/rule TOO_LONG")

	// A patch may not grow it bit by bit either.
	p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{"properties":{"rule":{"y":1}}}}`)))
	_, _, _, err = w.ApplyPatch(stored(t, `[{"id":"a",`+rule(15_999)+`}]`), "a", p)
	wantFaults(t, err, "/block/properties/rule TOO_LONG")
}
