// Package timeout limits how long an operation waits for the storage in total, over all of its storage calls, and for
// functions of the host.
package timeout

import (
	"context"
	"sync/atomic"
	"time"
)

type budgetKey struct{}

// WithBudget returns a context whose storage calls share one timeout. Time between the calls does not count. If ctx
// already has a budget, WithBudget keeps that budget.
func WithBudget(ctx context.Context) context.Context {
	if ctx.Value(budgetKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, budgetKey{}, new(atomic.Int64))
}

// WithTimeout limits a call to d minus the time of earlier calls with the same budget. Call the returned function when
// the call ends.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	left, end := TimeLeft(ctx, d)
	ctx, cancel := context.WithTimeout(ctx, left)
	return ctx, func() {
		end()
		cancel()
	}
}

// TimeLeft is like WithTimeout, for a call that uses a timer, which costs a third as much as a context. left is the
// remaining time.
func TimeLeft(ctx context.Context, d time.Duration) (left time.Duration, end func()) {
	used, ok := ctx.Value(budgetKey{}).(*atomic.Int64)
	if !ok {
		return d, func() {}
	}
	began := time.Now()
	return d - time.Duration(used.Load()), func() { used.Add(int64(time.Since(began))) }
}
