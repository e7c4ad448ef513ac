package formpage_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// Styles and scripts are sent compressed to whoever takes that, and are the same files.
func TestAssetsAreCompressed(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	get := func(name string, header ...string) (*http.Response, string) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/-/"+name, nil)
		r.Header.Set("Accept-Encoding", "") // the client adds its own otherwise
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response := expect.Must(s.server.Client().Do(r))
		defer response.Body.Close()
		raw := expect.Must(io.ReadAll(response.Body))
		return response, string(raw)
	}
	for name, most := range map[string]int{"page.css": 6_500, "page.js": 12_000, "embed.js": 1_500} {
		plain, text := get(name)
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("ETag") == "" {
			t.Errorf("%s, plain: %v", name, plain.Header)
		}
		for _, refuses := range []string{"br", "gzip;q=0", "gzip; q=0.00, br", "identity", "xgzip"} {
			if r, _ := get(name, "Accept-Encoding", refuses); r.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s is compressed for %q", name, refuses)
			}
		}
		for _, takes := range []string{"gzip", "deflate, GZIP;q=0.5, br", "br;q=1.0, gzip; q=1.0"} {
			r, packed := get(name, "Accept-Encoding", takes)
			if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Vary") != "Accept-Encoding" || r.Header.Get("Content-Type") != plain.Header.Get("Content-Type") ||
				r.Header.Get("ETag") == plain.Header.Get("ETag") || len(packed) > most {
				t.Errorf("%s for %q: %d bytes, %v", name, takes, len(packed), r.Header)
				continue
			}
			unpacked, again := get(name, "Accept-Encoding", takes, "If-None-Match", r.Header.Get("ETag"))
			expect.That(t, unpacked.StatusCode == http.StatusNotModified && again == "",
				"%s again: %d", name, unpacked.StatusCode)
			expect.Equal(t, gunzip(t, packed), text, "%v is another file when it is compressed", name)
		}
	}
}

func gunzip(t *testing.T, packed string) string {
	t.Helper()
	r := expect.Must(gzip.NewReader(strings.NewReader(packed)))
	raw := expect.Must(io.ReadAll(r))
	return string(raw)
}

// A page that is opened has its style within, and what answers a POST links to it. No script holds
// the page up.
func TestAPageBringsItsStyle(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	file := s.get(s.server.URL + "/f/-/page.css").raw
	opened := s.open(s.form("MULTI", `[{"id":"n","type":"short_text","required":true}]`, "", ""), "")
	for p, within := range map[*page]int{opened: 1, opened.press("next"): 0} {
		styles, links := 0, 0
		p.each(func(n *html.Node) {
			switch {
			case n.Data == "style" && textOf(n) == file && strings.Contains(p.header.Get("Content-Security-Policy"), "style-src 'self' 'nonce-"+attr(n, "nonce")+"'"):
				styles++
			case n.Data == "link" && attr(n, "rel") == "stylesheet":
				links++
			case n.Data == "script" && attr(n, "src") != "" && !has(n, "defer"):
				t.Errorf("the script %s holds the page up", attr(n, "src"))
			}
		})
		expect.That(t, styles == within && links == 1-within,
			"%d: the style is within %d times and linked %d times", p.status, styles, links)
	}
}

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
		n := len(raw)
		expect.That(t, n <= 10_000 && strings.HasSuffix(strings.TrimSpace(gunzip(t, raw)), "</html>"), "%s: %d bytes", c.what, n)
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
	p.fill("a.n", "x").press("next").expect(http.StatusOK, at("/done"))
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
	expect.That(t, err != nil, "a document that was cut looks whole")
}

// cutting ends the connection in the middle of a document.
type cutting struct{ http.ResponseWriter }

func (c cutting) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }
