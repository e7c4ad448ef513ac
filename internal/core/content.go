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

// contentOf is what people wrote of a form. An import may have left a section out.
func contentOf(f *storage.Form) storage.FormContent {
	c := f.FormContent
	for _, section := range c.Sections() {
		if len(*section.Value) == 0 {
			*section.Value = json.RawMessage(section.Empty)
		}
	}
	return c
}

// sectionPath is where a section is in a FormUpdate.
func sectionPath(name string) string { return "/definition/" + name }

// afterChange is the content of a form after a change.
func afterChange(c storage.FormContent, change *storage.FormChange) storage.FormContent {
	if change.Name != nil {
		c.Name = *change.Name
	}
	c.Apply(change.Definition)
	return c
}

// changeBody is a FormUpdate with what a content changes in the stored one.
func changeBody(c, stored storage.FormContent) *Body {
	b := NewBody()
	if c.Name != stored.Name {
		b.Text("name", c.Name)
	}
	from := stored.Sections()
	for i, section := range c.Sections() { // of this copy of c
		if bytes.Equal(*section.Value, *from[i].Value) {
			*section.Value = nil
		}
	}
	return b.Definition(c.Definition)
}

// base is the form that a working copy was made from.
type base struct {
	Revision int64             `json:"revision"`
	Digests  map[string]string `json:"digests"` // of its parts, by that of their path
}

// document returns the value of a document. The bytes of the sections stay as they are.
func document(c storage.FormContent, from *base) json.RawMessage {
	var w jsontree.Writer
	w.Object()
	w.Name("name").String(c.Name)
	w.Name("format").Int(int64(c.Format))
	for _, section := range c.Sections() {
		w.Name(section.Name).Raw(*section.Value)
	}
	if from != nil {
		raw, _ := json.Marshal(from) //nolint:errchkjson // a number and strings
		w.Name("base").Raw(raw)
	}
	w.EndObject()
	return w.Bytes()
}

// readDocument reads the value of a document.
func readDocument(value json.RawMessage) (storage.FormContent, base, error) {
	var d struct {
		storage.FormContent
		Format int
		Base   base
	}
	if err := json.Unmarshal(value, &d); err != nil {
		return storage.FormContent{}, base{}, fmt.Errorf("formsvc: a stored document: %w", err)
	}
	d.Definition.Format = d.Format
	return d.FormContent, d.Base, nil
}

// parts are the pieces that two people can change without a clash: the name, each member of the
// settings, each top-level block, and each other section.
type parts struct {
	raw map[string]json.RawMessage // by path; nil: it is not there
	// The names of the settings and the ids of the blocks in their order, by the path of the section.
	order map[string][]string
}

func partsOf(c storage.FormContent) (parts, error) {
	p := parts{raw: map[string]json.RawMessage{"/name": jsontree.AppendString(nil, c.Name)}, order: map[string][]string{}}
	for _, s := range c.Sections() {
		path := sectionPath(s.Name)
		if s.Name != "settings" && s.Name != "blocks" {
			p.raw[path] = *s.Value
			continue
		}
		tree, err := jsontree.Parse(*s.Value, jsontree.Bounds{})
		if err != nil {
			return p, fmt.Errorf("formsvc: a stored section: %w", err)
		}
		p.order[path] = []string{}
		for _, n := range tree.Root().All() {
			name := n.Name()
			if s.Name == "blocks" {
				name = n.Member("id").Text()
			}
			p.raw[jsontree.Pointer(path, name)], p.order[path] = json.RawMessage(n.Raw()), append(p.order[path], name)
		}
	}
	return p, nil
}

// join puts the parts of a section together.
func (p parts) join(s storage.Section, names []string) json.RawMessage {
	members := make([][]byte, len(names))
	for i, name := range names {
		if s.Name == "settings" {
			members[i] = append(jsontree.AppendString(nil, name), ':')
		}
		members[i] = append(members[i], p.raw[jsontree.Pointer(sectionPath(s.Name), name)]...)
	}
	return slices.Concat([]byte(s.Empty[:1]), bytes.Join(members, []byte(",")), []byte(s.Empty[1:]))
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
