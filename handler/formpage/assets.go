package formpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed static
var staticFiles embed.FS

// assetDir is where the style and the script are served, beside the forms: no public
// id has this name.
const assetDir = "-"

type asset struct {
	content []byte
	kind    string
}

var assets = map[string]asset{
	"page.css": {readStatic("page.css"), "text/css; charset=utf-8"},
	"page.js":  {readStatic("page.js"), "text/javascript; charset=utf-8"},
	"embed.js": {readStatic("embed.js"), "text/javascript; charset=utf-8"},
}

// assetVersion changes with the files, so that browsers may keep them for ever.
var assetVersion = func() string {
	sum := sha256.New()
	for _, name := range []string{"page.css", "page.js"} {
		sum.Write(assets[name].content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:10]
}()

func readStatic(name string) []byte {
	content, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		panic(err) // a file of this package
	}
	return content
}

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
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
