// Package timeout limits how long an operation waits for the storage in total, over all of its storage
// calls.
package timeout

import (
	"context"
	"sync/atomic"
	"time"
)

type budgetKey struct{}

// WithBudget returns a context whose calls of the storage have one time in common. What is done
// between them, such as reading a body, does not count. A context that has such a time
// keeps it.
func WithBudget(ctx context.Context) context.Context {
	if ctx.Value(budgetKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, budgetKey{}, new(atomic.Int64))
}

// WithTimeout bounds a call of the storage by d, less what earlier calls have used of the time
// that they share. The call ends with the returned function.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	left, end := TimeLeft(ctx, d)
	ctx, cancel := context.WithTimeout(ctx, left)
	return ctx, func() {
		end()
		cancel()
	}
}

// TimeLeft is Start for a call that waits with a timer, which costs a third of a context. It
// returns how long the call may take.
func TimeLeft(ctx context.Context, d time.Duration) (left time.Duration, end func()) {
	used, ok := ctx.Value(budgetKey{}).(*atomic.Int64)
	if !ok {
		return d, func() {}
	}
	began := time.Now()
	return d - time.Duration(used.Load()), func() { used.Add(int64(time.Since(began))) }
}
