package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// aheadOfAll is how many deliveries may wait for a slot at most, in multiples of
	// Config.InFlight, and aheadOfOne how many of a prompt destination, in multiples
	// of Config.InFlightWebhook. Many in a claim make each cost less. enough is how
	// many that will be sent soon make a claim wait, in multiples of Config.InFlight,
	// unless more than that are sent while it is under way.
	aheadOfAll = 16
	aheadOfOne = 3
	enough     = 2
	// aheadFor is for how long what waits for a prompt destination keeps it busy.
	aheadFor = 50 * time.Millisecond
	// putOffAtMost is how long what waits makes a claim wait, and putOffWoken that when
	// something new was queued: it may be for a destination that has slots.
	putOffAtMost = 200 * time.Millisecond
	putOffWoken  = 50 * time.Millisecond
	// stalledAfter is how long requests may be under way without an answer until what
	// waits behind them is not counted on any more.
	stalledAfter = 200 * time.Millisecond
	// claimsApart is the least time from a claim that brought something to the next,
	// and claimsApartWhenFull that when prompt destinations have all their slots.
	claimsApart         = 5 * time.Millisecond
	claimsApartWhenFull = 10 * time.Millisecond
	// slowApart is the least time between two claims for destinations known to be
	// slow. Those whose answers have no end would else take slots as fast as they
	// stream, and much of the processor's time.
	slowApart = 50 * time.Millisecond
)

// claims is the part of a run that asks the store for work, one call at a time.
type claims struct {
	waiting int           // deliveries that were claimed and not yet sent
	ahead   int           // how many may be: fewer after some waited too long, more when none is left
	late    bool          // some waited too long since the last claim
	wanted  bool          // something may be due
	woken   bool          // something was queued in this process
	active  bool          // a call is under way
	began   time.Time     // the last call did
	took    time.Duration // and was under way for
	sent    int           // requests that began since then
	timer   *time.Timer   // the next poll, or the end of a pause after faults
	faults  int           // in a row
	after   time.Time     // no call before: the end of that pause, or claimsApart
	slow    time.Time     // the last one that asked for slow destinations
	done    chan claimed
}

// claimed is what one call brought.
type claimed struct {
	params     storage.ClaimParams
	deliveries []storage.Delivery
	at         time.Time // before the call: the lease is no older
	err        error
}

