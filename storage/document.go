package storage

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Document is something that is kept beside a form and is not the form: a working copy of it, an
// earlier version. The store does not look into its value.
type Document struct {
	Kind, Key string
	// Value is JSON, kept as it is. Nil in lists.
	Value json.RawMessage
	// Revision rises by one with every write. A new document starts at DocumentChange.First.
	Revision int64
	// By is the user who wrote it last; zero: the host. The user may be gone.
	By                   ID
	CreatedAt, UpdatedAt time.Time
}

// DocumentChange writes or removes one document.
type DocumentChange struct {
	// Kind is 1 to 50, and Key at most 200 bytes of text that [ValidText] accepts; a key may be
	// empty. Keys are compared byte by byte. Others are ErrInvalidValue.
	Kind, Key string
	// Value is the new one: of package formsvc at most Limits.Definition and 256 kB. Nil removes the document; one that is not there is no error.
	Value json.RawMessage
	// IfRevision makes the change conditional: the document must be at one of these revisions,
	// where 0 stands for a document that is not there. Empty: no condition.
	IfRevision []int64
	// InitialRevision is the revision of a document that is not there yet; below 1: 1. With another one
	// each time, IfRevision tells a document from an earlier one with its key.
	InitialRevision int64
	// By and At become By and UpdatedAt, and CreatedAt of a new document.
	By ID
	At time.Time
	// Public says that respondents' pages read documents of this kind: the change raises
	// Form.Beside by one.
	Public bool
	// Keep bounds the kind after a write. A removal does not look at it.
	Retention Retention
}

// Retention bounds the documents of one kind of a form. When there are more, those with the
// lowest keys go in the same step, until the rest is within both bounds or only the one that was
// written is left. Zero: no bound.
type Retention struct {
	Count int
	Bytes int // of the values
}

// DocumentQuery selects documents for a list.
type DocumentQuery struct {
	Kind string
	// Below asks for documents with lower keys. Nil: from the highest.
	Below *string
	Limit int // at least 1; a store returns no document for less
}

// DocumentStore keeps documents beside forms. Access to a document is access to its form:
// each method for one form returns ErrNotFound when the form is not accessible. A form in the trash keeps its
// documents, and a purged one loses them.
//
// A store may leave out all four methods, as [Unimplemented] has them. A change of a form with
// documents is ErrUnimplemented then, too.
type DocumentStore interface {
	// PutDocument writes or removes one document and returns it as it is then: the zero
	// Document when it was removed. It MUST return a *RevisionError with the document's Kind
	// when IfRevision does not hold; Current is 0 where there is none. The form's revision
	// stays.
	PutDocument(ctx context.Context, actor Actor, form ID, c DocumentChange) (Document, error)

	// Document returns one document, or ErrNotFound.
	Document(ctx context.Context, actor Actor, form ID, kind, key string) (Document, error)

	// Documents lists documents of one kind by descending key, without their values, and
	// reports whether there are more.
	Documents(ctx context.Context, actor Actor, form ID, q DocumentQuery) (found []Document, more bool, err error)

	// FormsWithDocument returns those of the forms that have a document of the kind, each once and
	// in any order. Unlike the other methods it leaves out forms that are not accessible.
	FormsWithDocument(ctx context.Context, actor Actor, kind string, forms []ID) ([]ID, error)
}

// valid reports whether every store keeps what c writes.
func (c *DocumentChange) valid() bool {
	return c.Kind != "" && len(c.Kind) <= 50 && len(c.Key) <= 200 && ValidText(c.Kind) && ValidText(c.Key) &&
		ValidText(string(c.Value)) && ValidTime(c.At)
}

// ValidDocuments reports whether every store keeps what the changes write in one step: each is
// valid, and no two are of one document.
func ValidDocuments(changes []DocumentChange) bool {
	for i := range changes {
		c := &changes[i]
		if !c.valid() || slices.ContainsFunc(changes[:i], func(o DocumentChange) bool { return o.Kind == c.Kind && o.Key == c.Key }) {
			return false
		}
	}
	return true
}
