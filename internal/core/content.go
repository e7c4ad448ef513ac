package core

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/formsvc/formsvc/internal/formdiff"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// contentOf returns a form's content. It sets missing sections to empty values, because imported forms may lack
// sections.
func contentOf(f *storage.Form) storage.FormContent {
	c := f.FormContent
	for _, section := range c.Sections() {
		if len(*section.Value) == 0 {
			*section.Value = json.RawMessage(section.Empty)
		}
	}
	return c
}

func applyChange(c storage.FormContent, change *storage.FormChange) storage.FormContent {
	if change.Name != nil {
		c.Name = *change.Name
	}
	if change.Type != nil {
		c.Type = *change.Type
	}
	c.Apply(change.Definition)
	return c
}

func newUpdateBody(c, stored storage.FormContent) *Body {
	b := NewBody()
	if c.Name != stored.Name {
		b.Text("name", c.Name)
	}
	if c.Type != stored.Type {
		b.Text("type", c.Type)
	}
	from := stored.Sections()
	for i, section := range c.Sections() { // Sections returns pointers into this copy of c
		if bytes.Equal(*section.Value, *from[i].Value) {
			*section.Value = nil
		}
	}
	return b.Definition(c.Definition)
}

// copyBase identifies the published form on which a working copy is based.
type copyBase struct {
	Revision int64            `json:"revision"`
	Digests  formdiff.Digests `json:"digests"`
}

// encodeDocument encodes the content of a working copy or version. It writes the sections byte for byte.
func encodeDocument(c storage.FormContent, from *copyBase) json.RawMessage {
	var w jsontree.Writer
	w.Object()
	w.Name("name").String(c.Name)
	w.Name("type").String(c.Type)
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

func decodeDocument(value json.RawMessage) (storage.FormContent, copyBase, error) {
	var d struct {
		storage.FormContent
		Format int
		Base   copyBase
	}
	if err := json.Unmarshal(value, &d); err != nil {
		return storage.FormContent{}, copyBase{}, fmt.Errorf("formsvc: decode stored working copy or version: %w", err)
	}
	d.Definition.Format = d.Format
	return d.FormContent, d.Base, nil
}
