package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/apispec"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

const (
	oid  = `"65a1f0c2d4e5b6a7980c1d02"`
	when = `"2026-11-20T08:33:01Z"`
)

// TestSchemasTellRightFromWrong asks the component schemas about values whose
// verdict was agreed.
func TestSchemasTellRightFromWrong(t *testing.T) {
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	webhook := func(more string) string { return `{"form_id":` + oid + `,"url":"https://example.com"` + more + `}` }
	property := func(p string) string { return `{"id":"a","properties":{` + p + `}}` }
	answer := func(typ, value string) string {
		return `{"field":{"id":"a","type":"` + typ + `","label":""},"value":` + value + `}`
	}
	form := `{"id":` + oid + `,"public_id":"k3VqTz81LmNc","workspace_id":` + oid + `,"name":"n","status":"draft","is_closed":false,"created_at":` + when +
		`,"updated_at":` + when + `,"links":{"self":"/","submissions":"/"},"type":"SINGLE","definition":{"blocks":[],"settings":{},"theme":{},"variables":{},"hidden_fields":[]}}`
	without := func(s, part string) string { return strings.Replace(s, part, "", 1) }
	failure := func(typ, code, status, more string) string {
		return `{"type":"` + typ + `","code":"` + code + `","message":"m","status":` + status + `,"request_id":"r"` + more + `}`
	}
	details := `,"details":[{"path":"/name","code":"REQUIRED","message":"m"}]`
	delivery := `{"id":` + oid + `,"event":"form.response.completed","event_id":` + oid + `,"submission_id":null,"attempt":1,"status":0,"success":false,"error":"network","duration_ms":1,"created_at":` + when + `,"next_attempt_at":null}`

	ws := func(name string) string {
		return `{"id":` + oid + `,"public_id":"k3VqTz81LmNc","name":` + name + `,"created_at":` + when + `,"updated_at":` + when + `}`
	}
	me := `{"id":` + oid + `,"name":"","email":"","scopes":["forms:read"]}`

	cases := map[string]struct{ right, wrong []string }{
		"parameters/Limit/schema":             {[]string{`1`, `100`}, []string{`0`, `101`, `1.5`, `"1"`}},
		"parameters/InPeriod/schema":          {[]string{`"24h"`}, []string{`"1d"`, `""`}},
		"parameters/BlockId/schema":           {[]string{`"a"`, long(200)}, []string{`""`, long(201)}},
		"parameters/FormId/schema":            {[]string{oid}, []string{`"form"`}},
		"parameters/Since/schema":             {[]string{when}, []string{`"2026-11-20"`}},
		"parameters/SuppliedRequestId/schema": {[]string{`"a.B_9-"`, `"` + strings.Repeat("a", 100) + `"`}, []string{`""`, `"a b"`, `"é"`, `"` + strings.Repeat("a", 101) + `"`}},
		"headers/ETag/schema":                 {[]string{`"\"r1\""`}, []string{`"r1"`, `"W/\"r1\""`, `"\"\""`}},
		"headers/RetryAfter/schema":           {[]string{`1`}, []string{`0`, `1.5`}},

		"ObjectId":  {[]string{oid, `"65A1F0C2D4E5B6A7980C1D02"`}, []string{`"65a1f0c2d4e5b6a7980c1d0"`, `"65a1f0c2d4e5b6a7980c1d020"`, `"65a1f0c2d4e5b6a7980c1d0g"`, `"65a1f0c2d4e5b6a7980c1d02\n"`, `1`}},
		"Timestamp": {[]string{when}, []string{`"2026-11-20T08:33:01.5Z"`, `"2026-11-20T08:33:01+00:00"`, `"2026-13-20T08:33:01Z"`, `"2026-11-20"`}},
		"DateTime":  {[]string{when, `"2026-11-20T08:33:01.5+01:00"`}, []string{`"2026-11-20"`, `"now"`, `0`}},
		"Color":     {[]string{`"#abc"`, `"#ABCD"`, `"#a1b2c3"`, `"#a1b2c3d4"`}, []string{`"abc"`, `"#ab"`, `"#abcde"`, `"#a1b2c3d"`, `"#a1b2c3d4e"`, `"red"`, `""`, `"#abc\n"`}},

		"Page": {[]string{`{"has_more":false,"next_cursor":null}`, `{"has_more":true,"next_cursor":"c"}`},
			[]string{`{"has_more":true,"next_cursor":1}`, `{"has_more":true,"next_cursor":""}`, `{"has_more":false}`}},

		"WorkspaceWrite": {[]string{`{"name":"n"}`, `{"name":` + long(120) + `}`}, []string{`{}`, `{"name":""}`, `{"name":` + long(121) + `}`, `{"name":null}`, `{"Name":"n"}`, `{"name":"n","id":1}`, `[]`}},
		"FormCreate":     {[]string{`{"workspace_id":` + oid + `,"name":` + long(200) + `}`}, []string{`{"name":"n"}`, `{"workspace_id":` + oid + `}`, `{"workspace_id":` + oid + `,"name":` + long(201) + `}`, `{"workspace_id":` + oid + `,"name":"n","status":"draft"}`, `{"workspace_id":` + oid + `,"name":"n","type":"single"}`}},
		"FormUpdate":     {[]string{`{"name":"n"}`, `{"status":"published"}`, `{"type":"MULTI"}`, `{"workspace_id":` + oid + `}`, `{"definition":{}}`}, []string{`{}`, `{"status":"closed"}`, `{"type":"PAGES"}`, `{"definition":null}`, `{"definition":{"blocks":{}}}`, `{"definition":{"other":1}}`}},
		"Variables":      {[]string{`{}`, `{"a":1,"b":"x"}`}, []string{`{"a":true}`, `{"a":null}`, `{"a":{}}`, `[]`}},
		"BlockWrite": {
			[]string{`{"id":"a"}`, `{"id":` + long(200) + `}`, `{"id":"a","children":[{"id":"b"}]}`, `{"id":"a","choices":[{"id":"c","image":[1]}]}`,
				property(`"maxChars":9007199254740991,"limit":-9007199254740991`), property(`"disabledDays":127`), property(`"rule":{"a":[]},"image":{"b":1}`), property(`"legalType":1.0`), property(`"min":1.5`)},
			[]string{`{}`, `{"id":""}`, `{"id":1}`, `{"id":` + long(201) + `}`, `{"id":"a","type":"poem"}`, `{"id":"a","label":null}`, `{"id":"a","children":[{"id":"b","other":1}]}`, `{"id":"a","choices":[{"id":"c","ID":"c"}]}`, `{"id":"a","choices":[{"label":"c"}]}`, `{"id":"a","matrix_rows":[{"id":""}]}`, `{"id":"a","matrix_columns":[{}]}`,
				property(`"maxChars":9007199254740992`), property(`"maxChars":1.5`), property(`"disabledDays":128`), property(`"disabledDays":-1`), property(`"legalType":2`), property(`"rule":[]`), property(`"icon":"moon"`), property(`"other":1`), property(`"beforeDate":"soon"`), property(`"addressOrContact":{"fax":{}}`)},
		},
		"BlockUpdate":   {[]string{`{"block":{"label":null}}`, `{"block":{"id":"a","type":null,"properties":{"min":null}}}`, `{"block":{"properties":null}}`}, []string{`{}`, `{"block":{}}`, `{"block":null}`, `{"block":{"id":null}}`, `{"block":{"other":1}}`, `{"block":{"label":1}}`}},
		"Settings":      {[]string{`{}`, `{"responseLimit":5,"utm":{"term":true},"cover":{"position":{"x":0.5}}}`}, []string{`{"responseLimit":1e16}`, `{"closeAt":"later"}`, `{"utm":{"id":true}}`, `{"closed":"no"}`, `{"cover":{"image":{"href":"x"}}}`}},
		"Theme":         {[]string{`{}`, `{"colors":{"ring":"#abc","dark":{"ring":"#abcdef12"}},"inputs":{"background":"red"}}`}, []string{`{"colors":{"ring":"red"}}`, `{"colors":{"dark":{"dark":{}}}}`, `{"colors":{"other":"#abc"}}`, `{"alignment":{"logo":"left"}}`}},
		"WebhookCreate": {[]string{webhook(``), webhook(`,"enabled":false,"signing_secret":` + long(16))}, []string{`{"form_id":` + oid + `}`, `{"url":"https://example.com"}`, webhook(`,"signing_secret":` + long(15)), webhook(`,"signing_secret":null`), webhook(`,"enabled":1`)}},
		"WebhookUpdate": {[]string{`{"signing_secret":null}`, `{"enabled":true}`}, []string{`{}`, `{"form_id":` + oid + `}`, `{"signing_secret":` + long(15) + `}`, `{"url":null}`}},

		"CurrentUser": {[]string{me}, []string{without(me, `,"email":""`), strings.Replace(me, `["forms:read"]`, `null`, 1)}},
		"Workspace":   {[]string{ws(long(120))}, []string{ws(long(121)), ws(`""`), without(ws(`"n"`), `"public_id":"k3VqTz81LmNc",`), strings.Replace(ws(`"n"`), "k3V", "-3V", 1)}},
		"Form":        {[]string{form}, []string{without(form, `,"is_closed":false`), without(form, `,"hidden_fields":[]`), without(form, `"blocks":[],`)}},
		"Block":       {[]string{`{"id":"a","type":"group","children":[{"id":"b","type":"nps"}]}`, `{"id":"a","type":"nps","choices":[{},{"id":""}]}`}, []string{`{"id":"a"}`, `{"type":"nps"}`, `{"id":"a","type":"group","children":[{"id":"b"}]}`, `{"id":"a","type":"nps","label":null}`}},
		"Delivery":    {[]string{delivery}, []string{without(delivery, `,"submission_id":null`), strings.Replace(delivery, `"attempt":1`, `"attempt":0`, 1)}},

		"Answer": {
			[]string{answer("short_text", `"x"`), answer("number", `1.5`), answer("nps", `0`), answer("legal", `true`), answer(`legal","text":"I agree`, `true`), answer("single_choice", `{"id":"a","label":""}`), answer("dropdown", `{"other":"x"}`),
				answer("picture_choice", `{"id":"a","label":"A"}`), answer("picture_choice", `[{"id":"a","label":"A"}]`), answer("matrix", `{"r":{"id":"a","label":"A"}}`), answer("matrix", `{"r":[{"id":"a","label":"A"}]}`),
				answer("date", `"2026-11-20"`), answer("date", when), answer("time", `"23:59"`), answer("time", `"23:59:59"`), answer("payment", `{"amount":"10.00","currency":"EUR","status":"paid","gateway":"g"}`), answer("hidden", `"x"`)},
			[]string{answer("ranking", `["a"]`), answer("hidden", `null`), `{"value":"x"}`},
		},
		"AnswerValue": {[]string{`"x"`, `1`, `true`, `[]`, `{"r":{"id":"a","label":"A"}}`}, []string{`null`, `[1]`}},
		"Error": {
			[]string{failure("not_found_error", "NOT_FOUND", "404", ""), failure("validation_error", "VALIDATION_FAILED", "422", details), failure("server_error", "UNAVAILABLE", "503", "")},
			[]string{failure("not_found_error", "NOT_FOUND", `"404"`, ""), failure("validation_error", "VALIDATION_FAILED", "422", `,"details":[]`), failure("validation_error", "VALIDATION_FAILED", "422", `,"details":[{"path":"","code":"WRONG"}]`)},
		},
	}
	// What only a later version answers: clients read it, and this version is held not to send it.
	later := map[string][]string{
		"CurrentUser": {strings.Replace(me, "forms:read", "forms:all", 1)},
		"Workspace":   {strings.Replace(ws(`"n"`), `{`, `{"colour":"red",`, 1)},
		"Form":        {strings.Replace(form, `"draft"`, `"trashed"`, 1), strings.Replace(form, `"name":"n"`, `"name":"n","revision":1`, 1)},
		"Block":       {`{"id":"a","type":"poem"}`, `{"id":"a","type":"nps","rhyme":1}`},
		"Delivery":    {strings.Replace(delivery, `"network"`, `"dns"`, 1), strings.Replace(delivery, `"status":0`, `"status":0,"url":"https://example.com"`, 1), strings.Replace(delivery, "completed", "begun", 1)},
		"Answer": {answer("captcha", `"x"`), answer("poem", `{"lines":2}`), answer("poem", `[{"lines":2}]`), answer("single_choice", `{"id":"a"}`), answer("single_choice", `{"id":"a","label":"A","other":"x"}`),
			answer("matrix", `{"r":["a"]}`), answer("signature", `{"id":"f"}`), answer("payment", `{"amount":10,"currency":"EUR","status":"paid","gateway":"g"}`)},
		"AnswerValue": {`{"r":1}`},
		"Error":       {failure("gone_error", "GONE", "410", ""), failure("validation_error", "VALIDATION_FAILED", "422", `,"details":[{"path":"","code":"WRONG","message":"m"}]`), failure("server_error", "UNAVAILABLE", "503", `,"cause":"x"`)},
	}
	closed := expect.Must(apispec.MakeStrict(schema.OpenAPI()))
	d, strict := open(t), read(t, closed)
	for name, c := range cases {
		pointer := "/components/" + name
		if !strings.Contains(name, "/") {
			pointer = "/components/schemas/" + name
		}
		judge := func(d description, text string, right bool) {
			var v any
			err := json.Unmarshal([]byte(text), &v)
			expect.Require(t, err == nil, "%s: %s: %v", name, text, err)
			err = d.schema(pointer).Validate(v)
			expect.That(t, (err == nil) == right, "%s: %s: right %t, verdict %v", name, text, right, err)
		}
		for _, text := range c.right {
			judge(d, text, true)
			judge(strict, text, true)
		}
		for _, text := range c.wrong {
			judge(d, text, false)
			judge(strict, text, false)
		}
		for _, text := range later[name] {
			judge(d, text, true)
			judge(strict, text, false)
		}
	}
}

func TestParametersHaveTheirDefaults(t *testing.T) {
	d := open(t)
	for pointer, want := range map[string]any{
		"/components/parameters/Limit/schema/default":    20.0,
		"/components/parameters/InPeriod/schema/default": "30d",
	} {
		got, _ := d.find(pointer)
		expect.That(t, got == want, "%s is %v, want %v", pointer, got, want)
	}
}
