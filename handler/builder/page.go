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
	"maps"
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

var plainLayout = template.Must(template.New("").Parse(`<!doctype html>
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

var pageTemplates = template.Must(template.New("").Parse(`{{define "head"}}<link rel="stylesheet" href="{{.Assets}}app.css">
<link rel="stylesheet" href="{{.Assets}}dark.css" media="{{.Dark}}">
<script defer src="{{.Assets}}{{.Words}}"></script>
<link rel="modulepreload" href="{{.Assets}}chunk.js">
<script type="module" src="{{.Assets}}app.js"></script>{{end}}
{{define "body"}}<div id="formsvc-builder" data-config="{{.Config}}"><noscript>{{.NoScript}}</noscript></div>{{end}}`))

// pageConfig is the configuration of the page's script.
type pageConfig struct {
	Base     string            `json:"base"` // what all its addresses begin with, from this page's own
	User     string            `json:"user"`
	Name     string            `json:"name"`
	Home     string            `json:"home"`
	Style    map[string]string `json:"style"`           // variables of CSS
	Theme    json.RawMessage   `json:"theme,omitempty"` // of new forms
	Language string            `json:"language"`
	Zone     string            `json:"zone"` // of calendar days
}

// servePage serves the HTML page. Its script reads the path.
func (h *Handler) servePage(w http.ResponseWriter, r *http.Request, user formsvc.ID, below string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path supports only GET.")
		return
	}
	tag := h.pageLanguage(r)
	base := cmp.Or(strings.Repeat("../", strings.Count(below, "/")-1), "./")
	settings, err := json.Marshal(pageConfig{
		Base: base, User: user.String(), Name: h.config.Name, Home: h.config.HomeURL,
		Style: h.config.cssVariables(), Theme: h.config.Theme,
		Language: tag, Zone: h.service.TimeZone().String(),
	})
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	data := map[string]any{
		"Assets": base + assetsPath[1:] + h.assets.version + "/", "Words": wordsFile(tag), "Dark": h.darkMedia(),
		"Config": string(settings), "NoScript": h.words[tag]["app.noscript"],
	}
	var head, body, out bytes.Buffer
	d := Document{Language: tag, Title: h.config.Name, Nonce: rand.Text()}
	err = pageTemplates.ExecuteTemplate(&head, "head", data)
	if err == nil {
		err = pageTemplates.ExecuteTemplate(&body, "body", data)
	}
	if err == nil {
		d.Head, d.Body = template.HTML(head.String()), template.HTML(body.String()) //nolint:gosec // escaped by the templates
		err = cmp.Or(h.config.Layout, plainLayout).Execute(&out, d)
	}
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src 'self' 'nonce-%[1]s'; style-src 'self' 'nonce-%[1]s'; "+
		"img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; %s", d.Nonce, w.Header().Get("Content-Security-Policy")))
	w.Header().Set("Referrer-Policy", "same-origin")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out.Bytes()) // the reader may be gone
}

// darkMedia returns the media attribute of the style sheet for dark pages.
func (h *Handler) darkMedia() string {
	if h.config.Background == "" {
		return "(prefers-color-scheme: dark)"
	}
	return map[string]string{"light": "not all", "dark": "all"}[schemeName(h.config.Background)]
}

// serveSignIn responds to a page request without a signed-in user.
func (h *Handler) serveSignIn(w http.ResponseWriter, r *http.Request) {
	if h.config.SignIn != nil {
		h.config.SignIn.ServeHTTP(w, r)
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") { // no browser that shows it
		writeError(w, http.StatusUnauthorized, "SIGNED_OUT", "You are not signed in. Sign in and try again.")
		return
	}
	http.Error(w, h.words[h.pageLanguage(r)]["app.sign_in"], http.StatusUnauthorized)
}

// pageLanguage returns the tag of the page's language. There are words for it.
func (h *Handler) pageLanguage(r *http.Request) string {
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
				unknown = append(unknown, fmt.Errorf("Config.Translations: unknown key %q", key))
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

// assets are the files of the pages. The version changes with every one of them. It is a part of their
// path, so browsers may keep them for ever, and never have files of two versions in one page.
type assets struct {
	files   map[string]asset
	version string
}

// asset is a file, compressed as it is embedded.
type asset struct {
	compressed  []byte
	contentType string
}

var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

// newAssets returns the embedded files, and one with the words of each language.
func newAssets(words map[string]map[string]string) assets {
	a := assets{files: map[string]asset{}}
	files, err := assetFiles.ReadDir("dist")
	for _, file := range files {
		packed, readErr := assetFiles.ReadFile("dist/" + file.Name())
		err = errors.Join(err, readErr)
		name := strings.TrimSuffix(file.Name(), ".gz")
		a.files[name] = asset{packed, contentTypes[path.Ext(name)]}
	}
	if err != nil {
		panic(err) // they are embedded
	}
	for tag, texts := range words {
		a.files[wordsFile(tag)] = asset{compressWords(texts), contentTypes[".js"]}
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		_, _ = sum.Write(a.files[name].compressed) // a hash takes all
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// wordsFile is the name of the file with the words of a language.
func wordsFile(tag string) string { return "words." + tag + ".js" }

// compressWords returns a script that says the words, compressed.
func compressWords(texts map[string]string) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	raw, _ := json.Marshal(texts)                   //nolint:errchkjson // texts
	_, _ = fmt.Fprintf(w, "formsvcWords=%s\n", raw) // a buffer takes all
	_ = w.Close()
	return packed.Bytes()
}

func (a assets) serve(w http.ResponseWriter, r *http.Request, path string) {
	name, ok := strings.CutPrefix(path, a.version+"/")
	file := a.files[name]
	if !ok || file.compressed == nil {
		writeError(w, http.StatusNotFound, "NOT_FOUND", "The file does not exist, or the page has another version. Reload the page.")
		return
	}
	header := w.Header()
	header.Set("Content-Type", file.contentType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	packed := gzipped.CanCompress(w, r)
	if packed {
		header.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK) // some routers call handlers with another status already set
	if packed {
		_, _ = w.Write(file.compressed) // the browser may be gone
		return
	}
	if content, err := gzip.NewReader(bytes.NewReader(file.compressed)); err == nil {
		_, _ = io.Copy(w, content) //nolint:gosec // of this package
	}
}
