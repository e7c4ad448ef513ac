package scheduler

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// results is the part of a scheduler that has results written, one call at a time.
type results struct {
	pending []result
	since   time.Time // when the first of them came
	active  []result  // of the call that is under way
	limit   int       // results a call, fewer after a fault
	faults  int       // in a row
	behind  int       // how many waited at the last fault and still do: nothing is claimed meanwhile
	after   time.Time // the end of the wait after a fault
}

// result is one of them.
type result struct {
	storage.Result
	webhook *webhook
	to      *destination
	pool    *pool // of the request, nil: nothing was sent
}

// record queues the result of a request for writing. Without an attempt it is given
// back as it was.
func (s *Scheduler) record(r *Request, attempt *storage.Attempt, retryIn time.Duration) {
	of := result{storage.Result{Lease: r.Delivery.Lease, Attempt: attempt, RetryIn: retryIn}, r.webhook, r.to, nil}
	if attempt != nil {
		of.pool = r.pool
		r.pool.unrecorded++
		r.webhook.unsaved++
	}
	if len(s.results.pending) == 0 {
		s.results.since = s.now
	}
	s.results.pending = append(s.results.pending, of)
}

// write has results written that have waited for others for long enough.
func (s *Scheduler) write() {
	r := &s.results
	if len(r.active) > 0 || len(r.pending) == 0 || s.now.Before(r.after) {
		return
	}
	if s.now.Sub(r.since) < s.n.Gather && !s.stopped {
		return
	}
	n := min(len(r.pending), r.limit)
	r.active, r.pending, r.since = r.pending[:n:n], r.pending[n:], s.now
	// What belongs to one webhook stands together, so that the store's work for it is
	// shared.
	slices.SortStableFunc(r.active, func(a, b result) int {
		return bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:])
	})
	s.out.Write = make([]storage.Result, n)
	for i, of := range r.active {
		if of.Attempt != nil { // all of a URL alike: their order does not matter then
			of.Standing = of.to.standing
			if left := of.to.pause.until.Sub(s.now); left > 0 {
				of.PauseFor, of.PauseReason = left, of.to.pause.reason
			}
		}
		s.out.Write[i] = of.Result
	}
}

// wrote takes in the end of a write.
func (s *Scheduler) wrote(e Wrote) {
	r := &s.results
	batch := r.active
	r.active = nil
	// A result that will never be accepted is dropped: its delivery is repeated when
	// the lease runs out.
	if e.Err != nil && (!e.Refused || len(batch) != 1) {
		// To the end and in smaller batches, so that a result which the store refuses
		// does not hold back the others.
		r.pending = append(r.pending, batch...)
		r.limit = max(1, len(batch)/2)
		r.faults++
		r.behind = len(r.pending)
		r.after = s.now.Add(s.backoff(r.faults))
		return
	}
	r.faults, r.behind = 0, max(0, r.behind-len(batch))
	r.limit = min(s.n.Rows, 2*r.limit)
	if len(e.Held) == len(batch) {
		r.after = s.now.Add(backoffFirst)
	}
	for _, of := range batch {
		if slices.Contains(e.Held, of.Lease) {
			r.pending = append(r.pending, of)
			continue
		}
		if of.pool != nil {
			of.pool.unrecorded--
			of.webhook.unsaved--
			of.webhook.saved = s.now
			// A claim that ran meanwhile took the webhook for a new one, and its other
			// deliveries would wait for the poll.
			if of.pool == &s.second && of.to.standing.Good() {
				s.want()
			}
		} else if of.RetryIn == 0 {
			s.want() // somebody may have room for it
		}
	}
}
