package apispec

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// answer is an answer that a case starts from and changes one thing of.
type answer struct {
	method, path string
	status       int
	header       map[string]string
	body         string
}

const (
	anID       = "65f1a0b2c3d4e5f601234567"
	aNotFound  = `{"type":"not_found_error","code":"NOT_FOUND","message":"m","status":404,"request_id":"r"}`
	aWorkspace = `{"id":"` + anID + `","public_id":"aZ09aZ09aZ09","name":"W","created_at":"2026-11-20T08:33:01Z","updated_at":"2026-11-20T08:33:01Z"}`
)

func keyed(extra ...string) map[string]string {
	h := map[string]string{"X-Request-Id": "r", "Cache-Control": "no-store", "Content-Type": "application/json"}
	for i := 0; i < len(extra); i += 2 {
		h[extra[i]] = extra[i+1]
	}
	return h
}

func (a answer) check(r *Description) error {
	header := make(http.Header)
	for name, value := range a.header {
		header.Set(name, value)
	}
	return r.Check(a.method, a.path, a.status, header, []byte(a.body))
}

func TestResponsesAreHeldAgainstTheDescription(t *testing.T) {
	r, err := New()
	expect.NoError(t, err)
	get := answer{"GET", "/workspaces/" + anID, 200, keyed(), aWorkspace}
	created := answer{"POST", "/workspaces", 201, keyed("Location", "/v1/workspaces/"+anID), aWorkspace}
	gone := answer{"DELETE", "/workspaces/" + anID, 204, map[string]string{"X-Request-Id": "r", "Cache-Control": "no-store"}, ""}
	missing := answer{"GET", "/workspaces/" + anID, 404, keyed(), aNotFound}
	unknown := answer{"GET", "/nothing", 404, keyed(), aNotFound}
	wrong := answer{"PUT", "/me", 405, keyed("Allow", "GET, HEAD"), strings.NewReplacer("not_found_error", "request_error", "NOT_FOUND", "METHOD_NOT_ALLOWED", "404", "405").Replace(aNotFound)}
	options := answer{"OPTIONS", "/me", 204, map[string]string{"X-Request-Id": "r", "Allow": "GET, HEAD"}, ""}

	change := func(a answer, do func(a *answer)) answer {
		a.header = maps.Clone(a.header)
		do(&a)
		return a
	}
	for name, a := range map[string]answer{
		"a read": get, "a creation": created, "a deletion": gone, "an error": missing,
		"an unknown path": unknown, "a wrong method": wrong, "OPTIONS": options,
		"HEAD has no body":     change(get, func(a *answer) { a.method, a.body = "HEAD", "" }),
		"an escaped parameter": change(missing, func(a *answer) { a.path = "/forms/" + anID + "/blocks/a%2Fb" }),
		"parameters of a media type": change(get, func(a *answer) {
			a.header["Content-Type"] = "application/json; charset=utf-8"
		}),
	} {
		expect.Error(t, fmt.Sprintf("%s is refused", name), a.check(r), nil)
	}
	for name, a := range map[string]answer{
		"an undeclared status":               change(get, func(a *answer) { a.status = 202 }),
		"an undeclared error":                change(missing, func(a *answer) { a.status = 409 }),
		"a body with 204":                    change(gone, func(a *answer) { a.body = "{}" }),
		"a body with HEAD":                   change(get, func(a *answer) { a.method = "HEAD" }),
		"a missing Location":                 change(created, func(a *answer) { delete(a.header, "Location") }),
		"a missing request id":               change(get, func(a *answer) { delete(a.header, "X-Request-Id") }),
		"another media type":                 change(get, func(a *answer) { a.header["Content-Type"] = "text/plain" }),
		"no media type":                      change(get, func(a *answer) { delete(a.header, "Content-Type") }),
		"a body that is no JSON":             change(get, func(a *answer) { a.body = "{" }),
		"two values":                         change(get, func(a *answer) { a.body += "{}" }),
		"an empty body":                      change(get, func(a *answer) { a.body = "" }),
		"a missing member":                   change(get, func(a *answer) { a.body = strings.Replace(a.body, `"name":"W",`, "", 1) }),
		"an unknown member":                  change(get, func(a *answer) { a.body = strings.Replace(a.body, `"name"`, `"colour":"red","name"`, 1) }),
		"an unknown kind of error":           change(missing, func(a *answer) { a.body = strings.Replace(a.body, "not_found_error", "lost_error", 1) }),
		"a member of another type":           change(get, func(a *answer) { a.body = strings.Replace(a.body, `"W"`, "1", 1) }),
		"a time that is none":                change(get, func(a *answer) { a.body = strings.Replace(a.body, "2026-11-20T", "2026-11-40T", 1) }),
		"an unknown path that succeeds":      change(unknown, func(a *answer) { a.status, a.body = 200, "{}" }),
		"an unknown path without error body": change(unknown, func(a *answer) { a.body = "{}" }),
		"a slash at the end that is served":  change(get, func(a *answer) { a.path += "/" }),
		"an empty parameter that is served":  change(get, func(a *answer) { a.path = "/workspaces/" }),
		"a wrong method that is served":      change(wrong, func(a *answer) { a.status = 200 }),
		"OPTIONS with a body":                change(options, func(a *answer) { a.body = "{}" }),
		"OPTIONS with another status":        change(options, func(a *answer) { a.status = 200 }),
	} {
		expect.That(t, a.check(r) != nil, "%s is accepted", name)
	}
}

