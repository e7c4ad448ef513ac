package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// Deliveries are claimed ahead of their sending, because a claim costs about
	// the same for one and for hundreds: up to claimAhead times InFlight of them,
	// and of one webhook what it was sent in the last aheadFor.
	claimAhead = 16
	aheadFor   = 200 * time.Millisecond
	// waitAtMost is how long a claimed delivery may wait to be sent here.
	waitAtMost = time.Second
	// restAtMost bounds the rest between two claims that did not fill up.
	restAtMost = 20 * time.Millisecond
)

// claims is the part of a run that asks the store for work, one call at a time.
type claims struct {
	wanted bool        // something may be due
	more   bool        // something is due, but enough may be here already
	active bool        // a call is under way
	timer  *time.Timer // the next poll, or the end of a pause after faults
	rest   *time.Timer // the end of a rest
	faults int         // in a row
	after  time.Time   // the end of that rest or pause
	last   time.Time   // when the last call began
	ended  time.Time   // when it ended
	done   chan claimed
}

// claimed is what one call brought.
type claimed struct {
	params     storage.ClaimParams
	deliveries []storage.Delivery
	at         time.Time // before the call: the lease is no older
	err        error
}

func newClaims(first time.Duration) claims {
	rest := time.NewTimer(time.Hour)
	rest.Stop()
	return claims{
		wanted: true,
		timer:  time.NewTimer(first),
		rest:   rest,
		done:   make(chan claimed, 1),
	}
}

// startClaim asks for work when there may be some and there is room for it.
func (r *run) startClaim() {
	c, most := &r.claims, claimAhead*r.d.config.InFlight
	here := r.waiting[steady] + r.waiting[untried] + r.waiting[suspect]
	look := c.wanted || c.more && r.waiting[steady] < most/4
	if !look || c.active || here >= 2*most || r.results.tooMany() || time.Now().Before(c.after) {
		return
	}
	c.wanted, c.more, c.active = false, false, true
	p := storage.ClaimParams{
		Now:   r.d.now(),
		Lease: r.d.leaseFor(),
		// Room for those of which nothing is here, however much there is of others.
		Max:        max(most-here, r.d.config.InFlight),
		PerWebhook: r.d.config.InFlightWebhook,
		Held:       r.held(here < most),
	}
	go func() {
		out := claimed{params: p, at: time.Now()}
		ctx, cancel := context.WithTimeout(r.base, storeTimeout)
		defer cancel()
		out.err = protect(func() (err error) {
			out.deliveries, err = r.d.store.ClaimDeliveries(ctx, p)
			return err
		})
		c.done <- out
	}()
}

// held counts, for the store, what each webhook has here, less what may wait
// here beyond PerWebhook. Those that should get nothing more for now count as
// full: broken ones, of which only one delivery is sent at a time, and slow
// ones.
func (r *run) held(ahead bool) map[storage.ID]int {
	passed := time.Since(r.claims.last)
	r.claims.last = time.Now()
	held := make(map[storage.ID]int, len(r.destinations))
	for id, s := range r.destinations {
		s.workOutAhead(passed, r.d.config.InFlight)
		n := s.inFlight + len(s.waiting)
		switch {
		case broken(s.failures), s.slow():
			n = r.d.config.InFlightWebhook
		case ahead:
			n -= s.ahead
		}
		if n != 0 {
			held[id] = n
		}
	}
	return held
}

// workOutAhead sets how many deliveries may wait here, by how many ended in the
// time since it was last set: only of a destination that answers, so that what
// waits does not wait for long. One of them gets at most an eighth of all.
func (s *receiver) workOutAhead(passed time.Duration, inFlight int) {
	most := claimAhead * inFlight / 8
	switch {
	case s.class != steady || s.failures > 0:
		s.ahead = 0
	case s.ended == 0 && len(s.waiting) == 0 && s.inFlight > 0:
		s.ahead /= 2
	case s.ended == 0:
	default:
		s.ahead = int(min(float64(most), float64(s.ended)*float64(aheadFor)/float64(max(passed, 1))))
	}
	s.ended = 0
}

// claimed takes in the end of a claim and returns what it brought.
func (r *run) claimed(out claimed) []storage.Delivery {
	c := &r.claims
	c.active = false
	if out.err != nil {
		c.faults++
		wait := backoff(c.faults)
		c.after = time.Now().Add(wait)
		c.timer.Reset(wait)
		r.d.log.Error("webhook deliveries cannot be claimed", "cause", out.err, "retry_in", wait)
		return nil
	}
	c.faults = 0
	if len(out.deliveries) >= out.params.Max {
		c.more = true
	} else if rest := min(time.Since(out.at), restAtMost); out.at.Sub(c.ended) < rest {
		// With very many wake-ups, claims take no more than half of the time or so.
		c.after = time.Now().Add(rest)
		c.rest.Reset(rest)
	}
	c.ended = time.Now()
	brought := make(map[storage.ID]int)
	for _, del := range out.deliveries {
		id := del.Lease.WebhookID
		brought[id]++
		s := r.destinations[id]
		if s == nil {
			s = &receiver{id: id, class: untried}
			r.destinations[id] = s
		}
		if s.aim(del) {
			r.releaseWaiting(s)
			r.classify(s)
		}
		s.probing = broken(s.failures)
	}
	for id, s := range r.destinations {
		s.hungry = out.params.Held[id]+brought[id] >= out.params.PerWebhook
		if s.hungry && s.short() {
			c.more = true
		}
		if brought[id] == 0 {
			r.forget(id)
		}
	}
	c.timer.Reset(r.d.poll())
	return out.deliveries
}

// short reports whether less than half of what may wait here does.
func (s *receiver) short() bool { return s.class == steady && 2*len(s.waiting) <= s.ahead }
