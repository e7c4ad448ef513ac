package builder_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/docs"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage/memory"
)

// statusless records a response whose handler wrote a body without a status. Routers such as gin
// in NoRoute have set 404 before.
type statusless struct {
	http.ResponseWriter
	begun, guessed bool
}

func (w *statusless) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusless) Write(b []byte) (int, error) {
	w.guessed = w.guessed || !w.begun
	return w.ResponseWriter.Write(b)
}

func (w *statusless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// compressing is a middleware that announces gzip before the handler runs, as echo's does, and
// compresses whatever the handler writes.
func compressing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		h.ServeHTTP(&packing{w, packed}, r)
		_ = packed.Close() // the test reads what came
	})
}

type packing struct {
	http.ResponseWriter
	to io.Writer
}

func (w *packing) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w *packing) Write(b []byte) (int, error) { return w.to.Write(b) }

// Every handler sets its status, and none compresses again what a middleware compresses.
func TestRoutersAndMiddleware(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	form := o.publish("Form", []map[string]any{{"id": "q", "type": "short_text", "label": "Question"}})
	pages := must(formpage.New(o.service, formpage.Config{Secret: []byte("of tests, 16 bytes or more")}))
	owners := must(builder.New(o.service, builder.Config{Pages: pages, User: func(*http.Request) (formsvc.ID, error) { return formsvc.UserIDFrom("ada"), nil }}))
	t.Cleanup(func() { _ = owners.Close(context.Background()) })
	exports := o.service.ExportHandler()
	mux := http.NewServeMux()
	mux.Handle("/v1/", o.service)
	mux.Handle("/f/", pages)
	mux.Handle("/forms/", owners)
	mux.Handle("/docs", docs.Handler(o.service, "/v1/openapi.json", docs.Options{}))
	mux.Handle("/exports/", exports)
	key := must(o.service.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("ada")}, Name: "all", Scopes: formsvc.Scopes()}))
	id := form.ID.String()
	paths := []string{
		"/v1/openapi.json", "/v1/me", "/v1/forms", "/v1/forms/" + id, "/v1/forms/" + id + "/submissions", "/v1/webhooks", "/v1/nothing",
		"/f/" + form.PublicID, "/f/" + form.PublicID + "/done", "/f/" + form.PublicID + "/form.json", "/f/-/page.js", "/f/-/page.css", "/f/nothing",
		"/forms/", "/forms/workspaces", "/docs", "/exports/" + id + ".csv", "/exports/" + id + ".ndjson",
	}
	ask := func(h http.Handler, path string, header http.Header) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header = header.Clone()
		r.Header.Set("X-API-Key", key.Secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	listed := ask(mux, "/forms/", http.Header{}).Body.String()
	for _, asset := range regexp.MustCompile(`(?:src|href)="([^"]+\.(?:js|css))"`).FindAllStringSubmatch(listed, -1) {
		paths = append(paths, "/forms/"+strings.TrimPrefix(asset[1], "./"))
	}
	if len(paths) < 20 {
		t.Fatalf("the page of owners names no assets: %s", listed)
	}
	for _, path := range paths {
		for _, accept := range []string{"", "gzip"} {
			header := http.Header{"Accept-Encoding": {accept}}
			var recorded *statusless
			ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorded = &statusless{ResponseWriter: w}
				mux.ServeHTTP(recorded, r)
			}), path, header)
			if !recorded.begun || recorded.guessed {
				t.Errorf("%s, accepting %q: the handler sets no status", path, accept)
			}
		}
		plain := ask(mux, path, http.Header{})
		w := ask(compressing(mux), path, http.Header{"Accept-Encoding": {"gzip"}})
		unpacked, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, err := io.ReadAll(unpacked)
		if start := text[:min(2, len(text))]; err != nil || w.Code != plain.Code || string(start) == "\x1f\x8b" {
			t.Errorf("%s: status %d, %v, it begins with %q", path, w.Code, err, start)
		}
	}
}
