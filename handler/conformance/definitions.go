package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// faulty is a body of a PATCH of a form's definition, and where it is wrong.
type faulty struct {
	definition string // JSON
	want       violations
}

func definitionCases() []testCase {
	table := func(name, sentence string, rows []faulty) testCase {
		return testCase{name, sentence, nil, func(s *session) {
			w := s.newWorld()
			before := w.snapshot()
			for _, row := range rows {
				want := make(violations)
				for path, code := range row.want {
					want["/definition"+path] = code
				}
				w.patch("/forms/"+w.formID, []byte(`{"definition":`+row.definition+`}`)).invalid(want)
			}
			w.unchanged(before)
		}}
	}
	return []testCase{
		table("definitions/types", "A value of another JSON type than specified returns 422 with its pointer.", wrongTypes()),
		table("definitions/integers", "An integer with a fraction or beyond 2^53-1 returns 422.", []faulty{
			{`{"settings":{"responseLimit":1.5}}`, violations{"/settings/responseLimit": ""}},
			{`{"settings":{"responseLimit":9007199254740992}}`, violations{"/settings/responseLimit": ""}},
			{`{"settings":{"cover":{"image":{"width":1e300}}}}`, violations{"/settings/cover/image/width": ""}},
			{`{"theme":{"logo":{"height":-9007199254740992}}}`, violations{"/theme/logo/height": ""}},
			{inBlock(`"properties":{"maxChars":0.1}`), violations{"/blocks/0/properties/maxChars": ""}},
			{inBlock(`"properties":{"perRow":9007199254740992}`), violations{"/blocks/0/properties/perRow": ""}},
			{inBlock(`"properties":{"disabledDays":128}`), violations{"/blocks/0/properties/disabledDays": ""}},
			{inBlock(`"properties":{"disabledDays":-1}`), violations{"/blocks/0/properties/disabledDays": ""}},
			{inBlock(`"properties":{"legalType":2}`), violations{"/blocks/0/properties/legalType": ""}},
		}),
		table("definitions/enumerations", "A value that is not in the enumeration returns 422; values are case-sensitive.", []faulty{
			{inBlock(`"type":"nothing"`), violations{"/blocks/0/type": ""}},
			{inBlock(`"type":"SHORT_TEXT"`), violations{"/blocks/0/type": ""}},
			{inBlock(`"type":"hidden"`), violations{"/blocks/0/type": ""}},
			{inBlock(`"type":""`), violations{"/blocks/0/type": ""}},
			{inBlock(`"properties":{"icon":"moon"}`), violations{"/blocks/0/properties/icon": ""}},
			{inBlock(`"properties":{"dateFormat":"DD/MM/YYYY"}`), violations{"/blocks/0/properties/dateFormat": ""}},
			{inBlock(`"properties":{"imageAlign":"left"}`), violations{"/blocks/0/properties/imageAlign": ""}},
			{inBlock(`"properties":{"badgeType":"Letter"}`), violations{"/blocks/0/properties/badgeType": ""}},
			{inBlock(`"properties":{"captchaType":"captcha"}`), violations{"/blocks/0/properties/captchaType": ""}},
		}),
		table("definitions/ids", "Blocks, choices, rows and columns require an id that an answer or a path can contain.", []faulty{
			{`{"blocks":[{"label":"L"}]}`, violations{"/blocks/0/id": "REQUIRED"}},
			{`{"blocks":[{"id":""}]}`, violations{"/blocks/0/id": ""}},
			{`{"blocks":[{"id":"."}]}`, violations{"/blocks/0/id": ""}},
			{`{"blocks":[{"id":"g","children":[{"id":".."}]}]}`, violations{"/blocks/0/children/0/id": ""}},
			{inBlock(`"choices":[{"id":"c"},{"label":"L"}]`), violations{"/blocks/0/choices/1/id": "REQUIRED"}},
			{inBlock(`"choices":[{"id":""}]`), violations{"/blocks/0/choices/0/id": ""}},
			{inBlock(`"matrix_rows":[{"label":"L"}]`), violations{"/blocks/0/matrix_rows/0/id": "REQUIRED"}},
			{inBlock(`"matrix_columns":[{"id":""}]`), violations{"/blocks/0/matrix_columns/0/id": ""}},
		}),
		table("definitions/colours", "A theme color is # and 3, 4, 6 or 8 hexadecimal digits.", []faulty{
			{`{"theme":{"colors":{"primary":"red"}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"primary":"#12"}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"primary":"#12345"}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"primary":"#1234567"}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"primary":"#ggg"}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"primary":"#fff\n"}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"primary":""}}}`, violations{"/theme/colors/primary": ""}},
			{`{"theme":{"colors":{"dark":{"ring":"fff"}}}}`, violations{"/theme/colors/dark/ring": ""}},
		}),
		table("definitions/times", "A timestamp that is not an RFC 3339 time returns 422.", []faulty{
			{`{"settings":{"closeAt":"tomorrow"}}`, violations{"/settings/closeAt": ""}},
			{`{"settings":{"closeAt":"2026-01-02"}}`, violations{"/settings/closeAt": ""}},
			{`{"settings":{"closeAt":"2026-02-30T00:00:00Z"}}`, violations{"/settings/closeAt": ""}},
			{`{"settings":{"closeAt":"2026-01-02T03:04:05"}}`, violations{"/settings/closeAt": ""}},
			{`{"settings":{"openAt":"2026-01-02"}}`, violations{"/settings/openAt": ""}},
			{inBlock(`"properties":{"beforeDate":"x"}`), violations{"/blocks/0/properties/beforeDate": ""}},
			{inBlock(`"properties":{"specificDates":["2026-01-02T03:04:05Z","x"]}`), violations{"/blocks/0/properties/specificDates/1": ""}},
		}),
		table("definitions/urls", "URLs are absolute http or https URLs; only links and redirects can also be mailto or tel.", []faulty{
			{`{"settings":{"redirectUrl":"javascript:alert(1)"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":"JaVaScRiPt:alert(1)"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":" javascript:alert(1)"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":"java\tscript:alert(1)"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":"/thanks"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":"//example.com"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":"https://"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"redirectUrl":"https://known.example@example.com/"}}`, violations{"/settings/redirectUrl": ""}},
			{`{"settings":{"cover":{"image":{"url":"data:image/png;base64,AA"}}}}`, violations{"/settings/cover/image/url": ""}},
			{`{"theme":{"logo":{"url":"mailto:a@example.com"}}}`, violations{"/theme/logo/url": ""}},
			{`{"theme":{"background":{"image":{"url":"file:///etc/passwd"}}}}`, violations{"/theme/background/image/url": ""}},
			{inBlock(`"properties":{"buttonLink":"vbscript:x"}`), violations{"/blocks/0/properties/buttonLink": ""}},
			{inBlock(`"properties":{"embedLink":"tel:123"}`), violations{"/blocks/0/properties/embedLink": ""}},
			{inBlock(`"properties":{"videoLink":"blob:x"}`), violations{"/blocks/0/properties/videoLink": ""}},
			{inBlock(`"properties":{"pdfLink":"ftp://example.com"}`), violations{"/blocks/0/properties/pdfLink": ""}},
		}),
		table("definitions/variables", "Variables are numbers or strings.", []faulty{
			{`{"variables":{"v":true}}`, violations{"/variables/v": ""}},
			{`{"variables":{"v":[1]}}`, violations{"/variables/v": ""}},
			{`{"variables":{"a":1,"a/b~":{}}}`, violations{"/variables/a~1b~0": ""}},
		}),
		{"definitions/hidden-names", "The names of hidden fields differ from each other and from every block id.", nil, definitionsHiddenNames},
		{"definitions/accepted", "Every enumerated value, every allowed URL scheme, and any JSON where it is allowed are accepted and returned unchanged.", nil, definitionsAccepted},
		{"definitions/empty-values", "false, 0, and empty texts, lists and objects are values that are returned.", nil, definitionsEmptyValues},
		{"definitions/texts", "Texts are returned character by character.", nil, definitionsTexts},
		{"definitions/numbers", "Numbers are returned with their value, and integers without a fraction.", nil, definitionsNumbers},
		{"definitions/order", "Blocks, choices, rows, columns, dates and hidden fields are returned in the order in which they were sent.", nil, definitionsOrder},
		{"definitions/times-normalised", "Timestamps are returned in UTC and whole seconds, whatever offset and fraction they had.", nil, definitionsTimesNormalised},
		{"definitions/calendar-days", "A date limit with an offset means the day as written, and stays the same when it is read and written back.", nil, definitionsCalendarDays},
		{"definitions/all-at-once", "All violations are reported in one response, sorted by path, up to 50.", nil, definitionsAllAtOnce},
		{"definitions/limits", "The limits of blocks, nesting, texts and customCss are enforced, and values at the limit are accepted.", nil, definitionLimits},
	}
}

