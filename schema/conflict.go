package schema

import (
	"encoding/json"
	"fmt"
)

// Side is one side of a conflict: the working copy or the form.
type Side string

// These are the sides of a conflict.
const (
	CopySide Side = "copy"
	FormSide Side = "form"
)

// Conflict is a part of a form that was changed both in the form and in its working copy.
type Conflict struct {
	// Path is a JSON Pointer into a FormUpdate, with block IDs instead of positions: /name, /definition/theme,
	// /definition/settings/closed, /definition/blocks/email.
	Path string
	// Copy and Form are the values of the part on each side. Nil means that the part was removed.
	Copy, Form json.RawMessage
}

// ConflictError lists the conflicts that prevent a working copy from being published, sorted by path.
type ConflictError struct {
	Conflicts []Conflict
	Revision  int64 // the revision of the working copy
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("formsvc: form and working copy have %d conflicting changes, first at %s", len(e.Conflicts), e.Conflicts[0].Path)
}
