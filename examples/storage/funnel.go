package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	minutesPerDay = 24 * 60
	// minutesKept is how far behind the newest count Sweep leaves minutes.
	minutesKept = 2 * minutesPerDay
)

// count adds to the day and to the minute.
func (t *tx) count(form storage.ID, at time.Time, c storage.Counters) error {
	minute := floorDiv(at.Unix(), 60)
	for table, bucket := range map[string]int64{"funnel_minutes": minute, "funnel_days": floorDiv(minute, minutesPerDay)} {
		_, err := t.exec(`INSERT INTO `+table+` (form, at, views, starts, submissions) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET views = views + excluded.views, starts = starts + excluded.starts,
				submissions = submissions + excluded.submissions`, form, bucket, c.Views, c.Starts, c.Submissions)
		if err != nil {
			return err
		}
	}
	return nil
}

// sum adds the counts with from <= at < to.
func (t *tx) sum(total *storage.Counters, table string, form storage.ID, from, to int64) error {
	var c storage.Counters
	err := t.one(`SELECT ifnull(sum(views), 0), ifnull(sum(starts), 0), ifnull(sum(submissions), 0)
		FROM `+table+` WHERE form = ? AND at >= ? AND at < ?`, []any{form, from, to}, &c.Views, &c.Starts, &c.Submissions)
	total.Views += c.Views
	total.Starts += c.Starts
	total.Submissions += c.Submissions
	return err
}

// window sums whole days from the days, and what a bound cuts off a day from the
// minutes that are still kept.
func (t *tx) window(form storage.ID, w storage.Window) (total storage.Counters, err error) {
	first, end := int64(math.MinInt64), int64(math.MaxInt64)
	if !w.From.IsZero() {
		first = ceilDiv(w.From.Unix(), 60)
	}
	if !w.To.IsZero() {
		end = ceilDiv(w.To.Unix(), 60)
	}
	firstDay, endDay := ceilDiv(first, minutesPerDay), floorDiv(end, minutesPerDay)
	if firstDay > endDay { // within one day
		return total, t.sum(&total, "funnel_minutes", form, first, end)
	}
	if err := t.sum(&total, "funnel_days", form, firstDay, endDay); err != nil {
		return total, err
	}
	if !w.From.IsZero() {
		if err := t.sum(&total, "funnel_minutes", form, first, firstDay*minutesPerDay); err != nil {
			return total, err
		}
	}
	if !w.To.IsZero() {
		err = t.sum(&total, "funnel_minutes", form, endDay*minutesPerDay, end)
	}
	return total, err
}

// floorDiv and ceilDiv round towards the past and the future, also before 1970.
func floorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

func ceilDiv(a, b int64) int64 {
	if a%b > 0 {
		return a/b + 1
	}
	return a / b
}

// CountFunnel implements [storage.MetricsStore].
func (s *Store) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	for _, c := range counts {
		if err := check(c.At); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *tx) error {
		unknown := 0
		for _, c := range counts {
			err := tx.formIsVisible(storage.AsHost(), c.Form)
			if err == nil {
				err = tx.count(c.Form, c.At, c.Counters)
			}
			switch {
			case errors.Is(err, storage.ErrNotFound):
				unknown++
			case err != nil:
				return err
			}
		}
		if unknown == len(counts) {
			return storage.ErrNotFound
		}
		return nil
	})
}

// Funnel implements [storage.MetricsStore].
func (s *Store) Funnel(ctx context.Context, who storage.Actor, form storage.ID, w storage.Window) (funnel storage.Funnel, err error) {
	if err := check(w.From, w.To); err != nil {
		return funnel, err
	}
	err = s.read(ctx, func(tx *tx) error {
		var lifetime storage.Counters
		err := tx.one(`SELECT f.lifetime_views, f.lifetime_starts, f.lifetime_submissions FROM forms f
			WHERE `+visible+` AND f.id = ?3`, whom(who, form), &lifetime.Views, &lifetime.Starts, &lifetime.Submissions)
		if err != nil {
			return err
		}
		if lifetime != (storage.Counters{}) {
			funnel.Lifetime = &lifetime
		}
		funnel.Counters, err = tx.window(form, w)
		return err
	})
	if err != nil {
		return storage.Funnel{}, err
	}
	return funnel, nil
}

// SetLifetimeCounters implements [storage.MetricsStore].
func (s *Store) SetLifetimeCounters(ctx context.Context, form storage.ID, c storage.Counters) error {
	return s.write(ctx, func(tx *tx) error {
		n, err := tx.exec(`UPDATE forms SET lifetime_views = ?, lifetime_starts = ?, lifetime_submissions = ?
			WHERE id = ? AND NOT purged`, c.Views, c.Starts, c.Submissions, form)
		if err == nil && n == 0 {
			return storage.ErrNotFound
		}
		return err
	})
}
