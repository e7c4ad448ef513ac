package memory

import (
	"context"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	minutesPerDay = 24 * 60
	// minutesKept is how far behind the newest count minutes are told apart.
	minutesKept = 2 * minutesPerDay
)

// funnel counts by the day for ever, and beside that by the minute for the last
// two days before the newest count, or before the store's clock when that is
// earlier: one count from a clock that is ahead makes no minute old. Each count is
// in both, so nothing has to be moved when a minute is dropped.
type funnel struct {
	days    series
	minutes series
}

// series holds counts by the number of a day or minute since 1970, in ascending
// order.
type series []bucket

type bucket struct {
	at int64
	n  storage.Counts
}

func (s *series) search(at int64) int {
	return sort.Search(len(*s), func(i int) bool { return (*s)[i].at >= at })
}

func (s *series) add(at int64, c storage.Counts) {
	i := len(*s)
	if i > 0 && (*s)[i-1].at >= at {
		i = s.search(at)
	}
	if i == len(*s) || (*s)[i].at != at {
		*s = slices.Insert(*s, i, bucket{at: at})
	}
	addCounts(&(*s)[i].n, c)
}

// sum adds the buckets from <= at < to to total.
func (s *series) sum(total *storage.Counts, from, to int64) {
	for _, b := range (*s)[s.search(from):] {
		if b.at >= to {
			return
		}
		addCounts(total, b.n)
	}
}

func addCounts(to *storage.Counts, c storage.Counts) {
	to.Views += c.Views
	to.Starts += c.Starts
	to.Submissions += c.Submissions
}

func (f *funnel) add(at, clock time.Time, c storage.Counts) {
	minute := floorDiv(at.Unix(), 60)
	f.days.add(floorDiv(minute, minutesPerDay), c)

	newest := minute
	if n := len(f.minutes); n > 0 {
		newest = max(newest, f.minutes[n-1].at)
	}
	newest = min(newest, floorDiv(clock.Unix(), 60))
	if minute < newest-minutesKept {
		return
	}
	f.minutes.add(minute, c)
	if old := f.minutes.search(newest - minutesKept); old > 0 {
		f.minutes = slices.Delete(f.minutes, 0, old)
	}
}

// window sums from <= t < to; a zero bound is none. Whole days come from the
// days, what a bound cuts off a day from the minutes that are still kept.
func (f *funnel) window(from, to time.Time) storage.Counts {
	first, end := int64(math.MinInt64), int64(math.MaxInt64)
	if !from.IsZero() {
		first = ceilDiv(from.Unix(), 60)
	}
	if !to.IsZero() {
		end = ceilDiv(to.Unix(), 60)
	}
	var total storage.Counts
	firstDay, endDay := ceilDiv(first, minutesPerDay), floorDiv(end, minutesPerDay)
	if firstDay > endDay { // within one day
		f.minutes.sum(&total, first, end)
		return total
	}
	f.days.sum(&total, firstDay, endDay)
	if !from.IsZero() {
		f.minutes.sum(&total, first, firstDay*minutesPerDay)
	}
	if !to.IsZero() {
		f.minutes.sum(&total, endDay*minutesPerDay, end)
	}
	return total
}

// floorDiv and ceilDiv round towards the past and the future, also before 1970.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// CountFunnel implements [storage.MetricsStore].
func (s *Store) CountFunnel(ctx context.Context, form storage.ID, at time.Time, c storage.Counts) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(at); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.live(form)
	if f == nil {
		return storage.ErrNotFound
	}
	f.funnel.add(at, s.now(), c)
	return nil
}

// Funnel implements [storage.MetricsStore].
func (s *Store) Funnel(ctx context.Context, who storage.Actor, form storage.ID, w storage.Window) (storage.Funnel, error) {
	if err := ctx.Err(); err != nil {
		return storage.Funnel{}, err
	}
	if err := check(w.From, w.To); err != nil {
		return storage.Funnel{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := s.visible(who, form)
	if f == nil {
		return storage.Funnel{}, storage.ErrNotFound
	}
	out := storage.Funnel{Counts: f.funnel.window(w.From, w.To)}
	if lifetime := f.lifetime; lifetime != (storage.Counters{}) {
		out.Lifetime = &lifetime
	}
	return out, nil
}

// SetLifetimeCounters implements [storage.MetricsStore].
func (s *Store) SetLifetimeCounters(ctx context.Context, form storage.ID, c storage.Counters) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.forms[form]
	if f == nil {
		return storage.ErrNotFound
	}
	f.lifetime = c
	return nil
}
