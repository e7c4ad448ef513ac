package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

func bodyCases() []testCase {
	return []testCase{
		{"bodies/hostile", "A body that is not acceptable JSON returns 400 for every operation with a body, and changes nothing.", nil, bodiesHostile},
		{"bodies/hostile-name", "JSON that is not acceptable returns 400 anywhere in the body.", nil, bodiesHostileName},
		{"bodies/duplicate-members", "A field that occurs twice in an object returns 400, with any spelling and at any depth.", nil, bodiesDuplicateMembers},
		{"bodies/nesting", "64 levels of nesting are read, 65 are 400.", nil, bodiesNesting},
		{"bodies/nodes", "A body with more than 100,000 values returns 400.", nil, bodiesNodes},
		{"bodies/number-length", "A number of 64 characters is accepted, and a number of 65 characters returns 400.", nil, bodiesNumberLength},
		{"bodies/name-length", "A field name of 1,000 bytes is accepted, and a name of 1,001 bytes returns 400.", nil, bodiesNameLength},
		{"bodies/size", "A body of exactly the limit is accepted, and one more byte returns 413, with or without Content-Length.", nil, bodiesSize},
		{"bodies/content-type", "A body requires the Content-Type application/json or a type that ends in +json, with or without parameters.", nil, bodiesContentType},
		{"bodies/spelling", "JSON can have whitespace between its tokens and escapes in its strings, including names.", nil, bodiesSpelling},
		{"bodies/missing", "A missing body returns 422, with or without a Content-Type.", nil, bodiesMissing},
		{"bodies/not-an-object", "A JSON body that is not an object, and {}, return 422.", nil, bodiesNotAnObject},
		{"bodies/unknown-members", "An unknown field is rejected with its pointer, in every body and at every depth.", nil, unknownMembers},
		{"bodies/null", "null returns 422 wherever a value is expected.", nil, nullMembers},
		{"bodies/nul-character", "U+0000 returns 422 in any string and in field names.", nil, bodiesNulCharacter},
		{"bodies/names", "A name of a workspace or form must not contain line breaks, other control characters or characters that change the text direction.", nil, bodiesNames},
		{"bodies/exact-case", "Field names are case-sensitive.", nil, bodiesExactCase},
	}
}

func bodiesHostile(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	for _, o := range writes() {
		for _, h := range hostileBodies(s.target.Limits.Body) {
			r := w.call(o.method, o.in(w), h.body)
			if r.status != http.StatusBadRequest || r.errorBody().code != "MALFORMED_JSON" {
				r.faultf("%s: status is %d, want 400 MALFORMED_JSON", h.name, r.status)
			}
		}
	}
	w.unchanged(before)
}