func definitionsHiddenNames(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	w.patch(form, object{"definition": object{"hidden_fields": []any{"b1"}}}).invalid(violations{"/definition/hidden_fields/0": ""})
	w.patch(form, object{"definition": object{"hidden_fields": []any{"a", "a"}}}).refused("VALIDATION_FAILED")
	w.patch(form, object{"definition": object{"hidden_fields": []any{"taken"}}}).want(http.StatusOK)
	w.post(form+"/blocks", object{"block": object{"id": "taken"}}).invalid(violations{"/block/id": ""})
	w.put(form+"/blocks", object{"blocks": []any{object{"id": "g", "children": []any{object{"id": "taken"}}}}}).invalid(violations{"/blocks/0/children/0/id": ""})
	w.patch(form, object{"definition": object{"hidden_fields": []any{"b9"}, "blocks": []any{block("b9")}}}).refused("VALIDATION_FAILED")
}

func definitionsAccepted(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	for _, definition := range acceptedDefinitions() {
		r := c.patch(form, []byte(`{"definition":`+definition+`}`)).want(http.StatusOK)
		sections, _ := decode([]byte(definition)).(object)
		for section, value := range sections {
			r.same(section, at(r.object(), "definition", section), value)
		}
	}
}

// kept writes a definition, and notes a fault unless the answer and a later read have it as it was sent.
func (c *caller) kept(form string, definition object) {
	r := c.patch(form, object{"definition": definition}).want(http.StatusOK)
	for _, r := range []*response{r, c.get(form).want(http.StatusOK)} {
		for section, value := range definition {
			r.same(section, at(r.object(), "definition", section), value)
		}
	}
	if blocks, ok := definition["blocks"]; ok {
		r := c.get(form + "/blocks").want(http.StatusOK)
		r.same("the blocks", r.object()["items"], blocks)
	}
}

