package formpage_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
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
		response := must(s.server.Client().Do(r))
		defer response.Body.Close()
		raw := must(io.ReadAll(response.Body))
		return response, string(raw)
	}
	for name, most := range map[string]int{"page.css": 6_500, "page.js": 10_000, "embed.js": 1_500} {
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
			if unpacked.StatusCode != http.StatusNotModified || again != "" {
				t.Errorf("%s again: %d", name, unpacked.StatusCode)
			}
			if got := gunzip(t, packed); got != text {
				t.Errorf("%s is another file when it is compressed", name)
			}
		}
	}
}

func gunzip(t *testing.T, packed string) string {
	t.Helper()
	r := must(gzip.NewReader(strings.NewReader(packed)))
	raw := must(io.ReadAll(r))
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
		if styles != within || links != 1-within {
			t.Errorf("%d: the style is within %d times and linked %d times", p.status, styles, links)
		}
	}
}