func bodiesHostileName(s *session) {
	c := s.caller()
	for _, value := range []string{
		"1e1000001", "-1e309", "1" + strings.Repeat("0", 64), "0." + strings.Repeat("1", 63),
		`"\ud800"`, `"\udc00\ud800"`, `"\ud800x"`, `"\ud83d\u0041"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"",
		"\"\x00\"", "\"\x1f\"", `"\x"`, `"\u12"`, "'x'", "01", "+1", ".5", "1.", "NaN", "Infinity", "tru", "[1,]", `{"a":1,}`, "/**/1",
	} {
		c.post("/workspaces", []byte(`{"name":`+value+`}`)).refused("MALFORMED_JSON")
	}
}

func bodiesDuplicateMembers(s *session) {
	w := s.newWorld()
	for _, body := range []string{
		`{"name":"a","name":"a"}`, `{"name":"a","n\u0061me":"b"}`, `{"name":"a","x":{"y":1,"y":1}}`, `{"name":"a","":1,"":2}`,
	} {
		w.post("/workspaces", []byte(body)).refused("MALFORMED_JSON")
	}
	w.patch("/forms/"+w.formID, []byte(`{"definition":{"variables":{"v":1,"v":1}}}`)).refused("MALFORMED_JSON")
	w.put("/forms/"+w.formID+"/blocks", []byte(`{"blocks":[{"id":"x","properties":{"rule":{"a":{"b":1,"b":1}}}}]}`)).refused("MALFORMED_JSON")
}

func bodiesNesting(s *session) {
	c := s.caller()
	c.post("/workspaces", nest(64)).refused("VALIDATION_FAILED")
	c.post("/workspaces", nest(65)).refused("MALFORMED_JSON")
}

func bodiesNodes(s *session) {
	c := s.caller()
	c.post("/workspaces", zeros(99_000)).refused("VALIDATION_FAILED")
	c.post("/workspaces", zeros(100_001)).refused("MALFORMED_JSON")
}

func bodiesNumberLength(s *session) {
	w := s.newWorld()
	put := func(digits int) *response {
		number := "0." + strings.Repeat("1", digits-2)
		return w.patch("/forms/"+w.formID, []byte(`{"definition":{"variables":{"v":`+number+`}}}`))
	}
	put(64).want(http.StatusOK)
	put(65).refused("MALFORMED_JSON")
}

func bodiesNameLength(s *session) {
	w := s.newWorld()
	put := func(name string) *response {
		return w.patch("/forms/"+w.formID, []byte(`{"definition":{"variables":{"`+name+`":1}}}`))
	}
	put(strings.Repeat("n", 1000)).want(http.StatusOK)
	put(strings.Repeat("n", 1001)).refused("MALFORMED_JSON")
	put(strings.Repeat("é", 500)).want(http.StatusOK)
	put(strings.Repeat("é", 501)).refused("MALFORMED_JSON")
}

func bodiesSize(s *session) {
	c, unique := s.caller(), newID()
	name := func(n int) []byte {
		b := bytes.Repeat([]byte(" "), n)
		copy(b, `{"name":"`+unique+`"}`)
		return b
	}
	limit := s.target.Limits.Body
	chunked := func(r *request) { r.stream = true }
	c.post("/workspaces", name(limit)).want(http.StatusCreated)
	c.post("/workspaces", name(limit), chunked).want(http.StatusCreated)
	c.post("/workspaces", name(limit+1)).refused("BODY_TOO_LARGE")
	c.post("/workspaces", name(limit+1), chunked).refused("BODY_TOO_LARGE")
	if got := strings.Count(string(c.get("/workspaces?limit=100").want(http.StatusOK).body), unique); got != 2 {
		s.errorf("the list has %d workspaces, want the two that were created", got)
	}
}

func bodiesContentType(s *session) {
	c := s.caller()
	for _, good := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json", "application/vnd.x+json; v=1"} {
		c.post("/workspaces", object{"name": "W"}, withHeader("Content-Type", good)).want(http.StatusCreated)
	}
	for _, o := range writes() {
		w := c.nowhere()
		for _, bad := range []string{"text/plain", "application/x-www-form-urlencoded", "application/jsonx", "text/json; x", "multipart/form-data; boundary=x", "application/xml", "json", "/", "*/*"} {
			o.callAs(c, w, withHeader("Content-Type", bad)).refused("UNSUPPORTED_MEDIA_TYPE")
		}
		o.callAs(c, w, withHeader("Content-Type")).refused("UNSUPPORTED_MEDIA_TYPE")
	}
}

func bodiesSpelling(s *session) {
	c := s.caller()
	workspace := c.workspace()
	for _, body := range []string{
		" \r\n\t{ \"name\" :\n" + `"W\u00fc/\\\""` + "\t} \r\n", `{"n\u0061me":"W\u00FC\/\\\u0022"}`, `{"\u006E\u0061\u006D\u0065":"\u0057ü/\u005c\""}`,
	} {
		r := c.patch("/workspaces/"+workspace, []byte(body)).want(http.StatusOK)
		r.same("name", r.object()["name"], `Wü/\"`)
	}
	r := c.patch("/workspaces/"+workspace, []byte(`{"name":"\ud83d\ude00"}`)).want(http.StatusOK)
	r.same("name", r.object()["name"], "😀")
}

