package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

func TestAddressesAndLinks(t *testing.T) {

	for _, s := range []string{"http://example.com", "HTTPS://example.com/a?b#c", "https://example.com:8080/é@", "https://[2001:db8::1]/",
		"https://fa.example.com/می\u200cشود", "https://example.com/❤\ufe0f"} {
		expect.That(t, weburl.IsPlainWebURL(s) && weburl.IsLink(s), "%q is refused", s)
	}
	for _, s := range []string{"mailto:a@example.com", "tel:+4930123456", "MAILTO:a@example.com?subject=b"} {
		expect.That(t, weburl.IsLink(s) && !weburl.IsPlainWebURL(s), "%q is for links only", s)
	}
	for _, s := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "\tjavascript:alert(1)", "java\tscript:alert(1)",
		"java\nscript:alert(1)", "\x01javascript:alert(1)", "\u00a0javascript:alert(1)", "\ufeffhttps://example.com",
		"javascript://example.com/%0aalert(1)", "data:text/html,a", "vbscript:a", "file:///etc/passwd", "ftp://example.com",
		"//example.com", "/path", "example.com", "https:", "https://", "https:example.com", "https:///path", "https://:80",
		"https:\\\\example.com", "https://example.com\\@evil.example", "https://exa mple.com", "https://example.com\x7f",
		"https://example.com/\r\nSet-Cookie:a", "mailto:", "tel:", "mailto://", "http://%zz/", "blob:https://example.com/a", "https://[::1",
		"https://user@example.com/", "https://known.example:x@evil.example/", "https://@example.com/", "https://example.com:0", "https://example.com:65536", "https://example.com/\"><script>", "https://example.com/\u2028", "https://example.com/\u0085",
		"https://example.com/a\u200bb", "https://exam\u00adple.com/", "https://exam\u200dple.com/", "https://example.com/\u202ea",
	} {
		expect.That(t, !weburl.IsLink(s), "%q is accepted", s)
		expect.That(t, !weburl.IsPlainWebURL(s), "%q is accepted in an answer", s)
	}
}

func TestDefinitionAddresses(t *testing.T) {
	w := newTestWrites(t)

	_, err := w.ParseFormUpdate([]byte(`{"definition":{
		"blocks":[{"id":"a","properties":{"buttonLink":"JaVaScRiPt:a","embedLink":"mailto:a@b.c","videoLink":"data:,","pdfLink":"/x"},
			"children":[{"id":"b","properties":{"pdfLink":"x"}}]}],
		"settings":{"redirectUrl":"javascript:a","cover":{"image":{"url":"data:image/png;base64,AA"}}},
		"theme":{"logo":{"url":"tel:1"},"background":{"image":{"url":" https://example.com"}}}}}`))
	wantFaults(t, err,
		"/definition/blocks/0/children/0/properties/pdfLink BAD_FORMAT",
		"/definition/blocks/0/properties/buttonLink BAD_FORMAT",
		"/definition/blocks/0/properties/embedLink BAD_FORMAT",
		"/definition/blocks/0/properties/pdfLink BAD_FORMAT",
		"/definition/blocks/0/properties/videoLink BAD_FORMAT",
		"/definition/settings/cover/image/url BAD_FORMAT",
		"/definition/settings/redirectUrl BAD_FORMAT",
		"/definition/theme/background/image/url BAD_FORMAT",
		"/definition/theme/logo/url BAD_FORMAT")

	_, err = w.ParseFormUpdate([]byte(`{"definition":{
		"blocks":[{"id":"a","properties":{"buttonLink":"mailto:a@b.c","embedLink":"","rule":{"url":"javascript:a"},"image":{"url":"data:,"}},
			"choices":[{"id":"c","image":{"url":"javascript:a"}}]}],
		"settings":{"redirectUrl":"tel:112","cover":{"image":{"url":""}}},
		"theme":{"logo":{"url":"https://example.com/a.png"}}}}`))
	wantFaults(t, err)
}

