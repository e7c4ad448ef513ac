package core

import (
	"context"
	"math"
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// DefaultPeriod is the default period of metrics.
const DefaultPeriod = schema.Period30d

// CheckPeriod returns an error for an unknown period.
func CheckPeriod(period schema.Period) error {
	if _, ok := periodWindow(period, time.Time{}); !ok {
		return violation.New("query:period", schema.CodeNotAllowed, "must be one of today, yesterday, 24h, 7d, 30d, 3m, 6m, 12m, all")
	}
	return nil
}

// Metrics returns the metrics of a form.
func (c *Core) Metrics(ctx context.Context, actor storage.Actor, form storage.ID, period schema.Period) (schema.Metrics, error) {
	if err := CheckPeriod(period); err != nil {
		return schema.Metrics{}, err
	}
	if c.visits != nil {
		ctx = timeout.WithBudget(ctx)
		writing, end := timeout.WithTimeout(ctx, checkTimeout)
		_ = c.visits.Flush(writing) // Flush logs the error; the stored numbers are still useful
		end()
	}
	w, _ := periodWindow(period, c.Clock())
	funnel, err := c.Storage.Funnel(ctx, actor, form, w)
	if err != nil {
		return schema.Metrics{}, err
	}
	counts := funnel.Counters
	m := schema.Metrics{Period: period, Estimated: period == schema.PeriodAll && funnel.Lifetime != nil}
	if m.Estimated {
		counts.Views += funnel.Lifetime.Views
		counts.Starts += funnel.Lifetime.Starts
		counts.Submissions += funnel.Lifetime.Submissions
	}
	m.Views, m.Starts, m.Submissions = counts.Views, counts.Starts, counts.Submissions
	m.CompletionRate = completionRate(counts.Submissions, counts.Starts)
	return m, nil
}

// completionRate returns a percentage rounded to two decimals, or 0 if starts is 0. Submissions without a start can
// make it exceed 100.
func completionRate(submissions, starts int64) float64 {
	if starts == 0 {
		return 0
	}
	return math.Round(float64(submissions)/float64(starts)*10_000) / 100
}

// periodWindow returns the window of a period. Only the window for yesterday has an end. Days start at midnight in UTC.
func periodWindow(period schema.Period, now time.Time) (w storage.Window, ok bool) {
	now = now.UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch period {
	case schema.PeriodToday:
		w.From = midnight
	case schema.PeriodYesterday:
		w.From, w.To = midnight.AddDate(0, 0, -1), midnight
	case schema.Period24h:
		w.From = now.Truncate(time.Minute).Add(-24 * time.Hour)
	case schema.Period7d:
		w.From = midnight.AddDate(0, 0, -6)
	case schema.Period30d:
		w.From = midnight.AddDate(0, 0, -29)
	case schema.Period3m:
		w.From = monthsBefore(midnight, 3)
	case schema.Period6m:
		w.From = monthsBefore(midnight, 6)
	case schema.Period12m:
		w.From = monthsBefore(midnight, 12)
	case schema.PeriodAll:
	default:
		return w, false
	}
	return w, true
}

// PeriodQuery returns the start and end of a period in the service's time zone. The end is zero if the period
// includes now.
func (c *Core) PeriodQuery(period schema.Period) (since, until time.Time, err error) {
	if err := CheckPeriod(period); err != nil {
		return since, until, err
	}
	now := c.Clock().In(c.TimeZone)
	w, _ := periodWindow(period, calendar.UTCDay(now)) // uses calendar days, which have no time zone
	switch {
	case period == schema.Period24h:
		w, _ = periodWindow(period, now)
		return w.From, until, nil
	case !w.From.IsZero():
		since = calendar.StartOfDay(w.From, c.TimeZone)
	}
	if !w.To.IsZero() {
		until = calendar.StartOfDay(w.To, c.TimeZone).Add(-time.Microsecond)
	}
	return since, until, nil
}

func monthsBefore(day time.Time, n int) time.Time {
	first := time.Date(day.Year(), day.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(day.Day(), last.Day())-1)
}

// SetLifetimeCounters sets the totals from before the form's events were counted.
func (c *Core) SetLifetimeCounters(ctx context.Context, form storage.ID, n storage.Counters) error {
	const maxCount = 1 << 53 // larger JSON numbers lose precision
	var broken []error
	for path, count := range map[string]int64{"/views": n.Views, "/starts": n.Starts, "/submissions": n.Submissions} {
		if count < 0 || count > maxCount {
			broken = append(broken, violation.New(path, schema.CodeOutOfRange, "must be between 0 and 2^53"))
		}
	}
	if err := violation.Join(broken...); err != nil {
		return err
	}
	return c.Storage.SetLifetimeCounters(ctx, form, n)
}
