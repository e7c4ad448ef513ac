package storage

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Document is a record that belongs to a form, such as the form's working copy or an earlier version. The store does
// not interpret its value.
type Document struct {
	Kind, Key string
	// Value is JSON and is stored unchanged. It is nil in lists.
	Value json.RawMessage
	// Revision increases by one with every write. A new document starts at DocumentChange.InitialRevision.
	Revision int64
	// By is the user who last wrote the document, or zero for the host. The user may no longer exist.
	By                   ID
	CreatedAt, UpdatedAt time.Time
}

// DocumentChange writes or removes one document.
type DocumentChange struct {
	// Kind must have 1 to 50 bytes and Key 0 to 200, and [ValidText] must accept both. Otherwise, the method returns
	// ErrInvalidValue. Keys are compared byte by byte.
	Kind, Key string
	// Value is the new value. Package formsvc writes values of at most Limits.Definition plus 256 kB. Nil removes the
	// document, and removing a missing document is not an error.
	Value json.RawMessage
	// IfRevision makes the change conditional: the document must be at one of these revisions. A 0 in the list matches
	// a document that does not exist. If the list is empty, the change is unconditional.
	IfRevision []int64
	// InitialRevision is the revision of a new document. A value below 1 means 1. If each new document starts at a
	// different revision, IfRevision distinguishes it from an earlier document with the same key.
	InitialRevision int64
	// By and At become the document's By and UpdatedAt. At also becomes the CreatedAt of a new document.
	By ID
	At time.Time
	// Public reports whether form pages read documents of this kind. If so, the change increments Form.DocumentsRevision.
	Public bool
	// Retention limits the form's documents of this kind after a write. It does not apply to removals.
	Retention Retention
}

// Retention limits a form's documents of one kind. If a limit is exceeded, the documents with the lowest keys are
// removed in the same step, except for the document just written. A zero value means no limit.
type Retention struct {
	Count int
	Bytes int // total size of the values
}

// DocumentQuery selects documents for a list.
type DocumentQuery struct {
	Kind string
	// Below selects documents whose keys are lower than this key. If nil, the list starts at the highest key.
	Below *string
	Limit int // if below 1, no documents are returned
}

// DocumentStore stores documents that belong to forms. An actor can access a document if it can access the form.
// Methods that take one form return ErrNotFound if the form is not accessible. A form in the trash retains its
// documents, and a purge removes them. A store can leave all four methods to [Unimplemented]. A form change with
// documents then fails with ErrUnimplemented.
type DocumentStore interface {
	// PutDocument writes or removes one document. It returns the new state, or the zero Document after a removal. It
	// MUST return a *RevisionError with the document's Kind if IfRevision does not match. The error's Current is 0 if
	// the document does not exist. The form's revision does not change.
	PutDocument(ctx context.Context, actor Actor, form ID, c DocumentChange) (Document, error)

	// Document returns one document, or ErrNotFound.
	Document(ctx context.Context, actor Actor, form ID, kind, key string) (Document, error)

	// Documents lists documents of one kind by descending key, without their values, and reports whether there are more.
	Documents(ctx context.Context, actor Actor, form ID, q DocumentQuery) (found []Document, more bool, err error)

	// FormsWithDocument finds out which of the given forms have a document of the kind. It returns their IDs without
	// duplicates, in any order. It omits inaccessible forms instead of returning ErrNotFound.
	FormsWithDocument(ctx context.Context, actor Actor, kind string, forms []ID) ([]ID, error)
}

func (c *DocumentChange) isValid() bool {
	return c.Kind != "" && len(c.Kind) <= 50 && len(c.Key) <= 200 && ValidText(c.Kind) && ValidText(c.Key) &&
		ValidText(string(c.Value)) && ValidTime(c.At)
}

// ValidDocuments reports whether every store can store the changes in one step. Each change must be valid, and no two
// may change the same document.
func ValidDocuments(changes []DocumentChange) bool {
	for i := range changes {
		c := &changes[i]
		if !c.isValid() || slices.ContainsFunc(changes[:i], func(o DocumentChange) bool { return o.Kind == c.Kind && o.Key == c.Key }) {
			return false
		}
	}
	return true
}
