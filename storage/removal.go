package storage

import (
	"context"
	"time"
)

// RemovalStore permanently removes data. A delivery under a lease may still be sent and finished.
type RemovalStore interface {
	// DeleteUser removes a user with their keys, name, email address and memberships. It also removes the workspaces
	// that they own, with all contents. This includes forms in the trash, and forms that moved there when the user
	// deleted their workspace. Forms that the user created in other users' workspaces are not changed. For every
	// method, the data is gone immediately. [Storage.Sweep] removes the rows of forms and their records later. An
	// unknown user is not an error. A zero time is ErrInvalidValue.
	DeleteUser(ctx context.Context, user ID, at time.Time) error

	// PurgeForm purges one form, as Sweep does for old forms in the trash. It returns ErrNotFound if the form is not in
	// the trash.
	PurgeForm(ctx context.Context, id ID) error

	// EraseSubmissions removes submissions of one form atomically, as DeleteSubmission does, and returns their number.
	// The form can be in the trash. Missing submissions and submissions of other forms are ignored.
	EraseSubmissions(ctx context.Context, form ID, ids []ID) (int, error)

	// PurgeSubmissions removes old submissions as DeleteSubmission does, also of forms in the trash. The removed
	// submissions still count against the current and later response limits. One call removes a batch, and the caller
	// repeats it while More is true.
	PurgeSubmissions(ctx context.Context, p PurgeSubmissionsParams) (PurgedSubmissions, error)
}

// BeforeDelete receives batches of submissions before they are permanently removed, so that the caller can first remove
// related data elsewhere. Only FormID, ID and Answers are set. It must not change or retain the submissions.
//
// BeforeDelete can be slow and can fail. A store holds no lock in the meantime. An error ends the call, and these and
// all remaining submissions are retained. After an error and in concurrent calls, it receives the same submissions
// again. Only submissions that it has received are removed. In a host's transaction it is called before the commit.
// Only Sweep removes the submissions of purged forms, so that BeforeDelete receives all of them.
type BeforeDelete func(ctx context.Context, submissions []Submission) error

// PurgeSubmissionsParams are the parameters of PurgeSubmissions.
type PurgeSubmissionsParams struct {
	Forms  []ID
	Before time.Time // removes submissions with an earlier SubmittedAt
	Max    int       // limit for one call; below 1, nothing is removed
	// BeforeDelete is called before the removal, if not nil. A store may then remove fewer submissions at a time.
	BeforeDelete BeforeDelete
}

// PurgedSubmissions counts the records that one call removed.
type PurgedSubmissions struct {
	Submissions int
	More        bool // another call with the same parameters may have work to do
}
