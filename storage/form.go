package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Definition is a form's content: five JSON values, which a store neither decodes nor changes. Returned values are read
// only, because a store can return the same bytes to many callers.
type Definition struct {
	Blocks       json.RawMessage `json:"blocks"`        // array
	Settings     json.RawMessage `json:"settings"`      // object
	Theme        json.RawMessage `json:"theme"`         // object
	Variables    json.RawMessage `json:"variables"`     // object
	HiddenFields json.RawMessage `json:"hidden_fields"` // array of strings

	// Format is the version of the sections' encoding. The caller sets it when it writes sections. A change without
	// sections leaves Format unchanged.
	Format int `json:"-"`
}

// Section is one JSON value in a definition.
type Section struct {
	Name  string // JSON field name, such as hidden_fields
	Value *json.RawMessage
	Empty string // the section's empty value, [] or {}
}

// Sections returns the sections of d in field order.
func (d *Definition) Sections() [5]Section {
	return [...]Section{
		{"blocks", &d.Blocks, "[]"},
		{"settings", &d.Settings, "{}"},
		{"theme", &d.Theme, "{}"},
		{"variables", &d.Variables, "{}"},
		{"hidden_fields", &d.HiddenFields, "[]"},
	}
}

// HasSections reports whether any section is set.
func (d *Definition) HasSections() bool {
	sections := d.Sections()
	return slices.ContainsFunc(sections[:], func(s Section) bool { return *s.Value != nil })
}

// Size returns the total size of the sections in bytes.
func (d *Definition) Size() (size int) {
	for _, section := range d.Sections() {
		size += len(*section.Value)
	}
	return size
}

// Equal reports whether two definitions have the same bytes and format. It is fast for definitions that share memory.
func (d *Definition) Equal(other *Definition) bool {
	others := other.Sections()
	for i, section := range d.Sections() {
		if !bytes.Equal(*section.Value, *others[i].Value) {
			return false
		}
	}
	return d.Format == other.Format
}

// Apply replaces d's format and the sections of d that are set in change. Other sections do not change. Afterwards,
// both definitions share the same bytes. If change has no sections, Apply does nothing.
func (d *Definition) Apply(change Definition) {
	if !change.HasSections() {
		return
	}
	d.Format = change.Format
	to := d.Sections()
	for i, from := range change.Sections() {
		if *from.Value != nil {
			*to[i].Value = *from.Value
		}
	}
}

// FormContent is a form's editable content. It is encoded as one JSON object with the name, the type and the sections.
type FormContent struct {
	Name string `json:"name"`
	Type string `json:"type"` // SINGLE or MULTI
	Definition
}

// AcceptanceRules are the conditions under which a form accepts submissions. The caller derives them from its settings.
type AcceptanceRules struct {
	Closed        bool
	OpenAt        time.Time // when the form opens; a zero value means immediately
	CloseAt       time.Time // when the form closes; a zero value means never
	ResponseLimit int64     // maximum number of submissions; a zero value means no limit
	// Unique is the block whose answer must be unique within the form. A zero value means none.
	Unique UniqueField
}

// UniqueField is a block whose answer must be unique within the form. Rules is the version of the comparison rules. Two
// digests can be compared only if Block and Rules are equal.
type UniqueField struct {
	Block string
	Rules int
}

// IsClosed reports whether the form was closed manually, is not open yet, has reached its closing time, or is full.
func (g AcceptanceRules) IsClosed(full bool, now time.Time) bool {
	return g.Closed || full || !g.OpenAt.IsZero() && now.Before(g.OpenAt) || !g.CloseAt.IsZero() && !now.Before(g.CloseAt)
}

// Values of [Form.Status].
const (
	StatusDraft     = "draft"
	StatusPublished = "published"
)

// Form is a form with its definition.
type Form struct {
	ID          ID
	PublicID    string
	WorkspaceID ID
	FormContent        // in lists, its Definition is empty
	Status      string // StatusDraft or StatusPublished
	Revision    int64  // starts at 1 and increases by one with every change of the form or its definition

	Acceptance AcceptanceRules
	// LimitReached reports whether the form has reached its response limit, which counts both stored submissions and
	// submissions purged because of their age. The store sets LimitReached.
	LimitReached bool
	// DuplicateCheckReady reports whether the acceptance rules have a unique field for which the answers of all
	// submissions are indexed. If so, the store rejects all further duplicates. Until then, Submit compares answers
	// only with those already indexed. Submit compares nothing if the field is not a block of the form or its block
	// type is never compared; the form then has a warning. The store sets DuplicateCheckReady. See [DuplicateStore].
	DuplicateCheckReady bool
	// DocumentsRevision starts at 0. The store increases it by one with each change to a public document; see
	// [DocumentChange].
	DocumentsRevision int64

	CreatedAt time.Time
	UpdatedAt time.Time
	TrashedAt time.Time // zero if the form is not in the trash
}

