package handler

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestThePathBelowTheBasePath(t *testing.T) {
	for _, c := range []struct {
		baseURL, basePath string
		path, want        string
	}{
		{"", "/v1", "/v1/me", "/me"},
		{"", "/v1", "/me", "/me"}, // the host stripped the prefix
		{"", "/v1", "/v1/forms/5f/blocks/a%2Fb", "/forms/5f/blocks/a%2Fb"},
		{"", "/v1", "/v1/v1/me", "/v1/v1/me"},
		{"", "/v1", "/v1me", "/v1me"},
		{"/api", "/v1", "/api/v1/me", "/me"},
		{"/api", "/v1", "/v1/me", "/me"},
		{"https://example.com/api", "/v1", "/api/v1/me", "/me"},
		{"https://example.com", "/v1", "/v1/me", "/me"},
		{"", "/forms", "/forms/forms/5f", "/forms/5f"},
		{"", "/forms", "/forms/5f", "/forms/5f"}, // stripped: /forms is the list of forms, not the prefix
		{"", "/api/forms", "/api/forms/me", "/me"},
		{"", "", "/me", "/me"},
		{"", "/v1", "/v1/me/", ""},
		{"", "/v1", "/v1//me", ""},
		{"", "/v1", "/v1/forms/../me", ""},
		{"", "/v1", "/v1/./me", ""},
		{"", "/v1", "/", ""},
		{"", "/v1", "/v1", "/v1"},
		{"", "/v1", "/v1/forms/5f/blocks/%2E%2E", "/forms/5f/blocks/%2E%2E"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		u, err := r.URL.Parse("http://example.com")
		expect.NoError(t, err)
		u.Path, err = unescape(c.path)
		expect.NoError(t, err)
		u.RawPath = c.path
		r.URL = u
		m := newMount(c.baseURL, c.basePath, operations())
		expect.Equal(t, m.pathBelow(r, m.base), c.want, "base URL %q, base path %q: %s", c.baseURL, c.basePath, c.path)
	}
}

func unescape(path string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, "http://example.com"+path, nil)
	if err != nil {
		return "", err
	}
	return r.URL.Path, nil
}

func FuzzThePathBelowTheBasePath(f *testing.F) {
	for _, path := range []string{"/v1/me", "/me", "//", "/v1/forms/%2e%2e", "/v1/forms/a%2Fb/blocks/..", ""} {
		f.Add(path, "/v1/forms")
	}
	m := newMount("/api", "/v1", operations())
	f.Fuzz(func(t *testing.T, path, routePath string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawPath = path, path
		rctx := chi.NewRouteContext()
		rctx.RoutePath = routePath
		for _, r := range []*http.Request{r, r.WithContext(contextWith(r, rctx))} {
			got := m.pathBelow(r, m.base)
			if got != "" && (got[0] != '/' || strings.Contains(got, "//") || strings.HasSuffix(got, "/")) {
				t.Fatalf("%q below a router at %q gives the unclean path %q", path, routePath, got)
			}
		}
	})
}