func bodiesMissing(s *session) {
	w := s.newWorld()
	for _, o := range writes() {
		w.call(o.method, o.in(w), nil).refused("VALIDATION_FAILED")
		w.call(o.method, o.in(w), nil, withHeader("Content-Type", "application/json")).refused("VALIDATION_FAILED")
	}
}

func bodiesNotAnObject(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	for _, o := range writes() {
		for _, body := range []string{`null`, `[]`, `"name"`, `1`, `true`} {
			w.call(o.method, o.in(w), []byte(body)).invalid(violations{"": "WRONG_TYPE"})
		}
		w.call(o.method, o.in(w), []byte(`{}`)).refused("VALIDATION_FAILED")
	}
	w.unchanged(before)
}

func bodiesNulCharacter(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	w.post("/workspaces", []byte(`{"name":"a\u0000b"}`)).invalid(violations{"/name": ""})
	w.patch(form, []byte(`{"name":"a\u0000b"}`)).invalid(violations{"/name": ""})
	w.patch(form, []byte(`{"definition":{"variables":{"v":"\u0000"}}}`)).invalid(violations{"/definition/variables/v": ""})
	w.patch(form, []byte(`{"definition":{"hidden_fields":["\u0000"]}}`)).invalid(violations{"/definition/hidden_fields/0": ""})
	w.patch(form, []byte(`{"definition":{"theme":{"customCss":"\u0000"}}}`)).invalid(violations{"/definition/theme/customCss": ""})
	w.put(form+"/blocks", []byte(`{"blocks":[{"id":"a\u0000"}]}`)).invalid(violations{"/blocks/0/id": ""})
	w.put(form+"/blocks", []byte(`{"blocks":[{"id":"a","properties":{"rule":{"x":["\u0000"]}}}]}`)).invalid(violations{"/blocks/0/properties/rule/x/0": ""})
	w.patch(form+"/blocks/b1", []byte(`{"block":{"label":"\u0000"}}`)).invalid(violations{"/block/label": ""})
	w.patch(form, []byte(`{"definition":{"variables":{"\u0000":1}}}`)).refused("VALIDATION_FAILED")
	w.post("/webhooks", []byte(`{"form_id":"`+w.formID+`","enabled":false,"url":"`+w.destination+`","signing_secret":"0123456789abcdef\u0000"}`)).invalid(violations{"/signing_secret": ""})
}

func bodiesNames(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	for _, c := range "\t\n\r\x1b\x7f\u0085\u2028\u2029\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		name := "a" + string(c) + "b"
		for _, bad := range []*response{
			w.post("/workspaces", object{"name": name}), w.patch("/workspaces/"+w.workspaceID, object{"name": name}),
			w.post("/forms", object{"workspace_id": w.workspaceID, "name": name}), w.patch("/forms/"+w.formID, object{"name": name}),
		} {
			bad.invalid(violations{"/name": "BAD_FORMAT"})
		}
	}
	w.unchanged(before)
	r := w.patch("/forms/"+w.formID, object{"name": "\n می\u200cخواهم \t"}).want(http.StatusOK)
	r.same("name", r.object()["name"], "می\u200cخواهم")
}

func bodiesExactCase(s *session) {
	w := s.newWorld()
	w.post("/workspaces", object{"Name": "W"}).invalid(violations{"/Name": "UNKNOWN_FIELD", "/name": "REQUIRED"})
	w.patch("/forms/"+w.formID, object{"NAME": "W", "name": "V"}).invalid(violations{"/NAME": "UNKNOWN_FIELD"})
}

type hostile struct {
	name string
	body []byte
}

