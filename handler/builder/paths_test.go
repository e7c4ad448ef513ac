package builder_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/builder"
)

// The page works at every path below which a host may mount it, also without a slash before the rest.
func TestPathsWithoutASlash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, test := range []struct {
		name     string
		mounted  http.Handler
		path     string
		status   int
		contains string // of the page, or the Location
	}{
		{"next to the base path", s.owners, "/formsx", http.StatusNotFound, "not found"},
		{"next to the base path, deeper", s.owners, "/forms-old/x", http.StatusNotFound, "not found"},
		{"stripped with its slash, list", http.StripPrefix("/forms/", s.owners), "/forms/", http.StatusOK, `src="./-/assets/`},
		{"stripped with its slash, form", http.StripPrefix("/forms/", s.owners), "/forms/0123456789abcdef01234567", http.StatusOK, `src="./-/assets/`},
		{"stripped with its slash, results", http.StripPrefix("/forms/", s.owners), "/forms/0123456789abcdef01234567/results", http.StatusOK, `src="../-/assets/`},
		{"stripped with its slash, API", http.StripPrefix("/forms/", s.owners), "/forms/-/v1/forms", http.StatusOK, `"items"`},
		{"stripped, a query", http.StripPrefix("/forms/", s.owners), "/forms/?a=/b", http.StatusOK, `src="./-/assets/`},
		{"stripped", http.StripPrefix("/forms", s.owners), "/forms", http.StatusMovedPermanently, "./forms/"},
		{"stripped, list", http.StripPrefix("/forms", s.owners), "/forms/", http.StatusOK, `src="./-/assets/`},
	} {
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Header.Set("User", "ann")
		w := httptest.NewRecorder()
		test.mounted.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(w.Body.String()+w.Header().Get("Location"), test.contains) {
			t.Errorf("%s: GET %s: status %d, Location %q, %.300s", test.name, test.path, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
}

// The first request that comes at another path than BasePath says is logged, with both.
func TestAWrongMountIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path   string
		strip  string
		logged bool
	}{
		"another prefix":          {"/admin/forms/", "", true},
		"another prefix, a form":  {"/owners/0123456789abcdef01234567", "", true},
		"what is left of a strip": {"/app/admin/forms/", "/app", true},
		"the base path":           {"/forms/", "", false},
		"no page's path":          {"/forms/x/y", "", false},
		"stripped":                {"/app/w/0123456789abcdef01234567", "/app", false},
	} {
		var log bytes.Buffer
		s := newSite(t, func(b *builder.Config) { b.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for range 2 {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("User", "ann")
			http.StripPrefix(c.strip, s.owners).ServeHTTP(httptest.NewRecorder(), r)
		}
		want := map[bool]int{true: 1}[c.logged]
		if strings.Count(log.String(), "base_path=/forms") != want || strings.Count(log.String(), "path="+strings.TrimPrefix(c.path, c.strip)) != want {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

// A path that is deeper or longer than that of any page is refused: nothing of it comes back.
func TestLongPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const size = 1 << 20
	for _, path := range []string{
		"/forms/" + strings.Repeat("/", size), "/forms/" + strings.Repeat("x/", size/2), "/forms/" + strings.Repeat("x", size), "/" + strings.Repeat("x", size),
		"/forms/-/v1/" + strings.Repeat("x/", size/2), "/forms/-/door/" + strings.Repeat("x/", size/2), "/forms/-/canvas/" + strings.Repeat("x/", size/2),
		"/forms/-/copy/" + strings.Repeat("x/", size/2), "/forms/-/assets/" + strings.Repeat("x/", size/2), "/forms/-/v1/forms/0123456789abcdef01234567/blocks/" + strings.Repeat("x", size),
	} {
		for _, user := range []string{"ann", ""} {
			answer, body := s.do(user, http.MethodGet, path, "")
			if answer.StatusCode < 400 || len(body) > 1000 {
				t.Errorf("GET %.60s… by %q: status %d, %d bytes", path, user, answer.StatusCode, len(body))
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/"+strings.Repeat("x", size), nil)
	w := httptest.NewRecorder()
	http.StripPrefix("/"+strings.Repeat("x", size), s.owners).ServeHTTP(w, r)
	if location := w.Header().Get("Location"); len(location) > 1000 {
		t.Errorf("it is led to an address of %d bytes", len(location))
	}
}
