package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// The interval is random, so that processes do not run maintenance at the same time.
	minMaintenanceInterval = 45 * time.Second
	maxMaintenanceInterval = 75 * time.Second
	// maxExpired limits the deliveries that one call expires. On a busy machine, PostgreSQL takes 0.2 s to expire them.
	// During this time, the results of other deliveries of these webhooks wait for row locks.
	maxExpired = 1000
)

// runMaintenance calls d.sweep and expires old deliveries until ctx ends. It needs its own goroutine, so that it does
// not delay deliveries. runAside runs functions that an Observer may block.
func (d *Dispatcher) runMaintenance(ctx context.Context, runAside func(func())) {
	timer := time.NewTimer(d.randomDuration(minMaintenanceInterval, maxMaintenanceInterval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if d.sweep != nil {
			err := catchPanic(func() error { return d.sweep(ctx, d.now()) })
			if err != nil && ctx.Err() == nil {
				d.log.Error("sweep failed", "error", err)
			} else if r := d.currentRun.Load(); r != nil {
				r.recordStoreResponse()
			}
		}
		if err := d.expireDeliveries(ctx, runAside); err != nil && ctx.Err() == nil {
			d.log.Error("failed to expire webhook deliveries", "error", err)
		}
		timer.Reset(d.randomDuration(minMaintenanceInterval, maxMaintenanceInterval))
	}
}

func (d *Dispatcher) expireDeliveries(ctx context.Context, runAside func(func())) error {
	var from storage.ID
	for {
		ended, err := catchPanicResult(func() (storage.Expired, error) {
			call, cancel := context.WithTimeout(ctx, storeTimeout)
			defer cancel()
			return d.store.ExpireDeliveries(call, storage.ExpireParams{
				MaxAge: d.config.MaxAge, From: from, Max: maxExpired,
				At: d.now().UTC().Truncate(time.Second), NewID: func() storage.ID { return d.ids.New(d.now()) },
			})
		})
		if err != nil {
			return err
		}
		if ended.Deliveries > 0 {
			d.log.Warn("webhook deliveries expired", "deliveries", ended.Deliveries)
		}
		runAside(func() {
			for _, a := range ended.Summaries {
				d.callObserver(func(o Observer) { o.AttemptFinished(context.WithoutCancel(ctx), a) })
			}
		})
		if from = ended.Next; from.IsZero() {
			return nil
		}
	}
}
