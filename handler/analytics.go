package handler

import (
	"math"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	defaultPeriod = "30d"
	allTime       = "all"
)

func getMetrics(c *call) error {
	q := c.query()
	period, ok := q.get("period")
	if !ok {
		period = defaultPeriod
	}
	from, to, ok := window(period, c.h.config.Now())
	if !ok {
		q.reject("period", schema.CodeNotAllowed, "must be one of today, yesterday, 24h, 7d, 30d, 3m, 6m, 12m, all")
	}
	if err := q.err(); err != nil {
		return err
	}
	form, err := c.idParam("formId")
	if err != nil {
		return err
	}
	funnel, err := c.h.storage.Funnel(c.ctx(), c.actor(), form, storage.Window{From: from, To: to})
	if err != nil {
		return err
	}

	counts := funnel.Counts
	estimated := period == allTime && funnel.Lifetime != nil
	if estimated {
		counts.Views += funnel.Lifetime.Views
		counts.Starts += funnel.Lifetime.Starts
		counts.Submissions += funnel.Lifetime.Submissions
	}
	return c.body(200, func(w *jsontree.Writer) {
		w.Object()
		w.Name("period").String(period)
		w.Name("estimated").Bool(estimated)
		w.Name("views").Int(counts.Views)
		w.Name("starts").Int(counts.Starts)
		w.Name("submissions").Int(counts.Submissions)
		w.Name("completion_rate").Float(completionRate(counts.Submissions, counts.Starts))
		w.EndObject()
	})
}

// completionRate is a percentage with two decimals: 0 when nobody started, and
// above 100 when responses came in without a start.
func completionRate(submissions, starts int64) float64 {
	if starts == 0 {
		return 0
	}
	return math.Round(float64(submissions)/float64(starts)*10_000) / 100
}

// window is the time that a period covers, from <= t < to, in UTC. A zero bound
// is none: only yesterday ends before now.
func window(period string, now time.Time) (from, to time.Time, ok bool) {
	now = now.UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch period {
	case "today":
		from = midnight
	case "yesterday":
		from, to = midnight.AddDate(0, 0, -1), midnight
	case "24h":
		from = now.Truncate(time.Minute).Add(-24 * time.Hour)
	case "7d":
		from = midnight.AddDate(0, 0, -6)
	case "30d":
		from = midnight.AddDate(0, 0, -29)
	case "3m":
		from = monthsBefore(midnight, 3)
	case "6m":
		from = monthsBefore(midnight, 6)
	case "12m":
		from = monthsBefore(midnight, 12)
	case allTime:
	default:
		return from, to, false
	}
	return from, to, true
}

// monthsBefore is the same day n months earlier, or the last day of that month
// when it is shorter.
func monthsBefore(day time.Time, n int) time.Time {
	first := time.Date(day.Year(), day.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(day.Day(), last.Day())-1)
}
