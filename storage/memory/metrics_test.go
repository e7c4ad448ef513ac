package memory

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/storage"
)

// farFuture is a clock that no count is ahead of.
var farFuture = time.Unix(1<<40, 0)

func TestFunnel(t *testing.T) {
	t.Parallel()

	t.Run("Sums every window that must be exact as a list of single counts does", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			// Around 1970, so that both signs are met.
			second := rapid.Int64Range(-3*day, 3*day)
			times := rapid.SliceOfN(second, 1, 40).Draw(t, "times")
			f := funnel{counts: map[int64]storage.Counters{}}
			newest := times[0]
			for _, at := range times {
				f.add(time.Unix(at, 0), farFuture, storage.Counters{Views: 1, Starts: 2, Submissions: 3})
				newest = max(newest, at)
			}
			var from, to time.Time
			switch rapid.SampledFrom([]string{"minutes", "days", "open"}).Draw(t, "window") {
			case "minutes":
				// Counts are told apart by the minute as far as two days back from the
				// newest. A count that came late, after a newer one, is among them.
				first := rapid.Int64Range(-floor(2*day-newest, minute)/minute, newest/minute+5).Draw(t, "from")
				from = time.Unix(minute*first, 0)
				to = time.Unix(minute*rapid.Int64Range(first, first+3*day/minute).Draw(t, "to"), 0)
			case "days":
				first := rapid.Int64Range(-4, 4).Draw(t, "from")
				from = time.Unix(day*first, 0)
				to = time.Unix(day*rapid.Int64Range(first, 5).Draw(t, "to"), 0)
			case "open":
				if rapid.Bool().Draw(t, "until") {
					to = time.Unix(day*rapid.Int64Range(-4, 4).Draw(t, "to"), 0)
				}
			}
			var n int64
			for _, at := range times {
				at := time.Unix(at, 0)
				if (from.IsZero() || !at.Before(from)) && (to.IsZero() || at.Before(to)) {
					n++
				}
			}
			want := storage.Counters{Views: n, Starts: 2 * n, Submissions: 3 * n}
			if got := f.window(from, to); got != want {
				t.Fatalf("window %v to %v = %+v, want %+v", from, to, got, want)
			}
		})
	})

	t.Run("Tells minutes apart as far as two days back, also for a count that comes late", func(t *testing.T) {
		t.Parallel()
		f := funnel{counts: map[int64]storage.Counters{}}
		border := start.Add(-48 * time.Hour)
		f.add(border, farFuture, storage.Counters{Views: 1})
		f.add(start, farFuture, storage.Counters{Views: 1})
		f.add(border, farFuture, storage.Counters{Views: 1})
		if got := f.window(border, border.Add(time.Minute)).Views; got != 2 {
			t.Errorf("views = %d, want 2", got)
		}
	})

	t.Run("Keeps a bounded number of minutes", func(t *testing.T) {
		t.Parallel()
		f := funnel{counts: map[int64]storage.Counters{}}
		const days, minutes = 10, 10 * day / minute
		for i := range minutes {
			f.add(start.Add(time.Duration(i)*time.Minute), farFuture, storage.Counters{Views: 1})
		}
		if n, most := len(f.counts), 3*day/minute+days; n > most {
			t.Errorf("%d minutes and days, want at most %d", n, most)
		}
		if got := f.window(time.Time{}, time.Time{}).Views; got != minutes {
			t.Errorf("all = %d, want %d", got, minutes)
		}
	})
}
