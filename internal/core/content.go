package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// Content is what people write of a form: what working copies and versions have of it.
type Content struct {
	Name       string
	Definition storage.Definition
}

// contentOf is what people wrote of a form. An import may have left a section out.
func contentOf(f *storage.Form) Content {
	c := Content{f.Name, f.Definition}
	for _, s := range sections(&c.Definition) {
		if len(*s.raw) == 0 {
			*s.raw = s.empty
		}
	}
	return c
}

// section is one of the five values of a definition.
type section struct {
	name  string
	raw   *json.RawMessage
	empty json.RawMessage
}

func sections(d *storage.Definition) [5]section {
	return [...]section{
		{"blocks", &d.Blocks, json.RawMessage("[]")}, {"settings", &d.Settings, json.RawMessage("{}")}, {"theme", &d.Theme, json.RawMessage("{}")},
		{"variables", &d.Variables, json.RawMessage("{}")}, {"hidden_fields", &d.HiddenFields, json.RawMessage("[]")},
	}
}

// path is where a section stands in a FormUpdate.
func (s section) path() string { return "/definition/" + s.name }

// after is the content after a change of the form.
func (c Content) after(change *storage.FormChange) Content {
	if change.Name != nil {
		c.Name = *change.Name
	}
	to := sections(&c.Definition)
	for i, s := range sections(&change.Definition) {
		if *s.raw != nil {
			*to[i].raw, c.Definition.Format = *s.raw, change.Definition.Format
		}
	}
	return c
}

// body is a FormUpdate with what this content changes in another one.
func (c Content) body(stored Content) *Body {
	b := NewBody()
	if c.Name != stored.Name {
		b.Text("name", c.Name)
	}
	from := sections(&stored.Definition)
	for i, s := range sections(&c.Definition) { // of this copy of c
		if bytes.Equal(*s.raw, *from[i].raw) {
			*s.raw = nil
		}
	}
	return b.Definition(c.Definition)
}

// base is the form that a working copy was made from.
type base struct {
	Revision int64             `json:"revision"`
	Digests  map[string]string `json:"digests"` // of its parts, by that of their path
}

// write returns the value of a document. The bytes of the sections stay as they are.
func (c Content) write(from *base) json.RawMessage {
	var w jsontree.Writer
	w.Object()
	w.Name("name").String(c.Name)
	w.Name("format").Int(int64(c.Definition.Format))
	for _, s := range sections(&c.Definition) {
		w.Name(s.name).Raw(*s.raw)
	}
	if from != nil {
		raw, _ := json.Marshal(from) //nolint:errchkjson // a number and strings
		w.Name("base").Raw(raw)
	}
	w.EndObject()
	return w.Bytes()
}

// readContent reads the value of a document.
func readContent(value json.RawMessage) (Content, base, error) {
	var d struct {
		Name string
		storage.Definition
		HiddenFields json.RawMessage `json:"hidden_fields"`
		Base         base
	}
	if err := json.Unmarshal(value, &d); err != nil {
		return Content{}, base{}, fmt.Errorf("formsvc: a stored document: %w", err)
	}
	d.Definition.HiddenFields = d.HiddenFields
	return Content{d.Name, d.Definition}, d.Base, nil
}

// parts are the pieces that two people can change without a clash: the name, each member of the
// settings, each top-level block, and each other section.
type parts struct {
	raw map[string]json.RawMessage // by path; nil: it is not there
	// The names of the settings and the ids of the blocks in their order, by the path of the section.
	order map[string][]string
}

func partsOf(c Content) (parts, error) {
	p := parts{raw: map[string]json.RawMessage{"/name": jsontree.AppendString(nil, c.Name)}, order: map[string][]string{}}
	for _, s := range sections(&c.Definition) {
		path := s.path()
		if s.name != "settings" && s.name != "blocks" {
			p.raw[path] = *s.raw
			continue
		}
		tree, err := jsontree.Parse(*s.raw, jsontree.Bounds{})
		if err != nil {
			return p, fmt.Errorf("formsvc: a stored section: %w", err)
		}
		p.order[path] = []string{}
		for _, n := range tree.Root().All() {
			name := n.Name()
			if s.name == "blocks" {
				name = n.Member("id").Text()
			}
			p.raw[jsontree.Pointer(path, name)], p.order[path] = json.RawMessage(n.Raw()), append(p.order[path], name)
		}
	}
	return p, nil
}

// join puts the parts of a section together.
func (p parts) join(s section, names []string) json.RawMessage {
	members := make([][]byte, len(names))
	for i, name := range names {
		if s.name == "settings" {
			members[i] = append(jsontree.AppendString(nil, name), ':')
		}
		members[i] = append(members[i], p.raw[jsontree.Pointer(s.path(), name)]...)
	}
	return slices.Concat(s.empty[:1], bytes.Join(members, []byte(",")), s.empty[1:])
}

// digests are what a working copy keeps of the form that it was made from.
func (p parts) digests() map[string]string {
	found := make(map[string]string, len(p.raw))
	for path, raw := range p.raw {
		found[digest([]byte(path))] = digest(raw) // ids may be long
	}
	return found
}

// digest tells whether a part is still what it was; one that is not there has none.
func digest(raw []byte) string {
	if raw == nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}