func definitionsEmptyValues(s *session) {
	c := s.caller()
	c.kept("/forms/"+c.form(c.workspace()), object{
		"blocks": []any{
			object{"id": "a", "type": "single_choice", "label": "", "description": "", "required": false, "choices": []any{}, "children": []any{}, "properties": object{}},
			object{"id": "b", "type": "number", "properties": object{"min": 0, "max": 0, "maxChars": 0, "multiSelection": false, "buttonText": "", "specificDates": []any{}, "rule": object{}, "image": object{"a": []any{}, "b": false, "c": nil, "d": 0, "e": ""}}},
			object{"id": "c", "type": "dropdown", "choices": []any{object{"id": "x", "label": "", "image": nil}}},
		},
		"settings":  object{"branding": false, "borderRadius": 0, "redirectUrl": "", "submitLabel": "", "utm": object{}, "cover": object{"position": object{"x": 0, "y": 0}}},
		"theme":     object{"font": "", "corners": 0, "colors": object{"dark": object{}}, "logo": object{}},
		"variables": object{"n": 0, "t": ""}, "hidden_fields": []any{},
	})
}

func definitionsTexts(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	var blocks []any
	for i, text := range []string{
		"  two spaces ", "a\nb\r\nc\td", "<b>&amp;</b> \"'`", "A\u030a \u00c5 \u212b", "ﬁ ſ ı İ ß", "😀👨‍👩‍👧", "שלום \u200fمرحبا", "\\u0041 %41 &#65; ${a} {{b}}",
		"\u00a0\u3000\u2028\ufeffx", "null", "0", strings.Repeat("long text ", 400),
	} {
		id := fmt.Sprint("t", i)
		blocks = append(blocks, object{"id": id, "type": "dropdown", "label": text, "description": text, "choices": []any{object{"id": id, "label": text}}})
	}
	c.kept(form, object{"blocks": blocks, "settings": object{"submitLabel": " <a> "}, "theme": object{"customCss": "a > b { content: \"\\201c\" }\n"}, "variables": object{" A\u030a<": " x\n"}, "hidden_fields": []any{"Å", "a b"}})
}

