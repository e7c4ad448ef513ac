package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Definition is what a form consists of, as five JSON values. The store keeps
// them as they are: it neither decodes nor changes them. Those that a store hands
// out are read only, because it may hand the same bytes to many callers.
type Definition struct {
	Blocks       json.RawMessage `json:"blocks"`        // array
	Settings     json.RawMessage `json:"settings"`      // object
	Theme        json.RawMessage `json:"theme"`         // object
	Variables    json.RawMessage `json:"variables"`     // object
	HiddenFields json.RawMessage `json:"hidden_fields"` // array of strings

	// Format is the version of the encoding above, set by whoever writes it. A
	// change of any section sets it; a change of none leaves it.
	Format int `json:"-"`
}

// Section is one of the five JSON values of a definition.
type Section struct {
	Name  string           // in JSON, such as hidden_fields
	Value *json.RawMessage // the field of the definition
	Empty string           // the value without content: [] or {}
}

// Sections returns the sections of d in the order of its fields.
func (d *Definition) Sections() [5]Section {
	return [...]Section{
		{"blocks", &d.Blocks, "[]"},
		{"settings", &d.Settings, "{}"},
		{"theme", &d.Theme, "{}"},
		{"variables", &d.Variables, "{}"},
		{"hidden_fields", &d.HiddenFields, "[]"},
	}
}

// HasSections reports whether a section is set.
func (d *Definition) HasSections() bool {
	sections := d.Sections()
	return slices.ContainsFunc(sections[:], func(s Section) bool { return *s.Value != nil })
}

// Size returns the number of bytes of all sections.
func (d *Definition) Size() (size int) {
	for _, section := range d.Sections() {
		size += len(*section.Value)
	}
	return size
}

// Equal reports whether two definitions have the same bytes and format. It compares definitions
// that share their memory in no time.
func (d *Definition) Equal(other *Definition) bool {
	others := other.Sections()
	for i, section := range d.Sections() {
		if !bytes.Equal(*section.Value, *others[i].Value) {
			return false
		}
	}
	return d.Format == other.Format
}

// Apply replaces the sections of d that change has, and with them the format. The other sections
// stay. Both definitions share the bytes afterwards.
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

// FormContent is what people write of a form. In JSON it is one object with the name, the type and the
// sections.
type FormContent struct {
	Name string `json:"name"`
	Type string `json:"type"` // SINGLE or MULTI
	Definition
}

// Gate is what decides whether a form takes a response, taken out of its settings
// by the caller.
type AcceptanceRules struct {
	Closed        bool
	CloseAt       time.Time // zero: never
	ResponseLimit int64     // zero: no limit
	// Unique is the block whose answer must be new for the form. Zero: none.
	Unique UniqueField
}

// UniqueField is a block whose answer must be new for the form. Rules is the version
// of the rules by which answers are compared: digests are comparable when both are
// the same.
type UniqueField struct {
	Block string
	Rules int
}

// IsClosed derives is_closed: the form was closed by hand, or its closing time has
// come, or it is full.
func (g AcceptanceRules) IsClosed(full bool, now time.Time) bool {
	return g.Closed || full || !g.CloseAt.IsZero() && !now.Before(g.CloseAt)
}

// The values of [Form.WriteStatus].
const (
	StatusDraft     = "draft"
	StatusPublished = "published"
)

// Form is a form with its definition.
type Form struct {
	ID          ID
	PublicID    string
	WorkspaceID ID
	// FormContent has no Definition in lists.
	FormContent
	Status string // StatusDraft or StatusPublished

	// Revision starts at 1 and rises by one with every change of the form or its
	// definition, and with nothing else.
	Revision int64

	Acceptance AcceptanceRules
	// LimitReached is set by the store: the gate has a response limit and as many places are
	// taken: by stored submissions and by those purged for their age.
	LimitReached bool
	// DuplicateCheckReady is set by the store: the gate names a unique field, and the
	// answers of every response of the form are entered for it, so that no other
	// response with one of them is stored from now on. While it is false, Submit
	// compares with what is entered already. Where the field names no block of the form,
	// or one of a type that is never compared, Submit compares nothing and true means
	// nothing: the form's warnings say so. See [DuplicateStore].
	DuplicateCheckReady bool
	// DocumentsRevision is set by the store: it rises by one with each change of a public document, see
	// [DocumentChange]. 0: there never was one.
	DocumentsRevision int64

	CreatedAt time.Time
	UpdatedAt time.Time
	TrashedAt time.Time // zero: not in the trash
}

// IsClosed reports whether the form takes no responses at a time.
func (f Form) IsClosed(now time.Time) bool { return f.Acceptance.IsClosed(f.LimitReached, now) }

