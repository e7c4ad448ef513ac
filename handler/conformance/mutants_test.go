package conformance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/storagetest"
	"github.com/formsvc/formsvc/webhooks"
)

// exchange is one request on its way through a broken service. A mutant changes
// the request, asks the real service, and changes the answer.
type exchange struct {
	r       *http.Request
	body    []byte
	service http.Handler

	status int
	header http.Header
	answer []byte
}

// ask lets the real service answer.
func (e *exchange) ask() {
	r := e.r.Clone(e.r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body))
	rec := httptest.NewRecorder()
	e.service.ServeHTTP(rec, r)
	e.status, e.header, e.answer = rec.Code, rec.Header(), rec.Body.Bytes()
}

// is reports whether the request has this method and a path with this end.
func (e *exchange) is(method, end string) bool {
	return e.r.Method == method && strings.HasSuffix(e.r.URL.Path, end)
}

// edit changes the answer's body when it is a JSON object.
func (e *exchange) edit(change func(o map[string]any)) {
	var o map[string]any
	if json.Unmarshal(e.answer, &o) != nil {
		return
	}
	change(o)
	e.answer, _ = json.Marshal(o)
	e.header.Del("Content-Length")
}

// mutant is one way in which a service may be broken, and the case that must
// notice.
type mutant struct {
	name   string
	notice string
	serve  func(e *exchange)
}

// after is a mutant that changes answers only.
func after(change func(e *exchange)) func(*exchange) {
	return func(e *exchange) {
		e.ask()
		change(e)
	}
}

func without(header string) func(*exchange) {
	return after(func(e *exchange) { e.header.Del(header) })
}

// withoutAt drops a header of answers with a status.
func withoutAt(status int, header string) func(*exchange) {
	return after(func(e *exchange) {
		if e.status == status {
			e.header.Del(header)
		}
	})
}

// statusAs answers with another status.
func statusAs(from, to int) func(*exchange) {
	return after(func(e *exchange) {
		if e.status == from {
			e.status = to
		}
	})
}

// before is a mutant that changes requests only.
func before(change func(e *exchange)) func(*exchange) {
	return func(e *exchange) {
		change(e)
		e.ask()
	}
}

// inGET changes the JSON of answers to GET of a path.
func inGET(path string, change func(o map[string]any)) func(*exchange) {
	return after(func(e *exchange) {
		if e.is(http.MethodGet, path) {
			e.edit(change)
		}
	})
}

// inBody replaces a text in the bodies of requests.
func inBody(from, to string) func(*exchange) {
	return before(func(e *exchange) { e.body = bytes.ReplaceAll(e.body, []byte(from), []byte(to)) })
}

// inAnswer replaces a text in the bodies of answers.
func inAnswer(from, to string) func(*exchange) {
	return after(func(e *exchange) {
		e.answer = bytes.ReplaceAll(e.answer, []byte(from), []byte(to))
		e.header.Del("Content-Length")
	})
}

