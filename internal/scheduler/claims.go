package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// claims is the part of a scheduler that asks for work, one call at a time. To find out
// what there is room for takes time for each webhook that is known. So without room in the
// quick pool that waits for Gather after the last time, and after the end of a claim.
type claims struct {
	running       bool // a call is under way
	startedAt     time.Time
	notBefore     time.Time // none before
	nextCheck     time.Time // none before, either, without room in the quick pool
	nextPoll      time.Time // the time of the next claim if nobody calls before
	failures      int       // in a row
	failedAt      time.Time // the end of the last call that failed
	knownWebhooks int       // webhooks that share what may wait
}

// want says that something may be due for either pool.
func (s *Scheduler) wantClaims() { s.fast.claimWanted, s.slow.claimWanted = true, true }

// claim asks for work when there may be some and there is room for it.
func (s *Scheduler) startClaim() {
	c := &s.claims
	if !s.now.Before(c.nextPoll) {
		s.wantClaims()
	}
	if !s.claimWanted() || s.now.Before(c.notBefore) || s.now.Before(c.nextCheck) && (!s.fast.claimWanted || s.poolCapacity(&s.fast) == 0) {
		return
	}
	c.nextCheck = s.now.Add(s.config.BatchDelay)
	params := storage.ClaimParams{
		Lease: s.config.lease, Webhooks: map[ID]int{}, Generations: map[ID]int64{}, PerWebhook: s.config.PerWebhook, MaxBytes: s.config.maxClaimBytes,
	}
	for id, w := range s.webhooks {
		for len(w.waiting) > 0 && (s.isHanging(w) || s.waitedTooLong(w.waiting[0])) {
			s.release(w, 0)
		}
		if !w.isIdle() || w.activeAt.After(c.startedAt) {
			params.Webhooks[id], params.Generations[id] = 0, w.generation
		} else if s.now.Sub(w.activeAt) > s.config.idleLifetime {
			s.removeWebhook(w)
		}
	}
	c.knownWebhooks = len(params.Webhooks)
	for id := range params.Webhooks {
		params.Webhooks[id] = s.webhookCapacity(s.webhooks[id])
		s.webhooks[id].skipped = params.Webhooks[id] == 0
	}
	params.Fast, params.Slow = s.poolParams(&s.fast), s.poolParams(&s.slow)
	params.NewOrFailing = params.Slow
	params.NewOrFailing.MaxDeliveries = min(params.Slow.MaxDeliveries, s.config.maxNewOrFailing-s.newOrFailing)
	fast, slow := s.fast.claimWanted && params.Fast.MaxDeliveries > 0, s.slow.claimWanted && params.Slow.MaxDeliveries > 0
	if !fast && !slow {
		return // until something ends, or has waited for too long
	}
	// A pool that had no room is asked for as soon as it has some.
	s.fast.claimWanted, s.slow.claimWanted = s.fast.claimWanted && !fast, s.slow.claimWanted && !slow
	c.running, c.startedAt, c.notBefore = true, s.now, c.nextCheck
	s.actions.Claim = &params
}

// claimWanted reports whether a claim is to begin as soon as there is room.
func (s *Scheduler) claimWanted() bool {
	return (s.fast.claimWanted || s.slow.claimWanted) && !s.claims.running && !s.stopped
}

// ask is what may be claimed for p. A host name that has room for little gets nothing: a store
// reads the turns of its webhooks in place of others'. A workspace gets nothing while it has
// more of the second pool than half of what is free. So however many owners are slow, each
// finds places as long as it has few.
func (s *Scheduler) poolParams(p *pool) storage.Pool {
	params := storage.Pool{MaxDeliveries: s.poolCapacity(p), PerHost: p.maxHostDeliveries, Hosts: make(map[string]int, len(p.hosts))}
	for host := range p.hosts {
		if params.Hosts[host] = p.hostCapacity(host); params.Hosts[host] < p.minHostClaim {
			params.Hosts[host] = 0
		}
	}
	for workspace, l := range p.workspaces {
		if p == &s.slow && l.waiting+l.inFlight > s.freeSlowSlots()/s.config.workspaceDivisor {
			params.ExcludedWorkspaces = append(params.ExcludedWorkspaces, workspace)
		}
	}
	return params
}

