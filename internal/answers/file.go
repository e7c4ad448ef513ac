package answers

import (
	"mime"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

const maxFiles = 100

// fileRule checks one stored file.
type fileRule struct {
	allowed []string // extensions with a dot, media types, or image/* and the like; none: all
	max     int64    // bytes, 0: no bound
}

func newFileRule(p *schema.Properties, l schema.Limits) fileRule {
	var rule fileRule
	if p.MaxFileSize {
		rule.max = l.FileSize
	}
	return rule
}

func (t fileRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	o, ok := newHostObject(n, r, "id", "name", "url", "mime_type", "size")
	if !ok {
		return
	}
	id, name, address, mediaType := o.text("id", ""), o.text("name", ""), o.text("url", ""), o.text("mime_type", "")
	if address != "" && !weburl.IsPlain(address) {
		r.add(n.Member("url"), notURL())
	}
	if name != "" && mediaType != "" && !t.allows(name, mediaType) {
		r.add(n.Member("mime_type"), notAllowed("file_type", "must be one of these types of file: "+strings.Join(t.allowed, ", "), t.allowed...))
	}
	size, ok := t.size(o)
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

// maxSize is 2⁵³−1, the largest whole number that every JSON reader keeps.
const maxSize = 1<<53 - 1

func (t fileRule) size(o hostObject) (int64, bool) {
	n := o.n.Member("size")
	size := n.Float()
	switch {
	case n.Kind() == jsontree.Null:
		o.missing("size")
	case n.Kind() != jsontree.Number || size != float64(int64(size)):
		o.r.add(n, wrongType("integer", "must be a whole number of bytes"))
	case size < 0 || size > maxSize:
		o.r.add(n, badSize(maxSize))
	case t.max > 0 && size > float64(t.max):
		o.r.add(n, badSize(t.max))
	default:
		return int64(size), true
	}
	return 0, false
}

// allows compares with the end of the name and with the media type.
func (t fileRule) allows(name, mediaType string) bool {
	if len(t.allowed) == 0 {
		return true
	}
	name = strings.ToLower(name)
	if bare, _, err := mime.ParseMediaType(mediaType); err == nil {
		mediaType = bare
	}
	mediaType = strings.ToLower(mediaType)
	family, _, _ := strings.Cut(mediaType, "/")
	return slices.ContainsFunc(t.allowed, func(a string) bool {
		if strings.HasPrefix(a, ".") {
			return strings.HasSuffix(name, a)
		}
		return a == mediaType || a == family+"/*" || a == "*/*"
	})
}

// filesRule checks file_upload.
type filesRule struct {
	file fileRule
	most int
}

func newFilesRule(p *schema.Properties, l schema.Limits) filesRule {
	rule := filesRule{file: newFileRule(p, l), most: 1}
	if p.MultipleFiles {
		rule.most = maxFiles
	}
	for _, a := range p.AllowedFiles {
		a = strings.ToLower(strings.TrimSpace(a))
		if a == "" {
			continue
		}
		if !strings.Contains(a, "/") && !strings.HasPrefix(a, ".") {
			a = "." + a
		}
		rule.file.allowed = append(rule.file.allowed, a)
	}
	return rule
}

func (t filesRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	w.Array()
	switch {
	case n.Kind() != jsontree.Array:
		t.file.check(w, n, r)
	case n.Len() > t.most:
		r.add(n, tooManyFiles(t.most))
	default:
		for _, file := range n.All() {
			t.file.check(w, file, r)
		}
	}
	w.EndArray()
}

func (t filesRule) sample() string { return t.file.sample() }

// signatureRule checks signature: one file.
type signatureRule struct{ fileRule }

// sample names a file that the block allows.
func (t fileRule) sample() string {
	name, mediaType := "sample.pdf", "application/pdf"
	if len(t.allowed) > 0 && !t.allows(name, mediaType) {
		switch first := t.allowed[0]; {
		case strings.HasPrefix(first, "."):
			name, mediaType = "sample"+first, "application/octet-stream"
		default:
			name, mediaType = "sample", strings.Replace(first, "/*", "/sample", 1)
		}
	}
	size := int64(1024)
	if t.max > 0 {
		size = min(size, t.max)
	}
	var w jsontree.Writer
	w.Object()
	w.Name("id").String("sample")
	w.Name("name").String(name)
	w.Name("url").String("https://example.com/sample")
	w.Name("mime_type").String(mediaType)
	w.Name("size").Int(size)
	w.EndObject()
	return string(w.Bytes())
}
