package conformance_test

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc/handler/conformance"
)

// every changes all values of a JSON value from within; names are those of the members.
func every(v any, change func(name string, v any) any) any {
	return everyIn("", v, change)
}

func everyIn(name string, v any, change func(string, any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x = everyIn(k, x, change); x == dropped {
				delete(v, k)
			} else {
				v[k] = x
			}
		}
	case []any:
		for i, x := range v {
			v[i] = everyIn(name, x, change)
		}
	}
	return change(name, v)
}

// dropped is what everyIn takes for no member at all.
var dropped = any("dropped member")

// answered changes the JSON of every answer with a status below 400.
func answered(change func(e *exchange, o map[string]any)) func(*exchange) {
	return after(func(e *exchange) {
		if e.status < 400 && !e.is(http.MethodGet, "/openapi.json") {
			e.edit(func(o map[string]any) { change(e, o) })
		}
	})
}

// sent changes the JSON of every request that has one.
func sent(change func(name string, v any) any) func(*exchange) {
	return func(e *exchange) {
		var v map[string]any
		if json.Unmarshal(e.body, &v) == nil && v != nil && !bytes.Contains(e.body, []byte("\\ud8")) {
			e.body, _ = json.Marshal(every(v, change))
		}
		e.ask()
	}
}

// edited changes the query of a request.
func edited(change func(q url.Values)) func(*exchange) {
	return func(e *exchange) {
		if q, err := url.ParseQuery(e.r.URL.RawQuery); err == nil && len(q) > 0 {
			change(q)
			e.r.URL.RawQuery = q.Encode()
		}
		e.ask()
	}
}

func byText(a, b any) int {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Compare(x, y)
}

func truncated(most int) func(string, any) any {
	return func(_ string, v any) any {
		if s, ok := v.(string); ok && len([]rune(s)) > most && !strings.Contains(s, "://") {
			return string([]rune(s)[:most])
		}
		return v
	}
}

var wholeNumber = regexp.MustCompile(`([:\[,])(\d+)([,}\]])`)

// page is an answer of a program that has forgotten the API: no request id, and a page for people.
func page(e *exchange, status int) {
	e.status, e.header = status, http.Header{"Content-Type": {"text/html"}}
	e.answer = []byte("<html><h1>" + http.StatusText(status) + "</h1></html>")
}

