package webhooks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// observeInterval is how often an Observer receives queue statistics.
const observeInterval = 15 * time.Second

// maxObserverCalls limits the unfinished calls to AttemptFinished, and the pauses that are not yet reported.
const maxObserverCalls = 2000

// Observer receives events from a dispatcher, for a host's metrics. Its methods are called concurrently and should
// return quickly. A blocked call does not delay deliveries, and delays the end of Run by at most a second. If 2,000
// calls are blocked, further calls are skipped. A panic is logged and has no other effect.
//
// ctx has the values of Run's context, but is not canceled with it. Embed [NoObserver], so that your observer still
// compiles if later versions add methods.
type Observer interface {
	// AttemptFinished is called once after each attempt, and once for each summary of expired deliveries (see
	// [Config.MaxAge]). a.Success, a.Error, a.Status and a.Duration describe the result, and a.NextAttemptAt the next
	// attempt.
	AttemptFinished(ctx context.Context, a storage.Delivery)
	// QueueObserved is called about every 15 s while a dispatcher runs.
	QueueObserved(ctx context.Context, q storage.QueueStats)
	// InFlightObserved is called about every 15 s while a dispatcher runs.
	InFlightObserved(ctx context.Context, i InFlight)
	// WebhookPaused is called when a webhook is paused, and again after each failed probe. Test events and redeliveries to
	// a paused webhook are still sent.
	WebhookPaused(ctx context.Context, p storage.PausedWebhook)
	// WebhookResumed is called when a request to a paused webhook succeeds.
	WebhookResumed(ctx context.Context, webhook storage.ID)
}

// InFlight describes the in-flight requests of a dispatcher.
type InFlight struct {
	// Fast and Slow are the numbers of in-flight requests that count toward [Config.InFlight] and
	// [Config.InFlightSlow].
	Fast, Slow int
	// SlowFullFor is the total time since the start of Run during which all slots of [Config.InFlightSlow] were in use.
	// During this time, hanging requests occupy slots of [Config.InFlight], and other webhooks may wait.
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

// callObserver calls f with the Observer, if there is one, and recovers from panics.
func (d *Dispatcher) callObserver(f func(Observer)) {
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

// reportPauses logs pauses and reports them to the Observer, in order.
func (r *run) reportPauses() {
	ctx := context.WithoutCancel(r.baseCtx)
	for p := range r.pauses {
		if p.Reason == "" {
			r.d.log.Info("webhook resumed", "webhook", p.WebhookID.String())
			r.d.callObserver(func(o Observer) { o.WebhookResumed(ctx, p.WebhookID) })
			continue
		}
		r.d.log.Warn("webhook paused", "webhook", p.WebhookID.String(), "reason", string(p.Reason),
			"failures", p.Failures, "since", p.FailingSince, "until", p.PausedUntil)
		r.d.callObserver(func(o Observer) { o.WebhookPaused(ctx, p) })
	}
}

// observeQueue reports the queue and the in-flight requests to the Observer until ctx ends.
func (r *run) observeQueue(ctx context.Context) {
	tick := time.NewTicker(observeInterval)
	defer tick.Stop()
	var reporting atomic.Bool
	for {
		stats, err := catchPanicResult(func() (storage.QueueStats, error) { return r.d.store.QueueStats(ctx) })
		if err != nil && ctx.Err() == nil {
			r.d.log.Warn("failed to observe webhook queue", "error", err)
		} else if err == nil {
			r.recordStoreResponse()
		}
		if reporting.CompareAndSwap(false, true) { // the previous calls have returned
			r.requests.Go(func() {
				defer reporting.Store(false)
				ctx := context.WithoutCancel(ctx)
				if err == nil {
					r.d.callObserver(func(o Observer) { o.QueueObserved(ctx, stats) })
				}
				r.stepMu.Lock()
				fast, slow, full := r.scheduler.InFlight()
				r.stepMu.Unlock()
				r.d.callObserver(func(o Observer) { o.InFlightObserved(ctx, InFlight{fast, slow, full}) })
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
