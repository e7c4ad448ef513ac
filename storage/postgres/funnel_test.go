package postgres

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// The parts of a window are the window, each minute once.
func TestPartition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minute := func(name string) time.Time {
			n := rapid.Int64Range(-5*24*60, 5*24*60).Draw(t, name)
			if n == 0 {
				return time.Time{}
			}
			return time.Unix(n*60, 0).UTC()
		}
		from, to := minute("from"), minute("to")
		p := partition(from, to)
		contains := func(w window, at time.Time, open bool) bool {
			return (open && w.from.IsZero() || !at.Before(w.from)) && (open && w.to.IsZero() || at.Before(w.to))
		}
		at := time.Unix(rapid.Int64Range(-6*24*60, 6*24*60).Draw(t, "at")*60, 0).UTC()
		n := 0
		if contains(p.days, startOfDay(at), true) {
			n++
		}
		if contains(p.head, at, false) {
			n++
		}
		if contains(p.tail, at, false) {
			n++
		}
		want := 0
		if contains(window{from, to}, at, true) {
			want = 1
		}
		if n != want {
			t.Fatalf("%v is %d times in the parts of %v to %v: %+v", at, n, from, to, p)
		}
	})
}

// Folding changes where counts are, not what they add up to, and keeps minutes
// for two days.
func TestFold(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	start := pgseed.Start()
	times := []time.Time{start, start.Add(time.Minute), start.Add(30 * time.Hour), start.Add(72 * time.Hour), start.Add(72*time.Hour + 59*time.Second)}
	for _, at := range times {
		if err := s.CountFunnel(t.Context(), form, at, storage.Counts{Views: 1, Starts: 2, Submissions: 3}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, from, to time.Time, want int64) {
		t.Helper()
		got, err := s.Funnel(t.Context(), host, form, storage.Window{From: from, To: to})
		if err != nil || got.Counts != (storage.Counts{Views: want, Starts: 2 * want, Submissions: 3 * want}) {
			t.Errorf("%s: %+v, %v; want %d views", when, got, err, want)
		}
	}
	for range 2 {
		check("all time", time.Time{}, time.Time{}, 5)
		check("the first day", start, start.Add(day), 2)
		check("a minute", start.Add(72*time.Hour), start.Add(72*time.Hour+time.Minute), 2)
		check("since a time of day", start.Add(30*time.Hour), time.Time{}, 3)
		if _, err := s.foldForm(t.Context(), form); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, pool, s, "funnel_log"); n != 0 {
		t.Errorf("%d rows are left in the log", n)
	}
	if n := count(t, pool, s, "funnel_minutes"); n != 2 {
		t.Errorf("%d minutes are kept, want those of the last two days", n)
	}
	if err := s.CountFunnel(t.Context(), form, start, storage.Counts{Views: 1, Starts: 2, Submissions: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.foldForm(t.Context(), form); err != nil {
		t.Fatal(err)
	}
	check("a day of the past, counted late", start, start.Add(day), 3)
	if n := count(t, pool, s, "funnel_minutes"); n != 2 {
		t.Errorf("%d minutes are kept after a late count", n)
	}
}
