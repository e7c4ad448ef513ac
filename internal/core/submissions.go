package core

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// MaxPageBytes limits the total size of the answers, metadata and hidden fields in a page. A page ends once it reaches
// this size.
const MaxPageBytes = 16 << 20

// CheckTimeRange returns an error if since is after until. Zero times mean no limit. It compares whole seconds, because
// submission times have that precision.
func CheckTimeRange(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && since.Truncate(time.Second).After(until) {
		return violation.New("query:since", schema.CodeOutOfRange, "must not be later than until")
	}
	return nil
}

// Submissions returns one page of a form's submissions. MaxPageBytes also limits the page.
func (c *Core) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
	if err := CheckTimeRange(q.Since, q.Until); err != nil {
		return storage.SubmissionPage{}, err
	}
	q.Since, q.MaxBytes = roundUpSince(q.Since), MaxPageBytes
	return storage.ListSubmissions(ctx, c.Storage, actor, form, q)
}

// roundUpSince rounds since up to a microsecond. Stores would round it down and include earlier submissions.
func roundUpSince(since time.Time) time.Time {
	if since.Year() < 1 { // for example the zero time minus an overlap
		return time.Time{}
	}
	return since.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}
