package formpage_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// Pages are compressed for clients that accept it, unless the host does it: a form page of twenty
// questions is at most 10 kB.
func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", twentyQuestions(), "", "")
	ask := func(handler http.Handler, method, path, accept string, body string) (*httptest.ResponseRecorder, string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Accept-Encoding", accept)
		if body != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w, w.Body.String()
	}
	const page = "/f/"
	for _, c := range []struct{ what, method, path, body string }{
		{"a form", "GET", page + form.PublicID, ""}, {"a prefilled form", "GET", page + form.PublicID + "?question_0=x", ""}, {"its head", "HEAD", page + form.PublicID, ""},
		{"a page that was sent", "POST", page + form.PublicID, "a.question_0=x"}, {"an ending", "GET", page + form.PublicID + "/done", ""},
		{"no form", "GET", page + "nothing", ""}, {"a preview", "GET", s.link(form.ID), ""},
	} {
		path := strings.TrimPrefix(c.path, s.server.URL)
		plain, text := ask(s.pages, c.method, path, "identity", c.body)
		if plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Vary") != "Accept-Encoding" || !strings.Contains(text, "</html>") && c.method != "HEAD" {
			t.Errorf("%s, plain: %v", c.what, plain.Header())
		}
		packed, raw := ask(s.pages, c.method, path, "br, gzip", c.body)
		if packed.Code != plain.Code || packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Vary") != "Accept-Encoding" ||
			packed.Header().Get("Content-Type") != "text/html; charset=utf-8" || packed.Header().Get("Content-Length") != "" {
			t.Errorf("%s: %d %v", c.what, packed.Code, packed.Header())
			continue
		}
		if c.method == "HEAD" {
			continue
		}
		if n := len(raw); n > 10_000 || !strings.HasSuffix(strings.TrimSpace(gunzip(t, raw)), "</html>") {
			t.Errorf("%s: %d bytes", c.what, n)
		}
		// A host that compresses announces it: the page stays as it is.
		hosts := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			s.pages.ServeHTTP(w, r)
		})
		if _, raw := ask(hosts, c.method, path, "gzip", c.body); !strings.Contains(raw, "</html>") {
			t.Errorf("%s is compressed twice", c.what)
		}
	}
	for path, kind := range map[string]string{page + form.PublicID + "/form.json": "application/json", page + "-/nothing": "text/plain"} {
		if w, _ := ask(s.pages, "GET", path, "gzip", ""); w.Header().Get("Content-Encoding") != "" || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
	// Over a connection: the client sees a whole document, and a redirect has nothing to compress.
	p := s.open(s.form("MULTI", `[{"id":"n","type":"short_text"}]`, "", ""), "")
	s.wait(1 << 36)
	if end := p.fill("a.n", "x").press("next"); end.status != http.StatusOK || !strings.Contains(end.url, "/done") {
		t.Errorf("%d %s", end.status, end.url)
	}
	// A document that is cut by a panic does not look whole.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.pages.ServeHTTP(cutting{w}, r)
	}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	response, err := server.Client().Get(server.URL + page + form.PublicID)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("a document that was cut looks whole")
	}
}

// cutting ends the connection in the middle of a document.
type cutting struct{ http.ResponseWriter }

func (c cutting) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }
