package webhooks

import (
	"context"
	"time"
)

// Processes that start together do not sweep together.
const (
	sweepAtLeast = 45 * time.Second
	sweepAtMost  = 75 * time.Second
)

// sweepNowAndThen calls Params.Sweep until ctx ends. It has a goroutine of its own,
// so that a long sweep delays no delivery.
func (d *Dispatcher) sweepNowAndThen(ctx context.Context) {
	timer := time.NewTimer(between(sweepAtLeast, sweepAtMost))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := protect(func() error { return d.sweep(ctx, d.now()) })
		if err != nil && ctx.Err() == nil {
			d.log.Error("sweep failed", "cause", err)
		}
		timer.Reset(between(sweepAtLeast, sweepAtMost))
	}
}
