package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// Side says whose value of a part is taken.
type Side string

// The sides of a conflict.
const (
	CopySide Side = "copy"
	FormSide Side = "form"
)

// Conflict is a part of a form that was changed in two ways since its working copy was made.
type Conflict struct {
	// Path names the part as a JSON Pointer into a FormUpdate, with the id of a block in place
	// of its position.
	Path       string
	Copy, Form json.RawMessage // nil: it was removed there
}

// ConflictError lists the conflicts of a publication, sorted by path.
type ConflictError struct {
	Conflicts []Conflict
	Revision  int64 // of the copy that has them
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("formsvc: form and working copy changed %d of the same parts, the first is %s", len(e.Conflicts), e.Conflicts[0].Path)
}

// merge returns what a form is after its working copy was published: a part that one side
// changed is that side's, one that both changed alike is either's. For the others take says whose
// it is, else they are conflicts.
func merge(from base, ours, theirs Content, take map[string]Side) (Content, error) {
	c, err := partsOf(ours)
	if err != nil {
		return Content{}, err
	}
	f, err := partsOf(theirs)
	if err != nil {
		return Content{}, err
	}
	var conflicts []Conflict
	merged := parts{raw: make(map[string]string, len(c.raw))}
	paths := maps.Clone(f.raw)
	maps.Copy(paths, c.raw)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		inCopy, hasCopy := c.raw[path]
		inForm, hasForm := f.raw[path]
		was := from.Digests[digest(path, true)]
		side := take[path]
		switch {
		case inCopy == inForm && hasCopy == hasForm, digest(inForm, hasForm) == was:
			side = CopySide
		case digest(inCopy, hasCopy) == was:
			side = FormSide
		}
		switch {
		case side == CopySide && hasCopy:
			merged.raw[path] = inCopy
		case side == FormSide && hasForm:
			merged.raw[path] = inForm
		case side != CopySide && side != FormSide:
			conflicts = append(conflicts, Conflict{Path: path, Copy: value(path, inCopy, hasCopy), Form: value(path, inForm, hasForm)})
		}
	}
	if conflicts != nil {
		return Content{}, &ConflictError{Conflicts: conflicts}
	}
	result := Content{Name: merged.raw["/name"], Definition: ours.Definition}
	d := &result.Definition
	d.Theme, d.Variables, d.HiddenFields = merged.section("theme"), merged.section("variables"), merged.section("hidden_fields")
	// What is as in the copy keeps its bytes.
	if names := merged.order(settingsPath, c.settings, f.settings); !merged.sameAs(c, settingsPath, names, c.settings) {
		d.Settings = merged.object(names)
	}
	if ids := merged.order(blocksPath, c.blocks, f.blocks); !merged.sameAs(c, blocksPath, ids, c.blocks) {
		d.Blocks = merged.array(ids)
	}
	return result, nil
}

// value is a part in a conflict.
func value(path, raw string, there bool) json.RawMessage {
	switch {
	case !there:
		return nil
	case path == "/name":
		return jsontree.AppendString(nil, raw)
	}
	return json.RawMessage(raw)
}

// order returns the names that are left below a path, in the order of the copy. One that only the
// form has follows the one that it follows there.
func (p parts) order(path string, inCopy, inForm []string) []string {
	gone := func(name string) bool {
		_, ok := p.raw[jsontree.Pointer(path, name)]
		return !ok
	}
	order := slices.DeleteFunc(slices.Clone(inCopy), gone)
	at := 0
	for _, name := range inForm {
		if gone(name) {
			continue
		}
		if i := slices.Index(order, name); i >= 0 {
			at = i + 1
			continue
		}
		order = slices.Insert(order, at, name)
		at++
	}
	return order
}

// sameAs reports whether the parts below a path are those of other, in the same order.
func (p parts) sameAs(other parts, path string, names, others []string) bool {
	return slices.Equal(names, others) && !slices.ContainsFunc(names, func(name string) bool {
		at := jsontree.Pointer(path, name)
		return p.raw[at] != other.raw[at]
	})
}

func (p parts) section(name string) json.RawMessage {
	return json.RawMessage(p.raw["/definition/"+name])
}

func (p parts) object(names []string) json.RawMessage {
	var w jsontree.Writer
	w.Object()
	for _, name := range names {
		w.Name(name).RawString(p.raw[jsontree.Pointer(settingsPath, name)])
	}
	w.EndObject()
	return w.Bytes()
}

func (p parts) array(ids []string) json.RawMessage {
	var w jsontree.Writer
	w.Array()
	for _, id := range ids {
		w.RawString(p.raw[jsontree.Pointer(blocksPath, id)])
	}
	w.EndArray()
	return w.Bytes()
}
