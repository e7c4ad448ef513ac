package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
)

// worker sends deliveries, one after the other.
type worker struct {
	d     *Dispatcher
	posts context.Context //nolint:containedctx // ends when requests under way are to end
	// A context for each request would cost as much as signing it: one serves until
	// its time is up.
	request context.Context //nolint:containedctx // of the request under way
	giveUp  context.CancelCauseFunc
	timer   *time.Timer
}

func newWorker(posts context.Context, d *Dispatcher) *worker { return &worker{d: d, posts: posts} }

// run sends what comes, until there will be no more. What came out goes to the
// scheduler first, so that it does not wait for an Observer.
func (w *worker) run(work <-chan *scheduler.Request, post func(scheduler.Event), back func()) {
	defer w.close()
	for req := range work {
		ended := w.deliver(&req.Delivery)
		ended.Request = req
		if ended.Attempt == nil {
			post(ended)
		} else {
			seen := *ended.Attempt // the store may change its own
			ctx := context.WithoutCancel(w.posts)
			post(ended)
			w.d.observe(func(o Observer) { o.AttemptFinished(ctx, seen) })
		}
		back()
	}
}

// begin returns the context of a request, which ends when that has lasted too
// long. After the request comes a call of end.
func (w *worker) begin() context.Context {
	if w.request != nil {
		w.timer.Reset(w.d.config.Timeout)
		return w.request
	}
	ctx, cancel := context.WithCancelCause(w.posts)
	w.request, w.giveUp = ctx, cancel
	w.timer = time.AfterFunc(w.d.config.Timeout, func() { cancel(context.DeadlineExceeded) })
	return ctx
}

// end ends the time of a request. A context whose time is up, or is just running
// out, serves no other.
func (w *worker) end() {
	if w.timer.Stop() && w.request.Err() == nil {
		return
	}
	w.close()
}

// close gives up what belongs to the last context.
func (w *worker) close() {
	if w.request != nil {
		w.timer.Stop()
		w.giveUp(nil)
		w.request = nil
	}
}
