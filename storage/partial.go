package storage

import (
	"context"
	"encoding/json"
	"time"
)

// Partial is a partial submission: answers that a respondent saved before submitting. The store does not interpret
// them.
type Partial struct {
	ID       ID
	FormID   ID
	Revision int64 // starts at 1 and increases by one with every save
	// Answers, Hidden and Metadata are JSON objects, exactly as sent. After submission they are nil, and Block and
	// Seconds are zero.
	Answers, Hidden, Metadata json.RawMessage
	Block                     string  // farthest block that the respondent reached
	Seconds                   float64 // time that the respondent has spent
	// Shared reports whether, at the last save, the form page stated that the form's users can read the answers.
	Shared bool
	// Verified reports whether a captcha was solved for a save. LinkIssued reports whether the respondent received a
	// link to continue. Once true, both stay true.
	Verified, LinkIssued       bool
	CreatedAt, SavedAt, EndsAt time.Time
	SubmissionID               ID // submission created from this partial submission; zero before submission
	// Respondent is the host's ID of the person who saves; see [Submission]. It does not change after the first save.
	Respondent string
}

// SavePartialParams are the parameters of SavePartial.
type SavePartialParams struct {
	// Partial is the record to save. FormID, ID and EndsAt are required. SavedAt is the time of the call by the
	// caller's clock, and becomes the CreatedAt of a new record. Revision and SubmissionID are ignored.
	Partial Partial
	Token   [32]byte // SHA-256 of the respondent's token
	// New creates a partial submission, whose token must be new. With a respondent, it replaces a submitted or expired
	// partial submission that has the same token. If New is false, an existing partial submission is changed, and
	// Partial.ID and Partial.Respondent are ignored.
	New        bool
	IfRevision int64 // revision that a changed partial submission must have; zero means no condition
	// Max limits the form's partial submissions that are neither submitted nor expired. A new one beyond the limit
	// replaces an existing one in the same step. Partial submissions at revision 1 without LinkIssued are replaced
	// first, newest first by (SavedAt, ID), because a program that floods the form creates only such partial
	// submissions. After that, the least recently saved partial submission is replaced. A value below 1 means no limit.
	// Each process can exceed Max by one batch.
	Max int
}

// PartialQuery selects partial submissions for a list.
type PartialQuery struct {
	Page     Page // by (SavedAt, ID)
	Now      time.Time
	Verified bool // selects only partial submissions with Verified set
}

// DeletePartialsParams selects partial submissions to remove. It must match IDs, Token or SavedBefore.
type DeletePartialsParams struct {
	IDs         []ID
	Token       [32]byte  // SHA-256 of the token; a zero value removes none
	SavedBefore time.Time // removes partial submissions last saved earlier; a zero value removes none
	Max         int       // limit for one call; if below 1, nothing is removed
}

// PartialStore stores partial submissions. They do not count in the funnel or against limits, and are not sent to
// webhooks. Once a partial submission's EndsAt has passed, every method returns ErrNotFound for it, and [Storage.Sweep]
// removes it. A form in the trash retains its partial submissions, but methods return ErrNotFound for them. A purge
// removes them. A store can leave all four methods to [Unimplemented].
type PartialStore interface {
	// SavePartial saves a partial submission and returns its new revision. It returns the first applicable error:
	//
	// 1. ErrNotFound if the form does not exist, is in the trash, or is not published.
	// 2. ErrNotFound if New is false and the token is unknown, belongs to another form, or has expired.
	// 3. ErrConflict if the partial submission was already submitted, or if New is true and the token is taken. See New for
	// respondents.
	// 4. A *RevisionError with Kind "partial" if IfRevision does not match.
	//
	// A store that crashes can lose the saves of the last second.
	SavePartial(ctx context.Context, p SavePartialParams) (revision int64, err error)

	// Partial returns one partial submission, or ErrNotFound. It does not check access. After submission, the record
	// has a SubmissionID and no answers. The form can be a draft.
	Partial(ctx context.Context, form ID, token [32]byte, now time.Time) (Partial, error)

	// Partials calls each for every partial submission on a page, newest first by (SavedAt, ID). It omits submitted and
	// expired ones. As in [SubmissionStore.Submissions], each record is valid only during its callback. Partials
	// returns ErrNotFound if the form is not accessible.
	Partials(ctx context.Context, actor Actor, form ID, q PartialQuery, each func(*Partial) error) (more bool, err error)

	// DeletePartials permanently removes partial submissions of one form in batches. The caller repeats the call while
	// more is true. It returns ErrNotFound if the form is not accessible; for the host, the form can be in the trash.
	// It ignores missing partial submissions.
	DeletePartials(ctx context.Context, actor Actor, form ID, p DeletePartialsParams) (n int, more bool, err error)
}