func mutants() []mutant {
	return []mutant{
		{"no request id", "me/fields", without("X-Request-Id")},
		{"a request id of its own", "request-id/supplied", after(func(e *exchange) { e.header.Set("X-Request-Id", "mine") })},
		{"any request id is taken", "request-id/replaced", after(func(e *exchange) {
			if id := e.r.Header.Get("X-Request-Id"); id != "" {
				e.header.Set("X-Request-Id", id)
			}
		})},
		{"answers may be stored", "me/fields", without("Cache-Control")},
		{"answers to unknown paths may be stored", "mounting/unknown-path", withoutAt(http.StatusNotFound, "Cache-Control")},
		{"a malformed query is taken as none", "parameters/malformed-query", before(func(e *exchange) {
			if _, err := url.ParseQuery(e.r.URL.RawQuery); err != nil {
				e.r.URL.RawQuery = ""
			}
		})},
		{"no WWW-Authenticate", "auth/same-answer", without("WWW-Authenticate")},
		{"no Allow", "routing/allow", without("Allow")},
		{"no ETag", "revisions/etag", without("Etag")},
		{"no Location", "forms/create", without("Location")},
		{"plain text", "me/fields", after(func(e *exchange) { e.header.Set("Content-Type", "text/plain") })},
		{"200 for what was created", "workspaces/create", statusAs(http.StatusCreated, http.StatusOK)},
		{"a member that is not specified", "me/fields", after(func(e *exchange) {
			e.edit(func(o map[string]any) { o["extra"] = 1 })
		})},
		{"another request id in the body", "auth/required", after(func(e *exchange) {
			if e.status >= 400 {
				e.edit(func(o map[string]any) { o["request_id"] = "other" })
			}
		})},
		{"details in reverse", "definitions/all-at-once", after(func(e *exchange) {
			e.edit(func(o map[string]any) {
				if details, ok := o["details"].([]any); ok {
					slices.Reverse(details)
				}
			})
		})},
		{"days as points in time", "definitions/calendar-days", inBody("2030-01-01T23:30:00-05:00", "2030-01-02T04:30:00Z")},
		{"fractions of seconds", "workspaces/create", inAnswer(`Z","updated_at"`, `.5Z","updated_at"`)},
		{"upper-case ids", "routing/upper-case-ids", after(func(e *exchange) {
			e.edit(func(o map[string]any) {
				if id, ok := o["id"].(string); ok && e.r.Method == http.MethodGet {
					o["id"] = strings.ToUpper(id)
				}
			})
		})},
		{"another tenant's form", "isolation/getForm", leaky()},
		{"forbidden instead of not found", "isolation/updateForm", after(func(e *exchange) {
			if e.is(http.MethodPatch, "") && e.status == http.StatusNotFound {
				e.edit(func(o map[string]any) { o["message"] = "This form is not yours: " + e.r.URL.Path })
			}
		})},
		{"If-Match ignored", "revisions/if-match-fails", before(func(e *exchange) { e.r.Header.Del("If-Match") })},
		{"If-Match ignored in a race", "concurrency/if-match", before(func(e *exchange) { e.r.Header.Del("If-Match") })},
		{"no current ETag with 412", "revisions/if-match-fails", withoutAt(http.StatusPreconditionFailed, "Etag")},
		{"the body before the key", "order/key-before-body", bodyFirst(false)},
		{"the body before the scope", "order/scope-before-body", bodyFirst(true)},
		{"a scope that is not asked for", "scope/getForm", statusAs(http.StatusForbidden, http.StatusOK)},
		{"the scope is not named", "scope/createForm", after(func(e *exchange) {
			if e.status == http.StatusForbidden {
				e.edit(func(o map[string]any) { o["message"] = "no" })
			}
		})},
		{"keys in the query", "auth/query", before(func(e *exchange) {
			if key := e.r.URL.Query().Get("api_key"); key != "" {
				e.r.Header.Set("X-Api-Key", key)
			}
		})},
		{"the first of two keys", "auth/twice", before(func(e *exchange) {
			if keys := e.r.Header.Values("X-Api-Key"); len(keys) > 1 {
				e.r.Header.Set("X-Api-Key", keys[0])
			}
		})},
		{"a redirect to the path without a slash", "routing/trailing-slash", func(e *exchange) {
			e.ask()
			if strings.HasSuffix(e.r.URL.Path, "/") {
				e.status, e.answer = http.StatusMovedPermanently, nil
				e.header = http.Header{"Location": {strings.TrimSuffix(e.r.URL.Path, "/")}}
			}
		}},
		{"no HEAD", "routing/head", func(e *exchange) {
			if e.ask(); e.r.Method == http.MethodHead {
				e.status = http.StatusMethodNotAllowed
			}
		}},
		{"the last duplicate member counts", "bodies/duplicate-members", func(e *exchange) {
			var v any
			if json.Unmarshal(e.body, &v) == nil && e.r.Method != http.MethodGet && v != nil {
				e.body, _ = json.Marshal(v)
			}
			e.ask()
		}},
		{"trailing data is ignored", "bodies/hostile", func(e *exchange) {
			var v json.RawMessage
			if json.NewDecoder(bytes.NewReader(e.body)).Decode(&v) == nil {
				e.body = v
			}
			e.ask()
		}},
		{"unknown members are dropped", "bodies/unknown-members", func(e *exchange) {
			var o map[string]any
			if json.Unmarshal(e.body, &o) == nil && o["nothing"] != nil {
				delete(o, "nothing")
				e.body, _ = json.Marshal(o)
			}
			e.ask()
		}},
		{"a name of two lines", "bodies/names", inBody(`a\nb`, `ab`)},
		{"any Content-Type", "bodies/content-type", before(func(e *exchange) {
			if len(e.body) > 0 {
				e.r.Header.Set("Content-Type", "application/json")
			}
		})},
		{"pages lose a record", "paging/forms-walk", inGET("/forms", func(o map[string]any) {
			if items, ok := o["items"].([]any); ok && len(items) > 2 {
				o["items"] = items[1:]
			}
		})},
		{"pages that overlap", "paging/workspaces-walk", after(func(e *exchange) {
			if e.is(http.MethodGet, "/workspaces") && e.r.URL.Query().Get("cursor") != "" {
				e.edit(func(o map[string]any) {
					if items, ok := o["items"].([]any); ok && len(items) > 0 {
						o["items"] = append([]any{items[0]}, items...)
					}
				})
			}
		})},
		{"a bad cursor is the first page", "paging/workspaces-cursor", func(e *exchange) {
			if e.ask(); bytes.Contains(e.answer, []byte("INVALID_CURSOR")) {
				e.r.URL.RawQuery = ""
				e.ask()
			}
		}},
		{"a signing secret in an answer", "webhooks/secret", after(func(e *exchange) {
			var o struct {
				Secret string `json:"signing_secret"`
			}
			if json.Unmarshal(e.body, &o) == nil && o.Secret != "" {
				e.header.Set("X-Debug", o.Secret)
			}
		})},
		{"private destinations", "webhooks/url-rejected", inBody("http://10.0.0.1/", "http://93.184.215.14/")},
		{"an operation that is not described", "description/content", inGET("/openapi.json", func(o map[string]any) { delete(o["paths"].(map[string]any), "/v1/me") })},
		{"a Host in links", "mounting/host-header", after(func(e *exchange) {
			if location := e.header.Get("Location"); location != "" {
				e.header.Set("Location", "http://"+e.r.Host+location)
			}
		})},
		{"a server error", "forms/list", after(func(e *exchange) {
			if e.is(http.MethodGet, "/forms") {
				e.status = http.StatusInternalServerError
			}
		})},
		{"a reset instead of 413", "bodies/size", func(e *exchange) {
			if e.ask(); e.status == http.StatusRequestEntityTooLarge {
				panic(http.ErrAbortHandler)
			}
		}},
		{"If-None-Match ignored", "description/cacheable", before(func(e *exchange) { e.r.Header.Del("If-None-Match") })},
		{"a page of the wrong size", "parameters/limit", before(func(e *exchange) {
			if e.r.URL.Query().Get("limit") == "101" {
				e.r.URL.RawQuery = "limit=100"
			}
		})},
		{"pages by number", "paging/workspaces-stable", pagesByNumber()},
		{"a merge patch that replaces", "blocks/merge-patch", func(e *exchange) {
			if e.r.Method == http.MethodPatch && strings.Contains(e.r.URL.Path, "/blocks/") {
				e.body = bytes.Replace(e.body, []byte(`{"block":{`), []byte(`{"block":{"description":null,"required":null,"choices":null,`), 1)
			}
			e.ask()
		}},
		{"a delete that does nothing", "forms/delete", func(e *exchange) {
			if e.r.Method == http.MethodDelete {
				e.r.Method = http.MethodHead
				e.ask()
				e.status, e.answer = http.StatusNoContent, nil
				return
			}
			e.ask()
		}},
	}
}

