package conformance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
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
		{"answers to unknown paths may be stored", "mounting/unknown-path", after(func(e *exchange) {
			if e.status == http.StatusNotFound {
				e.header.Del("Cache-Control")
			}
		})},
		{"a malformed query is taken as none", "parameters/malformed-query", func(e *exchange) {
			if _, err := url.ParseQuery(e.r.URL.RawQuery); err != nil {
				e.r.URL.RawQuery = ""
			}
			e.ask()
		}},
		{"no WWW-Authenticate", "auth/same-answer", without("WWW-Authenticate")},
		{"no Allow", "routing/allow", without("Allow")},
		{"no ETag", "revisions/etag", without("Etag")},
		{"no Location", "forms/create", without("Location")},
		{"plain text", "me/fields", after(func(e *exchange) { e.header.Set("Content-Type", "text/plain") })},
		{"200 for what was created", "workspaces/create", after(func(e *exchange) {
			if e.status == http.StatusCreated {
				e.status = http.StatusOK
			}
		})},
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
		{"days as points in time", "definitions/calendar-days", func(e *exchange) {
			e.body = bytes.ReplaceAll(e.body, []byte("2030-01-01T23:30:00-05:00"), []byte("2030-01-02T04:30:00Z"))
			e.ask()
		}},
		{"fractions of seconds", "workspaces/create", after(func(e *exchange) {
			e.answer = bytes.ReplaceAll(e.answer, []byte(`Z","updated_at"`), []byte(`.5Z","updated_at"`))
			e.header.Del("Content-Length")
		})},
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
		{"If-Match ignored", "revisions/if-match-fails", func(e *exchange) { e.r.Header.Del("If-Match"); e.ask() }},
		{"If-Match ignored in a race", "concurrency/if-match", func(e *exchange) { e.r.Header.Del("If-Match"); e.ask() }},
		{"no current ETag with 412", "revisions/if-match-fails", after(func(e *exchange) {
			if e.status == http.StatusPreconditionFailed {
				e.header.Del("Etag")
			}
		})},
		{"the body before the key", "order/key-before-body", bodyFirst(false)},
		{"the body before the scope", "order/scope-before-body", bodyFirst(true)},
		{"a scope that is not asked for", "scope/getForm", after(func(e *exchange) {
			if e.status == http.StatusForbidden {
				e.status = http.StatusOK
			}
		})},
		{"the scope is not named", "scope/createForm", after(func(e *exchange) {
			if e.status == http.StatusForbidden {
				e.edit(func(o map[string]any) { o["message"] = "no" })
			}
		})},
		{"keys in the query", "auth/query", func(e *exchange) {
			if key := e.r.URL.Query().Get("api_key"); key != "" {
				e.r.Header.Set("X-Api-Key", key)
			}
			e.ask()
		}},
		{"the first of two keys", "auth/twice", func(e *exchange) {
			if keys := e.r.Header.Values("X-Api-Key"); len(keys) > 1 {
				e.r.Header.Set("X-Api-Key", keys[0])
			}
			e.ask()
		}},
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
		{"a name of two lines", "bodies/names", func(e *exchange) {
			e.body = bytes.ReplaceAll(e.body, []byte(`a\nb`), []byte(`ab`))
			e.ask()
		}},
		{"any Content-Type", "bodies/content-type", func(e *exchange) {
			if len(e.body) > 0 {
				e.r.Header.Set("Content-Type", "application/json")
			}
			e.ask()
		}},
		{"pages lose a record", "paging/forms-walk", after(func(e *exchange) {
			if e.is(http.MethodGet, "/forms") {
				e.edit(func(o map[string]any) {
					if items, ok := o["items"].([]any); ok && len(items) > 2 {
						o["items"] = items[1:]
					}
				})
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
		{"private destinations", "webhooks/url-rejected", func(e *exchange) {
			e.body = bytes.ReplaceAll(e.body, []byte("http://10.0.0.1/"), []byte("http://93.184.215.14/"))
			e.ask()
		}},
		{"an operation that is not described", "description/content", after(func(e *exchange) {
			if e.is(http.MethodGet, "/openapi.json") {
				e.edit(func(o map[string]any) { delete(o["paths"].(map[string]any), "/v1/me") })
			}
		})},
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
		{"If-None-Match ignored", "description/cacheable", func(e *exchange) { e.r.Header.Del("If-None-Match"); e.ask() }},
		{"a page of the wrong size", "parameters/limit", func(e *exchange) {
			if e.r.URL.Query().Get("limit") == "101" {
				e.r.URL.RawQuery = "limit=100"
			}
			e.ask()
		}},
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
	svc := must(formsvc.New(append([]formsvc.Option{
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
