package answertype

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// FileTypes lists a block's allowed file types in lowercase: extensions with a dot, media types, or wildcards such as
// image/*. An empty list allows all types.
type FileTypes []string

// UnknownFile is the media type of unknown content. HTML is stored with this type, so that no server serves it as a
// page.
const UnknownFile = "application/octet-stream"

// fileTypes has one media type per line, followed by its extensions, the most common first, and then its aliases.
//
//go:embed filetypes.txt
var fileTypes string

var typesByExtension, extensionsByType, otherNames = func() (types map[string]string, extensions map[string][]string, names map[string]string) {
	types, extensions, names = map[string]string{}, map[string][]string{}, map[string]string{}
	for line := range strings.Lines(fileTypes) {
		fields := strings.Fields(line)
		for _, other := range fields[1:] {
			if strings.HasPrefix(other, ".") {
				types[other] = fields[0]
				extensions[fields[0]] = append(extensions[fields[0]], other)
			} else {
				names[other] = fields[0]
			}
		}
	}
	return types, extensions, names
}()

// NormalizeMediaType returns the canonical name of a media type in lowercase without parameters.
func NormalizeMediaType(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), ";")
	name = strings.TrimSpace(name)
	if usual := otherNames[name]; usual != "" {
		return usual
	}
	return name
}

// MediaTypeByName returns the media type for a file extension, or "" if the extension is unknown.
func MediaTypeByName(name string) string { return typesByExtension[strings.ToLower(path.Ext(name))] }

// ExtensionOf returns the most common extension of a media type, or "" if the type is unknown.
func ExtensionOf(mediaType string) string {
	if list := extensionsByType[mediaType]; len(list) > 0 {
		return list[0]
	}
	return ""
}

func parseFileTypes(items []string) (types FileTypes) {
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

// AcceptAttribute returns the value of the HTML accept attribute. It includes every extension of each media type,
// because browsers compare only extensions.
func (t FileTypes) AcceptAttribute() string {
	var list []string
	for _, a := range t {
		list = append(list, a)
		list = append(list, extensionsByType[typesByExtension[a]]...)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// Allows reports whether the list allows a file with this name and media type. For an image with the wrong extension,
// it uses the extension of the media type instead.
func (t FileTypes) Allows(name, mediaType string) bool {
	name, mediaType = strings.ToLower(name), NormalizeMediaType(mediaType)
	claimed := MediaTypeByName(name)
	if own := ExtensionOf(mediaType); isImageType(claimed) && isImageType(mediaType) && own != "" && claimed != mediaType {
		name = strings.TrimSuffix(name, path.Ext(name)) + own
		claimed = mediaType
	}
	if mediaType == UnknownFile && IsTextType(claimed) {
		mediaType = claimed // HTML is stored as UnknownFile
	}
	family, _, _ := strings.Cut(mediaType, "/")
	return len(t) == 0 || slices.ContainsFunc(t, func(a string) bool {
		if strings.HasPrefix(a, ".") {
			return strings.HasSuffix(name, a) || claimed != "" && typesByExtension[a] != "" && (claimed == typesByExtension[a] || mediaType == typesByExtension[a])
		}
		return a == mediaType || a == family+"/*"
	})
}

func isImageType(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// IsTextType reports whether files of a media type can contain plain text or HTML.
func IsTextType(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || mediaType == "application/msword" || mediaType == "application/vnd.ms-excel"
}
