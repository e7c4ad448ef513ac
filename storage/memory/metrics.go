package memory

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	minute = 60
	day    = 24 * 60 * minute
	// minuteRetention is how long counts are stored by minute, measured back from the newest count.
	minuteRetention = 2 * day
)

// funnel contains counts by minute, and older counts by day.
type funnel struct {
	counts    map[int64]storage.Counters // by start time, in seconds since 1970
	foldedDay int64                      // day of the newest count when minutes were last merged into days
}

// add adds counts. Once a day, it merges the minutes of each old day. Counts later than clock make no day old.
func (f *funnel) add(at, clock time.Time, c storage.Counters) {
	first := roundDown(at.Unix(), minute)
	f.counts[first] = addCounters(f.counts[first], c)
	newest := min(at.Unix(), clock.Unix())
	if roundDown(newest, day) <= f.foldedDay {
		return
	}
	f.foldedDay = roundDown(newest, day)
	for at, old := range f.counts {
		if first := roundDown(at, day); at < newest-minuteRetention && at != first {
			delete(f.counts, at)
			f.counts[first] = addCounters(f.counts[first], old)
		}
	}
}

// sumBetween sums the counts whose time t satisfies from <= t < to. A zero from or to means no limit.
func (f *funnel) sumBetween(from, to time.Time) (total storage.Counters) {
	for at, c := range f.counts {
		if (from.IsZero() || at >= from.Unix()) && (to.IsZero() || at < to.Unix()) {
			total = addCounters(total, c)
		}
	}
	return total
}

func addCounters(a, b storage.Counters) storage.Counters {
	return storage.Counters{Views: a.Views + b.Views, Starts: a.Starts + b.Starts, Submissions: a.Submissions + b.Submissions}
}

// roundDown rounds t down to a multiple of unit, even before 1970.
func roundDown(t, unit int64) int64 { return t - (t%unit+unit)%unit }

// CountFunnel implements [storage.MetricsStore].
func (s *Store) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	return withLock(ctx, s, []any{counts}, func() error {
		err := storage.ErrNotFound
		for _, c := range counts {
			if f := s.visibleForm(storage.AsHost(), c.Form); f != nil {
				f.funnel.add(c.At, s.now(), c.Counters)
				err = nil
			}
		}
		return err
	})
}

// Funnel implements [storage.MetricsStore].
func (s *Store) Funnel(ctx context.Context, actor storage.Actor, formID storage.ID, w storage.Window) (storage.Funnel, error) {
	return withRecordResult(ctx, s, s.findForm(actor, formID), []any{w.From, w.To}, func(f *form) (storage.Funnel, error) {
		out := storage.Funnel{Counters: f.funnel.sumBetween(w.From, w.To)}
		if lifetime := f.lifetime; lifetime != (storage.Counters{}) {
			out.Lifetime = &lifetime
		}
		return out, nil
	})
}

// SubmissionTotals implements [storage.MetricsStore].
func (s *Store) SubmissionTotals(ctx context.Context, actor storage.Actor, forms []storage.ID) (map[storage.ID]int64, error) {
	return withLockResult(ctx, s, nil, func() (map[storage.ID]int64, error) {
		totals := map[storage.ID]int64{}
		for _, id := range forms {
			if f := s.visibleForm(actor, id); f != nil {
				totals[id] = f.funnel.sumBetween(time.Time{}, time.Time{}).Submissions + f.lifetime.Submissions
			}
		}
		return totals, nil
	})
}

// SetLifetimeCounters implements [storage.MetricsStore].
func (s *Store) SetLifetimeCounters(ctx context.Context, id storage.ID, c storage.Counters) error {
	return withRecord(ctx, s, func() *form { return s.forms[id] }, nil, func(f *form) error {
		f.lifetime = c
		return nil
	})
}