// pagesByNumber hands out cursors that count records instead of naming one.
func pagesByNumber() func(*exchange) {
	return func(e *exchange) {
		q := e.r.URL.Query()
		limit, _ := strconv.Atoi(q.Get("limit"))
		if !e.is(http.MethodGet, "/workspaces") || limit == 0 {
			e.ask()
			return
		}
		from, _ := strconv.Atoi(q.Get("cursor"))
		e.r.URL.RawQuery = "limit=100"
		e.ask()
		e.edit(func(o map[string]any) {
			items, _ := o["items"].([]any)
			end := min(from+limit, len(items))
			o["items"] = items[min(from, len(items)):end]
			if end < len(items) {
				o["page"] = map[string]any{"has_more": true, "next_cursor": strconv.Itoa(end)}
			}
		})
	}
}

// leaky reads a form with the key that made it, whoever asks.
func leaky() func(*exchange) {
	var owners sync.Map
	return func(e *exchange) {
		if owner, ok := owners.Load(e.r.URL.Path[strings.LastIndex(e.r.URL.Path, "/")+1:]); ok && e.r.Method == http.MethodGet {
			e.r.Header.Set("X-Api-Key", owner.(string))
		}
		e.ask()
		var o struct{ ID string }
		if e.is(http.MethodPost, "/forms") && json.Unmarshal(e.answer, &o) == nil {
			owners.Store(o.ID, e.r.Header.Get("X-Api-Key"))
		}
	}
}

// bodyFirst looks at the body before anything else, or only behind a good key.
func bodyFirst(keyed bool) func(*exchange) {
	return func(e *exchange) {
		e.ask()
		if len(e.body) == 0 || json.Valid(e.body) || (keyed && e.status == http.StatusUnauthorized) {
			return
		}
		e.status = http.StatusBadRequest
		e.edit(func(o map[string]any) {
			o["type"], o["code"], o["status"] = "request_error", "MALFORMED_JSON", http.StatusBadRequest
		})
	}
}

// newTarget serves a service through a mutant; nil serves it as it is.
func newTarget(t *testing.T, serve func(*exchange)) conformance.Target {
	t.Helper()
	target, _ := newTargetOf(t, serve)
	return target
}

