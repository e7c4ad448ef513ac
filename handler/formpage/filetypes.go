package formpage

import (
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// fileName keeps the last part of a name, without what is not shown.
func fileName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x202a && c <= 0x202e || c == '\ufffd' {
			return -1
		}
		return c
	}, strings.ToValidUTF8(name, "")))
	if runes := []rune(name); len(runes) > 200 {
		name = string(runes[len(runes)-200:]) // its end has the extension
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

// sniffed returns the media type of a file's first bytes. Formats that look like
// another one to the sniffer are told by the name within that.
func sniffed(head []byte, name string) string {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		kind = "application/octet-stream"
	}
	switch extension := strings.ToLower(filepath.Ext(name)); {
	case kind == "text/plain" && extension == ".csv":
		return "text/csv"
	case kind == "application/zip":
		if office, ok := officeTypes[extension]; ok {
			return office
		}
	}
	return kind
}

var officeTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text",
	".ods":  "application/vnd.oasis.opendocument.spreadsheet",
}

// fits reports whether a block takes a file: by the end of its name or by its type, and
// never a picture that is none.
func fits(b *schema.Block, name, kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	if b.Type == schema.TypeSignature {
		return kind == "image/png" || kind == "image/jpeg" || kind == "image/webp"
	}
	extension := strings.ToLower(filepath.Ext(name))
	if claimed, _, err := mime.ParseMediaType(mime.TypeByExtension(extension)); err == nil && strings.HasPrefix(claimed, "image/") &&
		claimed != "image/svg+xml" && kind != claimed && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, claimed) {
		return false
	}
	allowed := properties(b).AllowedFiles
	if !slices.ContainsFunc(allowed, func(a string) bool { return strings.TrimSpace(a) != "" }) {
		return true
	}
	return slices.ContainsFunc(allowed, func(a string) bool {
		a = strings.ToLower(strings.TrimSpace(a))
		if strings.Contains(a, "/") {
			return a == kind || a == family+"/*" || a == "*/*"
		}
		return a != "" && "."+strings.TrimPrefix(a, ".") == extension
	})
}
