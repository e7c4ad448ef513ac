package servicetest_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/memory"
)

// mount is one way in which a host may mount the service.
type mount struct {
	name string
	base string // where the service is then reached
	opts []formsvc.Option
	host func(svc http.Handler) http.Handler
}

func mounts() []mount {
	options := func(o ...formsvc.Option) []formsvc.Option { return o }
	deeper := options(formsvc.WithBasePath("/api/v1"))
	below := options(formsvc.WithBaseURL("/api"))
	std := func(pattern string, wrap func(http.Handler) http.Handler) func(http.Handler) http.Handler {
		return func(svc http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle(pattern, wrap(svc))
			return mux
		}
	}
	plain := func(svc http.Handler) http.Handler { return svc }
	strip := func(prefix string) func(http.Handler) http.Handler {
		return func(svc http.Handler) http.Handler { return http.StripPrefix(prefix, svc) }
	}
	router := func(build func(r chi.Router, svc http.Handler)) func(http.Handler) http.Handler {
		return func(svc http.Handler) http.Handler {
			r := chi.NewRouter()
			build(r, svc)
			return r
		}
	}
	return []mount{
		{"as the whole server", "/v1", nil, plain},
		{"named by another host", "/v1", options(formsvc.WithBaseURL("https://api.example.com/forms")), plain},
		{"at the root of a standard mux", "/v1", nil, std("/", plain)},
		{"below its own prefix in a standard mux", "/v1", nil, std("/v1/", plain)},
		{"below its own prefix in a standard mux with StripPrefix", "/v1", nil, std("/v1/", strip("/v1"))},
		{"below a deeper base path in a standard mux", "/api/v1", deeper, std("/api/v1/", plain)},
		{"below a deeper base path in a standard mux with StripPrefix", "/api/v1", deeper, std("/api/v1/", strip("/api/v1"))},
		{"below another handler's prefix that is stripped", "/api/v1", below, std("/api/", strip("/api"))},
		{"behind a wildcard pattern of a standard mux", "/v1", nil, std("/v1/{rest...}", plain)},
		{"behind a prefix without a base path", "/forms-api", options(formsvc.WithBasePath("/forms-api")), std("/forms-api/", plain)},
		{"with chi's Mount", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Mount("/v1", svc) })},
		{"with chi's Mount below a deeper base path", "/api/v1", deeper, router(func(r chi.Router, svc http.Handler) { r.Mount("/api/v1", svc) })},
		{"with chi's Mount at the root", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Mount("/", svc) })},
		{"with chi's Route and Mount", "/api/v1", deeper, router(func(r chi.Router, svc http.Handler) {
			r.Route("/api", func(r chi.Router) { r.Mount("/v1", svc) })
		})},
		{"with chi's Route for a tenant and Mount", "/t/one/v1", options(formsvc.WithBaseURL("/t/one")), router(func(r chi.Router, svc http.Handler) {
			r.Route("/t/{tenant}", func(r chi.Router) { r.Mount("/v1", svc) })
		})},
		{"with chi's Handle", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Handle("/v1/*", svc) })},
		{"with chi's Mount and StripPrefix", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Mount("/v1", http.StripPrefix("/v1", svc)) })},
		{"with chi's Handle and StripPrefix", "/api/v1", below, router(func(r chi.Router, svc http.Handler) {
			r.Handle("/api/*", http.StripPrefix("/api", svc))
		})},
		{"with chi's Route and Handle, and StripPrefix of both", "/api/v1", deeper, router(func(r chi.Router, svc http.Handler) {
			r.Route("/api", func(r chi.Router) { r.Handle("/v1/*", http.StripPrefix("/api/v1", svc)) })
		})},
		{"in a chi router below a standard mux", "/api/v1", deeper, func(svc http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Mount("/v1", svc)
			return std("/api/", strip("/api"))(r)
		}},
	}
}

func TestTheServiceAnswersWhereverItIsMounted(t *testing.T) {
	t.Parallel()
	for _, m := range mounts() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, func(t *testing.T) conformance.Target {
				svc := servicetest.New(t, memory.New(), append(m.opts, formsvc.WithoutRateLimit())...)
				srv := httptest.NewServer(m.host(svc))
				t.Cleanup(srv.Close)
				return servicetarget.New(svc, srv.URL+m.base)
			}, conformance.Only("mounting", "routing/allow", "description"))
		})
	}
}

// misplacedLines counts the lines about requests at another path than the base path.
func misplacedLines(log *bytes.Buffer) int {
	return strings.Count(log.String(), "another path than the service's")
}

