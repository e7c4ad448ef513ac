package webhooks

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// slowAfter is how long a destination may go without an answer before it counts
// as slow.
const slowAfter = time.Second

// claims is the part of a run that asks the store for work, one call at a time.
type claims struct {
	wanted bool        // something may be due
	active bool        // a call is under way
	timer  *time.Timer // the next poll, or the end of a pause after faults
	faults int         // in a row
	after  time.Time   // the end of that pause
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
	return claims{
		wanted: true,
		timer:  time.NewTimer(first),
		done:   make(chan claimed, 1),
	}
}

// startClaim asks for work when there may be some and there is room for it.
func (r *run) startClaim() {
	c, free := &r.claims, r.d.config.InFlight-r.inFlight
	if !c.wanted || c.active || free <= 0 || r.results.tooMany() || time.Now().Before(c.after) {
		return
	}
	c.wanted, c.active = false, true
	p := storage.ClaimParams{
		Now:        r.d.now(),
		Lease:      r.d.leaseFor(),
		Max:        free,
		PerWebhook: r.d.config.InFlightWebhook,
		Held:       r.held(free),
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

// held counts, for the store, what each webhook has under way. Those that should
// get nothing more for now count as full: broken ones, of which only one
// delivery is sent at a time, and, when less than a quarter of the process's
// slots is free, slow ones, so that they never take the last.
func (r *run) held(free int) map[storage.ID]int {
	scarce := 4*free < r.d.config.InFlight
	held := make(map[storage.ID]int, len(r.destinations))
	for id, s := range r.destinations {
		slow := s.inFlight > 0 && time.Since(s.progress) > slowAfter
		switch {
		case broken(s.failures), scarce && slow:
			held[id] = r.d.config.InFlightWebhook
		case s.inFlight > 0:
			held[id] = s.inFlight
		}
	}
	return held
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
		c.wanted = true
	}
	brought := make(map[storage.ID]int)
	for _, del := range out.deliveries {
		id := del.Lease.WebhookID
		brought[id]++
		s := r.destinations[id]
		if s == nil {
			s = &destinationState{}
			r.destinations[id] = s
		}
		s.aim(del)
	}
	for id, s := range r.destinations {
		s.hungry = out.params.Held[id]+brought[id] >= out.params.PerWebhook
		if brought[id] == 0 {
			r.forget(id)
		}
	}
	c.timer.Reset(r.d.poll())
	return out.deliveries
}
