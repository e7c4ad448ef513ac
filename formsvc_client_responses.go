package formsvc

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/summary"
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
	return c.core().Storage.Submission(ctx, c.who, form, id)
}

// DeleteSubmission removes one response for good and ends its pending deliveries.
func (c Client) DeleteSubmission(ctx context.Context, form, id ID) error {
	return c.core().Storage.DeleteSubmission(ctx, c.who, form, id)
}

// Summary counts the answers to a form, in one pass over the responses of q, newest
// first. Its memory grows with the blocks and choices, and up to 10,000 days or gone
// choices a block, not with the responses. All numbers in it are finite. It returns a
// [*schema.Error] when the responses have more than 16,384 different fields.
func (c Client) Summary(ctx context.Context, form ID, q SubmissionQuery) (Summary, error) {
	f, err := c.core().Storage.Form(ctx, c.who, form)
	if err != nil {
		return Summary{}, err
	}
	content, err := DecodeForm(f)
	if err != nil {
		return Summary{}, err
	}
	t := summary.New(content.Blocks, content.HiddenFields, content.Variables)
	for s, err := range c.submissions(ctx, form, q, export.PageSize) {
		if err != nil {
			return Summary{}, err
		}
		answers, err := DecodeAnswers(s)
		if err != nil {
			return Summary{}, err
		}
		if err := t.Add(answers); err != nil {
			return Summary{}, err
		}
	}
	return summaryOf(t), nil
}

// summaryOf is a tally as it is returned.
func summaryOf(t *summary.Tally) Summary {
	s := Summary{Responses: t.Responses}
	for _, b := range t.Blocks {
		to := BlockSummary{
			ID: b.ID, Type: b.Type, Label: b.Label, Gone: b.Gone, Answered: b.Answered, Skipped: t.Responses - b.Answered,
			Choices: choiceCounts(b.Choices), Other: b.Other, NPS: (*NPSSummary)(b.NPS), Unlisted: b.Unlisted,
		}
		for _, r := range b.Rows {
			to.Rows = append(to.Rows, RowSummary{ID: r.ID, Label: r.Label, Choices: choiceCounts(r.Choices)})
		}
		if n := &b.Numbers; n.Count > 0 {
			to.Numbers = &NumberSummary{
				Count: n.Count, Min: n.Min, Max: n.Max, Mean: n.Mean(), StdDev: n.StdDev(), Median: n.Median(), Exact: n.Exact(),
			}
			for _, bin := range n.Histogram(summary.MaxBins) {
				to.Numbers.Histogram = append(to.Numbers.Histogram, Bin(bin))
			}
		}
		for _, day := range slices.Sorted(maps.Keys(b.Days)) {
			to.Days = append(to.Days, DayCount{Day: day, Count: b.Days[day]})
		}
		s.Blocks = append(s.Blocks, to)
	}
	return s
}

func choiceCounts(choices summary.Choices) (list []ChoiceCount) {
	for _, c := range choices.Counts() {
		list = append(list, ChoiceCount(c))
	}
	return list
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