func hostileBodies(limit int) []hostile {
	list := func(item string, n int) []byte {
		return []byte("[" + strings.Repeat(item+",", n-1) + item + "]")
	}
	return []hostile{
		{"open brackets up to the limit", bytes.Repeat([]byte("["), limit)},
		{"open objects", bytes.Repeat([]byte(`{"a":`), 20_000)},
		{"a number beyond float64", []byte("1e1000001")},
		{"18 kB of numbers beyond float64", list("1e999999", 2000)},
		{"numbers that print long", list("1e131000", 1000)},
		{"duplicate members", []byte(`{"name":"a","name":"b"}`)},
		{"a lone surrogate", []byte(`{"name":"\ud800"}`)},
		{"a lone surrogate in a name", []byte(`{"\udfff":1}`)},
		{"invalid UTF-8", []byte("{\"name\":\"\xff\xfe\"}")},
		{"invalid UTF-8 in a name", []byte("{\"\xff\":1}")},
		{"a NUL byte", []byte("{\"name\":\"\x00\"}")},
		{"trailing data", []byte(`{"name":"a"} {}`)},
		{"a trailing brace", []byte(`{"name":"a"}}`)},
		{"a trailing NUL", []byte("{\"name\":\"a\"}\x00")},
		{"a byte order mark", []byte("\ufeff{\"name\":\"a\"}")},
		{"truncated", []byte(`{"name":"a`)},
		{"truncated after a colon", []byte(`{"name":`)},
		{"a form", []byte(`name=a`)},
		{"a comment", []byte(`{"name":"a"} // b`)},
		{"a single quote", []byte(`{'name':'a'}`)},
	}
}

