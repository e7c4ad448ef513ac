package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// Processes that start together do not tidy together.
	minMaintenanceInterval = 45 * time.Second
	maxMaintenanceInterval = 75 * time.Second
	// maxExpired bounds the deliveries that one call of the store ends. PostgreSQL took
	// 0.2 s for so many on a busy machine, and holds the rows of their webhooks for that
	// long: results of these webhooks wait.
	maxExpired = 1000
)

// runMaintenance calls Sweep of the Params and ends deliveries that are too old, until ctx
// ends. It has a goroutine of its own, so that it delays no delivery. aside runs what
// an Observer may hold up.
func (d *Dispatcher) runMaintenance(ctx context.Context, aside func(func())) {
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
				r.storeResponded()
			}
		}
		if err := d.expireDeliveries(ctx, aside); err != nil && ctx.Err() == nil {
			d.log.Error("failed to expire webhook deliveries", "error", err)
		}
		timer.Reset(d.randomDuration(minMaintenanceInterval, maxMaintenanceInterval))
	}
}

// expire ends the deliveries whose webhook has failed for Config.MaxAge.
func (d *Dispatcher) expireDeliveries(ctx context.Context, aside func(func())) error {
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
		aside(func() {
			for _, a := range ended.Summaries {
				d.observe(func(o Observer) { o.AttemptFinished(context.WithoutCancel(ctx), a) })
			}
		})
		if from = ended.Next; from.IsZero() {
			return nil
		}
	}
}
