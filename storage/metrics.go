package storage

import (
	"context"
	"time"
)

// Counts are steps of a form's funnel.
type Counts struct{ Views, Starts, Submissions int64 }

// Counters are totals of a form from before its events were counted one by one,
// set by the host.
type Counters struct{ Views, Starts, Submissions int64 }

// Funnel is what happened in a window. Lifetime is nil unless the host set it;
// it is not contained in Counts.
type Funnel struct {
	Counts
	Lifetime *Counters
}

// MetricsStore counts views, starts and submissions.
type MetricsStore interface {
	// CountFunnel adds c to the form's funnel at the minute of at. It MUST return
	// ErrNotFound when there is no such form.
	CountFunnel(ctx context.Context, form ID, at time.Time, c Counts) error

	// Funnel sums the window from <= t < to; a zero bound is none. Both bounds are
	// whole UTC minutes. Older events are kept by the day only: a window that
	// starts more than two days before the newest count is exact when its bounds
	// are UTC midnights, and otherwise may include or leave out events of the days
	// that the bounds cut. ErrNotFound when the form is not accessible.
	Funnel(ctx context.Context, who Actor, form ID, from, to time.Time) (Funnel, error)

	// SetLifetimeCounters replaces the form's lifetime counters; all zero removes
	// them. ErrNotFound when there is no such form.
	SetLifetimeCounters(ctx context.Context, form ID, c Counters) error
}