func TestDefinitionLimits(t *testing.T) {
	w := expect.Must(NewValidator(schema.Limits{Blocks: 3, AllBlocks: 5, Nesting: 3, Choices: 2, CustomCSS: 4, Text: 3}, nil))

	tests := map[string]struct {
		definition string
		want       []string
	}{
		"as many as allowed": {
			definition: `"blocks":[{"id":"a","label":"ééé","description":"ééé","choices":[{"id":"x","label":"ééé"},{"id":"y"}]},{"id":"b","children":[{"id":"c","children":[{"id":"d","children":[]}]}]},{"id":"e"}],"theme":{"customCss":"éé"}`,
		},
		"too many top-level blocks": {
			definition: `"blocks":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]`,
			want:       []string{"/definition/blocks TOO_MANY"},
		},
		"too many blocks in all": {
			definition: `"blocks":[{"id":"a","children":[{"id":"b"},{"id":"c"},{"id":"d"},{"id":"e"},{"id":"f"}]}]`,
			want:       []string{"/definition/blocks TOO_MANY"},
		},
		"too deep": {
			definition: `"blocks":[{"id":"a","children":[{"id":"b","children":[{"id":"c","children":[{"id":"d","children":[{"id":"e"}]}]}]}]}]`,
			want:       []string{"/definition/blocks/0/children/0/children/0/children TOO_MANY"},
		},
		"too many choices, rows and columns": {
			definition: `"blocks":[{"id":"a","choices":[{"id":"1"},{"id":"2"},{"id":"3"}],"matrix_rows":[{"id":"1"},{"id":"2"},{"id":"3"}],"matrix_columns":[{"id":"1"},{"id":"2"},{"id":"3"}]}]`,
			want:       []string{"/definition/blocks/0/choices TOO_MANY", "/definition/blocks/0/matrix_columns TOO_MANY", "/definition/blocks/0/matrix_rows TOO_MANY"},
		},
		"long texts": {
			definition: `"blocks":[{"id":"a","label":"éééé","description":"abcd","choices":[{"id":"x","label":"abcd"}]}],"theme":{"customCss":"ééa"}`,
			want: []string{"/definition/blocks/0/choices/0/label TOO_LONG", "/definition/blocks/0/description TOO_LONG",
				"/definition/blocks/0/label TOO_LONG", "/definition/theme/customCss TOO_LONG"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantFaults(t, expect.ErrorOf(w.ParseFormUpdate([]byte(`{"definition":{`+test.definition+`}}`))), test.want...)
		})
	}
}

func TestDefaultLimits(t *testing.T) {
	w := newTestWrites(t)

	blocks := func(n int, members string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"id":"b%d"%s}`, i, strings.ReplaceAll(members, "#", fmt.Sprint(i)))
		}
		return "[" + b.String()[1:] + "]"
	}
	three := `,"children":[{"id":"x#"},{"id":"y#"},{"id":"z#"}]`
	nested := func(levels int) string {
		s := ""
		for i := range levels {
			s = fmt.Sprintf(`[{"id":"%d","children":%s}]`, i, cmp.Or(s, "[]"))
		}
		return s
	}
	choices := func(n int) string {
		return `[{"id":"a","choices":` + blocks(n, "") + `}]`
	}
	for name, test := range map[string]struct {
		blocks string
		want   []string
	}{
		"500 blocks":       {blocks(500, ""), nil},
		"501 blocks":       {blocks(501, ""), []string{"/blocks TOO_MANY"}},
		"2,000 in all":     {blocks(500, three), nil},
		"2,001 in all":     {strings.Replace(blocks(500, three), `{"id":"x0"}`, `{"id":"x0"},{"id":"w"}`, 1), []string{"/blocks TOO_MANY"}},
		"8 levels":         {nested(8), nil},
		"9 levels":         {nested(9), []string{"/blocks" + strings.Repeat("/0/children", 8) + " TOO_MANY"}},
		"500 choices":      {choices(500), nil},
		"501 choices":      {choices(501), []string{"/blocks/0/choices TOO_MANY"}},
		"5,000 characters": {`[{"id":"a","label":"` + strings.Repeat("é", 5000) + `"}]`, nil},
		"5,001 characters": {`[{"id":"a","label":"` + strings.Repeat("é", 5001) + `"}]`, []string{"/blocks/0/label TOO_LONG"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":`+test.blocks+`}`))), test.want...)
		})
	}
}

