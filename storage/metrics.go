package storage

import (
	"context"
	"time"
)

// Counters count the steps of a form's funnel.
type Counters struct{ Views, Starts, Submissions int64 }

// FunnelCount is an increment of a form's funnel. A list can contain a form several times.
type FunnelCount struct {
	Form ID
	At   time.Time
	Counters
}

// Funnel contains the counts of a window. Lifetime contains earlier counts that the host has set with
// SetLifetimeCounters. They are not part of any window. If none are set, it is nil.
type Funnel struct {
	Counters
	Lifetime *Counters
}

// Window is the time From <= t < To. Both limits are whole UTC minutes. A zero limit means no limit.
type Window struct{ From, To time.Time }

// MetricsStore counts views, starts and submissions.
type MetricsStore interface {
	// CountFunnel adds each count to the funnel of its form, at the minute of its time. It ignores missing forms, and
	// MUST return ErrNotFound if all are missing. Reading counters may be slow until [Storage.Sweep] has summed them.
	CountFunnel(ctx context.Context, counts []FunnelCount) error

	// Funnel sums a window. Counts are stored by minute for two days, and afterwards by day. A window that starts more
	// than two days before the newest count is exact only if its limits are UTC midnights. Otherwise it may include or
	// omit events of the first and last day. Counts later than the store's clock do not affect this. Funnel returns
	// ErrNotFound if the form is not accessible.
	Funnel(ctx context.Context, actor Actor, form ID, w Window) (Funnel, error)

	// SubmissionTotals returns the number of submissions of each accessible form: the total of Funnel plus the lifetime
	// counter. It omits other forms.
	SubmissionTotals(ctx context.Context, actor Actor, forms []ID) (map[ID]int64, error)

	// SetLifetimeCounters replaces the form's lifetime counters. Zero counters remove them. It returns ErrNotFound if
	// the form does not exist.
	SetLifetimeCounters(ctx context.Context, form ID, c Counters) error
}
