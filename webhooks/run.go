package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// run is the state of one call to Run. It passes events to the scheduler in steps, and starts the actions that the
// scheduler returns. Claims, writes and requests run in separate goroutines, which report their results as events.
type run struct {
	d *Dispatcher
	//nolint:containedctx // Run's context without its cancellation
	baseCtx    context.Context
	cancelBase context.CancelCauseFunc // cancels requests and calls to the store
	//nolint:containedctx // is canceled at the end of a stop's grace period
	postCtx     context.Context
	cancelPosts context.CancelCauseFunc

	stepMu    sync.Mutex // protects the following fields
	scheduler *scheduler.Scheduler
	timer     *time.Timer
	ended     bool // whether no more steps may start
	pauses    chan storage.PausedWebhook

	pendingMu     sync.Mutex        // protects pendingEvents
	pendingEvents []scheduler.Event // events that were not yet passed to a step

	done         chan struct{} // closed when all work has ended after a stop
	storeCalls   sync.WaitGroup
	requests     sync.WaitGroup // also counts other goroutines that an Observer may block
	storeFailing atomic.Bool    // whether the last claim or write failed
	// claimLogged and writeLogged are the times of the last log entries at level error, in Unix nanoseconds.
	claimLogged, writeLogged atomic.Int64
	observerCalls            atomic.Int64 // unfinished calls to AttemptFinished
	logBlockedObserver       sync.Once    // logs only once that too many calls are unfinished
}

func newRun(ctx context.Context, d *Dispatcher) *run {
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	posts, stopPosts := context.WithCancelCause(base)
	n := scheduler.DefaultConfig(d.config.InFlight, d.config.InFlightSlow, d.config.InFlightWebhook, d.config.Timeout)
	r := &run{
		d: d, baseCtx: base, cancelBase: stop, postCtx: posts, cancelPosts: stopPosts,
		scheduler: scheduler.New(n, d.randomDuration),
		pauses:    make(chan storage.PausedWebhook, maxObserverCalls),
		done:      make(chan struct{}),
	}
	r.timer = time.AfterFunc(time.Hour, func() { r.step() })
	return r
}

// step passes events to the scheduler and starts the resulting actions. It blocks only while another step runs.
func (r *run) step(events ...scheduler.Event) {
	for _, req := range r.stepRequests(events...) {
		go r.sendRequests(req)
	}
}

// stepRequests is like step, but returns the requests instead of sending them. The caller must send each request.
// r.requests already counts them, because the caller may send them after the run has ended.
func (r *run) stepRequests(events ...scheduler.Event) []*scheduler.Request {
	r.stepMu.Lock()
	defer r.stepMu.Unlock()
	if r.ended {
		return nil
	}
	now := time.Now()
	actions := r.scheduler.Step(now, events...)
	if actions.Claim != nil {
		r.storeCalls.Go(func() { r.step(r.claim(*actions.Claim)) })
	}
	if len(actions.Write) > 0 {
		r.storeCalls.Go(func() { r.step(r.writeResults(actions.Write)) })
	}
	for _, p := range actions.Pauses {
		select {
		case r.pauses <- p:
		default: // the Observer is blocked
		}
	}
	if !actions.NextStep.IsZero() {
		r.timer.Reset(max(0, actions.NextStep.Sub(now)))
	}
	if r.scheduler.Done() {
		r.ended = true
		close(r.done)
	}
	r.requests.Add(len(actions.Send))
	return actions.Send
}

// drain releases waiting deliveries, waits for in-flight requests, and writes all results.
func (r *run) drain() {
	grace := time.AfterFunc(r.d.grace, func() { r.cancelPosts(errStopped) })
	defer grace.Stop()
	r.step(scheduler.Stop{})
	select {
	case <-r.done:
	case <-time.After(r.d.grace + finalWriteTime):
		r.d.log.Error("webhook results lost, deliveries will be sent again")
	}
}

// wait waits for the goroutines of the run, but not for an Observer that does not return.
func (r *run) wait() {
	r.stepMu.Lock()
	r.ended = true
	r.stepMu.Unlock()
	r.timer.Stop()
	close(r.pauses)
	r.cancelBase(errStopped)
	r.storeCalls.Wait()
	ended := make(chan struct{})
	go func() {
		r.requests.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(observerTimeout):
		r.d.log.Error("webhook observer did not return")
	}
}