func TestIDsAreUnique(t *testing.T) {
	w := newTestWrites(t)

	_, err := w.ParseFormUpdate([]byte(`{"definition":{
		"hidden_fields":["ok","in","ok","a",""],
		"blocks":[{"id":"a","children":[{"id":"in"},{"id":"b"}]},{"id":"b"},{"id":"A"},{"id":"in","choices":[{"id":"x"},{"id":"y"},{"id":"z"},{"id":"x"}],"matrix_rows":[{"id":"x"}]}]}}`))
	wantFaults(t, err,
		"/definition/blocks/1/id DUPLICATE",
		"/definition/blocks/3/choices/3/id DUPLICATE",
		"/definition/blocks/3/id DUPLICATE",
		"/definition/hidden_fields/1 DUPLICATE",
		"/definition/hidden_fields/2 DUPLICATE",
		"/definition/hidden_fields/3 DUPLICATE",
		"/definition/hidden_fields/4 TOO_SHORT")
}

func TestSchemaAndRulesReportTogether(t *testing.T) {
	w := newTestWrites(t)

	_, err := w.ParseFormCreate([]byte(`{"name":" ","definition":{"blocks":[{"id":"a","label":1},{"id":"a","properties":{"disabledDays":128,"buttonLink":"x"}},7],
		"variables":{"n":1,"s":"x","b":true},"theme":{"colors":{"text":"red","dark":{"text":"#12345"}}},"settings":{"openAt":"later","closeAt":"soon"}}}`))
	wantFaults(t, err,
		"/definition/blocks/0/label WRONG_TYPE",
		"/definition/blocks/1/id DUPLICATE",
		"/definition/blocks/1/properties/buttonLink BAD_FORMAT",
		"/definition/blocks/1/properties/disabledDays OUT_OF_RANGE",
		"/definition/blocks/2 WRONG_TYPE",
		"/definition/settings/closeAt BAD_FORMAT",
		"/definition/settings/openAt BAD_FORMAT",
		"/definition/theme/colors/dark/text BAD_FORMAT",
		"/definition/theme/colors/text BAD_FORMAT",
		"/definition/variables/b WRONG_TYPE",
		"/name TOO_SHORT",
		"/workspace_id REQUIRED")
}

func TestChoicesNeedAnID(t *testing.T) {
	w := newTestWrites(t)
	const lists = `"choices":[{"id":"c"},{"label":"x"},{"id":""}],"matrix_rows":[{}],"matrix_columns":[{"id":""}]`
	under := func(at string) []string {
		return []string{at + "/choices/1/id REQUIRED", at + "/choices/2/id TOO_SHORT", at + "/matrix_columns/0/id TOO_SHORT", at + "/matrix_rows/0/id REQUIRED"}
	}
	_, err := w.ParseFormUpdate([]byte(`{"definition":{"blocks":[{"id":"a","children":[{"id":"b",` + lists + `}]}]}}`))
	wantFaults(t, err, under("/definition/blocks/0/children/0")...)
	wantFaults(t, expect.ErrorOf(w.ParseBlock([]byte(`{"block":{"id":"a",`+lists+`}}`))), under("/block")...)
	p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{` + lists + `}}`)))
	_, _, _, err = w.ApplyPatch(stored(t, `[{"id":"a"}]`), "a", p)
	wantFaults(t, err, under("/block")...)
}

func TestBlockIDsCanStandInAPath(t *testing.T) {
	w := newTestWrites(t)
	_, err := w.ParseFormUpdate([]byte(`{"definition":{"blocks":[{"id":".","children":[{"id":".."}]},{"id":"..."},{"id":".a"},{"id":"a."},{"id":"/"},{"id":" ."}]}}`))
	wantFaults(t, err, "/definition/blocks/0/children/0/id BAD_FORMAT", "/definition/blocks/0/id BAD_FORMAT")
	wantFaults(t, expect.ErrorOf(w.ParseBlock([]byte(`{"block":{"id":".."}}`))), "/block/id BAD_FORMAT")
	wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":[{"id":"."}]}`))), "/blocks/0/id BAD_FORMAT")
}

