// Package filetype finds the type of a file by its first bytes and its name, and whether a block
// takes the file.
package filetype

import (
	"bytes"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/internal/answers/kinds"
	"github.com/formsvc/formsvc/schema"
)

// Name keeps the last part of a name, without invisible characters.
func Name(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c == '\ufffd' {
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

// Sniff returns the media type of a file by its first bytes and the end of its name. The
// name decides if the bytes can be of the type that it names: many formats begin like
// another format, or with bytes that the sniffer does not know. Where they cannot, it is
// the type of the bytes, see Fits.
func Sniff(head []byte, name string) string {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		kind = unknownType
	}
	if kind == unknownType && isProgram(head) {
		kind = programType
	}
	claimed := typesByName[extension(name)]
	if claimed == "" && (kind == unknownType || kind == "text/plain") {
		claimed, _, _ = mime.ParseMediaType(mime.TypeByExtension(extension(name)))
	}
	if claimed != "" && mayBe(kind, claimed) {
		return claimed
	}
	return kind
}

// extension is the end of a name with its dot, in lower case.
func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

const (
	unknownType = "application/octet-stream"
	programType = "application/x-executable"
)

// isProgram reports whether a file begins as a program of Windows, Linux or macOS.
func isProgram(head []byte) bool {
	begins := []string{"MZ", "\x7fELF", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"}
	return slices.ContainsFunc(begins, func(begin string) bool { return bytes.HasPrefix(head, []byte(begin)) })
}

// typesByName are the types that the end of a name claims.
var typesByName = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp",
	".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic", ".heif": "image/heif", ".avif": "image/avif", ".svg": "image/svg+xml",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".oga": "audio/ogg", ".opus": "audio/ogg", ".ogg": "audio/ogg", ".wav": "audio/wav", ".flac": "audio/flac",
	".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm", ".ogv": "video/ogg", ".mkv": "video/x-matroska", ".avi": "video/x-msvideo",
	".pdf": "application/pdf", ".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet", ".odp": "application/vnd.oasis.opendocument.presentation",
	".rtf": "application/rtf", ".txt": "text/plain", ".csv": "text/csv", ".md": "text/markdown", ".json": "application/json", ".xml": "text/xml",
	".html": "text/html", ".htm": "text/html", ".zip": "application/zip",
}

// plainlyKnown are types whose files always begin in a way that the sniffer knows.
var plainlyKnown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "application/pdf", "application/zip"}

// mayBe reports whether a file whose bytes look like one type can be of the claimed one.
func mayBe(kind, claimed string) bool {
	family, _, _ := strings.Cut(claimed, "/")
	own, _, _ := strings.Cut(kind, "/")
	zipped := strings.Contains(claimed, "openxmlformats") || strings.Contains(claimed, "opendocument")
	switch kind {
	case claimed:
		return true
	case unknownType:
		return !zipped && !slices.Contains(plainlyKnown, claimed)
	case "application/zip":
		return zipped || family == "application" && !slices.Contains(plainlyKnown, claimed)
	case "text/plain", "text/xml":
		return family == "text" && claimed != "text/html" || slices.Contains([]string{"application/json", "application/rtf", "image/svg+xml"}, claimed) ||
			family == "application" && (strings.HasSuffix(claimed, "+json") || strings.HasSuffix(claimed, "xml") || strings.HasSuffix(claimed, "yaml"))
	case "video/mp4": // the container of many
		return family == "video" || slices.Contains([]string{"audio/mp4", "image/heic", "image/heif", "image/avif"}, claimed)
	case "application/ogg":
		return family == "audio" || family == "video"
	}
	return (own == "audio" || own == "video") && (family == "audio" || family == "video")
}

// Fits reports whether a block takes a file: by the end of its name or by its type, and
// never one that is not what its name says, such as a program named a.pdf.
func Fits(b *schema.Block, name, kind string) bool {
	if b.Type == schema.TypeSignature && !slices.Contains(SignatureTypes, kind) {
		return false
	}
	if claimed := typesByName[extension(name)]; claimed != "" && claimed != kind {
		return false
	}
	return kinds.FileTypesOf(formblock.Properties(b)).Allow(name, kind)
}

// SignatureTypes are the types of a picture of a signature.
var SignatureTypes = []string{"image/png", "image/jpeg", "image/webp"}
