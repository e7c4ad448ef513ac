package webhooks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// observeInterval is how often an Observer sees the queue.
const observeInterval = 15 * time.Second

// maxObserverCalls bounds the calls of AttemptFinished that have not returned, and the
// pauses that are to be reported.
const maxObserverCalls = 2000

// Observer sees the work of a dispatcher, to feed a host's metrics. Its methods are
// called from many goroutines at once and should return quickly. A call that blocks
// holds up neither deliveries nor the end of Run, but when two thousand calls wait,
// further calls are left out. A panic in one is logged and has no other effect.
//
// ctx has the values of Run's context and does not end with it. Embed [NoObserver],
// so that a method which is added later breaks nothing.
type Observer interface {
	// AttemptFinished is called once for each attempt when it is over. a.Success,
	// a.Error, a.Status and a.Duration say how it went, and a.NextAttemptAt whether
	// there will be another. The summary of deliveries that expired comes the same way
	// (see [Config.MaxAge]).
	AttemptFinished(ctx context.Context, a storage.Delivery)
	// QueueObserved is called about every 15 s while a dispatcher runs.
	QueueObserved(ctx context.Context, q storage.QueueStats)
	// InFlightObserved is called about every 15 s while a dispatcher runs.
	InFlightObserved(ctx context.Context, i InFlight)
	// WebhookPaused is called when a webhook is paused, and again after each probe
	// that failed: its deliveries wait, because its destination fails or asked for it. Test
	// events and redeliveries are sent all the same.
	WebhookPaused(ctx context.Context, p storage.PausedWebhook)
	// WebhookResumed is called when a request to a paused webhook succeeded.
	WebhookResumed(ctx context.Context, webhook storage.ID)
}

// InFlight describes the requests of a dispatcher.
type InFlight struct {
	// Fast and Slow are how many are under way that count for [Config.InFlight] and for
	// [Config.InFlightSlow].
	Fast, Slow int
	// SlowFullFor is for how long since Run began those of [Config.InFlightSlow] were all in use.
	// Meanwhile what hangs keeps places of [Config.InFlight], and other webhooks may wait.
	SlowFullFor time.Duration
}

// NoObserver is an [Observer] that does nothing.
type NoObserver struct{}

var _ Observer = NoObserver{}

// AttemptFinished implements [Observer].
func (NoObserver) AttemptFinished(context.Context, storage.Delivery) {}

// QueueObserved implements [Observer].
func (NoObserver) QueueObserved(context.Context, storage.QueueStats) {}

// InFlightObserved implements [Observer].
func (NoObserver) InFlightObserved(context.Context, InFlight) {}

// WebhookPaused implements [Observer].
func (NoObserver) WebhookPaused(context.Context, storage.PausedWebhook) {}

// WebhookResumed implements [Observer].
func (NoObserver) WebhookResumed(context.Context, storage.ID) {}

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

// reportPauses logs pauses and tells the Observer about them, in their order.
func (r *run) reportPauses() {
	ctx := context.WithoutCancel(r.baseCtx)
	for p := range r.pauses {
		if p.Reason == "" {
			r.d.log.Info("webhook resumed", "webhook", p.WebhookID.String())
			r.d.observe(func(o Observer) { o.WebhookResumed(ctx, p.WebhookID) })
			continue
		}
		r.d.log.Warn("webhook paused", "webhook", p.WebhookID.String(), "reason", string(p.Reason),
			"failures", p.Failures, "since", p.FailingSince, "until", p.PausedUntil)
		r.d.observe(func(o Observer) { o.WebhookPaused(ctx, p) })
	}
}

// watch shows the Observer the queue and what is under way until ctx ends.
func (r *run) observeQueue(ctx context.Context) {
	tick := time.NewTicker(observeInterval)
	defer tick.Stop()
	var showing atomic.Bool
	for {
		stats, err := catchPanicResult(func() (storage.QueueStats, error) { return r.d.store.QueueStats(ctx) })
		if err != nil && ctx.Err() == nil {
			r.d.log.Warn("failed to observe webhook queue", "error", err)
		} else if err == nil {
			r.storeResponded()
		}
		if showing.CompareAndSwap(false, true) { // else the last calls have not returned
			r.requests.Go(func() {
				defer showing.Store(false)
				ctx := context.WithoutCancel(ctx)
				if err == nil {
					r.d.observe(func(o Observer) { o.QueueObserved(ctx, stats) })
				}
				r.stepMu.Lock()
				fast, slow, full := r.scheduler.InFlight()
				r.stepMu.Unlock()
				r.d.observe(func(o Observer) { o.InFlightObserved(ctx, InFlight{fast, slow, full}) })
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
