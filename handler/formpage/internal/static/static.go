// Package static serves the form pages' style sheet and scripts.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // For the files.
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/gzipped"
)

var (
	//go:embed page.css
	pageCSS []byte
	//go:embed page.js
	pageJS []byte
	//go:embed embed.js
	embedJS []byte
	//go:embed canvas.css
	canvasCSS []byte
)

// Dir is the URL path segment for these files. No form has it as its public ID.
const Dir = "-"

// File is a file with its HTTP metadata.
type File struct {
	content    []byte
	compressed func() []byte // Compresses content on the first call.
	kind       string
	tag        string
}

// Files holds the files by name.
var Files = map[string]File{
	"page.css": newFile(pageCSS, "", "text/css; charset=utf-8"),
	"page.js":  newFile(pageJS, "\n", "text/javascript; charset=utf-8"),
	"embed.js": newFile(embedJS, "\n", "text/javascript; charset=utf-8"),
}

func newFile(raw []byte, between, kind string) File {
	content := minify(raw, between)
	sum := sha256.Sum256(content)
	return File{content, sync.OnceValue(func() []byte { return compress(content) }), kind, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func compress(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // Writing to a buffer never fails.
	_ = w.Close()
	return packed.Bytes()
}

// Version changes whenever the files change, so that browsers can cache them indefinitely.
var Version = Files["page.css"].tag[1:9] + Files["page.js"].tag[1:9]

// minify removes indentation and comment lines, which make up about a tenth of a file. minify would break multi-line
// strings, but no file contains any. Line breaks in scripts are kept, because a line break can end a statement.
func minify(content []byte, between string) []byte {
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

// Style is the style sheet. Canvas holds additional rules for a canvas.
var (
	Style  = string(Files["page.css"].content)
	Canvas = string(minify(canvasCSS, ""))
)

func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") == Version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content, tag := f.content, f.tag
	w.Header().Add("Vary", "Accept-Encoding")
	if gzipped.CanCompress(w, r) {
		content, tag = f.compressed(), "W/"+tag
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