// free is how many places of the second pool nothing is meant for.
func (s *Scheduler) freeSlowSlots() int { return s.slow.freeSlots() - s.slow.waiting }

// room is how many more deliveries may come in for p. It is 0 while p has to wait for
// writes or holds too many bytes, and for the quick pool while that has no room for
// Bulk. It is also 0 after writes failed: what could be claimed may be what waits to be
// recorded.
func (s *Scheduler) poolCapacity(p *pool) int {
	room := s.config.maxPrefetch - p.waiting
	if p == &s.slow {
		// What cannot begin soon waits in the store. A claim asks for so much twice, and half is
		// left when it is all of owners who are not known to have much.
		room = (s.freeSlowSlots() + s.config.claimDivisor - 1) / s.config.claimDivisor
	}
	// The store has as much work for each webhook that it serves as for several deliveries.
	// So a claim for the quick pool waits until it can bring many for each.
	if p == &s.fast && room < s.config.minClaim || p.isFull() || p.bytes >= s.config.PoolBytes || s.results.failures > 0 {
		return 0
	}
	return max(0, room)
}

// claimed takes in the end of a claim.
func (s *Scheduler) finishClaim(e ClaimFinished) {
	c := &s.claims
	c.running, c.nextCheck = false, s.now.Add(s.config.BatchDelay)
	c.nextPoll = s.now.Add(s.randomDuration(s.config.minPollInterval, s.config.PollInterval))
	if e.Err != nil {
		c.failures++
		s.wantClaims()
		c.failedAt, c.notBefore = s.now, s.now.Add(s.backoff(c.failures))
		return
	}
	c.failures = 0
	s.shortenBackoff()
	if e.More {
		s.wantClaims()
	}
	for _, del := range e.Deliveries {
		s.addDelivery(del, c.startedAt, true)
	}
}

// backoff is the wait after a number of faults of the store in a row.
func (s *Scheduler) backoff(faults int) time.Duration {
	wait := min(s.config.minBackoff<<min(faults-1, maxFailures), s.config.maxBackoff)
	return s.randomDuration(wait/2, wait)
}

// reached ends the waits after faults, because the store works again. Something else may work
// while claims or writes do not, so BackoffFirst stays between two calls that fail.
func (s *Scheduler) shortenBackoff() {
	if c := &s.claims; c.failures > 0 {
		c.notBefore = earliest(c.notBefore, c.failedAt.Add(s.config.minBackoff))
	}
	if r := &s.results; r.failures > 0 {
		r.notBefore = earliest(r.notBefore, r.failedAt.Add(s.config.minBackoff))
	}
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// Reserve returns the webhooks of a form for which a delivery may be handed over as
// soon as it is stored, without a claim: quick ones that have room. They leave half of
// the waiting room to claims: other deliveries may have waited for longer. A [Dispatched]
// must follow.
func (s *Scheduler) Reserve(form ID) []ID {
	var reserved []ID
	for _, w := range s.forms[form] {
		if w.pool == &s.fast && !s.stopped && s.poolCapacity(&s.fast) > s.config.minClaim && s.fast.hostCapacity(w.host) > 0 && s.webhookCapacity(w) > 0 {
			w.reserved++
			s.fast.waiting++
			reserved = append(reserved, w.id)
		}
	}
	return reserved
}

// handed takes in deliveries that were stored under a lease.
func (s *Scheduler) acceptDispatched(e Dispatched) {
	for _, id := range e.Reserved {
		w := s.webhooks[id]
		w.reserved--
		w.activeAt = s.now
		s.fast.waiting--
	}
	if len(e.Deliveries) > 0 {
		s.shortenBackoff()
	}
	for _, del := range e.Deliveries {
		s.addDelivery(del, e.ReservedAt, false)
	}
}
