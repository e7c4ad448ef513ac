package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

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

// same reports whether nothing has changed.
func (c Content) same(other Content) bool {
	from, to := sections(&c.Definition), sections(&other.Definition)
	for i := range from {
		if !bytes.Equal(*from[i].raw, *to[i].raw) {
			return false
		}
	}
	return c.Name == other.Name
}

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
	d, from := c.Definition, sections(&stored.Definition)
	for i, s := range sections(&d) {
		if bytes.Equal(*s.raw, *from[i].raw) {
			*s.raw = nil
		}
	}
	return b.Definition(d)
}

// document is the value of a working copy or a version.
type document struct {
	Name         string          `json:"name"`
	Format       int             `json:"format"`
	Blocks       json.RawMessage `json:"blocks"`
	Settings     json.RawMessage `json:"settings"`
	Theme        json.RawMessage `json:"theme"`
	Variables    json.RawMessage `json:"variables"`
	HiddenFields json.RawMessage `json:"hidden_fields"`

	Base base `json:"base"`
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
		w.Name("base").Object()
		w.Name("revision").Int(from.Revision)
		w.Name("digests").Object()
		for path, part := range from.Digests {
			w.Name(path).String(part)
		}
		w.EndObject()
		w.EndObject()
	}
	w.EndObject()
	return w.Bytes()
}

// readContent reads the value of a document.
func readContent(value json.RawMessage) (Content, base, error) {
	var d document
	if err := json.Unmarshal(value, &d); err != nil {
		return Content{}, base{}, fmt.Errorf("formsvc: a stored document: %w", err)
	}
	return Content{d.Name, storage.Definition{
		Blocks: d.Blocks, Settings: d.Settings, Theme: d.Theme, Variables: d.Variables, HiddenFields: d.HiddenFields, Format: d.Format,
	}}, d.Base, nil
}

// parts are the pieces that two people can change without a clash: the name, each member of the
// settings, each top-level block, and each other section.
type parts struct {
	raw map[string]string // by path; the name as it is, all else as JSON
	// The names of the settings and the ids of the blocks, in their order.
	settings, blocks []string
}

const (
	settingsPath = "/definition/settings"
	blocksPath   = "/definition/blocks"
)

func partsOf(c Content) (parts, error) {
	p := parts{raw: map[string]string{"/name": c.Name}}
	for _, s := range sections(&c.Definition) {
		path := "/definition/" + s.name
		if path != settingsPath && path != blocksPath {
			p.raw[path] = string(*s.raw)
			continue
		}
		tree, err := jsontree.Parse(*s.raw, jsontree.Bounds{})
		if err != nil {
			return p, fmt.Errorf("formsvc: a stored section: %w", err)
		}
		for _, n := range tree.Root().All() {
			name, order := n.Name(), &p.settings
			if path == blocksPath {
				name, order = n.Member("id").Text(), &p.blocks
			}
			p.raw[jsontree.Pointer(path, name)], *order = n.Raw(), append(*order, name)
		}
	}
	return p, nil
}

// digests are what a working copy keeps of the form that it was made from.
func (p parts) digests() map[string]string {
	found := make(map[string]string, len(p.raw))
	for path, raw := range p.raw {
		found[digest(path, true)] = digest(raw, true) // ids may be long
	}
	return found
}

// digest tells whether a part is still what it was; one that is not there has none.
func digest(raw string, there bool) string {
	if !there {
		return ""
	}
	sum := sha256.Sum256([]byte(raw))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}