func TestRoutedTellsPathAndMethodApart(t *testing.T) {
	r, err := New()
	expect.NoError(t, err)
	for _, x := range []struct {
		method, path string
		known, has   bool
	}{
		{"GET", "/me", true, true}, {"HEAD", "/me", true, true}, {"PUT", "/me", true, false}, {"GET", "/nothing", false, false},
		{"GET", "/me/", false, false}, {"HEAD", "/forms/" + anID, true, true}, {"POST", "/forms/" + anID, true, false},
	} {
		if known, has := r.HasRoute(x.method, x.path); known != x.known || has != x.has {
			t.Errorf("Routed(%s %s) = %t, %t, want %t, %t", x.method, x.path, known, has, x.known, x.has)
		}
	}
}

func TestEveryOperationOfTheDescriptionIsHeld(t *testing.T) {
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &d))
	r, err := New()
	expect.NoError(t, err)
	n := 0
	for path, methods := range d.Paths {
		for method, raw := range methods {
			var o struct{ Responses map[string]any }
			if !isMethod(method) {
				continue
			}
			expect.NoError(t, json.Unmarshal(raw, &o))
			n++
			method, below := strings.ToUpper(method), strings.TrimPrefix(path, "/v1")
			known, op := r.findOperation(method, below)
			if !known || op == nil {
				t.Errorf("%s %s is not held", method, path)
				continue
			}
			expect.That(t, len(op.responses) == len(o.Responses),
				"%s %s has %d responses, %d are described", method, path, len(op.responses), len(o.Responses))
		}
	}
	expect.That(t, n == 29 && len(r.operations) == n, "%d operations are held and %d described, want 29 of each", len(r.operations), n)
}

func TestDescriptionsThatAreAtFaultAreRefused(t *testing.T) {
	const errorSchema = `"components":{"schemas":{"Error":{"type":"object"}}}`
	for name, document := range map[string]string{
		"no JSON":                    `{`,
		"no object":                  `[]`,
		"no schema of errors":        `{"openapi":"3.1.0","paths":{"/v1/me":{"get":{"responses":{"204":{}}}}}}`,
		"no operations":              `{` + errorSchema + `,"paths":{}}`,
		"a reference to nothing":     `{` + errorSchema + `,"paths":{"/v1/me":{"get":{"responses":{"200":{"$ref":"#/components/responses/X"}}}}}}`,
		"references without end":     `{"components":{"schemas":{"Error":{}},"responses":{"X":{"$ref":"#/components/responses/X"}}},"paths":{"/v1/me":{"get":{"responses":{"200":{"$ref":"#/components/responses/X"}}}}}}`,
		"content that is no JSON":    `{` + errorSchema + `,"paths":{"/v1/me":{"get":{"responses":{"200":{"content":{"text/plain":{}}}}}}}}`,
		"a schema of another file":   `{` + errorSchema + `,"paths":{"/v1/me":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"file:///etc/passwd"}}}}}}}}}`,
		"a schema that is no schema": `{` + errorSchema + `,"paths":{"/v1/me":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"type":1}}}}}}}}}`,
	} {
		expect.That(t, expect.ErrorOf(newDescription([]byte(document))) != nil, "%s: there is no error", name)
	}
}