func definitionsNumbers(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	for _, number := range []string{"10", "1000000", "123456789012", "9007199254740991", "-9007199254740991", "0.1", "-2.5", "1234567.891", "0.000001"} {
		r := c.patch(form, []byte(`{"definition":{"variables":{"v":`+number+`},"settings":{"borderRadius":`+number+`}}}`)).want(http.StatusOK)
		definition := r.object()["definition"]
		r.same("the variable", at(definition, "variables", "v"), json.Number(number))
		r.same("borderRadius", at(definition, "settings", "borderRadius"), json.Number(number))
		if !strings.ContainsAny(number, ".") && strings.Count(string(r.body), number) < 2 {
			r.faultf("an integer is not written as %s in the response", number)
		}
	}
	for _, number := range []string{"1", "10", "1000000", "9007199254740991"} {
		r := c.patch(form, []byte(`{"definition":{"settings":{"responseLimit":`+number+`},"blocks":[{"id":"b","type":"text","properties":{"perRow":`+number+`}}]}}`)).want(http.StatusOK)
		if strings.Count(string(r.body), `:`+number) < 2 {
			r.faultf("an integer is not written as %s in the response", number)
		}
	}
}

func definitionsOrder(s *session) {
	c := s.caller()
	names := []string{"c", "a", "d", "B", "10", "9", "b"}
	var ids, hidden, blocks []any
	for _, name := range names {
		ids = append(ids, object{"id": name, "label": name})
		hidden = append(hidden, "h"+name)
	}
	dates := []any{"2030-03-01T00:00:00Z", "2030-01-01T00:00:00Z", "2030-02-01T00:00:00Z"}
	for _, name := range names {
		blocks = append(blocks, object{
			"id": "block " + name, "type": "group", "choices": ids, "matrix_rows": ids, "matrix_columns": ids, "properties": object{"specificDates": dates, "allowedFiles": []any{"pdf", "doc", "jpg"}},
			"children": []any{object{"id": name + "2", "type": "short_text"}, object{"id": name + "1", "type": "short_text"}},
		})
	}
	c.kept("/forms/"+c.form(c.workspace()), object{"blocks": blocks, "hidden_fields": hidden})
}

func definitionsTimesNormalised(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	r := c.patch(form, []byte(`{"definition":{"settings":{"openAt":"2999-01-01T00:30:00+00:30","closeAt":"2999-01-02T03:04:05.987+05:30"},"blocks":[{"id":"d","type":"date","properties":{"specificDates":["2030-06-01t12:00:00.5z"]}}]}}`)).want(http.StatusOK)
	d := r.object()["definition"]
	r.same("openAt", at(d, "settings", "openAt"), "2999-01-01T00:00:00Z")
	r.same("closeAt", at(d, "settings", "closeAt"), "2999-01-01T21:34:05Z")
	blocks, _ := at(d, "blocks").([]any)
	if len(blocks) != 1 {
		r.fatalf("the form has %d blocks, want one", len(blocks))
	}
	r.same("specificDates", at(blocks[0], "properties", "specificDates"), []any{"2030-06-01T12:00:00Z"})
}

