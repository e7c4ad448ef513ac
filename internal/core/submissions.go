package core

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// MaxPageBytes bounds the answers, metadata and hidden fields of a page. A page that
// reaches this size ends there and says that there is more.
const MaxPageBytes = 16 << 20

// CheckRange returns the fault of a range of time that ends before it begins. Zero times
// are no bounds. They are compared in whole seconds, as submissions have them.
func CheckRange(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && since.Truncate(time.Second).After(until) {
		return violation.New("query:since", schema.CodeOutOfRange, "must not be later than until")
	}
	return nil
}

// Submissions returns one page of a form's submissions, bounded in bytes too.
func (c *Core) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
	if err := CheckRange(q.Since, q.Until); err != nil {
		return storage.SubmissionPage{}, err
	}
	q.Since, q.MaxBytes = storedSince(q.Since), MaxPageBytes
	return storage.ListSubmissions(ctx, c.Storage, actor, form, q)
}

// storedSince returns since as a time that submissions can have. Stores truncate times to
// microseconds, and that would include what is before it.
func storedSince(since time.Time) time.Time {
	if since.Year() < 1 { // as of a program that subtracts an overlap from the zero time
		return time.Time{}
	}
	return since.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}
