package core

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// DefaultPeriod is the period of metrics when none is named.
const DefaultPeriod = schema.Period30d

// Metrics are the figures of a form's funnel over a period.
type Metrics struct {
	Period schema.Period
	// Estimated says that lifetime counters from before the form's events were counted
	// are part of the figures.
	Estimated                  bool
	Views, Starts, Submissions int64
	// CompletionRate is Submissions in percent of Starts, with two decimals; 0 when
	// nobody started.
	CompletionRate float64
}

// CheckPeriod returns the fault of a period that there is not.
func CheckPeriod(period schema.Period) error {
	if _, ok := periodWindow(period, time.Time{}); !ok {
		names := make([]string, len(periods))
		for i, p := range periods {
			names[i] = string(p.name)
		}
		return violation.New("query:period", schema.CodeNotAllowed, "must be one of "+strings.Join(names, ", "))
	}
	return nil
}

// Metrics returns the figures of a period.
func (c *Core) Metrics(ctx context.Context, actor storage.Actor, form storage.ID, period schema.Period) (Metrics, error) {
	if err := CheckPeriod(period); err != nil {
		return Metrics{}, err
	}
	if c.visits != nil {
		ctx = timeout.WithBudget(ctx)
		writing, end := timeout.WithTimeout(ctx, checkTimeout)
		_ = c.visits.Flush(writing) // it has logged its error, and what is stored is true all the same
		end()
	}
	w, _ := periodWindow(period, c.Clock())
	funnel, err := c.Storage.Funnel(ctx, actor, form, w)
	if err != nil {
		return Metrics{}, err
	}
	counts := funnel.Counters
	m := Metrics{Period: period, Estimated: period == schema.PeriodAll && funnel.Lifetime != nil}
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

// periods are all that metrics have: each with its window, from the time and from the
// midnight before it, both in UTC. Only yesterday ends before now.
var periods = []struct {
	name   schema.Period
	window func(now, midnight time.Time) storage.Window
}{
	{schema.PeriodToday, func(_, midnight time.Time) storage.Window { return storage.Window{From: midnight} }},
	{schema.PeriodYesterday, func(_, midnight time.Time) storage.Window {
		return storage.Window{From: midnight.AddDate(0, 0, -1), To: midnight}
	}},
	{schema.Period24h, func(now, _ time.Time) storage.Window {
		return storage.Window{From: now.Truncate(time.Minute).Add(-24 * time.Hour)}
	}},
	{schema.Period7d, func(_, midnight time.Time) storage.Window { return storage.Window{From: midnight.AddDate(0, 0, -6)} }},
	{schema.Period30d, func(_, midnight time.Time) storage.Window {
		return storage.Window{From: midnight.AddDate(0, 0, -29)}
	}},
	{schema.Period3m, func(_, midnight time.Time) storage.Window { return storage.Window{From: monthsBefore(midnight, 3)} }},
	{schema.Period6m, func(_, midnight time.Time) storage.Window { return storage.Window{From: monthsBefore(midnight, 6)} }},
	{schema.Period12m, func(_, midnight time.Time) storage.Window { return storage.Window{From: monthsBefore(midnight, 12)} }},
	{schema.PeriodAll, func(_, _ time.Time) storage.Window { return storage.Window{} }},
}

// periodWindow is the time that a period covers, in UTC.
func periodWindow(period schema.Period, now time.Time) (w storage.Window, ok bool) {
	now = now.UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	for _, p := range periods {
		if p.name == period {
			return p.window(now, midnight), true
		}
	}
	return storage.Window{}, false
}

// During returns the first and the last moment of a period whose days are those of the service's zone.
// The last one is zero if the period has not ended.
func (c *Core) PeriodQuery(period schema.Period) (since, until time.Time, err error) {
	if err := CheckPeriod(period); err != nil {
		return since, until, err
	}
	zone := cmp.Or(c.TimeZone, time.UTC)
	now := c.Clock().In(zone)
	w, _ := periodWindow(period, calendar.Day(now)) // of days
	switch {
	case period == schema.Period24h:
		w, _ = periodWindow(period, now)
		return w.From, until, nil
	case !w.From.IsZero():
		since = calendar.StartOfDay(w.From, zone)
	}
	if !w.To.IsZero() {
		until = calendar.StartOfDay(w.To, zone).Add(-time.Microsecond)
	}
	return since, until, nil
}

// monthsBefore is the same day n months earlier, or the last day of that month when it
// is shorter.
func monthsBefore(day time.Time, n int) time.Time {
	first := time.Date(day.Year(), day.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(day.Day(), last.Day())-1)
}

// SetLifetimeCounters sets totals from before the form's events were counted.
func (c *Core) SetLifetimeCounters(ctx context.Context, form storage.ID, n storage.Counters) error {
	const most = 1 << 53 // beyond it, JSON numbers lose their last digits
	var broken []error
	for path, count := range map[string]int64{"/views": n.Views, "/starts": n.Starts, "/submissions": n.Submissions} {
		if count < 0 || count > most {
			broken = append(broken, violation.New(path, schema.CodeOutOfRange, "must be between 0 and 2^53"))
		}
	}
	if err := violation.Join(broken...); err != nil {
		return err
	}
	return c.Storage.SetLifetimeCounters(ctx, form, n)
}
