package storage

import (
	"context"
	"time"
)

// Counters count the steps of a form's funnel.
type Counters struct{ Views, Starts, Submissions int64 }

// FunnelCount is what is to be added to a form's funnel. A list may have a form more than once.
type FunnelCount struct {
	Form ID
	At   time.Time
	Counters
}

// Funnel is what happened in a window. Lifetime counts what happened before the form's
// events were counted one by one: nil unless the host set it, and in no window.
type Funnel struct {
	Counters
	Lifetime *Counters
}

// Window is the time From <= t < To. Both bounds are whole UTC minutes; a zero
// bound is none.
type Window struct{ From, To time.Time }

// MetricsStore counts views, starts and submissions.
type MetricsStore interface {
	// CountFunnel adds each of the counts to the funnel of its form, at the minute of its
	// time. It passes over forms that there are not, and MUST return ErrNotFound when there
	// is none of them. Counters need not be cheap to read until [Storage.Sweep] has summed
	// them up.
	CountFunnel(ctx context.Context, counts []FunnelCount) error

	// Funnel sums a window. Events are kept by the minute for two days and by the
	// day for ever: a window that starts more than two days before the newest count
	// is exact when its bounds are UTC midnights, and otherwise may include or leave
	// out events of the days that the bounds cut. A count later than the store's own
	// clock does not make earlier ones old. ErrNotFound when the form is not
	// accessible.
	Funnel(ctx context.Context, actor Actor, form ID, w Window) (Funnel, error)

	// SubmissionTotals returns the submissions of many forms: for each form that is accessible,
	// Funnel's for all time and those of the lifetime counters together. It leaves out others.
	SubmissionTotals(ctx context.Context, actor Actor, forms []ID) (map[ID]int64, error)

	// SetLifetimeCounters replaces the form's lifetime counters; all zero removes
	// them. ErrNotFound when there is no such form.
	SetLifetimeCounters(ctx context.Context, form ID, c Counters) error
}