// FormVersion is an earlier state of a form that was published.
type FormVersion struct {
	// Revision is the revision that the form had in this state.
	Revision int64
	// FormContent is empty in lists.
	FormContent
	// ReplacedBy is the user who replaced this state. It is zero if the host did, or a user whom only
	// the host knows.
	ReplacedBy ID
	ReplacedAt time.Time
}

// FormsParams selects forms for a list.
type FormsParams struct {
	// WorkspaceID narrows the list to one workspace. Zero: all accessible ones.
	WorkspaceID ID
	// Trashed asks for the forms in the trash instead of the others.
	Trashed bool
	Page    Page
}

// FormChange says what to change; nil members and nil sections stay.
type FormChange struct {
	Name        *string
	Type        *string
	Status      *string
	WorkspaceID *ID
	Definition  Definition
	Acceptance  *AcceptanceRules
	// IfRevision makes the change conditional: the form's revision must be one of
	// these. Empty: no condition.
	IfRevision []int64
	// At becomes UpdatedAt.
	At time.Time
	// Documents are written in the step that changes the form, and only when it does: a
	// change that leaves everything as it was writes none, and looks at none of their
	// conditions. Two changes of one document are ErrInvalidValue. All conditions are looked
	// at before the first is written, and no document that the change writes goes for a Keep.
	Documents []DocumentChange
}

// TrashParams says how a form goes to the trash.
type TrashParams struct {
	// At becomes TrashedAt. The zero time is ErrInvalidValue: it would say that the
	// form is not in the trash.
	At time.Time
	// IfRevision is that of [FormChange].
	IfRevision []int64
}

// FormStore keeps forms. Access to a form is access to its workspace. A form in the
// trash is ErrNotFound for every method of [Storage] but RestoreForm,
// SetLifetimeCounters, Sweep, Forms with FormsParams.Trashed, and the methods of
// [RemovalStore].
type FormStore interface {
	// CreateForm adds f. Revision is 1 and all five sections are set. It MUST
	// return ErrNotFound when f.WorkspaceID is not accessible, and else ErrConflict
	// when f.ID or f.PublicID is taken.
	CreateForm(ctx context.Context, actor Actor, f Form) error

	// Form returns one form with its definition, or ErrNotFound.
	Form(ctx context.Context, actor Actor, id ID) (Form, error)

	// FormByPublicID returns one form with its definition, for any caller and
	// whatever its status, or ErrNotFound.
	FormByPublicID(ctx context.Context, publicID string) (Form, error)

	// Forms lists forms without their definitions, newest first by
	// (CreatedAt, ID). It MUST return ErrNotFound when q.WorkspaceID is set and
	// not accessible; for the host it need not exist (forms in the trash may
	// outlive their workspace).
	Forms(ctx context.Context, actor Actor, q FormsParams) ([]Form, error)

	// UpdateForm changes one form, raises its revision by one and returns it as it
	// is then. Sections that are nil in the change MUST keep what a concurrent
	// change made of them. A change that leaves every member and every byte of the
	// sections as they were changes nothing: revision and UpdatedAt stay. Of
	// several errors it MUST return the first:
	//
	//  1. ErrNotFound when the form is not accessible.
	//  2. ErrNotFound when the workspace that it is to move to is not accessible.
	//  3. ErrNotOwner when it would leave a workspace that the actor does not own.
	//  4. A *RevisionError when IfRevision does not hold.
	//  5. When the form would change, what [DocumentStore.PutDocument] returns for one of the
	//     Documents. Nothing is changed then.
	//
	// A new response limit MUST NOT be overtaken by submissions in flight. When
	// the submissions have to be counted for it, they are before the change takes
	// effect; an error meanwhile leaves the form as it was.
	//
	// A gate whose Unique.Block is that of the form leaves the form's Rules and its
	// DuplicateCheckReady as they are. With another block, entering begins anew: the
	// form is covered at once when it has no submission. Answers that were entered
	// for an earlier block stay entered.
	UpdateForm(ctx context.Context, actor Actor, id ID, c FormChange) (Form, error)

	// TrashForm moves a form to the trash and ends its pending deliveries. The
	// revision stays. It MUST return ErrNotFound when the form is not accessible,
	// and else a *RevisionError when IfRevision does not hold.
	TrashForm(ctx context.Context, actor Actor, id ID, p TrashParams) error

	// RestoreForm takes a form out of the trash, into the given workspace or, when
	// that is zero, into the one it was in. The revision rises by one when that is
	// another workspace, else it stays. It MUST return ErrNotFound when the form
	// is not in the trash, and else ErrConflict when the workspace does not exist.
	RestoreForm(ctx context.Context, id, workspace ID, at time.Time) error
}
