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

// Document is the data passed to [Config.Layout].
type Document struct {
	Language string // a language tag, for the lang attribute
	Title    string
	// Head belongs in the head element and Body in the body element, once each.
	Head, Body template.HTML
	// Nonce is the nonce that the response's Content-Security-Policy requires on style and script elements. Files that the
	// layout loads from the page's origin don't need the nonce.
	Nonce string
	Data  any // the result of [Config.LayoutData]
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

type pageConfig struct {
	Base     string            `json:"base"` // relative URL of the base path
	User     string            `json:"user"`
	Name     string            `json:"name"`
	Home     string            `json:"home"`
	Style    map[string]string `json:"style"`           // CSS variables
	Theme    json.RawMessage   `json:"theme,omitempty"` // for new forms
	Offer    Offer             `json:"offer"`
	Access   *access           `json:"access,omitempty"`
	Language string            `json:"language"`
	Zone     string            `json:"zone"` // time zone for calendar days

	Lists  []formsvc.NamedItem `json:"lists"` // of choices
	Checks []formsvc.NamedItem `json:"checks"`
}

// servePage serves the HTML page. Every URL gets the same HTML, and the script decides from the path what to show.
func (h *Handler) servePage(w http.ResponseWriter, r *http.Request, user formsvc.ID, below string, about subject, granted scopes) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path supports only GET.")
		return
	}
	limits, err := h.readAccess(r, below, about, granted)
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	tag := h.pageLanguage(r)
	base := cmp.Or(strings.Repeat("../", strings.Count(below, "/")-1), "./")
	settings, err := json.Marshal(pageConfig{
		Base: base, User: user.String(), Name: h.config.Name, Home: h.config.HomeURL,
		Style: h.config.cssVariables(), Theme: h.config.Theme, Access: limits, Offer: h.config.Offer,
		Language: tag, Zone: h.service.TimeZone().String(),
		Lists: h.service.ChoiceLists(), Checks: h.service.AnswerChecks(),
	})
	if err != nil {
		h.handleError(w, r, err)
		return
	}
	data := map[string]any{
		"Assets": base + assetsPath[1:] + h.assets.version + "/", "Words": wordsFileName(tag), "Dark": h.darkModeMediaQuery(),
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
		if h.config.LayoutData != nil {
			d.Data = h.config.LayoutData(r)
		}
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
	status := http.StatusOK
	if limits != nil && limits.Refused {
		status = http.StatusForbidden
	}
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the browser may have disconnected
}

// FormPath returns the path of a form's editor, which is read-only without forms:write. The path starts with
// Config.BasePath. The caller must prepend its origin and any prefix that StripPrefix removes. The page requires a
// signed-in user who can access the form.
func (h *Handler) FormPath(form formsvc.ID) string { return h.config.BasePath + "/" + form.String() }

// ResultsPath is like [Handler.FormPath], for the page with a form's results.
func (h *Handler) ResultsPath(form formsvc.ID) string { return h.FormPath(form) + "/results" }

// SubmissionPath is like [Handler.FormPath], for the page with one submission to the form.
func (h *Handler) SubmissionPath(form, submission formsvc.ID) string {
	return h.ResultsPath(form) + "/" + submission.String()
}

func (h *Handler) darkModeMediaQuery() string {
	if h.config.Background == "" {
		return "(prefers-color-scheme: dark)"
	}
	return map[string]string{"light": "not all", "dark": "all"}[schemeForBackground(h.config.Background)]
}

func (h *Handler) serveSignIn(w http.ResponseWriter, r *http.Request) {
	if h.config.SignIn != nil {
		h.config.SignIn.ServeHTTP(w, r)
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") { // not a browser that would display a page
		writeError(w, http.StatusUnauthorized, "SIGNED_OUT", "You are not signed in. Sign in and try again.")
		return
	}
	http.Error(w, h.words[h.pageLanguage(r)]["app.sign_in"], http.StatusUnauthorized)
}

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

// loadWords returns all texts by language and key. Missing texts are in English.
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

// assets holds the files that the pages load. Their paths contain a version, which is a hash of all files. Browsers can
// therefore cache the files indefinitely, and a page never loads files from two versions.
type assets struct {
	files   map[string]asset
	version string
}

type asset struct {
	compressed  []byte
	contentType string
}

var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

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
		panic(err) // the files are embedded
	}
	for tag, texts := range words {
		a.files[wordsFileName(tag)] = asset{compressWords(texts), contentTypes[".js"]}
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		_, _ = sum.Write(a.files[name].compressed) // hashes never return errors
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

func wordsFileName(tag string) string { return "words." + tag + ".js" }

func compressWords(texts map[string]string) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	raw, _ := json.Marshal(texts)                   //nolint:errchkjson // only strings
	_, _ = fmt.Fprintf(w, "formsvcWords=%s\n", raw) // buffers never return errors
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
	w.WriteHeader(http.StatusOK) // some routers call handlers with a different status already set
	if packed {
		_, _ = w.Write(file.compressed) // the browser may have disconnected
		return
	}
	if content, err := gzip.NewReader(bytes.NewReader(file.compressed)); err == nil {
		_, _ = io.Copy(w, content) //nolint:gosec // embedded files
	}
}