// sendRequests makes a request, and reports the result first to the scheduler and then to the Observer. It then makes
// the next request in the same goroutine, because growing a new goroutine's stack takes a tenth of a delivery's
// processor time.
func (r *run) sendRequests(req *scheduler.Request) {
	for next := []*scheduler.Request{req}; len(next) > 0; {
		req = next[0]
		result := r.d.deliver(r.postCtx, &req.Delivery)
		result.Request = req
		if result.Delivery == nil || r.d.config.Observer == nil {
			next = r.stepRequests(result)
		} else {
			attempt := *result.Delivery // a copy, because the store may modify the original
			next = r.stepRequests(result)
			r.requests.Go(func() { r.observeAttempt(attempt) })
		}
		for _, req := range next[min(1, len(next)):] {
			go r.sendRequests(req)
		}
		r.requests.Done()
	}
}

func (r *run) observeAttempt(a storage.Delivery) {
	defer r.observerCalls.Add(-1)
	if r.observerCalls.Add(1) > maxObserverCalls {
		r.logBlockedObserver.Do(func() { r.d.log.Error("webhook observer did not return, attempts are not reported") })
		return
	}
	r.d.callObserver(func(o Observer) { o.AttemptFinished(context.WithoutCancel(r.baseCtx), a) })
}

func (r *run) claim(p storage.ClaimParams) scheduler.ClaimFinished {
	var e scheduler.ClaimFinished
	p.Local = r.d.local.urls
	ctx, cancel := context.WithTimeout(r.baseCtx, storeTimeout)
	defer cancel()
	e.Err = catchPanic(func() (err error) {
		e.Deliveries, e.More, err = r.d.store.ClaimDeliveries(ctx, p)
		return err
	})
	if e.Err != nil {
		r.d.log.Log(r.baseCtx, r.recordStoreFailure(&r.claimLogged), "failed to claim webhook deliveries", "error", e.Err)
	} else {
		r.storeFailing.Store(false)
	}
	return e
}

// logInterval is the minimum time between log entries for failed calls to the store. During an outage, such calls fail
// several times a second.
const logInterval = 5 * time.Second

// recordStoreFailure records a failed call to the store and returns the level at which to log it.
func (r *run) recordStoreFailure(logged *atomic.Int64) slog.Level {
	r.storeFailing.Store(true)
	now := time.Now().UnixNano()
	if last := logged.Load(); now-last >= int64(logInterval) && logged.CompareAndSwap(last, now) {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// recordStoreResponse reports to the scheduler that a call to the store succeeded.
func (r *run) recordStoreResponse() {
	if r.storeFailing.Load() {
		r.step(scheduler.StoreResponded{})
	}
}

func (r *run) writeResults(results []storage.Result) scheduler.WriteFinished {
	ctx, cancel := context.WithTimeout(r.baseCtx, storeTimeout)
	defer cancel()
	fenced, err := catchPanicResult(func() ([]storage.Lease, error) { return r.d.store.FinishDeliveries(ctx, results) })
	for _, lease := range fenced {
		r.d.log.Info("webhook result ignored: the delivery was canceled, claimed again or already settled",
			"webhook", lease.WebhookID.String(), "event", lease.EventID.String())
	}
	if blocked, ok := errors.AsType[*storage.BlockedResultsError](err); ok {
		return scheduler.WriteFinished{Blocked: blocked.Leases}
	}
	rejected := err != nil && !isTransient(err)
	switch {
	case rejected && len(results) == 1:
		r.d.log.Error("storage rejected webhook result", "error", err,
			"webhook", results[0].Lease.WebhookID.String(), "event", results[0].Lease.EventID.String())
	case err != nil:
		r.d.log.Log(r.baseCtx, r.recordStoreFailure(&r.writeLogged), "failed to write webhook results", "error", err, "results", len(results))
	default:
		r.storeFailing.Store(false)
	}
	return scheduler.WriteFinished{Err: err, Rejected: rejected}
}

// isTransient reports whether the call to the store that returned err may succeed later.
func isTransient(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// catchPanic calls f and converts a panic to an error.
func catchPanic(f func() error) error {
	_, err := catchPanicResult(func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func catchPanicResult[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("webhooks: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
