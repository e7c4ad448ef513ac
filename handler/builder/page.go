package builder

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/gzipped"
)

// Document is what [Config.Layout] is executed with.
type Document struct {
	Language string // a language tag, for the attribute lang
	Title    string
	// Head belongs into the head, Body into the body, once each.
	Head, Body template.HTML
	// Nonce is the nonce that the Content-Security-Policy of the response allows for elements style
	// and script. A layout's own files from the page's origin need none.
	Nonce string
}

var plain = template.Must(template.New("").Parse(`<!doctype html>
<html lang="{{.Language}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{{.Title}}</title>
{{.Head}}
</head>
<body>
{{.Body}}
</body>
</html>
`))

var parts = template.Must(template.New("").Parse(`{{define "head"}}<link rel="stylesheet" href="{{.Assets}}app.css">
<link rel="modulepreload" href="{{.Assets}}chunk.js">
<script type="module" src="{{.Assets}}app.js"></script>{{end}}
{{define "body"}}<div id="formsvc-builder" data-config="{{.Config}}"><noscript>{{.NoScript}}</noscript></div>{{end}}`))

// pageConfig is what the script is told.
type pageConfig struct {
	Base     string            `json:"base"` // what all its addresses begin with, from this page's own
	User     string            `json:"user"`
	Name     string            `json:"name"`
	Home     string            `json:"home"`
	Accent   string            `json:"accent"`
	Language string            `json:"language"`
	Zone     string            `json:"zone"` // of calendar days
	Words    map[string]string `json:"words"`
}

// page serves the one page, whose script looks at the path.
func (h *Handler) page(w http.ResponseWriter, r *http.Request, user formsvc.ID, below string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path has GET alone.")
		return
	}
	tag := h.language(r)
	base := cmp.Or(strings.Repeat("../", strings.Count(below, "/")-1), "./")
	settings, err := json.Marshal(pageConfig{
		Base: base, User: user.String(), Name: h.config.Name, Home: h.config.HomeURL, Accent: h.config.Accent,
		Language: tag, Zone: h.service.TimeZone().String(), Words: h.words[tag],
	})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	data := map[string]any{"Assets": base + assetsPath[1:] + assetsVersion + "/", "Config": string(settings), "NoScript": h.words[tag]["app.noscript"]}
	var head, body, out bytes.Buffer
	d := Document{Language: tag, Title: h.config.Name, Nonce: rand.Text()}
	err = parts.ExecuteTemplate(&head, "head", data)
	if err == nil {
		err = parts.ExecuteTemplate(&body, "body", data)
	}
	if err == nil {
		d.Head, d.Body = template.HTML(head.String()), template.HTML(body.String()) //nolint:gosec // escaped by the templates
		err = cmp.Or(h.config.Layout, plain).Execute(&out, d)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src 'self' 'nonce-%[1]s'; style-src 'self' 'nonce-%[1]s'; "+
		"img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; %s", d.Nonce, w.Header().Get("Content-Security-Policy")))
	w.Header().Set("Referrer-Policy", "same-origin")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out.Bytes()) // the reader may be gone
}

// signIn answers the request of a page by somebody who is not signed in.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) {
	if h.config.SignIn != nil {
		h.config.SignIn.ServeHTTP(w, r)
		return
	}
	http.Error(w, h.words[h.language(r)]["app.sign_in"], http.StatusUnauthorized)
}

// language is the tag of the page's language, one of those with words.
func (h *Handler) language(r *http.Request) string {
	wishes, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if h.config.Language != nil {
		if tag, err := language.Parse(h.config.Language(r)); err == nil {
			wishes = slices.Insert(wishes, 0, tag)
		}
	}
	for _, wish := range wishes {
		base, _ := wish.Base()
		for _, tag := range []string{wish.String(), base.String()} {
			if h.words[tag] != nil {
				return tag
			}
		}
	}
	return "en"
}

//go:embed words/*.json
var wordFiles embed.FS

// loadWords returns the words of all languages by key, which are complete: what one lacks is
// English.
func loadWords(own map[string]map[string]string) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	put := func(tag, key, text string) {
		if all[tag] == nil {
			all[tag] = map[string]string{}
		}
		all[tag][key] = text
	}
	files, err := wordFiles.ReadDir("words")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		raw, err := wordFiles.ReadFile("words/" + file.Name())
		if err != nil {
			return nil, err
		}
		var areas map[string]map[string]string
		if err := json.Unmarshal(raw, &areas); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		for area, texts := range areas {
			for key, text := range texts {
				put(strings.TrimSuffix(file.Name(), ".json"), area+"."+key, text)
			}
		}
	}
	var unknown []error
	for tag, texts := range own {
		for key, text := range texts {
			if all["en"][key] == "" {
				unknown = append(unknown, fmt.Errorf("in Words, there is no key %q", key))
			}
			put(tag, key, text)
		}
	}
	for _, texts := range all {
		for key, text := range all["en"] {
			texts[key] = cmp.Or(texts[key], text)
		}
	}
	return all, errors.Join(unknown...)
}

//go:embed dist/*.gz
var assetFiles embed.FS

// asset is a file of the page, compressed as it is embedded.
type asset struct {
	packed []byte
	kind   string
}

// assets are the files by name. assetsVersion changes with them: it is a part of their path, so browsers may
// keep them for ever, and never have files of two versions in one page.
var assets, assetsVersion = loadAssets()

var assetKinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

func loadAssets() (map[string]asset, string) {
	all, sum := map[string]asset{}, sha256.New()
	files, err := assetFiles.ReadDir("dist")
	for _, file := range files {
		packed, readErr := assetFiles.ReadFile("dist/" + file.Name())
		err = errors.Join(err, readErr)
		_, _ = sum.Write(packed) // a hash takes all
		name := strings.TrimSuffix(file.Name(), ".gz")
		all[name] = asset{packed, assetKinds[path.Ext(name)]}
	}
	if err != nil {
		panic(err) // they are embedded
	}
	return all, hex.EncodeToString(sum.Sum(nil)[:8])
}

func serveAsset(w http.ResponseWriter, r *http.Request, path string) {
	name, ok := strings.CutPrefix(path, assetsVersion+"/")
	a := assets[name]
	if !ok || a.packed == nil {
		refuse(w, http.StatusNotFound, "NOT_FOUND", "There is no such file, or the page is of another version.")
		return
	}
	header := w.Header()
	header.Set("Content-Type", a.kind)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	packed := gzipped.Accepted(w, r)
	if packed {
		header.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK) // some routers call handlers with another status already set
	if packed {
		_, _ = w.Write(a.packed) // the browser may be gone
		return
	}
	if content, err := gzip.NewReader(bytes.NewReader(a.packed)); err == nil {
		_, _ = io.Copy(w, content) //nolint:gosec // of this package
	}
}