// definitionsCalendarDays knows nothing of the service's time zone.
func definitionsCalendarDays(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	r := c.put(form+"/blocks", []byte(`{"blocks":[{"id":"d","type":"date","properties":{"afterDate":"2030-01-01T00:30:00+09:00","beforeDate":"2030-01-01T23:30:00-05:00"}}]}`)).want(http.StatusOK)
	blocks, _ := r.object()["items"].([]any)
	if len(blocks) != 1 {
		r.fatalf("the form has %d blocks, want one", len(blocks))
	}
	first := at(blocks[0], "properties", "afterDate")
	r.same("beforeDate, the same day with another offset", at(blocks[0], "properties", "beforeDate"), first)
	text, _ := first.(string)
	start, err := time.Parse(time.RFC3339, text)
	day := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if err != nil || start.Before(day.Add(-14*time.Hour)) || start.After(day.Add(12*time.Hour)) {
		r.faultf("afterDate is %q, which is not the start of 2030-01-01 in any time zone", text)
	}
	again := c.put(form+"/blocks", object{"blocks": blocks}).want(http.StatusOK)
	r.same("the form after its own definition was written back", again.object()["items"], blocks)
}

func definitionsAllAtOnce(s *session) {
	w := s.newWorld()
	w.patch("/forms/"+w.formID, []byte(`{"name":"","status":"x","definition":{"blocks":[{"id":"","type":"x"},{"label":1}],"settings":{"utm":{"term":1}},"theme":{"colors":{"ring":"x"}},"x":1}}`)).invalid(violations{
		"/name": "", "/status": "", "/definition/blocks/0/id": "", "/definition/blocks/0/type": "", "/definition/blocks/1/id": "REQUIRED", "/definition/blocks/1/label": "WRONG_TYPE",
		"/definition/settings/utm/term": "WRONG_TYPE", "/definition/theme/colors/ring": "", "/definition/x": "UNKNOWN_FIELD",
	})
	var blocks []any
	for i := range 80 {
		blocks = append(blocks, object{"id": fmt.Sprint("x", i), "label": i})
	}
	r := w.put("/forms/"+w.formID+"/blocks", object{"blocks": blocks}).refused("VALIDATION_FAILED")
	if n := len(r.errorBody().details); n != 50 {
		r.faultf("the error has %d details for 80 violations, want 50", n)
	}
}

// inBlock is a definition of one block with these members.
func inBlock(members string) string { return `{"blocks":[{"id":"b",` + members + `}]}` }

func wrongTypes() []faulty {
	var out []faulty
	for path, value := range map[string]string{
		"blocks": `{}`, "settings": `[]`, "theme": `"x"`, "variables": `[]`, "hidden_fields": `{}`,
		"settings/branding": `"true"`, "settings/borderRadius": `"4"`, "settings/openAt": `1`, "settings/closeAt": `1`, "settings/redirectUrl": `1`, "settings/utm": `true`, "settings/cover": `"x"`,
		"theme/customCss": `1`, "theme/colors": `[]`, "theme/alignment": `1`, "theme/logo": `"url"`,
		"hidden_fields/0": `1`,
		"blocks/0":        `"x"`, "blocks/0/id": `1`, "blocks/0/type": `1`, "blocks/0/label": `1`, "blocks/0/required": `"yes"`, "blocks/0/properties": `[]`,
		"blocks/0/choices": `{}`, "blocks/0/choices/0": `"a"`, "blocks/0/choices/0/label": `1`, "blocks/0/children": `{}`, "blocks/0/matrix_rows": `1`,
		"blocks/0/properties/maxChars": `"1"`, "blocks/0/properties/min": `"1"`, "blocks/0/properties/minVal": `1`, "blocks/0/properties/specificDates": `"x"`,
		"blocks/0/properties/allowedFiles": `"pdf"`, "blocks/0/properties/allowedFiles/0": `1`, "blocks/0/properties/rule": `[]`, "blocks/0/properties/image": `"x"`,
		"blocks/0/properties/addressOrContact": `[]`, "blocks/0/properties/addressOrContact/zip/hide": `"x"`,
	} {
		out = append(out, faulty{build(strings.Split(path, "/"), value), violations{"/" + path: "WRONG_TYPE"}})
	}
	return out
}

