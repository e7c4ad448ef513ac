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
	since   time.Time // when the first of them came, or the last write began if that was later
	quick   int       // of the quick pool, that came since the last write began
	active  []result  // of the call that is under way
	after   time.Time // no call before
	failed  time.Time // the end of the last call that failed
	// faults is how many there were in a row. A success takes one off and leaves at least
	// one, until nothing but what is held is pending: then there are none.
	faults int
}

// mostFaults is the number of faults after which a write has one result: Rows is less than two to
// this power. After as many successes the writes are as large as before.
const mostFaults = 10

// result is what became of a request. Without an attempt nothing was sent, and its
// delivery is given back.
type result struct {
	*Request
	storage.Result
	held bool // somebody else held what it changes: it may take long
}

// record queues the result of a request for writing.
func (s *Scheduler) record(r *Request, of storage.Result) {
	if of.Delivery != nil {
		r.pool.unrecorded++
		r.webhook.unsaved++
		if r.pool == &s.quick {
			s.results.quick++
		}
	}
	if len(s.results.pending) == 0 {
		s.results.since = s.now
	}
	of.Lease = r.Delivery.Lease
	s.results.pending = append(s.results.pending, result{r, of, false})
	r.Delivery.Body = nil // is not held until then
}

// write has results written when they have waited for others for long enough, or when the
// quick pool brought many results. Those of the second pool leave it room enough, and what
// is held has been tried before. After faults there are fewer in a call, so that one which
// the store refuses is found.
func (s *Scheduler) write() {
	r := &s.results
	if len(r.active) > 0 || len(r.pending) == 0 || s.now.Before(r.after) || s.now.Sub(r.since) < s.n.Gather && r.quick < s.n.write && !s.stopped {
		return
	}
	n := max(1, min(len(r.pending), s.n.Rows)>>r.faults)
	r.active, r.pending, r.since, r.quick = r.pending[:n:n], r.pending[n:], s.now, 0
	// What belongs to one webhook stands together, so that the store's work for it is
	// shared.
	slices.SortStableFunc(r.active, func(a, b result) int {
		return bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:])
	})
	s.out.Write = make([]storage.Result, n)
	for i, of := range r.active {
		if w := of.webhook; of.Result.Delivery != nil { // all of a URL alike: their order does not matter then
			of.Health = w.standing
			if left := w.pause.until.Sub(s.now); left > 0 {
				of.PauseFor, of.PauseReason = left, w.pause.reason
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
	if e.Err != nil && (!e.Refused || len(batch) > 1) {
		r.pending = append(r.pending, batch...) // to the end, so that others are not held back
		r.faults = min(r.faults+1, mostFaults)
		r.failed, r.after = s.now, s.now.Add(s.backoff(r.faults))
		return
	}
	s.reached()
	for _, of := range batch {
		if slices.Contains(e.Held, of.Lease) {
			of.held = true
			r.pending = append(r.pending, of)
			continue
		}
		if of.Result.Delivery != nil {
			of.pool.unrecorded--
			of.webhook.unsaved--
			of.webhook.saved = s.now
		}
		if (of.claimed || of.webhook.passed) && of.Result.Delivery != nil || of.Result.Delivery == nil && of.RetryIn == 0 {
			of.webhook.pool.wanted = true // more may wait, and the store knows now how that fared
		}
	}
	if len(e.Held) == len(batch) {
		r.after = s.now.Add(s.n.backoffFirst)
	}
	if !slices.ContainsFunc(r.pending, func(of result) bool { return !of.held }) {
		r.faults = 0
	} else if r.faults > 1 {
		r.faults--
	}
}
