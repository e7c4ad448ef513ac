package storage

import (
	"context"
	"time"
)

// RemovalStore permanently removes data. A leased delivery can still be sent and finished.
type RemovalStore interface {
	// DeleteUser removes a user's keys, name, email address and memberships, and the workspaces that the user owns with
	// all their contents. These include forms in the trash, even if the user has already deleted their workspace. Forms
	// that the user created in other users' workspaces do not change. The data immediately disappears from every
	// method, and [Storage.Sweep] later removes the rows of forms and their records. Deleting an unknown user is not an
	// error. If at is zero, DeleteUser returns ErrInvalidValue.
	DeleteUser(ctx context.Context, user ID, at time.Time) error

	// PurgeForm purges one form, as Sweep does with old forms in the trash. It returns ErrNotFound for a form outside
	// the trash.
	PurgeForm(ctx context.Context, id ID) error

	// EraseSubmissions removes submissions of one form atomically, as DeleteSubmission does, and returns their number.
	// The form can be in the trash. It ignores missing submissions and submissions to other forms.
	EraseSubmissions(ctx context.Context, form ID, ids []ID) (int, error)

	// PurgeSubmissions removes old submissions as DeleteSubmission does, even if their form is in the trash. The
	// removed submissions still count against the current and later response limits. One call removes a batch, and the
	// caller repeats it while More is true.
	PurgeSubmissions(ctx context.Context, p PurgeSubmissionsParams) (PurgedSubmissions, error)
}

// BeforeDelete receives batches of submissions before they are permanently removed, so that the caller can first remove
// related data elsewhere. In these submissions, only FormID, ID and Answers are set. They must not be changed or
// retained. A changed submission occurs again for each of its earlier states, with the Answers of this state, in the same
// call or a different call.
//
// BeforeDelete can be slow and can fail. The store holds no lock while it runs. If BeforeDelete returns an error, the
// store's call ends, and these and all remaining submissions are retained. BeforeDelete can receive the same
// submissions again after an error, or in concurrent calls. Only submissions that it has received are removed. In a
// host's transaction, it is called before the commit. Only Sweep removes the submissions of purged forms, so that
// BeforeDelete receives all of them.
type BeforeDelete func(ctx context.Context, submissions []Submission) error

// PurgeSubmissionsParams are the parameters of PurgeSubmissions.
type PurgeSubmissionsParams struct {
	Forms  []ID
	Before time.Time // removes submissions with an earlier SubmittedAt
	Max    int       // limit for one call; if below 1, nothing is removed
	// BeforeDelete is called before the removal, if not nil. If set, a store can remove fewer submissions per call.
	BeforeDelete BeforeDelete
}

// PurgedSubmissions counts the records that one call removed.
type PurgedSubmissions struct {
	Submissions int
	More        bool // whether another call with the same parameters may have work to do
}