// build makes the JSON in which a value stands at a path. An array has one item;
// a block has an id and a choice has one too.
func build(path []string, value string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == "0" {
			value = "[" + value + "]"
			continue
		}
		member := string(raw(path[i])) + ":" + value
		if i > 0 && path[i-1] == "0" && path[i] != "id" {
			member = `"id":"x",` + member
		}
		value = "{" + member + "}"
	}
	return value
}

func acceptedDefinitions() []string {
	var out []string
	for _, kind := range strings.Fields(`short_text long_text email phone website number rating opinion_scale nps yes_no legal
		single_choice multiple_choice picture_choice dropdown ranking matrix date time file_upload signature address contact_info
		country payment group captcha welcome statement ending heading text image video pdf embed divider page_break`) {
		out = append(out, inBlock(`"type":"`+kind+`"`))
	}
	for name, values := range map[string]string{
		"icon":        "cat circle cloud crown dog droplet flag heart lightbulb pencil skull star thunderbolt tick trophy up user",
		"dateFormat":  "MMDDYYYY DDMMYYYY YYYYMMDD",
		"imageAlign":  "inline float_left float_right split_left split_right cover",
		"badgeType":   "letter number",
		"captchaType": "none recaptcha hcaptcha turnstile",
		"buttonLink":  "https://example.com http://example.com/x?y#z mailto:a@example.com tel:+491234",
		"embedLink":   "https://example.com/",
	} {
		for value := range strings.FieldsSeq(values) {
			out = append(out, inBlock(`"type":"text","properties":{"`+name+`":"`+value+`"}`))
		}
	}
	return append(out,
		inBlock(`"type":"legal","properties":{"legalType":0}`), inBlock(`"type":"legal","properties":{"legalType":1}`),
		inBlock(`"type":"date","properties":{"disabledDays":0}`), inBlock(`"type":"date","properties":{"disabledDays":127}`),
		inBlock(`"type":"text","choices":[{"id":"c","label":"unused by the type","image":null}]`),
		inBlock(`"type":"text","choices":[{"id":"c","label":"","image":[{"x":1},"y",null,true]}]`),
		inBlock(`"type":"text","properties":{"rule":{"any":[null,{"thing":1}]},"image":{"a":{"b":null}}}`),
		inBlock(`"type":"text","properties":{"perRow":9007199254740991,"limit":-9007199254740991}`),
		`{"settings":{"redirectUrl":"mailto:a@example.com"}}`, `{"settings":{"redirectUrl":""}}`,
		`{"settings":{"cover":{"color":"not a hex color"}}}`,
		`{"theme":{"colors":{"ring":"#abc","input":"#ABCD","text":"#a1b2c3","border":"#A1B2C3D4"}}}`,
		`{"theme":{"inputs":{"background":"blue"},"buttons":{"background":"var(--x)"}}}`,
		`{"variables":{"":0,"with space":"x","n":-1.5e10}}`,
		`{"hidden_fields":["a","A","ä"]}`,
	)
}

