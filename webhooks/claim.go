package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// aheadOfAll is how many deliveries may wait for a slot, in multiples of
	// Config.InFlight, and aheadOfOne how many of a prompt destination, in multiples
	// of Config.InFlightWebhook. Many in a claim make each cost less. enough is how
	// many that will be sent soon make a claim wait, in multiples of Config.InFlight.
	aheadOfAll = 8
	aheadOfOne = 3
	enough     = 2
	// aheadFor is for how long what waits for a prompt destination keeps it busy.
	aheadFor = 50 * time.Millisecond
	// stalledAfter is how long requests may be under way without an answer until what
	// waits behind them is not counted on any more.
	stalledAfter = 200 * time.Millisecond
	// claimsApart is the least time from a claim that brought something to the next.
	claimsApart = 5 * time.Millisecond
)

// claims is the part of a run that asks the store for work, one call at a time.
type claims struct {
	waiting int         // deliveries that were claimed and not yet sent
	wanted  bool        // something may be due
	active  bool        // a call is under way
	timer   *time.Timer // the next poll, or the end of a pause after faults
	faults  int         // in a row
	after   time.Time   // no call before: the end of that pause, or claimsApart
	done    chan claimed
}

// claimed is what one call brought.
type claimed struct {
	params     storage.ClaimParams
	deliveries []storage.Delivery
	at         time.Time // before the call: the lease is no older
	err        error
}

func newClaims(first time.Duration) claims {
	return claims{
		wanted: true,
		timer:  time.NewTimer(first),
		done:   make(chan claimed, 1),
	}
}

// startClaim asks for work when there may be some and there is room for it. It
// asks for much at a time: as long as enough waits, it does not.
func (r *run) startClaim() {
	c := &r.claims
	if !c.wanted || c.active || r.tooManyUnrecorded() {
		return
	}
	now := time.Now()
	if wait := c.after.Sub(now); wait > 0 {
		c.timer.Reset(wait)
		return
	}
	r.releaseWaiting(func(w waiting) bool { return r.tooLate(w, now) })
	if r.ready(now) >= enough*r.d.config.InFlight {
		c.after = now.Add(claimsApart)
		c.timer.Reset(claimsApart)
		return
	}
	c.wanted, c.active = false, true
	p := storage.ClaimParams{
		Now:        r.d.now(),
		Lease:      r.d.leaseFor(),
		Max:        max(aheadOfAll*r.d.config.InFlight-c.waiting, r.d.config.InFlight),
		PerWebhook: r.d.config.InFlightWebhook,
		Held:       r.held(now),
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

// ready counts the deliveries that wait and will be sent soon, as far as is known.
func (r *run) ready(now time.Time) (n int) {
	for _, s := range r.destinations {
		switch {
		case len(s.waiting) == 0:
		case s.inFlight == 0:
			n++
		case s.class(now) == prompt && now.Sub(s.progress) < stalledAfter:
			n += len(s.waiting)
		}
	}
	return n
}

// held says, for the store, how much of PerWebhook each webhook is not to be
// given: what room does not leave of it. Prompt ones are given more than that.
func (r *run) held(now time.Time) map[storage.ID]int {
	limit := r.d.config.InFlightWebhook
	held := make(map[storage.ID]int, len(r.destinations)+len(r.slow))
	for id, until := range r.slow {
		switch {
		case now.After(until):
			delete(r.slow, id)
		case r.slots.room(slow):
			held[id] = limit - 1
		default:
			held[id] = limit
		}
	}
	for id, s := range r.destinations {
		held[id] = limit - r.room(s, now)
	}
	return held
}

// room is how many more deliveries of a destination should be claimed.
func (r *run) room(s *destination, now time.Time) int {
	limit, has := s.limit(r.d.config), len(s.waiting)+s.inFlight
	switch c := s.class(now); {
	case broken(s.failures): // until the store knows, and then by its pause
		return 0
	case c == prompt:
		ahead := int(time.Duration(limit) * aheadFor / s.last)
		return max(0, limit+min(ahead, aheadOfOne*limit)-has)
	case has > 0, c == slow && !r.slots.room(slow):
		return 0
	case c == slow:
		return 1
	}
	return limit
}

// claimed takes in the end of a claim and puts what it brought into the lines.
func (r *run) claimed(out claimed) {
	c := &r.claims
	c.active = false
	now := time.Now()
	if out.err != nil {
		c.faults++
		wait := backoff(c.faults)
		c.after = now.Add(wait)
		c.timer.Reset(wait)
		r.d.log.Error("webhook deliveries cannot be claimed", "cause", out.err, "retry_in", wait)
		return
	}
	c.faults = 0
	if len(out.deliveries) > 0 {
		c.after = out.at.Add(claimsApart)
	}
	if len(out.deliveries) >= out.params.Max {
		c.wanted = true
	}
	c.waiting += len(out.deliveries)
	brought := make(map[storage.ID]int)
	for _, del := range out.deliveries {
		id := del.Lease.WebhookID
		brought[id]++
		s := r.destinations[id]
		if s == nil {
			_, known := r.slow[id]
			s = newDestination(del, known)
			r.destinations[id] = s
		}
		s.aim(del)
		s.waiting = append(s.waiting, waiting{del, out.at, now})
		r.lineUp(s)
	}
	for id, s := range r.destinations {
		s.hungry = out.params.Held[id]+brought[id] >= out.params.PerWebhook
		if brought[id] == 0 {
			r.forget(id)
		}
	}
	c.timer.Reset(r.d.poll())
}

// tooLate reports whether a claimed delivery is better given back than sent: it
// waited for long, or its lease may be somebody else's by the time the request is
// under way.
func (r *run) tooLate(w waiting, now time.Time) bool {
	return now.Sub(w.came) > waitAtMost || now.Sub(w.asked) > r.d.leaseFor()-r.d.config.Timeout
}

// releaseWaiting gives back what waits and is picked.
func (r *run) releaseWaiting(pick func(waiting) bool) {
	if r.claims.waiting == 0 {
		return
	}
	for _, s := range r.destinations {
		kept := s.waiting[:0]
		for _, w := range s.waiting {
			if pick(w) {
				r.claims.waiting--
				r.release(w.delivery)
			} else {
				kept = append(kept, w)
			}
		}
		clear(s.waiting[len(kept):])
		s.waiting = kept
	}
}