func TestNotFoundBelowTheBasePathIsNotLogged(t *testing.T) {
	t.Parallel()
	for _, m := range mounts() {
		var log bytes.Buffer
		logger := formsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))
		svc := servicetest.New(t, memory.New(), append(m.opts, formsvc.WithoutRateLimit(), logger)...)
		host := m.host(svc)
		for _, path := range []string{"/nothing", "/nothing/forms", "/nothing/forms/", "/forms/nothing/at/all", "/me/forms", "//forms", "/v2/v1/nothing"} {
			w := httptest.NewRecorder()
			host.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, m.base+path, nil))
			if got := misplacedLines(&log); got != 0 || w.Code == http.StatusOK {
				t.Errorf("%s: %s: %d, %d lines:\n%s", m.name, path, w.Code, got, &log)
			}
		}
	}
}

// A host that mounts the service elsewhere than it says finds the reason of its 404s in the log.
func TestTheFirstRequestAtAnotherPathIsLogged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, base string
		opts             []formsvc.Option
		strip            string
	}{
		{name: "below a prefix that the service does not know", path: "/api/v1/forms", base: "/v1"},
		{name: "at another version", path: "/v2/forms/5f", base: "/v1"},
		{name: "below the name of a resource", path: "/forms/v1/webhooks", base: "/v1"},
		{name: "below another prefix than the base URL's", path: "/rest/v1/me", base: "/api/v1", opts: []formsvc.Option{formsvc.WithBaseURL("https://example.com/api")}},
		{name: "with too little stripped", path: "/t/acme/v1/forms", base: "/v1", strip: "/t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			b := servicetest.Setup(t, append(c.opts, formsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
			host := http.StripPrefix(c.strip, b.Service)
			get := func(path string, want int) {
				t.Helper()
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Header.Set("X-API-Key", b.Key)
				w := httptest.NewRecorder()
				host.ServeHTTP(w, r)
				if w.Code != want {
					t.Errorf("%s: %d, want %d", path, w.Code, want)
				}
			}
			get(c.strip+"/v1/me", http.StatusOK) // what comes at the right path changes nothing
			get(c.strip+"/favicon.ico", http.StatusNotFound)
			if got := misplacedLines(&log); got != 0 {
				t.Errorf("%d lines before the first such request:\n%s", got, &log)
			}
			for range 3 {
				get(c.path, http.StatusNotFound)
			}
			host = b.Using(b.Store)
			get(strings.TrimPrefix(c.path, c.strip), http.StatusNotFound)
			logged := log.String()
			if got := misplacedLines(&log); got != 1 || !strings.Contains(logged, " path="+strings.TrimPrefix(c.path, c.strip)+" base_path="+c.base+"\n") {
				t.Errorf("%d lines, want one with both paths:\n%s", got, logged)
			}
		})
	}
}

func TestTheHostsMiddlewareSeesItsOwnRoute(t *testing.T) {
	t.Parallel()
	svc := servicetest.New(t, memory.New(), formsvc.WithoutRateLimit())
	var pattern, path string
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			pattern, path = chi.RouteContext(r.Context()).RoutePattern(), r.URL.Path
		})
	})
	r.Mount("/v1", svc)
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/me", nil))
	if pattern != "/v1/*" || path != "/v1/me" {
		t.Errorf("after the service the host's middleware sees the pattern %q and the path %q, want /v1/* and /v1/me", pattern, path)
	}
}

// The host's metrics and traces see which operation a request was.
func TestTheRequestNamesItsOperation(t *testing.T) {
	t.Parallel()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBasePath("/api/v2"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/api/v2/forms/65a1f0c2d4e5b6a7980c1d02/blocks/a%2Fb": "/api/v2/forms/{formId}/blocks/{blockId}",
		"/api/v2/openapi.json":                                "/api/v2/openapi.json",
		"/api/v2/nothing":                                     "of the host's mux",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Pattern = "of the host's mux"
		svc.ServeHTTP(httptest.NewRecorder(), r)
		if r.Pattern != want {
			t.Errorf("%s: the pattern is %q, want %q", path, r.Pattern, want)
		}
	}
}

// Middleware finds the route of an export as it does those of the API.
func TestTheRouteOfAnExport(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	for _, test := range []struct{ mounted, want string }{
		{"/exports/", "/exports/{form_id}.csv"}, {"GET /exports/", "GET /exports/{form_id}.csv"},
		{"/exports/{file}", "/exports/{file}"}, {"", "/{form_id}.csv"},
	} {
		for _, key := range []string{b.Key, "no key"} {
			handler, pattern := b.ExportHandler(), ""
			seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r)
				pattern = r.Pattern
			})
			var root http.Handler = seen
			if test.mounted != "" {
				mux := http.NewServeMux()
				mux.Handle(test.mounted, seen)
				root = mux
			}
			r := httptest.NewRequest(http.MethodGet, "/exports/"+form.String()+".csv", nil)
			r.Header.Set("X-API-Key", key)
			w := httptest.NewRecorder()
			root.ServeHTTP(w, r)
			if pattern != test.want {
				t.Errorf("mounted at %q: %d, %q, want %q", test.mounted, w.Code, pattern, test.want)
			}
		}
	}
}