// broken are more services that are broken in one way each.
func broken() []mutant {
	metricsOf := func(period string, change func(o map[string]any)) func(*exchange) {
		return answered(func(_ *exchange, o map[string]any) {
			if o["period"] == period {
				change(o)
			}
		})
	}
	var mu sync.Mutex
	names := map[string]any{}
	first := func(id string, v any) any { // what was told of an id at first
		mu.Lock()
		defer mu.Unlock()
		if _, ok := names[id]; !ok {
			names[id] = v
		}
		return names[id]
	}
	return []mutant{
		{"today is always empty", "analytics/today", metricsOf("today", func(o map[string]any) {
			o["views"], o["starts"], o["submissions"], o["completion_rate"] = 0, 0, 0, 0
		})},
		{"integers as 10.0", "definitions/numbers", after(func(e *exchange) {
			e.answer = wholeNumber.ReplaceAll(e.answer, []byte("$1$2.0$3"))
			e.header.Del("Content-Length")
		})},
		{"figures as 10.0", "analytics/empty", after(func(e *exchange) {
			if e.is(http.MethodGet, "/metrics") {
				e.answer = wholeNumber.ReplaceAll(e.answer, []byte("$1$2.0$3"))
				e.header.Del("Content-Length")
			}
		})},
		{"false is dropped", "definitions/empty-values", answered(func(_ *exchange, o map[string]any) {
			if d, ok := o["definition"]; ok {
				every(d, func(_ string, v any) any {
					if v == false {
						return dropped
					}
					return v
				})
			}
		})},
		{"texts are escaped for HTML", "definitions/texts", sent(func(name string, v any) any {
			if s, ok := v.(string); ok && (name == "label" || name == "description") {
				return html.EscapeString(s)
			}
			return v
		})},
		{"texts of 255 characters", "definitions/limits", sent(truncated(255))},
		{"choices in alphabetical order", "definitions/order", sent(func(name string, v any) any {
			if list, ok := v.([]any); ok && name == "choices" {
				slices.SortFunc(list, byText)
			}
			return v
		})},
		{"pages of at most 50", "paging/forms-largest", edited(func(q url.Values) {
			if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 50 && n <= 100 {
				q.Set("limit", "50")
			}
		})},
		{"a full last page has a successor", "paging/forms-default", answered(func(e *exchange, o map[string]any) {
			if list, ok := o["items"].([]any); ok && len(list) == 20 && e.is(http.MethodGet, "/forms") {
				o["page"] = map[string]any{"has_more": true, "next_cursor": "AAAA"}
			}
		})},
		{"a cursor of one list leads into another", "paging/forms-cursor", func(e *exchange) {
			if e.ask(); bytes.Contains(e.answer, []byte("INVALID_CURSOR")) && e.is(http.MethodGet, "/workspaces") && len(e.r.URL.Query().Get("cursor")) > 40 {
				e.r.URL.RawQuery = ""
				e.ask()
			}
		}},
		{"a list that is cached", "forms/list-current", answered(func(e *exchange, o map[string]any) {
			list, _ := o["items"].([]any)
			for _, item := range list {
				if f, ok := item.(map[string]any); ok && e.is(http.MethodGet, "/forms") {
					f["name"] = first("form "+f["id"].(string), f["name"])
				}
			}
		})},
		{"a list of workspaces that is cached", "workspaces/list-current", answered(func(e *exchange, o map[string]any) {
			list, _ := o["items"].([]any)
			for _, item := range list {
				if f, ok := item.(map[string]any); ok && e.is(http.MethodGet, "/workspaces") {
					f["name"] = first("workspace "+f["id"].(string), f["name"])
				}
			}
		})},
		{"one public id for all", "forms/identity", answered(func(_ *exchange, o map[string]any) {
			if o["public_id"] != nil {
				o["public_id"] = "AAAAAAAAAAAA"
			}
		})},
		{"updated_at that stays", "forms/updated-at", answered(func(_ *exchange, o map[string]any) {
			if o["updated_at"] != nil {
				o["updated_at"] = o["created_at"]
			}
		})},
		{"a Location without the base path", "mounting/form", after(func(e *exchange) {
			if l := e.header.Get("Location"); l != "" {
				u, _ := url.Parse(l)
				e.header.Set("Location", strings.TrimPrefix(u.Path, "/v1"))
			}
		})},
		{"a Location with a slash at its end", "workspaces/create", after(func(e *exchange) {
			if l := e.header.Get("Location"); l != "" {
				e.header.Set("Location", l+"/")
			}
		})},
		{"HEAD tells no length", "routing/head-length", after(func(e *exchange) {
			if e.r.Method == http.MethodHead {
				e.header.Set("Content-Length", "0")
			}
		})},
		{"a 304 without ETag", "description/cacheable", after(func(e *exchange) {
			if e.status == http.StatusNotModified {
				e.header.Del("Etag")
			}
		})},
		{"If-Match with a list", "revisions/if-match-passes", func(e *exchange) {
			if tag, _, ok := strings.Cut(e.r.Header.Get("If-Match"), ","); ok {
				e.r.Header.Set("If-Match", tag)
			}
			e.ask()
		}},
		{"If-Match ignored when a form is deleted", "revisions/delete", func(e *exchange) {
			if e.r.Method == http.MethodDelete && !strings.Contains(e.r.URL.Path, "/blocks/") {
				e.r.Header.Del("If-Match")
			}
			e.ask()
		}},
		{"an unknown query parameter is refused", "routing/unknown-parameters", func(e *exchange) {
			if e.ask(); strings.Contains(e.r.URL.RawQuery, "nothing=") {
				e.r.URL.RawQuery = "limit=0"
				e.r.URL.Path, e.r.Method = "/v1/forms", http.MethodGet
				e.ask()
			}
		}},
		{"an empty parameter is none", "parameters/empty", edited(func(q url.Values) {
			for name, values := range q {
				if values[0] == "" {
					q.Del(name)
				}
			}
		})},
		{"OPTIONS answers everywhere", "routing/unknown-path", func(e *exchange) {
			if e.ask(); e.r.Method == http.MethodOptions {
				e.status, e.answer = http.StatusNoContent, nil
				e.header.Del("Content-Type")
				e.header.Del("Content-Length")
			}
		}},
		{"names with escapes are unknown", "bodies/spelling", func(e *exchange) {
			e.body = bytes.ReplaceAll(e.body, []byte(`"n\u0061me"`), []byte(`"n\\u0061me"`))
			e.ask()
		}},
		{"a new url drops the secret", "webhooks/update", func(e *exchange) {
			e.ask()
			if e.r.Method == http.MethodPatch && bytes.HasPrefix(e.body, []byte(`{"url":`)) && e.status == http.StatusOK {
				e.body = []byte(`{"signing_secret":null}`)
				e.ask()
			}
		}},
		{"webhooks that go together", "webhooks/independent", func() func(*exchange) {
			var mu sync.Mutex
			forms := map[string][]string{} // by form
			of := map[string]string{}
			return func(e *exchange) {
				e.ask()
				mu.Lock()
				defer mu.Unlock()
				var o struct {
					ID     string
					FormID string `json:"form_id"`
				}
				id := e.r.URL.Path[strings.LastIndex(e.r.URL.Path, "/")+1:]
				switch {
				case e.is(http.MethodPost, "/webhooks") && json.Unmarshal(e.answer, &o) == nil:
					of[o.ID], forms[o.FormID] = o.FormID, append(forms[o.FormID], o.ID)
				case e.r.Method == http.MethodDelete && of[id] != "":
					was := *e
					for _, sibling := range forms[of[id]] {
						e.r.URL.Path = "/v1/webhooks/" + sibling
						e.ask()
					}
					*e = was
				}
			}
		}()},
		{"blocks are written without the theme", "blocks/other-sections", func(e *exchange) {
			e.ask()
			if e.is(http.MethodPut, "/blocks") && e.status == http.StatusOK {
				was := *e
				e.r.Method, e.r.URL.Path, e.body = http.MethodPatch, strings.TrimSuffix(e.r.URL.Path, "/blocks"), []byte(`{"definition":{"theme":{}}}`)
				e.r.Header.Del("If-Match")
				e.ask()
				header := e.header
				*e = was
				e.header.Set("Etag", header.Get("Etag"))
			}
		}},
		{"one revision for all forms", "revisions/other-form", func() func(*exchange) {
			return func(e *exchange) {
				if e.ask(); e.status == http.StatusPreconditionFailed && e.r.Header.Get("If-Match") != "" && regexp.MustCompile(`^"r\d+"$`).MatchString(e.r.Header.Get("If-Match")) {
					e.r.Header.Del("If-Match")
					e.ask()
				}
			}
		}()},
		{"a description without its schemas", "description/references", after(func(e *exchange) {
			if e.is(http.MethodGet, "/openapi.json") {
				e.edit(func(o map[string]any) { delete(o["components"].(map[string]any), "schemas") })
			}
		})},
		{"an empty list is null", "submissions/empty", after(func(e *exchange) {
			e.answer = bytes.Replace(e.answer, []byte(`"items":[]`), []byte(`"items":null`), 1)
			e.header.Del("Content-Length")
		})},
		{"answers that are false or 0 are dropped", "submissions/values", answered(func(_ *exchange, o map[string]any) {
			if list, ok := o["answers"].([]any); ok {
				o["answers"] = slices.DeleteFunc(list, func(a any) bool {
					v := a.(map[string]any)["value"]
					return v == false || v == 0.0
				})
			}
		})},
		{"a page for people instead of 500", "forms/list", after(func(e *exchange) {
			if e.is(http.MethodGet, "/forms") {
				page(e, http.StatusInternalServerError)
			}
		})},
		{"a page for people instead of 404", "mounting/unknown-path", after(func(e *exchange) {
			if e.status == http.StatusNotFound {
				page(e, http.StatusNotFound)
			}
		})},
	}
}

func TestEveryBrokenServiceIsNoticedByItsCase(t *testing.T) {
	t.Parallel()
	for _, m := range broken() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			expectOutcome(t, newTarget(t, m.serve), m.notice, conformance.Failed)
		})
	}
}
