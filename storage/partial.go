package storage

import (
	"context"
	"encoding/json"
	"time"
)

// Partial is a response that a respondent saved half-way. The store does not look into its
// answers.
type Partial struct {
	ID       ID
	FormID   ID
	Revision int64 // starts at 1 and rises by one with every save
	// Answers, Hidden and Metadata are objects, as they were sent. They are nil once the response
	// is submitted, and Block and Seconds are zero.
	Answers, Hidden, Metadata json.RawMessage
	Block                     string  // the farthest one that the respondent came to
	Seconds                   float64 // that the respondent took so far
	// Shared says that the respondent was told, when this was saved, that the owners of the
	// form can read it.
	Shared bool
	// Verified says that a captcha was solved for one of its saves. LinkIssued says that the
	// respondent received a link to it. Both stay once a save has set them.
	Verified, LinkIssued       bool
	CreatedAt, SavedAt, EndsAt time.Time
	// SubmissionID is the response that was submitted from it. Zero: none yet.
	SubmissionID ID
}

// SavePartialParams says what to save.
type SavePartialParams struct {
	// Partial has what is saved. FormID, ID and EndsAt are required. SavedAt is the time of the
	// call, by the caller's clock, and CreatedAt of a new one. Revision and SubmissionID are
	// ignored.
	Partial Partial
	// Token is the SHA-256 of what the respondent holds.
	Token [32]byte
	// New makes one; its token is new. Otherwise one is changed, and Partial.ID is ignored.
	New bool
	// IfRevision makes a change conditional. A zero value means no condition.
	IfRevision int64
	// Max limits the partial submissions of the form that are neither submitted nor over. A new
	// one beyond the limit replaces another in the same step. Those at revision 1 without
	// LinkIssued are replaced first, the newest of them by (SavedAt, ID) first, because a program
	// that fills the form creates only these. The others are replaced afterwards, in the order of
	// their last save. A value below 1 means no limit. A store with several processes may exceed
	// it by a batch for each of them.
	Max int
}

// PartialQuery selects half responses for a list.
type PartialQuery struct {
	Page Page // by (SavedAt, ID)
	Now  time.Time
	// Verified leaves out those that are not Verified.
	Verified bool
}

// DeletePartialsParams says which half responses are removed: those that any of the set members
// names.
type DeletePartialsParams struct {
	IDs []ID
	// Token removes the one that it belongs to. Zero: none.
	Token [32]byte
	// SavedBefore removes those that were saved last before it. Zero: none.
	SavedBefore time.Time
	Max         int // that one call removes. Below 1: nothing is done
}

// PartialStore keeps half responses. They are counted nowhere: not in the funnel, not against a
// limit, not for webhooks. A half response whose EndsAt has come is ErrNotFound for every method,
// and [Storage.Sweep] removes it. A form in the trash keeps its half responses, which are
// ErrNotFound meanwhile, and a purged one loses them.
//
// A store may leave out all four methods, as [Unimplemented] has them.
type PartialStore interface {
	// SavePartial saves a half response and returns its new revision. In this order:
	//
	//  1. ErrNotFound when there is no such form, it is in the trash, or it is not published.
	//  2. ErrNotFound when the token of a change is unknown, of another form, or over.
	//  3. ErrConflict when it was submitted, or when New is set and the token is taken.
	//  4. A *RevisionError when IfRevision does not hold; Kind is "partial".
	//
	// A store may lose what was saved in the last second when it crashes.
	SavePartial(ctx context.Context, p SavePartialParams) (revision int64, err error)

	// Partial returns one half response, or ErrNotFound, for any caller. One that was submitted
	// has a SubmissionID and nothing of the answers. The form may be a draft.
	Partial(ctx context.Context, form ID, token [32]byte, now time.Time) (Partial, error)

	// Partials calls each for every half response of a page that is neither submitted nor over,
	// newest first by (SavedAt, ID). It lends them as [SubmissionStore.Submissions] lends its
	// records. It returns ErrNotFound when the form is not accessible.
	Partials(ctx context.Context, actor Actor, form ID, q PartialQuery, each func(*Partial) error) (more bool, err error)

	// DeletePartials removes half responses of one form for good, in pieces: the caller repeats
	// it while more holds. It returns ErrNotFound when the form is not accessible; for the host
	// the form may be in the trash. Those that are not there are passed over.
	DeletePartials(ctx context.Context, actor Actor, form ID, p DeletePartialsParams) (n int, more bool, err error)
}
