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

// run is one Run of a dispatcher: the shell of a scheduler. A goroutine that has
// something to report takes a step: the scheduler decides, and the step begins the work
// that it names. Hand-overs collect, and one step takes in all of them.
// Claims, writes and requests happen in goroutines of their own, which report their
// results.
type run struct {
	d *Dispatcher
	//nolint:containedctx // a run is one call of Run; this is its context without the end
	base context.Context
	stop context.CancelCauseFunc // of base: calls of the store end, and posts
	//nolint:containedctx // ends when a stop has lasted for the grace period
	posts     context.Context
	stopPosts context.CancelCauseFunc

	deciding  sync.Mutex // guards what follows
	scheduler *scheduler.Scheduler
	timer     *time.Timer
	over      bool // no more steps
	notices   chan storage.PausedWebhook

	collecting sync.Mutex        // guards handed
	handed     []scheduler.Event // that no step has taken in yet

	done     chan struct{}  // closed when nothing is left after a stop
	calls    sync.WaitGroup // of the store
	requests sync.WaitGroup // and what else an Observer may hold up
	failing  atomic.Bool    // the last claim or write failed
	// When that was last logged as an error, in Unix nanoseconds.
	claimLogged, writeLogged atomic.Int64
	observing                atomic.Int64 // calls of AttemptFinished
	stuck                    sync.Once    // too many of them
}

func newRun(ctx context.Context, d *Dispatcher) *run {
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	posts, stopPosts := context.WithCancelCause(base)
	n := scheduler.Default(d.config.InFlight, d.config.InFlightSlow, d.config.InFlightWebhook, d.config.Timeout)
	r := &run{
		d: d, base: base, stop: stop, posts: posts, stopPosts: stopPosts,
		scheduler: scheduler.New(n, d.spread),
		notices:   make(chan storage.PausedWebhook, observersAtOnce),
		done:      make(chan struct{}),
	}
	r.timer = time.AfterFunc(time.Hour, func() { r.step() })
	return r
}

// step gives the scheduler the events and begins the work that it names. It waits for
// nobody but another step.
func (r *run) step(events ...scheduler.Event) {
	for _, req := range r.decide(events...) {
		go r.send(req)
	}
}

// decide is a step that leaves the requests to its caller, which sends each: requests
// counts them already. Its caller may be a goroutine that the run does not wait for, and
// come to sending them after the run has ended.
func (r *run) decide(events ...scheduler.Event) []*scheduler.Request {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if r.over {
		return nil
	}
	now := time.Now()
	do := r.scheduler.Step(now, events...)
	if do.Claim != nil {
		r.calls.Go(func() { r.step(r.claim(*do.Claim)) })
	}
	if len(do.Write) > 0 {
		r.calls.Go(func() { r.step(r.write(do.Write)) })
	}
	for _, p := range do.Pauses {
		select {
		case r.notices <- p:
		default: // an Observer does not return
		}
	}
	if !do.Next.IsZero() {
		r.timer.Reset(max(0, do.Next.Sub(now)))
	}
	if r.scheduler.Done() {
		r.over = true
		close(r.done)
	}
	r.requests.Add(len(do.Send))
	return do.Send
}

// drain gives back waiting deliveries, lets requests under way end and has the results
// written.
func (r *run) drain() {
	grace := time.AfterFunc(r.d.grace, func() { r.stopPosts(errStopped) })
	defer grace.Stop()
	r.step(scheduler.Stop{})
	select {
	case <-r.done:
	case <-time.After(r.d.grace + lastWrites):
		r.d.log.Error("webhook results lost, deliveries will be repeated")
	}
}

// end waits for the goroutines of the run, but not for an Observer that does not
// return.
func (r *run) end() {
	r.deciding.Lock()
	r.over = true
	r.deciding.Unlock()
	r.timer.Stop()
	close(r.notices)
	r.stop(errStopped)
	r.calls.Wait()
	ended := make(chan struct{})
	go func() {
		r.requests.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(observerEnds):
		r.d.log.Error("webhook observer did not return")
	}
}

