package scheduler

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// results is the part of a scheduler that has results written, one call at a time.
type results struct {
	pending  []result
	since    time.Time // when the first of them came
	attempts int       // that are not written: pending ones and those of a call under way
	active   []result  // of the call that is under way
	limit    int       // results a call, fewer after a fault
	faults   int       // in a row
	faulty   time.Time // the first fault since nothing was pending. Zero: none
	after    time.Time // the end of the pause after faults
}

// result is one of them.
type result struct {
	storage.Result
	webhook *webhook
}

// record queues a result for writing.
func (s *Scheduler) record(w *webhook, to storage.Result) {
	r := &s.results
	if len(r.pending) == 0 {
		r.since = s.now
	}
	if to.Attempt != nil {
		r.attempts++
		w.unsaved++
	}
	r.pending = append(r.pending, result{to, w})
}

// tooManyUnrecorded reports whether the store must catch up before more is sent: a
// process that is killed repeats what it sent and did not record.
func (s *Scheduler) tooManyUnrecorded() bool {
	return s.quick.used+s.results.attempts >= s.n.Unrecorded
}

// writesFail reports whether writing has failed for so long that what could be
// claimed now may be what waits to be recorded.
func (s *Scheduler) writesFail() bool {
	return !s.results.faulty.IsZero() && s.now.Sub(s.results.faulty) > s.n.Lease/2
}

// write has results written when there are enough, when they have waited for long
// enough, or when no quick request is under way that could add to them.
func (s *Scheduler) write() {
	r := &s.results
	if len(r.active) > 0 || len(r.pending) == 0 || s.now.Before(r.after) {
		return
	}
	// Half of what may be unrecorded, so that sending goes on while it is written.
	enough := min(r.limit, s.n.Unrecorded/2)
	if len(r.pending) < enough && s.quick.used > 0 && s.now.Sub(r.since) < s.n.Gather && !s.tooManyUnrecorded() && !s.stopped {
		return
	}
	n := min(len(r.pending), r.limit)
	r.active, r.pending, r.since = r.pending[:n:n], r.pending[n:], s.now
	// What belongs to one webhook stands together, so that the store's work for it is
	// shared.
	slices.SortStableFunc(r.active, func(a, b result) int {
		return bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:])
	})
	batch := make([]storage.Result, n)
	for i, of := range r.active {
		batch[i] = of.Result
		if of.Attempt != nil { // all of a webhook alike: their order does not matter then
			batch[i].Standing = of.webhook.standing
			if left := of.webhook.pause.until.Sub(s.now); left > 0 {
				batch[i].PauseFor, batch[i].PauseReason = left, of.webhook.pause.reason
			}
		}
	}
	s.out.Write = batch
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
		if r.faulty.IsZero() {
			r.faulty = s.now
		}
		r.faults++
		r.after = s.now.Add(s.backoff(r.faults))
		return
	}
	r.faults = 0
	r.limit = min(s.n.Rows, 2*r.limit)
	if len(r.pending) == 0 {
		r.faulty = time.Time{}
	}
	if len(e.Held) == len(batch) {
		r.after = s.now.Add(backoffFirst)
	}
	for _, of := range batch {
		if slices.Contains(e.Held, of.Lease) {
			r.pending = append(r.pending, of)
			continue
		}
		if of.Attempt != nil {
			r.attempts--
			of.webhook.unsaved--
			of.webhook.saved = s.now
		} else if of.RetryIn == 0 {
			s.claims.wanted = true // somebody may have room for it
		}
	}
}
