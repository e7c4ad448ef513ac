package definition

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func TestFormCreate(t *testing.T) {
	w := newTestWrites(t)

	t.Run("every member is handed on", func(t *testing.T) {
		got := expect.Must(w.ParseFormCreate([]byte(`{"workspace_id":"0123456789abcdefABCDEF01","name":" A form ","type":"MULTI","definition":{
			"hidden_fields": ["utm"], "variables":{"n":1.50}, "theme":{"font" : "Inter"},
			"settings":{"closed":true,"openAt":"2026-10-01T02:00:00+02:00","closeAt":"2026-11-20T10:33:01.7+02:00","responseLimit":1e2},
			"blocks":[ {"id":"a"} ]}}`)))
		expect.That(t, *got.WorkspaceID == "0123456789abcdefABCDEF01" && *got.Name == "A form" && *got.Type == "MULTI" && got.Status == nil,
			"got %+v", got)
		for name, section := range map[string]struct{ got, want string }{
			"hidden_fields": {string(got.Sections.HiddenFields), `["utm"]`},
			"variables":     {string(got.Sections.Variables), `{"n":1.50}`},
			"theme":         {string(got.Sections.Theme), `{"font" : "Inter"}`},
			"settings":      {string(got.Sections.Settings), `{"closed":true,"openAt":"2026-10-01T00:00:00Z","closeAt":"2026-11-20T08:33:01Z","responseLimit":100}`},
			"blocks":        {string(got.Blocks.Raw()), `[ {"id":"a"} ]`},
		} {
			expect.That(t, section.got == section.want, "%s: got %s, want %s", name, section.got, section.want)
		}
		want := storage.AcceptanceRules{Closed: true, OpenAt: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), CloseAt: time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC), ResponseLimit: 100}
		expect.Same(t, &want, got.Acceptance, "gate")
	})
	t.Run("what is not given is nil", func(t *testing.T) {
		got := expect.Must(w.ParseFormCreate([]byte(`{"workspace_id":"0123456789abcdef01234567","name":"A"}`)))
		if got.Type != nil || got.Status != nil || got.Blocks != nil || got.Sections.Settings != nil || got.Sections.Theme != nil ||
			got.Sections.Variables != nil || got.Sections.HiddenFields != nil || got.Acceptance != nil {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("status is unknown and type is an enumeration", func(t *testing.T) {
		_, err := w.ParseFormCreate([]byte(`{"workspace_id":"x","name":"` + strings.Repeat("a", 201) + `","type":"single","status":"draft"}`))
		wantFaults(t, err, "/name TOO_LONG", "/status UNKNOWN_FIELD", "/type NOT_ALLOWED", "/workspace_id BAD_FORMAT")
	})
}

func TestFormUpdate(t *testing.T) {
	w := newTestWrites(t)

	t.Run("one member is enough", func(t *testing.T) {
		for _, body := range []string{`{"name":"a"}`, `{"status":"published"}`, `{"workspace_id":"0123456789abcdef01234567"}`, `{"definition":{}}`} {
			expect.Error(t, body, expect.ErrorOf(w.ParseFormUpdate([]byte(body))), nil)
		}
	})
	t.Run("none is not", func(t *testing.T) {
		wantFaults(t, expect.ErrorOf(w.ParseFormUpdate([]byte(`{}`))), " TOO_FEW")
		wantFaults(t, expect.ErrorOf(w.ParseFormUpdate([]byte(" "))), " REQUIRED")
	})
	t.Run("null is refused everywhere", func(t *testing.T) {
		_, err := w.ParseFormUpdate([]byte(`{"name":null,"status":null,"workspace_id":null,"definition":{"blocks":null,"settings":null,"theme":null,"variables":null,"hidden_fields":null}}`))
		wantFaults(t, err, "/definition/blocks WRONG_TYPE", "/definition/hidden_fields WRONG_TYPE", "/definition/settings WRONG_TYPE",
			"/definition/theme WRONG_TYPE", "/definition/variables WRONG_TYPE", "/name WRONG_TYPE", "/status WRONG_TYPE", "/workspace_id WRONG_TYPE")
		_, err = w.ParseFormUpdate([]byte(`{"definition":{"blocks":[null,{"id":null,"label":null,"choices":[null],"properties":{"min":null}}],"variables":{"a":null},"hidden_fields":[null],"settings":{"utm":{"term":null}}}}`))
		wantFaults(t, err, "/definition/blocks/0 WRONG_TYPE", "/definition/blocks/1/choices/0 WRONG_TYPE", "/definition/blocks/1/id WRONG_TYPE",
			"/definition/blocks/1/label WRONG_TYPE", "/definition/blocks/1/properties/min WRONG_TYPE", "/definition/hidden_fields/0 WRONG_TYPE",
			"/definition/settings/utm/term WRONG_TYPE", "/definition/variables/a WRONG_TYPE")
	})
	t.Run("free JSON may be anything", func(t *testing.T) {
		const blocks = `[{"id":"a","choices":[{"id":"1","image":null},{"id":"2","image":[1e300,{"x":"2026-11-20T10:33:01+02:00"}]}],"properties":{"rule":{"a":null},"image":{"b":[]}}}]`
		got := expect.Must(w.ParseFormUpdate([]byte(`{"definition":{"blocks":` + blocks + `}}`)))
		if string(got.Blocks.Raw()) != blocks {
			t.Errorf("got %s", got.Blocks.Raw())
		}
	})
	t.Run("U+0000 is refused wherever it stands", func(t *testing.T) {
		_, err := w.ParseFormUpdate([]byte(`{"definition":{"blocks":[{"id":"a","properties":{"rule":{"x\u0000":["\u0000"]}},"choices":[{"id":"1","image":"\u0000"}]}],"variables":{"\u0000":1}}}`))
		wantFaults(t, err, "/definition/blocks/0/choices/0/image BAD_FORMAT", "/definition/blocks/0/properties/rule/x\x00 BAD_FORMAT",
			"/definition/blocks/0/properties/rule/x\x00/0 BAD_FORMAT", "/definition/variables/\x00 BAD_FORMAT")
	})
	t.Run("times are normalised at every level and nothing else changes", func(t *testing.T) {
		got := expect.Must(w.ParseFormUpdate([]byte(`{"definition":{"blocks":[ {"id":"a","label":"\u00e9","properties":{"min":1.0,"beforeDate":"2026-01-01T00:00:00Z","afterDate":"2026-01-01T00:00:00.9z"}},
 {"id":"b","children":[{"properties":{"specificDates":["2026-01-01T01:00:00+01:00","2026-01-02T00:00:00Z"]},"id":"c"}]}]}}`)))
		const want = `[ {"id":"a","label":"\u00e9","properties":{"min":1.0,"beforeDate":"2026-01-01T00:00:00Z","afterDate":"2026-01-01T00:00:00Z"}},
 {"id":"b","children":[{"properties":{"specificDates":["2026-01-01T00:00:00Z","2026-01-02T00:00:00Z"]},"id":"c"}]}]`
		expect.Same(t, want, string(got.Blocks.Raw()), "blocks")
	})
	t.Run("integers are plain and other numbers stay", func(t *testing.T) {
		got, err := w.ParseFormUpdate([]byte(`{"definition":{"settings":{"responseLimit":1e1,"borderRadius":10.0},"theme":{"logo":{"width":10.0,"height":-0}},
			"blocks":[{"id":"a","properties":{"maxChars":0.1e2,"min":1e1,"limit":30E-1,"disabledDays":1270e-1,"image":{"x":1.0},"rule":{"x":1.0}}},{"id":"b","children":[{"id":"c","properties":{"perRow":9007199254740991.0}}]}],"variables":{"v":1.0}}}`))
		expect.NoError(t, err)
		for _, section := range []struct{ got, want string }{
			{string(got.Sections.Settings), `{"responseLimit":10,"borderRadius":10.0}`},
			{string(got.Sections.Theme), `{"logo":{"width":10,"height":0}}`},
			{string(got.Blocks.Raw()), `[{"id":"a","properties":{"maxChars":10,"min":1e1,"limit":3,"disabledDays":127,"image":{"x":1.0},"rule":{"x":1.0}}},{"id":"b","children":[{"id":"c","properties":{"perRow":9007199254740991}}]}]`},
			{string(got.Sections.Variables), `{"v":1.0}`},
		} {
			expect.That(t, section.got == section.want, "got %s, want %s", section.got, section.want)
		}
		_, err = w.ParseFormUpdate([]byte(`{"definition":{"settings":{"responseLimit":1e300},"blocks":[{"id":"a","properties":{"limit":1.5,"maxChars":9007199254740992}}]}}`))
		wantFaults(t, err, "/definition/blocks/0/properties/limit WRONG_TYPE", "/definition/blocks/0/properties/maxChars OUT_OF_RANGE", "/definition/settings/responseLimit OUT_OF_RANGE")
	})
	t.Run("a name that cannot be seen is refused", func(t *testing.T) {
		for _, name := range []string{`\u200b`, `\ufeff\u2060`, ` \u3164 `, `\u2800`, `\u202e`, `  `, ``} {
			wantFaults(t, expect.ErrorOf(w.ParseFormUpdate([]byte(`{"name":"`+name+`"}`))), "/name TOO_SHORT")
			wantFaults(t, expect.ErrorOf(w.ParseWorkspaceName([]byte(`{"name":"`+name+`"}`))), "/name TOO_SHORT")
		}
		got, err := w.ParseFormUpdate([]byte(`{"name":" \u200ba\u200d "}`))
		if err != nil || *got.Name != "a\u200d" {
			t.Errorf("got %+q, %v", *got.Name, err)
		}
	})
	t.Run("a gate is given with every settings section", func(t *testing.T) {
		got := expect.Must(w.ParseFormUpdate([]byte(`{"definition":{"settings":{"responseLimit":-3}}}`)))
		expect.Same(t, &storage.AcceptanceRules{}, got.Acceptance, "gate")
	})
	t.Run("violations are capped at the first fifty", func(t *testing.T) {
		_, err := w.ParseFormUpdate([]byte(`{"definition":{"blocks":[0` + strings.Repeat(",0", 40_000) + `]}}`))
		var invalid *schema.Error
		expect.Require(t, errors.As(err, &invalid) && len(invalid.Violations) == schema.MaxViolations, "got %v", err)
		first := invalid.Violations[0]
		expect.That(t, first.Path == "/definition/blocks" && first.Code == schema.CodeTooMany, "first is %+v", first)
	})
}

func FuzzFormUpdate(f *testing.F) {
	f.Add(surveyBody())
	for _, seed := range []string{
		`{}`, `{"name":" a "}`, `{"definition":{"blocks":[{"id":"a","children":[{"id":"b"}]}],"hidden_fields":["c"]}}`,
		`{"definition":{"settings":{"closeAt":"2026-11-20t10:33:01.5+02:00","redirectUrl":"https://example.com"}}}`,
		`{"definition":{"blocks":[{"properties":{"specificDates":["2026-11-20T10:33:01+02:00"]},"id":"a"}],"variables":{"a":1}}}`,
		`{"definition":{"theme":{"customCss":"\u0000","colors":{"text":"#fff"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	w := newTestWrites(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := w.ParseFormUpdate(body)
		if err != nil {
			var syntax *jsontree.SyntaxError
			var invalid *schema.Error
			switch {
			case errors.As(err, &syntax):
			case errors.As(err, &invalid):
				n := len(invalid.Violations)
				expect.Require(t, n != 0 && n <= schema.MaxViolations, "%d violations", n)
			default:
				t.Fatalf("%T", err)
			}
			return
		}
		again := map[string]json.RawMessage{}
		set := func(name string, section json.RawMessage) {
			if section != nil {
				again[name] = section
			}
		}
		if first.Blocks != nil {
			set("blocks", first.Blocks.WithTypesFrom(nil).Raw())
		}
		set("settings", first.Sections.Settings)
		set("theme", first.Sections.Theme)
		set("variables", first.Sections.Variables)
		set("hidden_fields", first.Sections.HiddenFields)
		var rebuilt strings.Builder
		rebuilt.WriteString(`{"definition":{`)
		separator := ""
		for name, section := range again { // not through json.Marshal, which compacts
			rebuilt.WriteString(separator + `"` + name + `":` + string(section))
			separator = ","
		}
		rebuilt.WriteString(`}}`)
		second, err := w.ParseFormUpdate([]byte(rebuilt.String()))
		expect.Require(t, err == nil, "what was accepted is refused: %v\n%s", err, rebuilt.String())
		if second.Blocks != nil {
			expect.Require(t, second.Blocks.WithTypesFrom(nil) == second.Blocks, "types are missing")
			if string(second.Blocks.Raw()) != string(again["blocks"]) {
				t.Fatalf("blocks changed: %s, then %s", again["blocks"], second.Blocks.Raw())
			}
		}
		if string(second.Sections.Settings) != string(first.Sections.Settings) || string(second.Sections.Theme) != string(first.Sections.Theme) ||
			string(second.Sections.Variables) != string(first.Sections.Variables) || string(second.Sections.HiddenFields) != string(first.Sections.HiddenFields) {
			t.Fatal("a section changed")
		}
	})
}