func newClaims(first time.Duration, inFlight int) claims {
	return claims{
		ahead:  aheadOfAll * inFlight,
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
	if since := r.results.faulty; !since.IsZero() && now.Sub(since) > r.d.leaseFor()/2 {
		return // what would be claimed now may be what waits to be recorded
	}
	if wait := c.after.Sub(now); wait > 0 {
		c.timer.Reset(wait)
		return
	}
	r.releaseWaiting(func(w waiting) bool { return r.tooLate(w, now) })
	sufficient := min(max(enough*r.d.config.InFlight, c.sentMeanwhile(now)), max(c.ahead/2, 1))
	putOff := putOffAtMost
	if c.woken {
		putOff = putOffWoken
	}
	if now.Sub(c.began) < putOff && r.ready(now) >= sufficient {
		c.after = now.Add(claimsApart)
		c.timer.Reset(claimsApart)
		return
	}
	c.wanted, c.woken, c.active = false, false, true
	c.began, c.sent = now, 0
	switch {
	case c.late:
		c.ahead = max(c.ahead/2, r.d.config.InFlight)
	case c.waiting == 0:
		c.ahead = min(2*c.ahead, aheadOfAll*r.d.config.InFlight)
	}
	c.late = false
	p := storage.ClaimParams{
		Now:   r.d.now(),
		Lease: r.d.leaseFor(),
		Max:   max(c.ahead-c.waiting, c.ahead/8, 1),
	}
	if r.slots.room(unproven) { // else nothing of webhooks that nothing is known of
		p.PerWebhook = r.d.config.InFlightWebhook
	}
	p.Held = r.held(p.PerWebhook, now)
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

// sentMeanwhile is how many deliveries are sent while a claim is waited for, at the
// rate since the last one began.
func (c *claims) sentMeanwhile(now time.Time) int {
	return int(float64(c.sent) * float64(claimsApart+c.took) / float64(now.Sub(c.began)+1))
}

// ready counts the deliveries that wait and will be sent soon, as far as is known:
// those of prompt destinations while these answer, and one of each that may have
// its next request at once.
func (r *run) ready(now time.Time) (n int) {
	for _, s := range r.destinations {
		c, moved := s.class(now), r.slots.moved
		if s.inFlight > 0 {
			moved = s.progress
		}
		switch {
		case len(s.waiting) == 0:
		case c == prompt && now.Sub(moved) < stalledAfter:
			n += len(s.waiting)
		case s.inFlight == 0 && r.slots.room(c):
			n++
		}
	}
	return n
}

// held says, for the store, how much of perWebhook each webhook is not to be
// given: what room does not leave of it. Prompt ones are given more than that.
func (r *run) held(perWebhook int, now time.Time) map[storage.ID]int {
	held := make(map[storage.ID]int, len(r.destinations)+len(r.paces.slow))
	if perWebhook == 0 {
		for id, m := range r.paces.prompt {
			if now.Before(m.until) {
				held[id] = -r.d.config.InFlightWebhook
			}
		}
	}
	slowOnes := 0
	if len(r.slots.lines[slow].all) == 0 && r.slots.room(slow) && now.Sub(r.claims.slow) >= slowApart {
		slowOnes, r.claims.slow = 1, now // of each, for it is not known which have something
	}
	for id, m := range r.paces.slow {
		if now.Before(m.until) {
			held[id] = perWebhook - slowOnes
		}
	}
	for id, s := range r.destinations {
		room := r.room(s, now)
		if s.class(now) == slow && !s.stalled(now) && s.inFlight < s.limit(r.d.config) && !broken(s.failures) {
			room = slowOnes
		}
		held[id] = perWebhook - room
	}
	return held
}

// room is how many more deliveries of a destination that is not slow should be
// claimed.
func (r *run) room(s *destination, now time.Time) int {
	limit, has := s.limit(r.d.config), len(s.waiting)+s.inFlight
	switch c := s.class(now); {
	case broken(s.failures): // until the store knows, and then by its pause
		return 0
	case c == prompt:
		ahead := int(time.Duration(limit) * aheadFor / s.last)
		return max(0, limit+min(ahead, aheadOfOne*limit)-has)
	case c == unproven && has == 0 && r.slots.room(unproven):
		return limit
	}
	return 0
}

// claimed takes in the end of a claim and puts what it brought into the lines.
func (r *run) claimed(out claimed) {
	c := &r.claims
	c.active = false
	now := time.Now()
	c.took = now.Sub(c.began)
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
		if !r.slots.room(prompt) {
			c.after = out.at.Add(claimsApartWhenFull)
		}
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
			s = &destination{}
			r.destinations[id] = s
			s.aim(del)
			if known, ok := r.paces.recall(id, del.URL); ok {
				s.pace = known
			} else if s.slow {
				r.paces.remember(id, s.pace, now)
			}
		}
		s.aim(del)
		s.waiting = append(s.waiting, waiting{del, out.at, now})
		r.lineUp(s, now)
	}
	for id, s := range r.destinations {
		s.hungry = out.params.Held[id]+brought[id] >= out.params.PerWebhook
		if brought[id] == 0 {
			r.forget(id, now)
		}
	}
	c.timer.Reset(r.d.poll())
}

// tooLate reports whether a claimed delivery is better given back than sent: it
// waited for long, or its lease may be somebody else's by the time the request is
// under way.
func (r *run) tooLate(w waiting, now time.Time) bool {
	late := now.Sub(w.came) > waitAtMost || now.Sub(w.asked) > r.d.leaseFor()-r.d.config.Timeout
	r.claims.late = r.claims.late || late
	return late
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
	for c := range r.slots.lines {
		r.slots.lines[c].remove(func(s *destination) bool { return len(s.waiting) == 0 })
	}
}
