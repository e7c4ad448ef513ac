// Package filetype detects a file's type from its first bytes and its name, and checks whether a block accepts it.
package filetype

import (
	"bytes"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/schema"
)

// HeadSize is the number of bytes that Sniff needs. A PDF header can be anywhere within these bytes.
const HeadSize = 1024

// CleanName returns name's last path element, without invisible characters.
func CleanName(name string) string {
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
		name = string(runes[len(runes)-200:]) // Preserves the extension.
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

// Sniff returns a file's media type. It trusts the extension if the first bytes are consistent with it, because many
// formats start with the bytes of another format. Otherwise, it returns the type that the bytes indicate. HTML without
// an HTML extension has an unknown type, and so does text with an HTML extension.
func Sniff(head []byte, name string) string {
	kind, claimed := detectByContent(head), answertype.MediaTypeByName(name)
	isText := strings.HasPrefix(kind, "text/")
	switch {
	case kind == htmlType && (claimed == "" || answertype.IsTextType(claimed)), isText && claimed == htmlType:
		return answertype.UnknownFile
	case claimed == "" && (kind == answertype.UnknownFile || isText):
		claimed, _, _ = mime.ParseMediaType(mime.TypeByExtension(extension(name)))
	}
	if claimed != "" && answertype.NormalizeMediaType(claimed) != htmlType && isCompatible(kind, claimed) {
		return claimed
	}
	return kind
}

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

const (
	htmlType    = "text/html"
	programType = "application/x-executable"
	oleType     = "application/x-ole-storage" // Old Office files and password-protected Office files.
)

// signatures lists first bytes that [http.DetectContentType] does not know.
var signatures = []struct{ begin, kind string }{
	{"MZ", programType},
	{"\x7fELF", programType},
	{"\xcf\xfa\xed\xfe", programType}, // macOS
	{"\xce\xfa\xed\xfe", programType},
	{"\xca\xfe\xba\xbe", programType},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", oleType},
	{"II*\x00", "image/tiff"},
	{"MM\x00*", "image/tiff"},
	{"\xff\x0a", "image/jxl"},
	{"\x00\x00\x00\x0cJXL ", "image/jxl"},
}

// brands maps ISO media file brands to media types. A file lists its main brand first.
var brands = map[string]string{
	"heic": "image/heic", "heix": "image/heic", "hevc": "image/heic", "hevx": "image/heic", "heim": "image/heic", "heis": "image/heic",
	"avif": "image/avif", "avis": "image/avif", "mif1": "image/heif", "msf1": "image/heif",
}

func detectByContent(head []byte) string {
	kind := answertype.NormalizeMediaType(http.DetectContentType(head))
	if strings.HasPrefix(kind, "text/") {
		switch tags := skipPrologue(head); {
		case answertype.NormalizeMediaType(http.DetectContentType(tags)) == htmlType:
			return htmlType
		case kind == htmlType: // There is only a comment, as in SVG files.
			return "text/xml"
		}
		return kind
	}
	if at := bytes.Index(head, []byte("%PDF-")); at >= 0 && kind == answertype.UnknownFile {
		return "application/pdf"
	}
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		size := min(len(head), int(head[2])<<8|int(head[3]))
		kind = "video/mp4" // Many formats use this container.
		for at := 8; at+4 <= size; at += 4 {
			if picture := brands[string(head[at:at+4])]; picture != "" && (kind == "video/mp4" || kind == "image/heif") {
				kind = picture
			}
		}
		return kind
	}
	for _, s := range signatures {
		if kind == answertype.UnknownFile && bytes.HasPrefix(head, []byte(s.begin)) {
			return s.kind
		}
	}
	return kind
}

// skipPrologue removes text that hides the first tag from [http.DetectContentType] but not from browsers: a byte order
// mark, declarations and comments.
func skipPrologue(head []byte) []byte {
	text := bytes.ReplaceAll(head, []byte{0}, nil) // UTF-16.
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		text = bytes.TrimPrefix(text, []byte(mark))
	}
	for {
		text = bytes.TrimLeft(text, " \t\r\n\f")
		end := ""
		if bytes.HasPrefix(text, []byte("<?")) {
			end = "?>"
		} else if bytes.HasPrefix(text, []byte("<!--")) {
			end = "-->"
		}
		_, rest, ends := bytes.Cut(text, []byte(end))
		if end == "" || !ends {
			return text
		}
		text = rest
	}
}

// alwaysDetected lists types that detect recognizes in every valid file. A file without the signature has another type.
var alwaysDetected = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff", "image/heic", "image/heif", "image/avif", "image/jxl",
	"application/pdf", "application/zip", "application/gzip",
}

func isCompatible(kind, claimed string) bool {
	family, _, _ := strings.Cut(claimed, "/")
	own, _, _ := strings.Cut(kind, "/")
	zipped := strings.Contains(claimed, "openxmlformats") || strings.Contains(claimed, "opendocument")
	known := slices.Contains(alwaysDetected, claimed)
	switch kind {
	case claimed:
		return true
	case programType, htmlType:
		return false
	case answertype.UnknownFile:
		return !zipped && !known
	case oleType:
		return family == "application" && !known && !strings.Contains(claimed, "opendocument")
	case "application/zip":
		return zipped || family == "application" && !known
	case "text/plain", "text/xml":
		return answertype.IsTextType(claimed) || zipped || slices.Contains([]string{"application/json", "application/rtf", "image/svg+xml"}, claimed) ||
			family == "application" && (strings.HasSuffix(claimed, "+json") || strings.HasSuffix(claimed, "+xml") || strings.HasSuffix(claimed, "yaml"))
	case "video/mp4":
		return family == "video" || claimed == "audio/mp4"
	case "image/heic", "image/heif":
		return claimed == "image/heic" || claimed == "image/heif"
	case "application/ogg":
		return family == "audio" || family == "video"
	}
	return (own == "audio" || own == "video") && (family == "audio" || family == "video")
}

var programExtensions = []string{".exe", ".com", ".scr", ".msi", ".dll", ".bat", ".cmd", ".ps1", ".vbs", ".hta", ".lnk"}

// AcceptsFile reports whether a block accepts a file of type kind. If the extension belongs to another type, kind takes
// precedence. Programs are always rejected, and so are HTML pages with another extension.
func AcceptsFile(b *schema.Block, name, kind string) bool {
	if b.Type == schema.TypeSignature && !slices.Contains(SignatureTypes, kind) {
		return false
	}
	types, claimed := answertype.AllowedFileTypes(formblock.Properties(b)), answertype.MediaTypeByName(name)
	switch {
	case slices.Contains(programExtensions, extension(name)):
		return types.Allows(name, "") // By name only.
	case claimed == "" || claimed == kind:
		return types.Allows(name, kind)
	case kind == answertype.UnknownFile:
		return answertype.IsTextType(claimed) && types.Allows(name, kind)
	case kind == htmlType, kind == programType:
		return false
	}
	return types.Allows(strings.TrimSuffix(name, filepath.Ext(name))+answertype.ExtensionOf(kind), kind)
}

// SignatureTypes lists the media types of signature images.
var SignatureTypes = []string{"image/png", "image/jpeg", "image/webp"}
