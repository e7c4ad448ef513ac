package schema

import (
	"encoding/json"
	"fmt"
)

// Side is the working copy or the form.
type Side string

// The sides of a conflict.
const (
	CopySide Side = "copy"
	FormSide Side = "form"
)

// Conflict is a part of a form that both the form and its working copy changed.
type Conflict struct {
	// Path is a JSON Pointer into a FormUpdate in which a block has its id in place of its position: /name,
	// /definition/theme, /definition/settings/closed, /definition/blocks/email.
	Path string
	// Copy and Form are the values. Nil means that the part was removed on that side.
	Copy, Form json.RawMessage
}

// ConflictError lists the conflicts of a publication, sorted by path.
type ConflictError struct {
	Conflicts []Conflict
	// Revision is the revision of the working copy that has the conflicts.
	Revision int64
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("formsvc: form and working copy have %d conflicting changes, first at %s", len(e.Conflicts), e.Conflicts[0].Path)
}