func definitionLimits(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	l := s.target.Limits
	patch := func(definition object) *response { return c.patch(form, object{"definition": definition}) }
	many := func(n int) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = object{"id": fmt.Sprint("b", i), "type": "short_text"}
		}
		return out
	}
	deep := func(levels int) []any {
		b := object{"id": fmt.Sprint("level", levels), "type": "short_text"}
		for i := levels - 1; i > 0; i-- {
			b = object{"id": fmt.Sprint("level", i), "type": "group", "children": []any{b}}
		}
		return []any{b}
	}
	stored := func(r *response, blocks []any) {
		r.want(http.StatusOK)
		if !bytes.Equal(raw(normal(at(r.object(), "definition", "blocks"))), raw(normal(blocks))) {
			r.faultf("the blocks differ from the blocks that were sent")
		}
	}
	stored(patch(object{"blocks": deep(l.Nesting)}), deep(l.Nesting))
	patch(object{"blocks": deep(l.Nesting + 1)}).refused("VALIDATION_FAILED")
	long := []any{object{"id": strings.Repeat("é", 200), "type": "short_text", "label": strings.Repeat("é", l.Text), "description": strings.Repeat("é", l.Text)}}
	stored(patch(object{"blocks": long}), long)
	patch(object{"blocks": []any{object{"id": strings.Repeat("é", 201), "label": strings.Repeat("é", l.Text+1), "description": strings.Repeat("é", l.Text+1)}}}).invalid(violations{
		"/definition/blocks/0/id": "TOO_LONG", "/definition/blocks/0/label": "TOO_LONG", "/definition/blocks/0/description": "TOO_LONG",
	})
	css := patch(object{"theme": object{"customCss": strings.Repeat("a", l.CustomCSS)}}).want(http.StatusOK)
	if got := len(text(css.object()["definition"].(object)["theme"].(object), "customCss")); got != l.CustomCSS {
		css.faultf("customCss has %d bytes, want the %d bytes that were sent", got, l.CustomCSS)
	}
	patch(object{"theme": object{"customCss": strings.Repeat("a", l.CustomCSS+1)}}).invalid(violations{"/definition/theme/customCss": "TOO_LONG"})
	// A dropdown has a cell a choice, a matrix one for each row in each column.
	cells := func(n int) []any {
		var out []any
		for ; n > 0; n -= min(n, l.Cells, 500) {
			choices := make([]any, min(n, l.Cells, 500))
			for i := range choices {
				choices[i] = object{"id": fmt.Sprint("c", i)}
			}
			out = append(out, object{"id": fmt.Sprint("b", len(out)), "type": "dropdown", "choices": choices})
		}
		return out
	}
	grid := func(rows, columns int) object {
		lines := func(n int) []any {
			out := make([]any, n)
			for i := range out {
				out[i] = object{"id": fmt.Sprint(i)}
			}
			return out
		}
		return object{"id": "grid", "type": "matrix", "matrix_rows": lines(rows), "matrix_columns": lines(columns)}
	}
	rows := l.Cells/500 + 1 // a list has at most 500 items
	patch(object{"blocks": []any{grid(rows, l.Cells/rows)}}).want(http.StatusOK)
	patch(object{"blocks": []any{grid(rows, l.Cells/rows+1)}}).invalid(violations{"/definition/blocks/0": "TOO_MANY"})
	c.put(form+"/blocks", object{"blocks": []any{grid(rows, l.Cells/rows+1)}}).invalid(violations{"/blocks/0": "TOO_MANY"})
	patch(object{"blocks": cells(l.AllCells + 1)}).invalid(violations{"/definition/blocks": "TOO_MANY"})
	stored(patch(object{"blocks": cells(l.AllCells)}), cells(l.AllCells))
	c.post(form+"/blocks", object{"block": grid(1, 1)}).invalid(violations{"/block": "TOO_MANY"})
	patch(object{"blocks": many(l.Blocks + 1)}).invalid(violations{"/definition/blocks": ""})
	stored(patch(object{"blocks": many(l.Blocks)}), many(l.Blocks))
	c.post(form+"/blocks", object{"block": block("one more")}).refused("VALIDATION_FAILED")
}
