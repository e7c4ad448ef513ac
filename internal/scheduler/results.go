package scheduler

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// results is the part of a scheduler that has results written, one call at a time.
type results struct {
	pending      []result
	waitingSince time.Time // when the first of them came, or the last write began if that was later
	fastResults  int       // of the quick pool, that came since the last write began
	writing      []result  // of the call that is under way
	notBefore    time.Time // no call before
	failedAt     time.Time // the end of the last call that failed
	// failures is how many there were in a row. A success takes one off and leaves at least
	// one, until nothing but what is held is pending: then there are none.
	failures int
}

// maxFailures is the number of faults after which a write has one result: Rows is less than two to
// this power. After as many successes the writes are as large as before.
const maxFailures = 10

// result is what became of a request. Without an attempt nothing was sent, and its
// delivery is given back.
type result struct {
	*Request
	storage.Result
	blocked bool // somebody else held what it changes: it may take long
}

// record queues the result of a request for writing.
func (s *Scheduler) queueResult(r *Request, of storage.Result) {
	if of.Delivery != nil {
		r.pool.unrecorded++
		r.webhook.unrecorded++
		if r.pool == &s.fast {
			s.results.fastResults++
		}
	}
	if len(s.results.pending) == 0 {
		s.results.waitingSince = s.now
	}
	of.Lease = r.Delivery.Lease
	s.results.pending = append(s.results.pending, result{r, of, false})
	r.Delivery.Body = nil // is not held until then
}

// write has results written when they have waited for others for long enough, or when the
// quick pool brought many results. Those of the second pool leave it room enough, and what
// is held has been tried before. After faults there are fewer in a call, so that one which
// the store refuses is found.
func (s *Scheduler) startWrite() {
	r := &s.results
	if len(r.writing) > 0 || len(r.pending) == 0 || s.now.Before(r.notBefore) || s.now.Sub(r.waitingSince) < s.config.BatchDelay && r.fastResults < s.config.writeThreshold && !s.stopped {
		return
	}
	n := max(1, min(len(r.pending), s.config.MaxBatch)>>r.failures)
	r.writing, r.pending, r.waitingSince, r.fastResults = r.pending[:n:n], r.pending[n:], s.now, 0
	// What belongs to one webhook stands together, so that the store's work for it is
	// shared.
	slices.SortStableFunc(r.writing, func(a, b result) int {
		return bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:])
	})
	s.actions.Write = make([]storage.Result, n)
	for i, of := range r.writing {
		if w := of.webhook; of.Result.Delivery != nil { // all of a URL alike: their order does not matter then
			of.Health = w.health
			if left := w.pause.until.Sub(s.now); left > 0 {
				of.PauseFor, of.PauseReason = left, w.pause.reason
			}
		}
		s.actions.Write[i] = of.Result
	}
}

// wrote takes in the end of a write.
func (s *Scheduler) finishWrite(e WriteFinished) {
	r := &s.results
	batch := r.writing
	r.writing = nil
	if e.Err != nil && (!e.Rejected || len(batch) > 1) {
		r.pending = append(r.pending, batch...) // to the end, so that others are not held back
		r.failures = min(r.failures+1, maxFailures)
		r.failedAt, r.notBefore = s.now, s.now.Add(s.backoff(r.failures))
		return
	}
	s.shortenBackoff()
	for _, of := range batch {
		if slices.Contains(e.Blocked, of.Lease) {
			of.blocked = true
			r.pending = append(r.pending, of)
			continue
		}
		if of.Result.Delivery != nil {
			of.pool.unrecorded--
			of.webhook.unrecorded--
			of.webhook.recordedAt = s.now
		}
		if (of.claimed || of.webhook.skipped) && of.Result.Delivery != nil || of.Result.Delivery == nil && of.RetryIn == 0 {
			of.webhook.pool.claimWanted = true // more may wait, and the store knows now how that fared
		}
	}
	if len(e.Blocked) == len(batch) {
		r.notBefore = s.now.Add(s.config.minBackoff)
	}
	if !slices.ContainsFunc(r.pending, func(of result) bool { return !of.blocked }) {
		r.failures = 0
	} else if r.failures > 1 {
		r.failures--
	}
}
