package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/formdiff"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// mergeWorkingCopy merges a working copy into its form. If only one side changed a part, merge uses that side's value.
// If both sides changed a part differently, resolutions selects a side. If resolutions lacks the part, mergeWorkingCopy returns a
// [*schema.ConflictError].
func mergeWorkingCopy(from copyBase, workingCopy, form storage.FormContent, resolutions map[string]schema.Side) (merged storage.FormContent, err error) {
	c, err := formdiff.SplitContent(workingCopy)
	if err != nil {
		return merged, err
	}
	f, err := formdiff.SplitContent(form)
	if err != nil {
		return merged, err
	}
	var conflicts []schema.Conflict
	all := formdiff.Parts{Raw: maps.Clone(c.Raw)}
	for _, d := range formdiff.Compare(c, f) {
		side := resolutions[d.Path]
		switch {
		case from.Digests.Matches(d.Path, d.After):
			side = schema.CopySide
		case from.Digests.Matches(d.Path, d.Before):
			side = schema.FormSide
		}
		switch side {
		case schema.CopySide:
		case schema.FormSide:
			all.Raw[d.Path] = d.After
		default:
			conflicts = append(conflicts, schema.Conflict{Path: d.Path, Copy: d.Before, Form: d.After})
		}
	}
	if conflicts != nil {
		return merged, &schema.ConflictError{Conflicts: conflicts}
	}
	merged.Definition = workingCopy.Definition
	for _, s := range merged.Sections() {
		path := formdiff.SectionPath(s.Name)
		inCopy, several := c.Order[path]
		if !several {
			*s.Value = all.Raw[path]
			continue
		}
		// Do not replace an unchanged value with a reformatted copy.
		if joined := all.JoinSection(s, mergeOrder(all, path, inCopy, f.Order[path])); !bytes.Equal(joined, c.JoinSection(s, inCopy)) {
			*s.Value = joined
		}
	}
	return merged, errors.Join(json.Unmarshal(all.Raw["/name"], &merged.Name), json.Unmarshal(all.Raw["/type"], &merged.Type))
}

// mergeOrder returns the order of the merged names below a path. It uses the working copy's order, and inserts names
// that exist only in the form after their predecessors in the form.
func mergeOrder(p formdiff.Parts, path string, inCopy, inForm []string) []string {
	gone := func(name string) bool { return p.Raw[jsontree.JoinPointer(path, name)] == nil }
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