// IsClosed reports whether the form rejects submissions at the given time.
func (f Form) IsClosed(now time.Time) bool { return f.Acceptance.IsClosed(f.LimitReached, now) }

// OpensAt returns when the form will open by itself. The result is zero if it is open, or if it stays closed then.
func (f Form) OpensAt(now time.Time) time.Time {
	if at := f.Acceptance.OpenAt; !at.IsZero() && now.Before(at) && !f.IsClosed(at) {
		return at
	}
	return time.Time{}
}

// FormVersion is an earlier state of a form that was published.
type FormVersion struct {
	Revision    int64 // the form's revision in this state
	FormContent       // empty in lists
	// ReplacedBy is the user who replaced this state. It is zero for the host and for users known only to the host.
	ReplacedBy ID
	ReplacedAt time.Time
}

// FormsParams selects forms for a list.
type FormsParams struct {
	// WorkspaceID limits the list to one workspace. A zero value lists the forms of all accessible workspaces.
	WorkspaceID ID
	Trashed     bool // selects forms in the trash instead of all other forms
	Page        Page
}

// FormChange describes a change to a form. Nil fields and nil sections are left unchanged.
type FormChange struct {
	Name        *string
	Type        *string
	Status      *string
	WorkspaceID *ID
	Definition  Definition
	Acceptance  *AcceptanceRules
	// IfRevision makes the change conditional: the form must be at one of these revisions. If empty, any matches.
	IfRevision []int64
	At         time.Time // becomes UpdatedAt
	// Documents are written in the same step, but only if the change modifies the form. Otherwise they are ignored,
	// including their conditions. Two changes to the same document result in ErrInvalidValue. All conditions are
	// checked before the first write. Retention never removes a document that the change writes.
	Documents []DocumentChange
}

// TrashParams are the parameters of TrashForm.
type TrashParams struct {
	// At becomes TrashedAt. A zero time results in ErrInvalidValue, because it means "not in the trash".
	At time.Time
	// IfRevision has the same meaning as in [FormChange].
	IfRevision []int64
}

// FormStore stores forms. An actor can access a form if it can access the form's workspace. For a form in the trash,
// all methods of [Storage] return ErrNotFound, except for RestoreForm, SetLifetimeCounters, Sweep, Forms with
// FormsParams.Trashed, and the methods of [RemovalStore].
type FormStore interface {
	// CreateForm adds f with Revision 1. All five sections must be set. It MUST return ErrNotFound if f.WorkspaceID is
	// not accessible, and otherwise ErrConflict if f.ID or f.PublicID is taken.
	CreateForm(ctx context.Context, actor Actor, f Form) error

	// Form returns one form with its definition, or ErrNotFound.
	Form(ctx context.Context, actor Actor, id ID) (Form, error)

	// FormByPublicID returns one form with its definition, or ErrNotFound. It does not check access or the status.
	FormByPublicID(ctx context.Context, publicID string) (Form, error)

	// Forms lists forms without their definitions, newest first by (CreatedAt, ID). It MUST return ErrNotFound if
	// q.WorkspaceID is set and not accessible. For the host, the workspace need not exist, because a deleted workspace
	// can have forms in the trash.
	Forms(ctx context.Context, actor Actor, q FormsParams) ([]Form, error)

	// UpdateForm changes one form, increases its revision by one, and returns the new state. It MUST NOT overwrite
	// concurrent changes to sections that are nil in c. If no field and no byte of a section would change, the call has
	// no effect: revision and UpdatedAt stay the same. If several errors apply, it MUST return the first of these:
	//
	// 1. ErrNotFound if the form is not accessible.
	// 2. ErrNotFound if the destination workspace is not accessible.
	// 3. ErrNotOwner if the form would leave a workspace that the actor does not own.
	// 4. A *RevisionError if IfRevision does not match.
	// 5. If the form would change, the error that [DocumentStore.PutDocument] would return for one of Documents.
	//
	// In-flight submissions MUST NOT exceed a new response limit. If the store must count the submissions, it counts
	// them before the change takes effect. An error leaves the form unchanged. If Unique.Block does not change, the
	// form's Unique.Rules and DuplicateCheckReady do not change either. Otherwise the backfill restarts. If the form
	// has no submissions, the backfill is complete immediately. Entries for earlier blocks are retained.
	UpdateForm(ctx context.Context, actor Actor, id ID, c FormChange) (Form, error)

	// TrashForm moves a form to the trash and ends its pending deliveries. The revision does not change. It MUST return
	// ErrNotFound if the form is not accessible, and otherwise a *RevisionError if IfRevision does not match.
	TrashForm(ctx context.Context, actor Actor, id ID, p TrashParams) error

	// RestoreForm restores a form from the trash into workspace, or into its previous workspace if workspace is zero.
	// The revision increases by one if the workspace changes. It MUST return ErrNotFound if the form is not in the
	// trash, and otherwise ErrConflict if the workspace does not exist.
	RestoreForm(ctx context.Context, id, workspace ID, at time.Time) error
}
