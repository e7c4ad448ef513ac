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
	active  bool // a call is under way
	began   time.Time
	after   time.Time // none before
	look    time.Time // none before, either, without room in the quick pool
	poll    time.Time // the time of the next claim if nobody calls before
	faults  int       // in a row
	failed  time.Time // the end of the last call that failed
	sharing int       // webhooks that share what may wait
}

// want says that something may be due for either pool.
func (s *Scheduler) want() { s.quick.wanted, s.second.wanted = true, true }

// claim asks for work when there may be some and there is room for it.
func (s *Scheduler) claim() {
	c := &s.claims
	if !s.now.Before(c.poll) {
		s.want()
	}
	if !s.wantsClaim() || s.now.Before(c.after) || s.now.Before(c.look) && (!s.quick.wanted || s.room(&s.quick) == 0) {
		return
	}
	c.look = s.now.Add(s.n.Gather)
	ask := storage.ClaimParams{
		Lease: s.n.lease, Webhooks: map[ID]int{}, Generations: map[ID]int64{}, PerWebhook: s.n.PerWebhook, MaxBytes: s.n.claimBytes,
	}
	for id, w := range s.webhooks {
		for len(w.waiting) > 0 && (s.hangs(w) || s.tooLate(w.waiting[0])) {
			s.giveBack(w, 0)
		}
		if !w.idle() || w.active.After(c.began) {
			ask.Webhooks[id], ask.Generations[id] = 0, w.generation
		} else if s.now.Sub(w.active) > s.n.knownFor {
			s.forget(w)
		}
	}
	c.sharing = len(ask.Webhooks)
	for id := range ask.Webhooks {
		ask.Webhooks[id] = s.roomFor(s.webhooks[id])
		s.webhooks[id].passed = ask.Webhooks[id] == 0
	}
	ask.Fast, ask.Slow = s.ask(&s.quick), s.ask(&s.second)
	ask.NewOrFailing = ask.Slow
	ask.NewOrFailing.MaxDeliveries = min(ask.Slow.MaxDeliveries, s.n.doubtful-s.doubtful)
	quick, second := s.quick.wanted && ask.Fast.MaxDeliveries > 0, s.second.wanted && ask.Slow.MaxDeliveries > 0
	if !quick && !second {
		return // until something ends, or has waited for too long
	}
	// A pool that had no room is asked for as soon as it has some.
	s.quick.wanted, s.second.wanted = s.quick.wanted && !quick, s.second.wanted && !second
	c.active, c.began, c.after = true, s.now, c.look
	s.out.Claim = &ask
}

// wantsClaim reports whether a claim is to begin as soon as there is room.
func (s *Scheduler) wantsClaim() bool {
	return (s.quick.wanted || s.second.wanted) && !s.claims.active && !s.stopped
}

// ask is what may be claimed for p. A host name that has room for little gets nothing: a store
// reads the turns of its webhooks in place of others'. A workspace gets nothing while it has
// more of the second pool than half of what is free. So however many owners are slow, each
// finds places as long as it has few.
func (s *Scheduler) ask(p *pool) storage.Pool {
	ask := storage.Pool{MaxDeliveries: s.room(p), PerHost: p.ofName, Hosts: make(map[string]int, len(p.hosts))}
	for host := range p.hosts {
		if ask.Hosts[host] = p.roomOf(host); ask.Hosts[host] < p.least {
			ask.Hosts[host] = 0
		}
	}
	for workspace, l := range p.workspaces {
		if p == &s.second && l.waiting+l.used > s.free()/s.n.ownerPart {
			ask.ExcludedWorkspaces = append(ask.ExcludedWorkspaces, workspace)
		}
	}
	return ask
}

// free is how many places of the second pool nothing is meant for.
func (s *Scheduler) free() int { return s.second.places() - s.second.waiting }

// room is how many more deliveries may come in for p. It is 0 while p has to wait for
// writes or holds too many bytes, and for the quick pool while that has no room for
// Bulk. It is also 0 after writes failed: what could be claimed may be what waits to be
// recorded.
func (s *Scheduler) room(p *pool) int {
	room := s.n.ahead - p.waiting
	if p == &s.second {
		// What cannot begin soon waits in the store. A claim asks for so much twice, and half is
		// left when it is all of owners who are not known to have much.
		room = (s.free() + s.n.claimPart - 1) / s.n.claimPart
	}
	// The store has as much work for each webhook that it serves as for several deliveries.
	// So a claim for the quick pool waits until it can bring many for each.
	if p == &s.quick && room < s.n.bulk || p.full() || p.bytes >= s.n.PoolBytes || s.results.faults > 0 {
		return 0
	}
	return max(0, room)
}

// claimed takes in the end of a claim.
func (s *Scheduler) claimed(e Claimed) {
	c := &s.claims
	c.active, c.look = false, s.now.Add(s.n.Gather)
	c.poll = s.now.Add(s.spread(s.n.pollLeast, s.n.Poll))
	if e.Err != nil {
		c.faults++
		s.want()
		c.failed, c.after = s.now, s.now.Add(s.backoff(c.faults))
		return
	}
	c.faults = 0
	s.reached()
	if e.More {
		s.want()
	}
	for _, del := range e.Deliveries {
		s.arrive(del, c.began, true)
	}
}

// backoff is the wait after a number of faults of the store in a row.
func (s *Scheduler) backoff(faults int) time.Duration {
	wait := min(s.n.backoffFirst<<min(faults-1, mostFaults), s.n.backoffMost)
	return s.spread(wait/2, wait)
}

// reached ends the waits after faults, because the store works again. Something else may work
// while claims or writes do not, so BackoffFirst stays between two calls that fail.
func (s *Scheduler) reached() {
	if c := &s.claims; c.faults > 0 {
		c.after = earlier(c.after, c.failed.Add(s.n.backoffFirst))
	}
	if r := &s.results; r.faults > 0 {
		r.after = earlier(r.after, r.failed.Add(s.n.backoffFirst))
	}
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// Reserve returns the webhooks of a form for which a delivery may be handed over as
// soon as it is stored, without a claim: quick ones that have room. They leave half of
// the waiting room to claims: other deliveries may have waited for longer. A [Handed]
// must follow.
func (s *Scheduler) Reserve(form ID) []ID {
	var reserved []ID
	for _, w := range s.forms[form] {
		if w.pool == &s.quick && !s.stopped && s.room(&s.quick) > s.n.bulk && s.quick.roomOf(w.host) > 0 && s.roomFor(w) > 0 {
			w.granted++
			s.quick.waiting++
			reserved = append(reserved, w.id)
		}
	}
	return reserved
}

// handed takes in deliveries that were stored under a lease.
func (s *Scheduler) handed(e Handed) {
	for _, id := range e.Reserved {
		w := s.webhooks[id]
		w.granted--
		w.active = s.now
		s.quick.waiting--
	}
	if len(e.Deliveries) > 0 {
		s.reached()
	}
	for _, del := range e.Deliveries {
		s.arrive(del, e.At, false)
	}
}
