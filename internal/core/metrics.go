package core

import (
	"context"
	"math"
	"time"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const allTime = "all"

// DefaultPeriod is the period of metrics when none is named.
const DefaultPeriod = "30d"

// Metrics are the figures of a form's funnel over a period.
type Metrics struct {
	Period string
	// Estimated says that lifetime counters from before the form's events were counted
	// are part of the figures.
	Estimated                  bool
	Views, Starts, Submissions int64
	// CompletionRate is Submissions in percent of Starts, with two decimals; 0 when
	// nobody started.
	CompletionRate float64
}

// CheckPeriod returns the fault of a period that there is not.
func CheckPeriod(period string) error {
	if _, ok := window(period, time.Time{}); !ok {
		return fault("query:period", schema.CodeNotAllowed, "must be one of today, yesterday, 24h, 7d, 30d, 3m, 6m, 12m, all")
	}
	return nil
}

// Metrics returns the figures of a period.
func (c *Core) Metrics(ctx context.Context, who storage.Actor, form storage.ID, period string) (Metrics, error) {
	if err := CheckPeriod(period); err != nil {
		return Metrics{}, err
	}
	w, _ := window(period, c.Clock())
	funnel, err := c.Storage.Funnel(ctx, who, form, w)
	if err != nil {
		return Metrics{}, err
	}
	counts := funnel.Counts
	m := Metrics{Period: period, Estimated: period == allTime && funnel.Lifetime != nil}
	if m.Estimated {
		counts.Views += funnel.Lifetime.Views
		counts.Starts += funnel.Lifetime.Starts
		counts.Submissions += funnel.Lifetime.Submissions
	}
	m.Views, m.Starts, m.Submissions = counts.Views, counts.Starts, counts.Submissions
	m.CompletionRate = completionRate(counts.Submissions, counts.Starts)
	return m, nil
}

// completionRate is a percentage with two decimals: 0 when nobody started, and above
// 100 when responses came in without a start.
func completionRate(submissions, starts int64) float64 {
	if starts == 0 {
		return 0
	}
	return math.Round(float64(submissions)/float64(starts)*10_000) / 100
}

// window is the time that a period covers, in UTC. Only yesterday ends before now.
func window(period string, now time.Time) (w storage.Window, ok bool) {
	now = now.UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch period {
	case "today":
		w.From = midnight
	case "yesterday":
		w.From, w.To = midnight.AddDate(0, 0, -1), midnight
	case "24h":
		w.From = now.Truncate(time.Minute).Add(-24 * time.Hour)
	case "7d":
		w.From = midnight.AddDate(0, 0, -6)
	case DefaultPeriod:
		w.From = midnight.AddDate(0, 0, -29)
	case "3m":
		w.From = monthsBefore(midnight, 3)
	case "6m":
		w.From = monthsBefore(midnight, 6)
	case "12m":
		w.From = monthsBefore(midnight, 12)
	case allTime:
	default:
		return w, false
	}
	return w, true
}

// monthsBefore is the same day n months earlier, or the last day of that month when it
// is shorter.
func monthsBefore(day time.Time, n int) time.Time {
	first := time.Date(day.Year(), day.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(day.Day(), last.Day())-1)
}