// send makes a request. The scheduler gets a result before an Observer sees the result.
// The goroutine goes on with a request that begins then: a new one has to grow its stack,
// which takes a tenth of the processor time of a delivery.
func (r *run) send(req *scheduler.Request) {
	for next := []*scheduler.Request{req}; len(next) > 0; {
		req = next[0]
		ended := r.d.deliver(r.posts, &req.Delivery)
		ended.Request = req
		if ended.Delivery == nil || r.d.config.Observer == nil {
			next = r.decide(ended)
		} else {
			seen := *ended.Delivery // the store may change its own
			next = r.decide(ended)
			r.requests.Go(func() { r.observeAttempt(seen) })
		}
		for _, req := range next[min(1, len(next)):] {
			go r.send(req)
		}
		r.requests.Done()
	}
}

// observeAttempt shows an attempt to the Observer.
func (r *run) observeAttempt(a storage.Delivery) {
	defer r.observing.Add(-1)
	if r.observing.Add(1) > observersAtOnce {
		r.stuck.Do(func() { r.d.log.Error("webhook observer did not return, attempts are not reported") })
		return
	}
	r.d.observe(func(o Observer) { o.AttemptFinished(context.WithoutCancel(r.base), a) })
}

// claim asks the store for work.
func (r *run) claim(p storage.ClaimParams) scheduler.Claimed {
	var e scheduler.Claimed
	ctx, cancel := context.WithTimeout(r.base, storeTimeout)
	defer cancel()
	e.Err = protect(func() (err error) {
		e.Deliveries, e.More, err = r.d.store.ClaimDeliveries(ctx, p)
		return err
	})
	if e.Err != nil {
		r.d.log.Log(r.base, r.failed(&r.claimLogged), "failed to claim webhook deliveries", "error", e.Err)
	} else {
		r.failing.Store(false)
	}
	return e
}

// logEvery is the least time between two lines about failed calls of the store, which come
// several times a second while its server is down.
const logEvery = 5 * time.Second

// failed notes a call of the store that failed, and returns the level at which to log it.
func (r *run) failed(logged *atomic.Int64) slog.Level {
	r.failing.Store(true)
	now := time.Now().UnixNano()
	if last := logged.Load(); now-last >= int64(logEvery) && logged.CompareAndSwap(last, now) {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// reached says that the store has done something for this process.
func (r *run) reached() {
	if r.failing.Load() {
		r.step(scheduler.Reached{})
	}
}

// write has the store settle deliveries.
func (r *run) write(results []storage.Result) scheduler.Wrote {
	ctx, cancel := context.WithTimeout(r.base, storeTimeout)
	defer cancel()
	fenced, err := protected(func() ([]storage.Lease, error) { return r.d.store.FinishDeliveries(ctx, results) })
	for _, lease := range fenced {
		r.d.log.Info("webhook result ignored: the delivery was canceled, claimed again or already settled",
			"webhook", lease.WebhookID.String(), "event", lease.EventID.String())
	}
	if held, ok := errors.AsType[*storage.BlockedResultsError](err); ok {
		return scheduler.Wrote{Held: held.Leases}
	}
	refused := err != nil && !passing(err)
	switch {
	case refused && len(results) == 1:
		r.d.log.Error("storage rejected webhook result", "error", err,
			"webhook", results[0].Lease.WebhookID.String(), "event", results[0].Lease.EventID.String())
	case err != nil:
		r.d.log.Log(r.base, r.failed(&r.writeLogged), "failed to write webhook results", "error", err, "results", len(results))
	default:
		r.failing.Store(false)
	}
	return scheduler.Wrote{Err: err, Refused: refused}
}

// passing reports whether what failed may succeed later.
func passing(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// protect calls f and turns a panic into an error.
func protect(f func() error) error {
	_, err := protected(func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// protected is protect for a call that returns something.
func protected[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("webhooks: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
