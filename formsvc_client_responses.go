package formsvc

import (
	"context"
	"iter"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// SubmissionQuery selects responses of a form. The zero value selects all.
type SubmissionQuery struct {
	// Since and Until bound SubmittedAt; both are included. Zero: no bound.
	Since, Until time.Time
	// Limit ends the list after so many responses. Below 1: no limit.
	Limit int
}

// Submissions lists the responses to a form, newest first. It holds one page in memory
// and nothing of the storage between two of them.
func (c Client) Submissions(ctx context.Context, form ID, q SubmissionQuery) iter.Seq2[Submission, error] {
	return c.submissions(ctx, form, q, clientPage)
}

// submissions is Submissions with size responses a page.
func (c Client) submissions(ctx context.Context, form ID, q SubmissionQuery, size int) iter.Seq2[Submission, error] {
	return list(ctx, q.Limit, size, func(page storage.Page) ([]Submission, bool, error) {
		found, err := c.core().Submissions(ctx, c.who, form, storage.SubmissionsParams{Since: q.Since, Until: q.Until, Page: page})
		return found.Submissions, found.More, err
	}, func(s *Submission) storage.Position { return storage.Position{Time: s.SubmittedAt, ID: s.ID} })
}

// Submission returns one response to a form.
func (c Client) Submission(ctx context.Context, form, id ID) (Submission, error) {
	return c.s.storage.Submission(ctx, c.who, form, id)
}

// DeleteSubmission removes one response for good and ends its pending deliveries.
func (c Client) DeleteSubmission(ctx context.Context, form, id ID) error {
	return c.s.storage.DeleteSubmission(ctx, c.who, form, id)
}

// Period is a time that [Metrics] are of, a string as the API takes it: today, yesterday,
// 24h, 7d, 30d, 3m, 6m, 12m or all. Days are those of UTC.
type Period = core.Period

// The periods. All but yesterday end now.
const (
	PeriodToday     = core.PeriodToday
	PeriodYesterday = core.PeriodYesterday
	Period24h       = core.Period24h // 24 hours
	Period7d        = core.Period7d  // today and the 6 days before
	Period30d       = core.Period30d // today and the 29 days before
	Period3m        = core.Period3m  // since the same day 3 months ago
	Period6m        = core.Period6m
	Period12m       = core.Period12m
	PeriodAll       = core.PeriodAll // with those of [Service.SetLifetimeCounters]
)

// Metrics are the figures of a form's funnel over a period.
type Metrics struct {
	Period Period
	// Estimated says that the lifetime counters of [Service.SetLifetimeCounters] are part
	// of the figures.
	Estimated                  bool
	Views, Starts, Submissions int64
	// CompletionRate is Submissions in percent of Starts, with two decimals; 0 when
	// nobody started.
	CompletionRate float64
}

// Metrics returns the figures of a period. "" is [Period30d].
func (c Client) Metrics(ctx context.Context, form ID, period Period) (Metrics, error) {
	if period == "" {
		period = core.DefaultPeriod
	}
	m, err := c.core().Metrics(ctx, c.who, form, period)
	return Metrics(m), err
}
