package storage

import (
	"context"
	"time"
)

// Counters count a form's views, starts and submissions.
type Counters struct{ Views, Starts, Submissions int64 }

// FunnelCount is an increment to a form's funnel. A list can contain several increments for the same form.
type FunnelCount struct {
	Form ID
	At   time.Time
	Counters
}

// Funnel contains the counts in a window. Lifetime contains earlier counts that the host has set with
// SetLifetimeCounters and that are not part of any window. Lifetime is nil if the host has set none.
type Funnel struct {
	Counters
	Lifetime *Counters
}

// Window is the time range From <= t < To. From and To are whole UTC minutes. A zero value means no limit on that side.
type Window struct{ From, To time.Time }

// MetricsStore counts views, starts and submissions.
type MetricsStore interface {
	// CountFunnel adds each count to its form's funnel, in the minute that contains the count's time. It ignores
	// missing forms, and MUST return ErrNotFound if all are missing. Reading the counts can be slow until
	// [Storage.Sweep] has summed them.
	CountFunnel(ctx context.Context, counts []FunnelCount) error

	// Funnel sums the counts in a window. Counts are stored per minute for two days, and per day afterwards. A window
	// that starts more than two days before the newest count is exact only if it starts and ends at midnight UTC.
	// Otherwise it can include or omit events on its first and last day. Counts later than the store's clock are
	// ignored when determining the newest count. Funnel returns ErrNotFound if the form is not accessible.
	Funnel(ctx context.Context, actor Actor, form ID, w Window) (Funnel, error)

	// SubmissionTotals returns the number of submissions of each accessible form: Funnel's total plus the lifetime
	// counter. It omits inaccessible forms.
	SubmissionTotals(ctx context.Context, actor Actor, forms []ID) (map[ID]int64, error)

	// SetLifetimeCounters replaces the form's lifetime counters. If c is zero, it removes them. It returns ErrNotFound
	// if the form does not exist.
	SetLifetimeCounters(ctx context.Context, form ID, c Counters) error
}
