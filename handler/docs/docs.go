// Package docs renders the API description as an HTML page. A host mounts it next to the service:
//
//	mux.Handle("GET /docs", docs.Handler(svc, "/v1/openapi.json", docs.Options{}))
//
// The page is a single HTML document. It loads nothing from other hosts and works without JavaScript. It describes
// every operation with its parameters, bodies, response headers and errors, and shows example requests for curl, Go and
// JavaScript. It also documents every schema.
//
// If you prefer a renderer with a request console, three lines are enough. Scalar, for example, reads the API
// description from the service. The host serves Scalar's script:
//
//	mux.HandleFunc("GET /reference", func(w http.ResponseWriter, _ *http.Request) {
//		fmt.Fprint(w, `<!doctype html><script id="api-reference" data-url="/v1/openapi.json"></script><script src="/static/scalar.js"></script>`)
//	})
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
)

// Options customizes the page. The zero value is valid.
type Options struct {
	// Title is the page's title. Defaults to the API description's title.
	Title string
	// Key is the API key in the example requests. With a valid key, readers can copy and run the examples. Every reader
	// can see the key, so use a demo key. Defaults to a placeholder.
	Key string
	// HomeURL is where the title links to. If empty, the title is not a link.
	HomeURL string
}

// Handler returns a handler for the API's documentation page. On the first request, it fetches the API description from
// api at path, such as "/v1/openapi.json", and then caches the page. If it cannot fetch the description, it responds
// with a 502 and tries again on the next request. The handler is safe for concurrent use.
func Handler(api http.Handler, path string, o Options) http.Handler {
	return &page{api: api, path: path, options: o}
}

type page struct {
	api     http.Handler
	path    string
	options Options

	mu   sync.Mutex
	html []byte // The rendered page. Nil before the first request.
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	// The policy allows only the page's own style and script.
	policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		sha256Base64(pageCSS) + "'; script-src 'sha256-" + sha256Base64(pageJS) + "'"
)

func sha256Base64(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	html, err := p.render(r)
	if err != nil {
		http.Error(w, "The API description could not be loaded. Reload the page.", http.StatusBadGateway)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(html) // the client may have disconnected
	}
}

// render returns the page. The first call renders it.
func (p *page) render(r *http.Request) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.html != nil {
		return p.html, nil
	}
	description, err := p.fetchDescription(r)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(description, &d); err != nil {
		return nil, err
	}
	contents := newContents(&d, p.path, p.options)
	t, err := template.New("page").Funcs(contents.templateFuncs()).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, contents); err != nil {
		return nil, err
	}
	p.html = out.Bytes()
	return p.html, nil
}

func (p *page) fetchDescription(r *http.Request) ([]byte, error) {
	ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, p.path, nil)
	if err != nil {
		return nil, err
	}
	ask.RequestURI, ask.Host = p.path, r.Host
	answer := recorder{header: make(http.Header), status: http.StatusOK}
	p.api.ServeHTTP(&answer, ask)
	if answer.status != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.status)
	}
	return answer.body.Bytes(), nil
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
