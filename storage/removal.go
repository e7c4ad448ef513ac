package storage

import (
	"context"
	"time"
)

// RemovalStore removes for good what belongs to somebody. A delivery that is under a
// lease may still be sent and finished.
type RemovalStore interface {
	// DeleteUser removes a user: their keys with the user's name and e-mail address,
	// their memberships, and the workspaces that they own with everything in them. That
	// includes forms in the trash, also those that came there when the user deleted
	// their workspace. Nothing else is touched: not the forms that the user made in
	// other people's workspaces. All of it is gone at once for every method; the rows
	// of forms and of what belongs to them are removed by [Storage.Sweep]. An unknown
	// user is no error. The zero time is ErrInvalidValue.
	DeleteUser(ctx context.Context, user ID, at time.Time) error

	// PurgeForm purges one form, as Sweep purges forms that are long in the trash. It
	// returns ErrNotFound when the form is not in the trash.
	PurgeForm(ctx context.Context, id ID) error

	// EraseSubmissions removes submissions of one form as DeleteSubmission does, all of
	// them or none, and returns how many there were. The form may be in the trash.
	// Submissions that are not there, or of another form, are passed over.
	EraseSubmissions(ctx context.Context, form ID, ids []ID) (int, error)

	// PurgeSubmissions removes old submissions, of forms in the trash too, as
	// DeleteSubmission does. Each of them still counts against the response limit of today
	// and every later limit. It does one bounded piece, and the caller repeats it while
	// More holds.
	PurgeSubmissions(ctx context.Context, p PurgeSubmissionsParams) (PurgedSubmissions, error)
}

// BeforeDelete receives submissions that a call is about to remove for good, in batches, so that
// the caller first removes what belongs to them elsewhere. Only FormID, ID and Answers are set. It
// may take long and fail: a store holds no lock in the meantime, and with an error the call ends with
// that error, while these submissions and all that follow stay. After an error, or in concurrent
// calls, BeforeDelete receives the same submissions again. Only those are removed that it has
// received. It changes nothing in the submissions and does not retain them. In a host's
// transaction it is called before the commit.
//
// Only Sweep removes the submissions of purged forms, so that BeforeDelete receives all of them.
type BeforeDelete func(ctx context.Context, submissions []Submission) error

// PurgeSubmissionsParams says what to remove.
type PurgeSubmissionsParams struct {
	Forms  []ID
	Before time.Time // submissions with an earlier SubmittedAt
	Max    int       // of submissions. Below 1: nothing is done
	// BeforeDelete is called before they are removed. A store may then remove fewer at a time. If
	// nil, nothing is called.
	BeforeDelete BeforeDelete
}

// PurgedSubmissions counts the records that one call removed.
type PurgedSubmissions struct {
	Submissions int
	More        bool // another call with the same parameters may have work to do
}
