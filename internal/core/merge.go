package core

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// merge returns what a form is after its working copy was published: a part that one side
// changed is that side's, one that both changed alike is either's. For the others take says whose
// it is, else they are conflicts.
func merge(from base, ours, theirs storage.FormContent, take map[string]schema.Side) (merged storage.FormContent, err error) {
	c, err := partsOf(ours)
	if err != nil {
		return merged, err
	}
	f, err := partsOf(theirs)
	if err != nil {
		return merged, err
	}
	var conflicts []schema.Conflict
	all := parts{raw: maps.Clone(f.raw)}
	maps.Copy(all.raw, c.raw)
	for _, path := range slices.Sorted(maps.Keys(all.raw)) {
		inCopy, inForm, was, side := c.raw[path], f.raw[path], from.Digests[digest([]byte(path))], take[path]
		switch {
		case bytes.Equal(inCopy, inForm), digest(inForm) == was:
			side = schema.CopySide
		case digest(inCopy) == was:
			side = schema.FormSide
		}
		switch side {
		case schema.CopySide:
			all.raw[path] = inCopy
		case schema.FormSide:
			all.raw[path] = inForm
		default:
			conflicts = append(conflicts, schema.Conflict{Path: path, Copy: inCopy, Form: inForm})
		}
	}
	if conflicts != nil {
		return merged, &schema.ConflictError{Conflicts: conflicts}
	}
	merged.Definition = ours.Definition
	for _, s := range merged.Sections() {
		path := sectionPath(s.Name)
		inCopy, several := c.order[path]
		if !several {
			*s.Value = all.raw[path]
			continue
		}
		// What is as in the copy keeps its bytes.
		if joined := all.join(s, all.inOrder(path, inCopy, f.order[path])); !bytes.Equal(joined, c.join(s, inCopy)) {
			*s.Value = joined
		}
	}
	return merged, json.Unmarshal(all.raw["/name"], &merged.Name)
}

// inOrder returns the names that are left below a path, in the order of the copy. One that only
// the form has follows the one that it follows there.
func (p parts) inOrder(path string, inCopy, inForm []string) []string {
	gone := func(name string) bool { return p.raw[jsontree.Pointer(path, name)] == nil }
	order, next := slices.DeleteFunc(slices.Clone(inCopy), gone), 0
	for _, name := range inForm {
		at := slices.Index(order, name)
		if at < 0 && !gone(name) {
			at, order = next, slices.Insert(order, next, name)
		}
		if at >= 0 {
			next = at + 1
		}
	}
	return order
}
