package formpage

import (
	"math"
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

// fileTypes are the types of files that a block takes, as the service reads them: ends of
// names with their dot, and media types. None: all.
func fileTypes(p *schema.Properties) []string {
	var list []string
	for _, a := range p.AllowedFiles {
		a = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(a)), "*.")
		switch a {
		case "":
			continue
		case "*", ".*", "*/*":
			return nil
		}
		if !strings.Contains(a, "/") {
			a = "." + strings.TrimPrefix(a, ".")
		}
		list = append(list, a)
	}
	return list
}

// fits reports whether a block takes a file: by the end of its name or by its type, and
// never a picture that is none.
func fits(b *schema.Block, name, kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	name = strings.ToLower(name)
	if b.Type == schema.TypeSignature && !slices.Contains(signatureTypes, kind) {
		return false
	}
	claimed, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
	if err == nil && kind != claimed && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, claimed) {
		return false
	}
	allowed := fileTypes(properties(b))
	return len(allowed) == 0 || slices.ContainsFunc(allowed, func(a string) bool {
		if strings.HasPrefix(a, ".") {
			return strings.HasSuffix(name, a)
		}
		return a == kind || a == family+"/*"
	})
}

// signatureTypes are the types of a picture of a signature.
var signatureTypes = []string{"image/png", "image/jpeg", "image/webp"}

// maxFile is how many bytes a file of a block may have.
func (h *Handler) maxFile(p *schema.Properties) int64 {
	if p.MaxFileSize && h.serviceFile > 0 {
		return min(h.config.MaxFileSize, h.serviceFile)
	}
	return h.config.MaxFileSize
}

// megabytes is a number of bytes as a person is told it, rounded down where that leaves
// something.
func megabytes(bytes int64) float64 {
	n := float64(bytes) / (1 << 20)
	switch {
	case n >= 1:
		return math.Floor(n)
	case n >= 0.01:
		return math.Floor(n*100) / 100
	}
	return 0.01
}
