package answertype

import (
	"mime"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

const maxFiles = 100

// AllowedFileTypes parses properties.allowedFiles.
func AllowedFileTypes(p *schema.Properties) FileTypes { return parseFileTypes(p.AllowedFiles) }

type fileRule struct {
	allowed   FileTypes
	maxBytes  int64 // maximum bytes; a zero value means no limit
	imageOnly bool  // allows images only
}

func newFileRule(p *schema.Properties, from ServiceConfig) fileRule {
	rule := fileRule{allowed: AllowedFileTypes(p)}
	if p.MaxFileSize {
		rule.maxBytes = from.FileSize
	}
	return rule
}

func (t fileRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	o, ok := newHostObject(n, r, "id", "name", "url", "mime_type", "size")
	if !ok {
		return
	}
	id, name, address := o.readText("id", ""), o.readFileName(), o.readText("url", "")
	if address != "" && !weburl.IsPlainWebURL(address) {
		r.add(n.Member("url"), violationNotURL())
	}
	mediaType := o.readText("mime_type", "")
	if bare, ok := parseMediaType(mediaType); mediaType != "" && !ok {
		r.add(n.Member("mime_type"), ViolationBadFormat("media_type", "must be a media type, such as image/png"))
	} else if mediaType != "" {
		t.checkType(name, bare, n.Member("mime_type"), r)
	}
	size, ok := t.readSize(o)
	if !ok {
		return
	}
	w.Object()
	w.Name("id").String(id)
	w.Name("name").String(name)
	w.Name("url").String(address)
	w.Name("mime_type").String(mediaType)
	w.Name("size").Int(size)
	w.EndObject()
}

// fileName returns the value of the name field. It rejects paths, "." and "..", because they could place the file
// in another directory.
func (o hostObject) readFileName() string {
	n := o.n.Member("name")
	if IsBlank(n) {
		o.addMissing("name")
		return ""
	}
	name, ok := textRule{max: maxHostText, oneLine: true}.readText(n, o.r)
	if ok && (strings.ContainsAny(name, `/\`) || name == "." || name == "..") {
		o.r.add(n, ViolationBadFormat("file_name", "must be a file name without a path"))
	}
	return name
}

// maxSize is 2⁵³−1, the largest integer that every JSON parser preserves.
const maxSize = 1<<53 - 1

func (t fileRule) readSize(o hostObject) (int64, bool) {
	n := o.n.Member("size")
	size := n.Float()
	switch {
	case n.Kind() == jsontree.Null:
		o.addMissing("size")
	case n.Kind() != jsontree.Number || size != float64(int64(size)):
		o.r.add(n, violationWrongType("integer", "must be a whole number of bytes"))
	case size == 0:
		o.r.add(n, Violation{schema.CodeOutOfRange, "must not be empty", map[string]any{"min": numberParam(1), "unit": "bytes"}})
	case size < 0 || size > maxSize:
		o.r.add(n, sizeViolation(maxSize))
	case t.maxBytes > 0 && size > float64(t.maxBytes):
		o.r.add(n, sizeViolation(t.maxBytes))
	default:
		return int64(size), true
	}
	return 0, false
}

func parseMediaType(text string) (string, bool) {
	bare, _, err := mime.ParseMediaType(text)
	family, kind, ok := strings.Cut(bare, "/")
	return bare, err == nil && ok && family != "" && kind != ""
}

func (t fileRule) checkType(name, mediaType string, at jsontree.Node, r *Report) {
	switch {
	case !t.allowed.Allows(name, mediaType):
		message := "must have an allowed file type"
		if len(t.allowed) <= maxAllowedValues {
			message = "must have one of these file types: " + strings.Join(t.allowed, ", ")
		}
		r.add(at, ViolationNotAllowed("file_type", message, t.allowed...))
	case t.imageOnly && !strings.HasPrefix(mediaType, "image/"):
		r.add(at, ViolationNotAllowed("picture", "must be an image"))
	}
}

type filesRule struct {
	fileRule
	maxCount int
}

func newFiles(b *schema.Block, from ServiceConfig) Rule {
	rule := filesRule{fileRule: newFileRule(b.Properties, from), maxCount: 1}
	if b.Properties.MultipleFiles {
		rule.maxCount = maxFiles
	}
	return rule
}

func (t filesRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	w.Array()
	switch {
	case n.Kind() != jsontree.Array:
		t.fileRule.Check(w, n, r)
	case n.Len() > t.maxCount:
		r.add(n, violationTooManyFiles(t.maxCount))
	default:
		for _, file := range n.All() {
			t.fileRule.Check(w, file, r)
		}
	}
	w.EndArray()
}

func newSignature(b *schema.Block, from ServiceConfig) Rule {
	rule := newFileRule(b.Properties, from)
	rule.imageOnly = true
	return rule
}

func (t fileRule) Sample() string {
	name, mediaType := "sample.pdf", "application/pdf"
	if t.imageOnly {
		name, mediaType = "sample.png", "image/png"
	}
	if !t.allowed.Allows(name, mediaType) {
		switch first := t.allowed[0]; {
		case !strings.HasPrefix(first, "."):
			name, mediaType = "sample", strings.Replace(first, "/*", "/sample", 1)
		case t.imageOnly:
			name = "sample" + first
		default:
			name, mediaType = "sample"+first, "application/octet-stream"
		}
	}
	size := int64(1024)
	if t.maxBytes > 0 {
		size = min(size, t.maxBytes)
	}
	return EncodeJSON(schema.File{ID: "sample", Name: name, URL: "https://example.com/sample", MIMEType: mediaType, Size: size})
}

func (t fileRule) contradiction() (member string, why Explanation) {
	switch {
	case len(t.allowed) == 0 || slices.ContainsFunc(t.allowed, t.isSatisfiable):
		return "", Explanation{}
	case t.imageOnly:
		return "/properties/allowedFiles", Explanation{Reason: "no_picture", Message: "a signature must be an image, but the allowed file types include no image type"}
	}
	return "/properties/allowedFiles", Explanation{Reason: "no_file", Message: "no file has an allowed file type"}
}

// isSatisfiable reports whether an allowed type matches this kind of file. Images can have any extension.
func (t fileRule) isSatisfiable(allowed string) bool {
	if strings.HasPrefix(allowed, ".") {
		return !strings.ContainsAny(allowed, `/\`) && !violation.LongerThan(allowed, maxHostText)
	}
	mediaType := allowed
	if family, ok := strings.CutSuffix(allowed, "/*"); ok {
		mediaType = family + "/x"
	}
	bare, ok := parseMediaType(mediaType)
	return ok && bare == mediaType && (!t.imageOnly || strings.HasPrefix(bare, "image/"))
}

func sizeViolation(maximum int64) Violation {
	message := "must be at most " + formatBytes(maximum)
	return Violation{schema.CodeOutOfRange, message, map[string]any{"min": numberParam(0), "max": numberParam(float64(maximum)), "unit": "bytes"}}
}

func violationTooManyFiles(maximum int) Violation {
	message := "at most one file is allowed"
	if maximum != 1 {
		message = "at most " + spellCount(maximum) + " files are allowed"
	}
	return Violation{schema.CodeTooMany, message, map[string]any{"max": maximum, "unit": "files"}}
}
