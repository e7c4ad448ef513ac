package schema

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		"2026-11-20T08:33:01Z":           "2026-11-20T08:33:01Z",
		"2026-11-20t08:33:01z":           "2026-11-20T08:33:01Z",
		"2026-11-20T08:33:01.999999999Z": "2026-11-20T08:33:01Z",
		"2026-11-20T08:33:01+02:00":      "2026-11-20T06:33:01Z",
		"2026-11-20T23:33:01.5-05:30":    "2026-11-21T05:03:01Z",
		"2024-02-29T00:00:00Z":           "2024-02-29T00:00:00Z",
		"2016-12-31T23:59:60Z":           "2017-01-01T00:00:00Z",
		"2017-01-01T00:59:60+01:00":      "2017-01-01T00:00:00Z",
		"0001-01-01T00:00:01Z":           "0001-01-01T00:00:01Z",
		"9999-12-31T23:59:59Z":           "9999-12-31T23:59:59Z",
		"2026-11-20T08:33:01-00:00":      "2026-11-20T08:33:01Z",
	} {
		got, ok := ParseTime(in)
		if !ok || formatTime(got) != want {
			t.Errorf("%s: got %s, %t, want %s", in, formatTime(got), ok, want)
		}
		if got.Location() != time.UTC || got.Nanosecond() != 0 {
			t.Errorf("%s: %v is not UTC in whole seconds", in, got)
		}
	}
	for _, in := range []string{
		"", "2026-11-20", "2026-11-20T08:33Z", "2026-11-20T08:33:01", "2026-11-20 08:33:01Z", "2026-11-20T08:33:01,5Z",
		"2026-11-20T08:33:01.Z", "2026-11-20T08:33:01+0200", "2026-11-20T08:33:01+24:00", "2026-11-20T08:33:01+02:60",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:61Z",
		"+026-01-01T00:00:00Z", "20260-01-01T00:00:00Z", "2026-1-01T00:00:00Z", " 2026-11-20T08:33:01Z", "2026-11-20T08:33:01Z ",
		"0000-06-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "٢٠٢٦-11-20T08:33:01Z",
	} {
		if got, ok := ParseTime(in); ok {
			t.Errorf("%q is accepted as %v", in, got)
		}
	}
}

func TestIsAddress(t *testing.T) {
	t.Parallel()

	for _, s := range []string{"", "http://example.com", "HTTPS://example.com/a?b#c", "https://user@example.com:8080/é", "https://[2001:db8::1]/"} {
		if !isAddress(s, webOnly) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"mailto:a@example.com", "tel:+4930123456", "MAILTO:a@example.com?subject=b"} {
		if !isAddress(s, webOrContact) || isAddress(s, webOnly) {
			t.Errorf("%q is for links only", s)
		}
	}
	for _, s := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "\tjavascript:alert(1)", "java\tscript:alert(1)",
		"java\nscript:alert(1)", "\x01javascript:alert(1)", "\u00a0javascript:alert(1)", "\ufeffhttps://example.com",
		"javascript://example.com/%0aalert(1)", "data:text/html,a", "vbscript:a", "file:///etc/passwd", "ftp://example.com",
		"//example.com", "/path", "example.com", "https:", "https://", "https:example.com", "https:///path", "https://:80",
		"https:\\\\example.com", "https://example.com\\@evil.example", "https://exa mple.com", "https://example.com\x7f",
		"https://example.com/\r\nSet-Cookie:a", "mailto:", "tel:", "mailto://", "http://%zz/", "blob:https://example.com/a", "https://[::1",
		"https://example.com:0", "https://example.com:65536", "https://example.com/\"><script>", "https://example.com/\u2028", "https://example.com/\u0085",
	} {
		if isAddress(s, webOrContact) {
			t.Errorf("%q is accepted", s)
		}
		if isWebURL(s) {
			t.Errorf("%q is accepted in an answer", s)
		}
	}
}

