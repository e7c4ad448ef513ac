package formpage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the files
	"encoding/hex"
	"net/http"
	"regexp"
	"sync"
	"time"
)

var (
	//go:embed static/page.css
	pageCSS []byte
	//go:embed static/page.js
	pageJS []byte
	//go:embed static/embed.js
	embedJS []byte
)

// assetDir is where the style and the script are served, beside the forms: no public
// id has this name.
const assetDir = "-"

type asset struct {
	content []byte
	packed  func() []byte // by gzip, with the first request for it
	kind    string
	tag     string
}

var assets = map[string]asset{
	"page.css": newAsset(pageCSS, "", "text/css; charset=utf-8"),
	"page.js":  newAsset(pageJS, "\n", "text/javascript; charset=utf-8"),
	"embed.js": newAsset(embedJS, "\n", "text/javascript; charset=utf-8"),
}

func newAsset(file []byte, between, kind string) asset {
	content := compact(file, between)
	sum := sha256.Sum256(content)
	return asset{content, sync.OnceValue(func() []byte { return pack(content) }), kind, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func pack(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // a buffer takes all
	_ = w.Close()
	return packed.Bytes()
}

// assetVersion changes with the files, so that browsers may keep them for ever.
var assetVersion = assets["page.css"].tag[1:9] + assets["page.js"].tag[1:9]

// compact leaves out indentation, and lines that are comments alone: a tenth of a file.
// None of the files has a text of several lines, in which that would matter. A script
// needs its lines, whose ends may end statements.
func compact(content []byte, between string) []byte {
	var kept [][]byte
	comment := false
	for line := range bytes.Lines(content) {
		line = bytes.TrimSpace(line)
		comment = comment || bytes.HasPrefix(line, []byte("/*"))
		if len(line) > 0 && !comment && !bytes.HasPrefix(line, []byte("//")) {
			kept = append(kept, line)
		}
		comment = comment && !bytes.HasSuffix(line, []byte("*/"))
	}
	return bytes.Join(kept, []byte(between))
}

// takesGzip matches an Accept-Encoding header with gzip, of a quality that is not 0.
var takesGzip = regexp.MustCompile(`(?i)(^|,)\s*gzip\s*(;\s*q=[0.]*[1-9][\d.]*\s*)?(,|$)`)

func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") == assetVersion {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content, tag := a.content, a.tag
	w.Header().Add("Vary", "Accept-Encoding")
	if takesGzip.MatchString(r.Header.Get("Accept-Encoding")) {
		content, tag = a.packed(), "W/"+tag
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
