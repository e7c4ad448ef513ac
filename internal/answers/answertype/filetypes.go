package answertype

import (
	_ "embed"
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

// fileTypes has a media type in each line, with the extensions that mean it, first the one that
// its files usually have, and with other names that people, browsers and older systems use.
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
