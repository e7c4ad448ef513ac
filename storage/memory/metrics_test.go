package memory

import (
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// farFuture is a clock that no count is ahead of.
var farFuture = time.Unix(1<<40, 0)

func TestFunnel(t *testing.T) {
	t.Parallel()

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