// newTargetOf is newTarget with options, and with its service.
func newTargetOf(t *testing.T, serve func(*exchange), opts ...formsvc.Option) (conformance.Target, *formsvc.Service) {
	t.Helper()
	svc := expect.Must(formsvc.New(append([]formsvc.Option{
		formsvc.WithStorage(storagetest.ReadOnly(t, memory.New())), formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(webhooks.Config{Resolver: dialguard.Names{}}),
	}, opts...)...))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serve == nil {
			svc.ServeHTTP(w, r)
			return
		}
		e := &exchange{r: r, service: svc}
		e.body, _ = io.ReadAll(r.Body)
		serve(e)
		for name, values := range e.header {
			w.Header()[name] = values
		}
		w.WriteHeader(e.status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(e.answer)
		}
	}))
	t.Cleanup(srv.Close)
	target := servicetarget.New(svc, srv.URL+"/v1")
	target.RawPaths = true
	return target, svc
}

func TestEveryMutantIsNoticedByItsCase(t *testing.T) {
	t.Parallel()
	noticing := map[string]bool{}
	for _, m := range mutants() {
		noticing[m.notice] = true
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			expectOutcome(t, newTarget(t, m.serve), m.notice, conformance.Failed)
		})
	}
	for name := range noticing {
		t.Run("none, "+name, func(t *testing.T) {
			t.Parallel()
			expectOutcome(t, newTarget(t, nil), name, conformance.Passed)
		})
	}
}

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
	var mu sync.Mutex
	names := map[string]any{}
	cached := func(path string) func(*exchange) { // a list with the names that were told at first
		return inGET(path, func(o map[string]any) {
			mu.Lock()
			defer mu.Unlock()
			list, _ := o["items"].([]any)
			for _, item := range list {
				f := item.(map[string]any)
				id := f["id"].(string)
				if _, ok := names[id]; !ok {
					names[id] = f["name"]
				}
				f["name"] = names[id]
			}
		})
	}
	return []mutant{
		{"today is always empty", "analytics/today", answered(func(_ *exchange, o map[string]any) {
			if o["period"] == "today" {
				o["views"], o["starts"], o["submissions"], o["completion_rate"] = 0, 0, 0, 0
			}
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
		{"a list that is cached", "forms/list-current", cached("/forms")},
		{"a list of workspaces that is cached", "workspaces/list-current", cached("/workspaces")},
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
		{"a 304 without ETag", "description/cacheable", withoutAt(http.StatusNotModified, "Etag")},
		{"If-Match with a list", "revisions/if-match-passes", before(func(e *exchange) {
			if tag, _, ok := strings.Cut(e.r.Header.Get("If-Match"), ","); ok {
				e.r.Header.Set("If-Match", tag)
			}
		})},
		{"If-Match ignored when a form is deleted", "revisions/delete", before(func(e *exchange) {
			if e.r.Method == http.MethodDelete && !strings.Contains(e.r.URL.Path, "/blocks/") {
				e.r.Header.Del("If-Match")
			}
		})},
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
		{"names with escapes are unknown", "bodies/spelling", inBody(`"n\u0061me"`, `"n\\u0061me"`)},
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
		{"one revision for all forms", "revisions/other-form", func(e *exchange) {
			if e.ask(); e.status == http.StatusPreconditionFailed && regexp.MustCompile(`^"r\d+"$`).MatchString(e.r.Header.Get("If-Match")) {
				e.r.Header.Del("If-Match")
				e.ask()
			}
		}},
		{"a description without its schemas", "description/references", inGET("/openapi.json", func(o map[string]any) {
			delete(o["components"].(map[string]any), "schemas")
		})},
		{"an empty list is null", "submissions/empty", inAnswer(`"items":[]`, `"items":null`)},
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

var update = flag.Bool("update", false, "write testdata/broken.md anew")

// The table of broken services names the case that notices each. That it does is tested with each mutant.
func TestTableOfBrokenServices(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("# Broken services and the case that finds each\n\nWritten by `go test -run TestTableOfBrokenServices ./handler/conformance -update`; the tests with the word Notice in their names prove every row.\n\n| Broken service | Case |\n|---|---|\n")
	for _, list := range [][]mutant{mutants(), broken()} {
		for _, m := range list {
			fmt.Fprintf(&b, "| %s | `%s` |\n", m.name, m.notice)
		}
	}
	for _, m := range deliveryMutants() {
		fmt.Fprintf(&b, "| %s | `%s` |\n", m.name, m.notice)
	}
	const file = "testdata/broken.md"
	if *update {
		expect.NoError(t, os.MkdirAll("testdata", 0o755))
		expect.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	got, err := os.ReadFile(file)
	expect.That(t, err == nil && bytes.Equal(got, b.Bytes()), "%s is out of date (%v); run with -update", file, err)
}