func nest(levels int) []byte {
	return []byte(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

func zeros(n int) []byte {
	return []byte("[" + strings.Repeat("0,", n-1) + "0]")
}

// snapshot is everything of a world as text, to see that nothing has changed.
func (w world) snapshot() map[string]string {
	out := make(map[string]string)
	paths := []string{"/forms/" + w.formID, "/forms/" + w.formID + "/submissions", "/webhooks/" + w.webhookID}
	if w.target.CreateKey != nil { // else the user's lists are not this case's alone
		paths = append(paths, "/workspaces", "/forms", "/webhooks")
	}
	for _, path := range paths {
		r := w.get(path).want(http.StatusOK)
		out[path] = r.header.Get("Etag") + " " + string(r.body)
	}
	return out
}

// unchanged notes a fault unless the world is as it was.
func (w world) unchanged(before map[string]string) {
	after := w.snapshot()
	for path, was := range before {
		if after[path] != was {
			w.errorf("%s has changed, but must not:\nbefore %s\nafter  %s", path, was, after[path])
		}
	}
}

// member is a place in a request body.
type member struct {
	method, path string
	body         string // with %s where the member goes
	pointer      string
}

func unknownMembers(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	form := "/forms/" + w.formID
	for _, m := range []member{
		{"POST", "/workspaces", `{"name":"W",%s}`, ""},
		{"PATCH", "/workspaces/" + w.workspaceID, `{"name":"W",%s}`, ""},
		{"POST", "/forms", `{"workspace_id":"` + w.workspaceID + `","name":"F",%s}`, ""},
		{"POST", "/forms", `{"workspace_id":"` + w.workspaceID + `","name":"F","definition":{%s}}`, "/definition"},
		{"PATCH", form, `{"name":"F",%s}`, ""},
		{"PATCH", form, `{"definition":{"settings":{%s}}}`, "/definition/settings"},
		{"PATCH", form, `{"definition":{"settings":{"utm":{%s}}}}`, "/definition/settings/utm"},
		{"PATCH", form, `{"definition":{"settings":{"cover":{"position":{%s}}}}}`, "/definition/settings/cover/position"},
		{"PATCH", form, `{"definition":{"theme":{%s}}}`, "/definition/theme"},
		{"PATCH", form, `{"definition":{"theme":{"colors":{"dark":{%s}}}}}`, "/definition/theme/colors/dark"},
		{"PATCH", form, `{"definition":{"theme":{"logo":{%s}}}}`, "/definition/theme/logo"},
		{"POST", form + "/blocks", `{"block":{"id":"n",%s}}`, "/block"},
		{"POST", form + "/blocks", `{"block":{"id":"n"},%s}`, ""},
		{"POST", form + "/blocks", `{"block":{"id":"n","properties":{%s}}}`, "/block/properties"},
		{"POST", form + "/blocks", `{"block":{"id":"n","properties":{"addressOrContact":{"city":{%s}}}}}`, "/block/properties/addressOrContact/city"},
		{"POST", form + "/blocks", `{"block":{"id":"n","choices":[{"id":"c","label":"C",%s}]}}`, "/block/choices/0"},
		{"PUT", form + "/blocks", `{"blocks":[{"id":"n","children":[{"id":"m",%s}]}]}`, "/blocks/0/children/0"},
		{"PATCH", form + "/blocks/b1", `{"block":{%s}}`, "/block"},
		{"POST", "/webhooks", `{"form_id":"` + w.formID + `","enabled":false,"url":"` + w.destination + `",%s}`, ""},
		{"PATCH", "/webhooks/" + w.webhookID, `{"enabled":false,%s}`, ""},
	} {
		for name, token := range map[string]string{"nothing": "nothing", "a/b~c": "a~1b~0c"} {
			body := fmt.Sprintf(m.body, string(raw(name))+`:1`)
			w.call(m.method, m.path, []byte(body)).invalid(violations{m.pointer + "/" + token: "UNKNOWN_FIELD"})
		}
	}
	for _, o := range writes() {
		for _, readOnly := range []string{"created_at", "updated_at", "public_id"} {
			body, _ := normal(o.body(w)).(object)
			body[readOnly] = "2026-01-01T00:00:00Z"
			w.call(o.method, o.in(w), body).invalid(violations{"/" + readOnly: "UNKNOWN_FIELD"})
		}
	}
	w.unchanged(before)
}

func nullMembers(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	form := "/forms/" + w.formID
	for _, m := range []member{
		{"POST", "/workspaces", `{"name":null}`, "/name"},
		{"PATCH", "/workspaces/" + w.workspaceID, `{"name":null}`, "/name"},
		{"POST", "/forms", `{"workspace_id":null,"name":"F"}`, "/workspace_id"},
		{"POST", "/forms", `{"workspace_id":"` + w.workspaceID + `","name":null}`, "/name"},
		{"POST", "/forms", `{"workspace_id":"` + w.workspaceID + `","name":"F","type":null}`, "/type"},
		{"POST", "/forms", `{"workspace_id":"` + w.workspaceID + `","name":"F","definition":null}`, "/definition"},
		{"PATCH", form, `{"status":null}`, "/status"},
		{"PATCH", form, `{"name":null}`, "/name"},
		{"PATCH", form, `{"definition":null}`, "/definition"},
		{"PATCH", form, `{"definition":{"blocks":null}}`, "/definition/blocks"},
		{"PATCH", form, `{"definition":{"settings":null}}`, "/definition/settings"},
		{"PATCH", form, `{"definition":{"settings":{"closeAt":null}}}`, "/definition/settings/closeAt"},
		{"PATCH", form, `{"definition":{"theme":{"font":null}}}`, "/definition/theme/font"},
		{"PATCH", form, `{"definition":{"variables":{"v":null}}}`, "/definition/variables/v"},
		{"PATCH", form, `{"definition":{"hidden_fields":[null]}}`, "/definition/hidden_fields/0"},
		{"POST", form + "/blocks", `{"block":null}`, "/block"},
		{"POST", form + "/blocks", `{"block":{"id":null}}`, "/block/id"},
		{"POST", form + "/blocks", `{"block":{"id":"n","label":null}}`, "/block/label"},
		{"PUT", form + "/blocks", `{"blocks":null}`, "/blocks"},
		{"PUT", form + "/blocks", `{"blocks":[null]}`, "/blocks/0"},
		{"PATCH", form + "/blocks/b1", `{"block":null}`, "/block"},
		{"POST", "/webhooks", `{"form_id":"` + w.formID + `","url":null}`, "/url"},
		{"POST", "/webhooks", `{"form_id":"` + w.formID + `","enabled":false,"url":"` + w.destination + `","signing_secret":null}`, "/signing_secret"},
		{"PATCH", "/webhooks/" + w.webhookID, `{"enabled":null}`, "/enabled"},
		{"PATCH", "/webhooks/" + w.webhookID, `{"url":null}`, "/url"},
	} {
		w.call(m.method, m.path, []byte(m.body)).invalid(violations{m.pointer: "WRONG_TYPE"})
	}
	w.unchanged(before)
}
