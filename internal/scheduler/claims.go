package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// claims holds the state of claims. Only one claim runs at a time. Computing the free capacity takes time for each
// known webhook, so while the fast pool has none, the capacity is computed at most once per BatchDelay.
type claims struct {
	running       bool // a claim is in progress
	startedAt     time.Time
	notBefore     time.Time // earliest start of the next claim
	nextCheck     time.Time // earliest next check while the fast pool has no capacity
	nextPoll      time.Time // time of the next claim if no event occurs
	failures      int       // consecutive errors
	failedAt      time.Time // end of the last failed claim
	knownWebhooks int       // number of webhooks that share maxPrefetch
}

func (s *Scheduler) requestClaims() { s.fast.claimWanted, s.slow.claimWanted = true, true }

func (s *Scheduler) maybeStartClaim() {
	c := &s.claims
	if !s.now.Before(c.nextPoll) {
		s.requestClaims()
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
		return // a claim starts when a request ends or a delivery has waited too long
	}
	// A pool without capacity still wants a claim, so its claimWanted stays set for the next claim.
	s.fast.claimWanted, s.slow.claimWanted = s.fast.claimWanted && !fast, s.slow.claimWanted && !slow
	c.running, c.startedAt, c.notBefore = true, s.now, c.nextCheck
	s.actions.Claim = &params
}

// claimWanted reports whether a claim should start as soon as there is capacity.
func (s *Scheduler) claimWanted() bool {
	return (s.fast.claimWanted || s.slow.claimWanted) && !s.claims.running && !s.stopped
}

// poolParams returns the limits of a claim for the pool p. It excludes hostnames with little capacity, because the
// store would serve their webhooks instead of others. It excludes a workspace while the workspace uses more slow-pool
// slots than half the number of free slots, so that workspaces with few requests always find a slot.
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

// freeSlowSlots returns how many free slots in the slow pool are not reserved.
func (s *Scheduler) freeSlowSlots() int { return s.slow.freeSlots() - s.slow.waiting }

// poolCapacity returns how many more deliveries the pool p can accept. It returns 0 while p is waiting for writes or
// holds too many bytes, or if the last write failed. Otherwise claims could return deliveries that were sent but not
// recorded.
func (s *Scheduler) poolCapacity(p *pool) int {
	room := s.config.maxPrefetch - p.waiting
	if p == &s.slow {
		// Deliveries that cannot start soon stay in the store. A claim uses this limit twice, for slow webhooks and for new
		// or failing ones. Half of the slots stay free for workspaces with few requests.
		room = (s.freeSlowSlots() + s.config.claimDivisor - 1) / s.config.claimDivisor
	}
	// Serving a webhook costs the store about as much as several deliveries. Claims for the fast pool therefore wait
	// until they can return many deliveries per webhook.
	if p == &s.fast && room < s.config.minClaim || p.isFull() || p.bytes >= s.config.PoolBytes || s.results.failures > 0 {
		return 0
	}
	return max(0, room)
}

func (s *Scheduler) finishClaim(e ClaimFinished) {
	c := &s.claims
	c.running, c.nextCheck = false, s.now.Add(s.config.BatchDelay)
	c.nextPoll = s.now.Add(s.randomDuration(s.config.minPollInterval, s.config.PollInterval))
	if e.Err != nil {
		c.failures++
		s.requestClaims()
		c.failedAt, c.notBefore = s.now, s.now.Add(s.randomBackoff(c.failures))
		return
	}
	c.failures = 0
	s.shortenBackoff()
	if e.More {
		s.requestClaims()
	}
	for _, del := range e.Deliveries {
		s.addDelivery(del, c.startedAt, true)
	}
}

// randomBackoff returns how long to wait after consecutive errors from the store.
func (s *Scheduler) randomBackoff(failures int) time.Duration {
	wait := min(s.config.minBackoff<<min(failures-1, maxFailures), s.config.maxBackoff)
	return s.randomDuration(wait/2, wait)
}

// shortenBackoff shortens the waits after errors, because a call to the store has succeeded. The scheduler still waits
// for minBackoff, because claims or writes may continue to fail.
func (s *Scheduler) shortenBackoff() {
	if c := &s.claims; c.failures > 0 {
		c.notBefore = earliest(c.notBefore, c.failedAt.Add(s.config.minBackoff))
	}
	if r := &s.results; r.failures > 0 {
		r.notBefore = earliest(r.notBefore, r.failedAt.Add(s.config.minBackoff))
	}
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// Reserve returns the form's webhooks to which a new delivery can be sent without a claim: fast webhooks with capacity.
// It leaves half of the pool's capacity for claims, because deliveries in the store may have waited longer. A
// [Dispatched] event must follow.
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
