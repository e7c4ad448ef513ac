package storage

import (
	"context"
	"encoding/json"
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

// Leaving gets the Answers of submissions that a call is about to remove for good, some at a
// time, so that the caller removes first what they refer to elsewhere. It may take long and
// fail: a store holds no lock meanwhile, and with an error the call ends with that error, while
// these submissions and all that follow stay. After a fault, or in two calls at once, Leaving
// gets the same submissions again. Only those are removed that it got. It changes nothing in
// the answers and keeps none. In a host's transaction it is called before the commit.
//
// What a form is purged with is removed by Sweep alone, so that it gets them all.
type Leaving func(ctx context.Context, answers []json.RawMessage) error

// PurgeSubmissionsParams says what to remove.
type PurgeSubmissionsParams struct {
	Forms  []ID
	Before time.Time // submissions with an earlier SubmittedAt
	Max    int       // of submissions. Below 1: nothing is done
	// Leaving is told before they go. A store may then remove fewer at a time. Nil: nobody is.
	Leaving Leaving
}

// PurgedSubmissions counts the records that one call removed.
type PurgedSubmissions struct {
	Submissions int
	More        bool // another call with the same parameters may have work to do
}
