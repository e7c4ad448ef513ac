package kinds

import (
	"path"
	"slices"
	"strings"
)

// FileTypes are the types of files that a block takes: extensions with a dot, media types,
// or image/* and the like, in lower case. None: all.
type FileTypes []string

// UnknownFile is the media type of content that is not known. HTML is stored under it, so that no
// server shows it as a page.
const UnknownFile = "application/octet-stream"

// typesByExtension has the extensions that mean a media type. The first one of a type is the
// extension that its files usually have.
var typesByExtension, extensionsByType = func() (types map[string]string, extensions map[string][]string) {
	types, extensions = map[string]string{}, map[string][]string{}
	for line := range strings.Lines(`
image/png .png
image/jpeg .jpg .jpeg .jpe .jfif .pjpeg
image/gif .gif
image/webp .webp
image/bmp .bmp .dib
image/tiff .tif .tiff
image/heic .heic
image/heif .heif
image/avif .avif
image/jxl .jxl
image/x-icon .ico
image/svg+xml .svg
audio/mpeg .mp3
audio/mp4 .m4a
audio/aac .aac
audio/ogg .ogg .oga .opus
audio/wav .wav .wave
audio/flac .flac
audio/aiff .aiff .aif
audio/midi .mid .midi
video/mp4 .mp4
video/x-m4v .m4v
video/quicktime .mov .qt
video/webm .webm
video/ogg .ogv
video/mpeg .mpg .mpeg
video/x-matroska .mkv
video/x-msvideo .avi
application/pdf .pdf
application/msword .doc
application/vnd.ms-excel .xls
application/vnd.ms-powerpoint .ppt
application/vnd.openxmlformats-officedocument.wordprocessingml.document .docx
application/vnd.openxmlformats-officedocument.spreadsheetml.sheet .xlsx
application/vnd.openxmlformats-officedocument.presentationml.presentation .pptx
application/vnd.oasis.opendocument.text .odt
application/vnd.oasis.opendocument.spreadsheet .ods
application/vnd.oasis.opendocument.presentation .odp
application/rtf .rtf
application/json .json
application/yaml .yaml .yml
application/gzip .gz .gzip
application/zip .zip
text/plain .txt .text
text/csv .csv
text/markdown .md .markdown
text/xml .xml
text/html .html .htm
text/calendar .ics .ical
text/vcard .vcf .vcard
`) {
		for i, field := range strings.Fields(line) {
			if kind := strings.Fields(line)[0]; i > 0 {
				types[field] = kind
				extensions[kind] = append(extensions[kind], field)
			}
		}
	}
	return types, extensions
}()

// otherNames are names of media types that people, browsers and older systems use.
var otherNames = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png", "image/tif": "image/tiff", "image/x-ms-bmp": "image/bmp", "image/x-bmp": "image/bmp",
	"image/svg": "image/svg+xml", "image/vnd.microsoft.icon": "image/x-icon", "image/ico": "image/x-icon",
	"audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/x-mpeg": "audio/mpeg", "audio/m4a": "audio/mp4", "audio/x-m4a": "audio/mp4", "audio/wave": "audio/wav",
	"audio/x-wav": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/x-flac": "audio/flac", "audio/x-aiff": "audio/aiff", "audio/x-aac": "audio/aac", "audio/opus": "audio/ogg",
	"video/mov": "video/quicktime", "video/m4v": "video/x-m4v", "video/avi": "video/x-msvideo", "video/msvideo": "video/x-msvideo", "video/mkv": "video/x-matroska", "video/mpg": "video/mpeg",
	"application/x-pdf": "application/pdf", "application/x-zip-compressed": "application/zip", "application/x-zip": "application/zip", "application/x-gzip": "application/gzip",
	"application/doc": "application/msword", "application/vnd.msword": "application/msword", "application/excel": "application/vnd.ms-excel", "application/x-msexcel": "application/vnd.ms-excel",
	"application/x-excel": "application/vnd.ms-excel", "application/msexcel": "application/vnd.ms-excel", "application/powerpoint": "application/vnd.ms-powerpoint",
	"application/mspowerpoint": "application/vnd.ms-powerpoint", "text/rtf": "application/rtf", "application/x-rtf": "application/rtf", "text/json": "application/json",
	"application/csv": "text/csv", "application/x-csv": "text/csv", "text/x-csv": "text/csv", "text/comma-separated-values": "text/csv", "application/xml": "text/xml",
	"text/yaml": "application/yaml", "text/x-yaml": "application/yaml", "application/x-yaml": "application/yaml", "text/x-markdown": "text/markdown", "application/xhtml+xml": "text/html",
	"text/x-vcard": "text/vcard", "application/ics": "text/calendar",
}

// MediaType returns the usual name of a media type, in lower case and without parameters.
func MediaType(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), ";")
	name = strings.TrimSpace(name)
	if usual := otherNames[name]; usual != "" {
		return usual
	}
	return name
}

// TypeByName returns the media type that the end of a file's name claims, "" if it claims none
// that is known here.
func TypeByName(name string) string { return typesByExtension[strings.ToLower(path.Ext(name))] }

// ExtensionOf returns the extension that files of a media type usually have, "" if that is not
// known here.
func ExtensionOf(mediaType string) string {
	if list := extensionsByType[mediaType]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// fileTypesOf reads the items of properties.allowedFiles.
func fileTypesOf(items []string) (types FileTypes) {
	for a := range strings.SplitSeq(strings.ToLower(strings.Join(items, ",")), ",") {
		if a = strings.TrimSpace(a); strings.HasPrefix(a, "*.") {
			a = a[1:]
		}
		switch a {
		case "":
			continue
		case "*", ".*", "*/*":
			return nil
		case "image", "audio", "video", "text":
			a += "/*"
		}
		if usual := otherNames[a]; usual != "" {
			a = usual
		}
		if !strings.Contains(a, "/") && !strings.HasPrefix(a, ".") {
			a = "." + a
		}
		types = append(types, a)
	}
	return types
}

// Accept returns the types with all extensions that mean the same, as browsers compare them with
// the end of a name alone.
func (t FileTypes) Accept() string {
	var list []string
	for _, a := range t {
		list = append(list, a)
		list = append(list, extensionsByType[typesByExtension[a]]...)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// Allow compares the types with the end of a file's name and with its media type. A picture has
// the extension of its type, whatever its name says.
func (t FileTypes) Allow(name, mediaType string) bool {
	name, mediaType = strings.ToLower(name), MediaType(mediaType)
	claimed := TypeByName(name)
	if own := ExtensionOf(mediaType); isPicture(claimed) && isPicture(mediaType) && own != "" && claimed != mediaType {
		name = strings.TrimSuffix(name, path.Ext(name)) + own
		claimed = mediaType
	}
	if mediaType == UnknownFile && IsText(claimed) {
		mediaType = claimed // HTML content, see UnknownFile
	}
	family, _, _ := strings.Cut(mediaType, "/")
	return len(t) == 0 || slices.ContainsFunc(t, func(a string) bool {
		if strings.HasPrefix(a, ".") {
			return strings.HasSuffix(name, a) || claimed != "" && typesByExtension[a] != "" && (claimed == typesByExtension[a] || mediaType == typesByExtension[a])
		}
		return a == mediaType || a == family+"/*"
	})
}

func isPicture(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// IsText reports whether files of a media type can be text, or text with tags in it.
func IsText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || mediaType == "application/msword" || mediaType == "application/vnd.ms-excel"
}