// What the description says in words is held as well.
func TestBodiesAreHeldAgainstTheWords(t *testing.T) {
	r, err := New()
	expect.NoError(t, err)
	submission := func(kind, value string) answer {
		return answer{"GET", "/forms/" + anID + "/submissions/" + anID, 200, keyed(), `{"id":"` + anID + `","form_id":"` + anID +
			`","status":"completed","submitted_at":"2026-11-20T08:33:01Z","metadata":{},"completion_time":1,"answers":[{"field":{"id":"a","type":"` +
			kind + `","label":""},"value":` + value + `}]}`}
	}
	page := func(more, cursor string) answer {
		return answer{"GET", "/workspaces", 200, keyed(), `{"items":[],"page":{"has_more":` + more + `,"next_cursor":` + cursor + `}}`}
	}
	failure := func(status int, kind, code, more string) answer {
		a := answer{"PATCH", "/workspaces/" + anID, status, keyed(), `{"type":"` + kind + `","code":"` + code + `","message":"m","status":` +
			strconv.Itoa(status) + `,"request_id":"r"` + more + `}`}
		if status == http.StatusUnauthorized {
			a.header["WWW-Authenticate"] = "Bearer"
		}
		return a
	}
	details := `,"details":[{"path":"/name","code":"REQUIRED","message":"m"}]`
	for _, right := range []answer{
		page("false", "null"), page("true", `"c"`),
		submission("short_text", `"x"`), submission("number", `1.5`), submission("nps", `0`), submission("legal", `true`),
		submission("picture_choice", `{"id":"a","label":"A"}`), submission("picture_choice", `[{"id":"a","label":"A"}]`),
		submission("matrix", `{"r":{"id":"a","label":"A"}}`), submission("matrix", `{"r":[{"id":"a","label":"A"}]}`),
		submission("date", `"2026-11-20"`), submission("date", `"2026-11-20T10:00:00+01:00"`), submission("time", `"23:59"`), submission("hidden", `"x"`),
		failure(401, "authentication_error", "INVALID_API_KEY", ""), failure(403, "permission_error", "OWNER_REQUIRED", ""),
		failure(422, "validation_error", "VALIDATION_FAILED", details), failure(503, "server_error", "UNAVAILABLE", ""),
	} {
		expect.Error(t, right.body, right.check(r), nil)
	}
	for _, wrong := range []answer{
		page("true", "null"), page("false", `"c"`),
		submission("short_text", `1`), submission("number", `"1"`), submission("rating", `1.5`), submission("yes_no", `"yes"`),
		submission("single_choice", `"a"`), submission("multiple_choice", `{"id":"a","label":"A"}`), submission("picture_choice", `"a"`),
		submission("ranking", `[{"other":"x"}]`), submission("date", `"2026-02-30"`), submission("date", `"2026-11-20T25:00:00Z"`),
		submission("time", `"24:00"`), submission("file_upload", `{"id":"f","name":"","url":"","mime_type":"","size":1}`), submission("signature", `[]`),
		submission("address", `"here"`), submission("hidden", `1`),
		failure(403, "not_found_error", "OWNER_REQUIRED", ""), failure(403, "permission_error", "NOT_FOUND", ""),
		failure(404, "not_found_error", "NOT_FOUND", details), failure(422, "validation_error", "INVALID_CURSOR", ""),
		failure(503, "server_error", "INTERNAL_ERROR", ""),
	} {
		expect.That(t, wrong.check(r) != nil, "%s is taken", wrong.body)
	}
}
