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

// DefaultPeriod is the default period of metrics.
const DefaultPeriod = schema.Period30d

// Metrics holds a form's funnel for a period.
type Metrics struct {
	Period schema.Period
	// Estimated says whether the numbers include lifetime counters from before the form's events were counted.
	Estimated                  bool
	Views, Starts, Submissions int64
	CompletionRate             float64 // Submissions as a percentage of Starts, rounded to two decimals; 0 if Starts is 0
}

// CheckPeriod returns an error for an unknown period.
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

// Metrics returns the metrics of a form.
func (c *Core) Metrics(ctx context.Context, actor storage.Actor, form storage.ID, period schema.Period) (Metrics, error) {
	if err := CheckPeriod(period); err != nil {
		return Metrics{}, err
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

// completionRate returns a percentage rounded to two decimals, or 0 if starts is 0. Submissions without a start can
// make it exceed 100.
func completionRate(submissions, starts int64) float64 {
	if starts == 0 {
		return 0
	}
	return math.Round(float64(submissions)/float64(starts)*10_000) / 100
}

// periods lists the supported periods. A window is computed from the time and the preceding midnight in UTC. Only the
// window for yesterday has an end.
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

// PeriodQuery returns the start and end of a period in the service's time zone. The end is zero if the period
// includes now.
func (c *Core) PeriodQuery(period schema.Period) (since, until time.Time, err error) {
	if err := CheckPeriod(period); err != nil {
		return since, until, err
	}
	zone := cmp.Or(c.TimeZone, time.UTC)
	now := c.Clock().In(zone)
	w, _ := periodWindow(period, calendar.UTCDay(now)) // uses calendar days, which have no time zone
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
