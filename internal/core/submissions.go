package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/filter"
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
	if err := c.RequireRespondent(ctx, q.Respondent); err != nil {
		return storage.SubmissionPage{}, err
	}
	q.Since, q.MaxBytes = roundUpSince(q.Since), MaxPageBytes
	return storage.ListSubmissions(ctx, c.Storage, actor, form, q)
}

// SubmissionSearch selects submissions for FindSubmissions.
type SubmissionSearch struct {
	Since, Until time.Time
	After        *storage.Position
	Limit        int
	Within       time.Duration // approximate time limit; zero means no limit
	Respondent   string
	Filter       *filter.Filter
}

// FoundSubmissions is a page of the submissions that a filter selects.
type FoundSubmissions struct {
	Submissions []storage.Submission
	Read        int64             // how many submissions were read
	Next        *storage.Position // where to continue; nil at the end of the list
}

var errPageComplete = errors.New("the page is complete")

// FindSubmissions reads submissions, newest first, until it found enough, their answers exceed MaxPageBytes or the time
// is over. It reads at least one submission.
func (c *Core) FindSubmissions(ctx context.Context, actor storage.Actor, form storage.ID, p SubmissionSearch) (found FoundSubmissions, err error) {
	if err := CheckTimeRange(p.Since, p.Until); err != nil {
		return found, err
	}
	if err := c.RequireRespondent(ctx, p.Respondent); err != nil {
		return found, err
	}
	q := storage.SubmissionsParams{Since: roundUpSince(p.Since), Until: p.Until, Respondent: p.Respondent, MaxBytes: MaxPageBytes, Page: storage.Page{Limit: submissionsPerPage, After: p.After}}
	size, end := 0, time.Now().Add(p.Within)
	for more := true; more; {
		more, err = c.Storage.Submissions(ctx, actor, form, q, func(s *storage.Submission) error {
			if len(found.Submissions) == p.Limit || size > MaxPageBytes || p.Within > 0 && found.Read > 0 && time.Now().After(end) {
				return errPageComplete
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			found.Read++
			q.Page.After = &storage.Position{Time: s.SubmittedAt, ID: s.ID}
			answers, err := schema.DecodeAnswers(s.Answers)
			if err != nil {
				return err
			}
			selected, err := p.Filter.Matches(answers, s.Ending)
			if selected {
				copied := *s
				copied.Answers, copied.Metadata, copied.Hidden = slices.Clone(s.Answers), slices.Clone(s.Metadata), slices.Clone(s.Hidden)
				found.Submissions = append(found.Submissions, copied)
				size += len(s.Answers) + len(s.Metadata) + len(s.Hidden)
			}
			return err
		})
		if errors.Is(err, errPageComplete) {
			found.Next = q.Page.After
			return found, nil
		}
		if err != nil {
			return FoundSubmissions{}, err
		}
	}
	return found, nil
}

// roundUpSince rounds since up to a microsecond. Stores would round it down and include earlier submissions.
func roundUpSince(since time.Time) time.Time {
	if since.Year() < 1 { // for example the zero time minus an overlap
		return time.Time{}
	}
	return since.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}
