package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// observeEvery is how often an Observer is told about the queue.
const observeEvery = 15 * time.Second

// Observer is told what a dispatcher does, to feed a host's metrics. Its methods
// are called from many goroutines at once and must return quickly. A panic in
// one is logged and has no other effect.
type Observer interface {
	// AttemptFinished is called once for each attempt when it is over, before it
	// is stored. a.Success, a.Error, a.Status and a.Duration say how it went,
	// a.NextAttemptAt whether there will be another.
	AttemptFinished(a storage.Attempt)
	// QueueObserved is called about every 15 s while a dispatcher runs.
	QueueObserved(q storage.QueueStats)
}

// observe calls f, which calls the Observer.
func (d *Dispatcher) observe(f func(Observer)) {
	if d.config.Observer == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("webhook observer panicked", "panic", p)
		}
	}()
	f(d.config.Observer)
}

// watchQueue tells the Observer about the queue until ctx ends.
func (d *Dispatcher) watchQueue(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		var stats storage.QueueStats
		err := protect(func() (err error) {
			stats, err = d.store.QueueStats(ctx, d.now())
			return err
		})
		switch {
		case err == nil:
			d.observe(func(o Observer) { o.QueueObserved(stats) })
		case ctx.Err() == nil:
			d.log.Warn("webhook queue cannot be observed", "cause", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
