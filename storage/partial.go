package storage

import (
	"context"
	"encoding/json"
	"time"
)

// Partial is a partial submission: answers that a respondent saved before submitting. The store does not interpret
// the answers.
type Partial struct {
	ID       ID
	FormID   ID
	Revision int64 // starts at 1 and increases by one with every save
	// Answers, Hidden and Metadata are JSON objects, as they were sent. After the submission they are nil, and Block
	// and Seconds are zero.
	Answers, Hidden, Metadata json.RawMessage
	Block                     string  // farthest block that the respondent reached
	Seconds                   float64 // time that the respondent has spent
	// Shared reports whether the form page stated at the last save that the form's users can read the answers.
	Shared bool
	// Verified reports whether a captcha was solved for a save. LinkIssued reports whether the respondent received a
	// link to continue. Once set, both stay true.
	Verified, LinkIssued       bool
	CreatedAt, SavedAt, EndsAt time.Time
	SubmissionID               ID // submission that was created from it; zero before the submission
}

// SavePartialParams are the parameters of SavePartial.
type SavePartialParams struct {
	// Partial is the record to save. FormID, ID and EndsAt are required. SavedAt is when the method is called, by the
	// caller's clock, and becomes CreatedAt of a new record. Revision and SubmissionID are ignored.
	Partial Partial
	Token   [32]byte // SHA-256 of the respondent's token
	// New creates a partial submission, whose token must be new. Otherwise an existing one is changed, and Partial.ID
	// is ignored.
	New        bool
	IfRevision int64 // revision that a changed partial submission must have; zero means no condition
	// Max limits the form's partial submissions that are neither submitted nor expired. A new one beyond the limit
	// replaces another in the same step. Partial submissions at revision 1 without LinkIssued are replaced first,
	// starting with the newest by (SavedAt, ID), because a program that fills the form creates only these. Afterwards
	// the others are replaced, in the order of their last save. A value below 1 means no limit. Several processes may
	// exceed the limit by a batch each.
	Max int
}

// PartialQuery selects partial submissions for a list.
type PartialQuery struct {
	Page     Page // by (SavedAt, ID)
	Now      time.Time
	Verified bool // selects only partial submissions with Verified set
}

// DeletePartialsParams selects the partial submissions to remove: those that match any of the set fields.
type DeletePartialsParams struct {
	IDs         []ID
	Token       [32]byte  // SHA-256 of the token; a zero value removes none
	SavedBefore time.Time // removes those whose last save is earlier; a zero value removes none
	Max         int       // limit for one call; below 1, nothing is removed
}

// PartialStore stores partial submissions. They do not count in the funnel or against limits, and are not sent to
// webhooks. After its EndsAt, a partial submission is ErrNotFound for every method, and [Storage.Sweep] removes it. A
// form in the trash retains its partial submissions, which are ErrNotFound in the meantime. A purge removes them. A
// store can omit all four methods, as [Unimplemented] does.
type PartialStore interface {
	// SavePartial saves a partial submission and returns its new revision. It checks in this order:
	//
	// 1. ErrNotFound if the form does not exist, is in the trash, or is not published.
	// 2. ErrNotFound if the token of a change is unknown, belongs to another form, or has expired.
	// 3. ErrConflict if it was submitted, or if New is set and the token is taken.
	// 4. A *RevisionError with Kind "partial" if IfRevision does not match.
	//
	// In a crash, a store may lose the saves of the last second.
	SavePartial(ctx context.Context, p SavePartialParams) (revision int64, err error)

	// Partial returns one partial submission, or ErrNotFound, without an access check. After the submission it has a
	// SubmissionID and no answers. The form can be a draft.
	Partial(ctx context.Context, form ID, token [32]byte, now time.Time) (Partial, error)

	// Partials calls each for every partial submission of a page that is neither submitted nor expired, newest first by
	// (SavedAt, ID). The records are valid only during the call, as in [SubmissionStore.Submissions]. It returns
	// ErrNotFound if the form is not accessible.
	Partials(ctx context.Context, actor Actor, form ID, q PartialQuery, each func(*Partial) error) (more bool, err error)

	// DeletePartials permanently removes partial submissions of one form in batches. The caller repeats the call while
	// more is true. It returns ErrNotFound if the form is not accessible; for the host, the form can be in the trash.
	// It ignores missing partial submissions.
	DeletePartials(ctx context.Context, actor Actor, form ID, p DeletePartialsParams) (n int, more bool, err error)
}
