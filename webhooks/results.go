package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// A write has at most so many results, and waits at most so long for them.
	resultsAtMost = 1000
	resultsWithin = 20 * time.Millisecond
	// unrecorded is how many deliveries may be sent without their results being
	// written, in multiples of Config.InFlight: those that are sent again when this
	// process dies.
	unrecorded = 8
)

// results is the part of a run that writes what became of deliveries, one call
// at a time.
type results struct {
	pending []storage.Result
	sent    int         // attempts that are not written: pending ones and those of a call under way
	due     bool        // the oldest has waited long enough
	active  bool        // a call is under way
	timer   *time.Timer // when due becomes true
	limit   int         // results a call, smaller after a fault
	faults  int         // in a row
	faulty  time.Time   // the first fault since nothing was pending; zero: none
	after   time.Time   // the end of the pause after faults
	done    chan written
}

// written is what came out of one call.
type written struct {
	batch  []storage.Result
	fenced []storage.Lease
	err    error
}

func newResults() results {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return results{limit: resultsAtMost, timer: timer, done: make(chan written, 1)}
}

// tooManyUnrecorded reports whether the store must catch up before more is sent.
func (r *run) tooManyUnrecorded() bool {
	return r.slots.inFlight()+r.results.sent >= unrecorded*r.d.config.InFlight
}

// add queues a result for writing.
func (r *run) add(result storage.Result) {
	w := &r.results
	r.destinations[result.Lease.WebhookID].unsaved++
	if result.Attempt != nil {
		w.sent++
	}
	w.pending = append(w.pending, result)
	if len(w.pending) == 1 && !w.active && w.faults == 0 {
		w.timer.Reset(resultsWithin)
	}
}

// startWrite writes results when there are enough, when they have waited long
// enough, or when nothing is under way that could add to them.
func (r *run) startWrite() {
	w := &r.results
	if w.active || len(w.pending) == 0 || time.Now().Before(w.after) {
		return
	}
	// Half of what may be unrecorded, so that sending goes on while it is written.
	enough := min(w.limit, unrecorded*r.d.config.InFlight/2)
	if !w.due && r.slots.inFlight() > 0 && len(w.pending) < enough && !r.tooManyUnrecorded() {
		return
	}
	n := min(len(w.pending), w.limit)
	batch := w.pending[:n:n]
	w.pending = w.pending[n:]
	w.due, w.active = false, true
	w.timer.Stop()
	r.stamp(batch)
	go func() {
		ctx, cancel := context.WithTimeout(r.base, storeTimeout)
		defer cancel()
		w.done <- r.write(ctx, batch)
	}()
}

// stamp gives all results of a webhook its latest state, so that it does not
// matter in which order a batch is applied or tried again.
func (r *run) stamp(batch []storage.Result) {
	for i := range batch {
		if batch[i].Attempt != nil {
			s := r.destinations[batch[i].Lease.WebhookID]
			batch[i].Failures, batch[i].PausedUntil = s.failures, s.pausedUntil
		}
	}
}

func (r *run) write(ctx context.Context, batch []storage.Result) written {
	out := written{batch: batch}
	out.err = protect(func() (err error) {
		out.fenced, err = r.d.store.FinishDeliveries(ctx, batch, History)
		return err
	})
	return out
}

// passing reports whether what failed may succeed later.
func passing(err error) bool {
	return err == nil || errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// written takes in the end of a write.
func (r *run) written(out written) {
	w := &r.results
	w.active = false
	if len(out.batch) == 1 && !passing(out.err) {
		// It will never be accepted. Its delivery is repeated when the lease runs out.
		r.d.log.Error("webhook result is refused by the store", "cause", out.err,
			"webhook", out.batch[0].Lease.WebhookID.String(), "event", out.batch[0].Lease.EventID.String())
		out.err = nil
	}
	if out.err != nil {
		// To the end of the queue and in smaller batches, so that a result which the
		// store refuses does not hold back the others.
		w.pending = append(w.pending, out.batch...)
		w.limit = max(1, len(out.batch)/2)
		if w.faulty.IsZero() {
			w.faulty = time.Now()
		}
		w.faults++
		wait := backoff(w.faults)
		w.after = time.Now().Add(wait)
		w.timer.Reset(wait)
		r.d.log.Error("webhook results cannot be written", "cause", out.err, "results", len(out.batch), "retry_in", wait)
		return
	}
	w.faults = 0
	w.limit = min(resultsAtMost, 2*w.limit)
	if len(w.pending) > 0 {
		w.timer.Reset(resultsWithin)
	} else {
		w.faulty = time.Time{}
	}
	for _, lease := range out.fenced {
		r.d.log.Warn("webhook result came too late: the delivery was ended or claimed again",
			"webhook", lease.WebhookID.String(), "event", lease.EventID.String())
	}
	now := time.Now()
	for _, result := range out.batch {
		id := result.Lease.WebhookID
		r.destinations[id].unsaved--
		if result.Attempt != nil {
			w.sent--
		}
		r.forget(id, now)
	}
}

// writeLast writes what is left when nothing is under way any more. What cannot
// be written is delivered again when its lease runs out.
func (r *run) writeLast() {
	w := &r.results
	if w.active {
		r.written(<-w.done)
	}
	ctx, cancel := context.WithTimeout(r.base, lastWrites)
	defer cancel()
	for len(w.pending) > 0 {
		if wait := time.Until(w.after); wait > 0 {
			pause := time.NewTimer(wait)
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
		if ctx.Err() != nil {
			r.d.log.Error("webhook results are lost, their deliveries will be repeated", "results", len(w.pending))
			return
		}
		n := min(len(w.pending), w.limit)
		batch := w.pending[:n:n]
		w.pending = w.pending[n:]
		r.stamp(batch)
		r.written(r.write(ctx, batch))
	}
}