// What is nested too deep is one fault; what is in it is not looked at.
func TestBlocksBeyondTheLastLevelAreNotLookedAt(t *testing.T) {
	w, err := NewValidator(schema.Limits{Nesting: 2, AllBlocks: 2}, nil)
	expect.NoError(t, err)
	_, err = w.ParseBlocks([]byte(`{"blocks":[{"id":"a","children":[{"id":"b","x":1,"children":[{"id":"a"},1,{"id":"c","label":1,"children":[{}]}]}]}]}`))
	wantFaults(t, err, "/blocks/0/children/0/children TOO_MANY", "/blocks/0/children/0/x UNKNOWN_FIELD")
	wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":[{"id":"a","children":[{"id":"b","children":[]}]}]}`))))
}

// A variable that a rule sets is kept beside the answers, so its name is one with the
// ids of blocks and the names of hidden fields.
func TestVariablesThatRulesSetHaveNamesOfTheirOwn(t *testing.T) {
	w := newTestWrites(t)
	const rule = `"properties":{"rule":{"set":{"%":1,"free":2}}}`
	setting := func(name string) string { return strings.ReplaceAll(rule, "%", name) }

	_, err := w.ParseFormUpdate([]byte(`{"definition":{"hidden_fields":["h"],"blocks":[{"id":"a",` + setting("c") + `},{"id":"b","children":[{"id":"c",` + setting("a") + `}]},{"id":"d",` + setting("h") + `}]}}`))
	wantFaults(t, err, "/definition/blocks/0/properties/rule/set/c DUPLICATE", "/definition/hidden_fields/0 DUPLICATE")
	wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":[{"id":"a",`+setting("a")+`}]}`))), "/blocks/0/properties/rule/set/a DUPLICATE")
	wantFaults(t, expect.ErrorOf(w.ParseBlock([]byte(`{"block":{"id":"a",`+setting("a")+`}}`))), "/block/properties/rule/set/a DUPLICATE")
	for _, free := range []string{`{"set":["a"]}`, `{"set":"a"}`, `{"set":null}`, `{"a":1}`} {
		wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":[{"id":"a","properties":{"rule":`+free+`}}]}`))))
	}

	old := stored(t, `[{"id":"a",`+setting("x")+`},{"id":"b","children":[{"id":"in",`+setting("y")+`}]}]`)
	added := expect.Must(w.ParseBlock([]byte(`{"block":{"id":"x","children":[{"id":"other"},{"id":"y"}],` + setting("in") + `}}`)))
	_, err = w.AppendBlock(old, added)
	wantFaults(t, err, "/block/id DUPLICATE", "/block/properties/rule/set/in DUPLICATE") // a rule in a group has no effect
	p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{` + setting("a") + `}}`)))
	_, _, _, err = w.ApplyPatch(old, "b", p)
	wantFaults(t, err, "/block/properties/rule/set/a DUPLICATE")

	hidden := json.RawMessage(`["x","y"]`)
	wantFaults(t, old.CheckHiddenNames(hidden), "/0/properties/rule/set/x DUPLICATE")
	wantFaults(t, old.CheckHiddenFields(hidden, "/definition/hidden_fields"), "/definition/hidden_fields/0 DUPLICATE")
}
