package core

import (
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func TestWindows(t *testing.T) {
	t.Parallel()
	day := func(s string) time.Time {
		d, err := time.Parse("2006-01-02 15:04", s)
		expect.NoError(t, err)
		return d
	}
	for _, c := range []struct{ now, period, from, to string }{
		{"2026-11-20 08:33", "today", "2026-11-20 00:00", ""},
		{"2026-11-20 08:33", "yesterday", "2026-11-19 00:00", "2026-11-20 00:00"},
		{"2026-11-20 08:33", "24h", "2026-11-19 08:33", ""},
		{"2026-11-20 08:33", "7d", "2026-11-14 00:00", ""},
		{"2026-11-20 08:33", "30d", "2026-10-22 00:00", ""},
		{"2026-11-20 08:33", "3m", "2026-08-20 00:00", ""},
		{"2026-11-20 08:33", "12m", "2025-11-20 00:00", ""},
		{"2026-11-20 08:33", "all", "", ""},
		{"2026-01-01 00:00", "yesterday", "2025-12-31 00:00", "2026-01-01 00:00"},
		{"2026-05-31 12:00", "3m", "2026-02-28 00:00", ""},
		{"2024-05-31 12:00", "3m", "2024-02-29 00:00", ""},
		{"2026-08-31 12:00", "6m", "2026-02-28 00:00", ""},
		{"2028-02-29 12:00", "12m", "2027-02-28 00:00", ""},
		{"2026-01-31 12:00", "3m", "2025-10-31 00:00", ""},
	} {
		// A clock in another zone means the same instant.
		now := day(c.now).Add(30 * time.Second).In(time.FixedZone("", -11*3600))
		w, ok := periodWindow(schema.Period(c.period), now)
		from, to := w.From, w.To
		want := [2]time.Time{}
		for i, s := range []string{c.from, c.to} {
			if s != "" {
				want[i] = day(s)
			}
		}
		if !ok || !from.Equal(want[0]) || !to.Equal(want[1]) {
			t.Errorf("%s at %s: %v to %v, want %v to %v", c.period, c.now, from, to, want[0], want[1])
		}
	}
	for _, period := range []schema.Period{"", "1d", "ALL", "30d "} {
		_, ok := periodWindow(period, day("2026-11-20 08:33"))
		expect.That(t, !ok, "the period %q is accepted", period)
	}
}

func TestCompletionRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		submissions, starts int64
		want                float64
	}{{0, 0, 0}, {5, 0, 0}, {1, 3, 33.33}, {2, 3, 66.67}, {3, 3, 100}, {9, 3, 300}, {1, 7, 14.29}} {
		expect.Equal(t, completionRate(c.submissions, c.starts), c.want, "the rate of %d of %d", c.submissions, c.starts)
	}
}