func TestDefinitionAddresses(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)

	_, err := w.FormUpdate([]byte(`{"definition":{
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

	_, err = w.FormUpdate([]byte(`{"definition":{
		"blocks":[{"id":"a","properties":{"buttonLink":"mailto:a@b.c","embedLink":"","rule":{"url":"javascript:a"},"image":{"url":"data:,"}},
			"choices":[{"id":"c","image":{"url":"javascript:a"}}]}],
		"settings":{"redirectUrl":"tel:112","cover":{"image":{"url":""}}},
		"theme":{"logo":{"url":"https://example.com/a.png"}}}}`))
	wantFaults(t, err)
}

func TestDefinitionLimits(t *testing.T) {
	t.Parallel()
	w, err := NewWrites(Limits{Blocks: 3, AllBlocks: 5, Nesting: 3, Choices: 2, CustomCSS: 4, Text: 3})
	if err != nil {
		t.Fatal(err)
	}

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
			t.Parallel()
			_, err := w.FormUpdate([]byte(`{"definition":{` + test.definition + `}}`))
			wantFaults(t, err, test.want...)
		})
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
			_, err := w.Blocks([]byte(`{"blocks":` + test.blocks + `}`))
			wantFaults(t, err, test.want...)
		})
	}
}

func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)

	_, err := w.FormUpdate([]byte(`{"definition":{
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
	t.Parallel()
	w := newTestWrites(t)

	_, err := w.FormCreate([]byte(`{"name":" ","definition":{"blocks":[{"id":"a","label":1},{"id":"a","properties":{"disabledDays":128,"buttonLink":"x"}},7],
		"variables":{"n":1,"s":"x","b":true},"theme":{"colors":{"text":"red","dark":{"text":"#12345"}}},"settings":{"closeAt":"soon"}}}`))
	wantFaults(t, err,
		"/definition/blocks/0/label WRONG_TYPE",
		"/definition/blocks/1/id DUPLICATE",
		"/definition/blocks/1/properties/buttonLink BAD_FORMAT",
		"/definition/blocks/1/properties/disabledDays OUT_OF_RANGE",
		"/definition/blocks/2 WRONG_TYPE",
		"/definition/settings/closeAt BAD_FORMAT",
		"/definition/theme/colors/dark/text BAD_FORMAT",
		"/definition/theme/colors/text BAD_FORMAT",
		"/definition/variables/b WRONG_TYPE",
		"/name TOO_SHORT",
		"/workspace_id REQUIRED")
}

func TestChoicesNeedAnID(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)
	const lists = `"choices":[{"id":"c"},{"label":"x"},{"id":""}],"matrix_rows":[{}],"matrix_columns":[{"id":""}]`
	under := func(at string) []string {
		return []string{at + "/choices/1/id REQUIRED", at + "/choices/2/id TOO_SHORT", at + "/matrix_columns/0/id TOO_SHORT", at + "/matrix_rows/0/id REQUIRED"}
	}
	_, err := w.FormUpdate([]byte(`{"definition":{"blocks":[{"id":"a","children":[{"id":"b",` + lists + `}]}]}}`))
	wantFaults(t, err, under("/definition/blocks/0/children/0")...)
	_, err = w.Block([]byte(`{"block":{"id":"a",` + lists + `}}`))
	wantFaults(t, err, under("/block")...)
	p, err := w.BlockPatch([]byte(`{"block":{` + lists + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Apply(stored(t, `[{"id":"a"}]`), "a", p)
	wantFaults(t, err, under("/block")...)
}

func TestBlockIDsCanStandInAPath(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)
	_, err := w.FormUpdate([]byte(`{"definition":{"blocks":[{"id":".","children":[{"id":".."}]},{"id":"..."},{"id":".a"},{"id":"a."},{"id":"/"},{"id":" ."}]}}`))
	wantFaults(t, err, "/definition/blocks/0/children/0/id BAD_FORMAT", "/definition/blocks/0/id BAD_FORMAT")
	_, err = w.Block([]byte(`{"block":{"id":".."}}`))
	wantFaults(t, err, "/block/id BAD_FORMAT")
	_, err = w.Blocks([]byte(`{"blocks":[{"id":"."}]}`))
	wantFaults(t, err, "/blocks/0/id BAD_FORMAT")
}

// What is nested too deep is one fault; what is in it is not looked at.
func TestBlocksBeyondTheLastLevelAreNotLookedAt(t *testing.T) {
	t.Parallel()
	w, err := NewWrites(Limits{Nesting: 2, AllBlocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Blocks([]byte(`{"blocks":[{"id":"a","children":[{"id":"b","x":1,"children":[{"id":"a"},1,{"id":"c","label":1,"children":[{}]}]}]}]}`))
	wantFaults(t, err, "/blocks/0/children/0/children TOO_MANY", "/blocks/0/children/0/x UNKNOWN_FIELD")
	_, err = w.Blocks([]byte(`{"blocks":[{"id":"a","children":[{"id":"b","children":[]}]}]}`))
	wantFaults(t, err)
}

func TestGate(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC)

	for name, test := range map[string]struct {
		gate Gate
		full bool
		now  time.Time
		want bool
	}{
		"open":                    {Gate{}, false, at, false},
		"closed by hand":          {Gate{Closed: true}, false, at, true},
		"full":                    {Gate{ResponseLimit: 3}, true, at, true},
		"a limit not reached":     {Gate{ResponseLimit: 3}, false, at, false},
		"before the closing time": {Gate{CloseAt: at}, false, at.Add(-time.Nanosecond), false},
		"at the closing time":     {Gate{CloseAt: at}, false, at, true},
		"after the closing time":  {Gate{CloseAt: at}, false, at.Add(time.Second), true},
	} {
		if got := test.gate.IsClosed(test.full, test.now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
