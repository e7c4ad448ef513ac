package scheduler

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// results holds the state of results and writes. Only one write runs at a time.
type results struct {
	pending      []result
	waitingSince time.Time // start of the last write or arrival of the first pending result, whichever is later
	fastResults  int       // fast-pool results since the last write started
	writing      []result  // results in the current write
	notBefore    time.Time // earliest start of the next write
	failedAt     time.Time // end of the last failed write
	// failures counts consecutive errors. A success decreases it, but not below one. It becomes zero when only
	// blocked results are pending.
	failures int
}

// maxFailures is the number of errors after which a write contains a single result, because MaxBatch is less than
// 2^maxFailures. After as many successes, writes are back to their full size.
const maxFailures = 10

// result is the result of a delivery. If it has no attempt, the delivery is released.
type result struct {
	*Request
	storage.Result
	blocked bool // another transaction blocks the delivery's rows, possibly for a long time
}

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
	r.Delivery.Body = nil // frees memory
}

// maybeStartWrite starts a write after BatchDelay, or earlier if the fast pool has many results. Only the fast pool
// needs its capacity back soon. Blocked results do not count, because they were already written once without success.
// After errors, writes contain fewer results, to find the result that the store rejects.
func (s *Scheduler) maybeStartWrite() {
	r := &s.results
	if len(r.writing) > 0 || len(r.pending) == 0 || s.now.Before(r.notBefore) || s.now.Sub(r.waitingSince) < s.config.BatchDelay && r.fastResults < s.config.writeThreshold && !s.stopped {
		return
	}
	n := max(1, min(len(r.pending), s.config.MaxBatch)>>r.failures)
	r.writing, r.pending, r.waitingSince, r.fastResults = r.pending[:n:n], r.pending[n:], s.now, 0
	// Group the results by webhook, so that the store handles a webhook's results together.
	slices.SortStableFunc(r.writing, func(a, b result) int {
		return bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:])
	})
	s.actions.Write = make([]storage.Result, n)
	for i, of := range r.writing {
		if w := of.webhook; of.Result.Delivery != nil { // the same for all results for a URL, so that their order does not matter
			of.Health = w.health
			if left := w.pause.until.Sub(s.now); left > 0 {
				of.PauseFor, of.PauseReason = left, w.pause.reason
			}
		}
		s.actions.Write[i] = of.Result
	}
}

func (s *Scheduler) finishWrite(e WriteFinished) {
	r := &s.results
	batch := r.writing
	r.writing = nil
	if e.Err != nil && (!e.Rejected || len(batch) > 1) {
		r.pending = append(r.pending, batch...) // at the end, so that they do not block other results
		r.failures = min(r.failures+1, maxFailures)
		r.failedAt, r.notBefore = s.now, s.now.Add(s.randomBackoff(r.failures))
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
			of.webhook.pool.claimWanted = true // more deliveries may be due, because the store now knows the new health
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
