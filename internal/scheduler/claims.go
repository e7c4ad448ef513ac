package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	pollAtLeast = 100 * time.Millisecond
	pollAtMost  = 250 * time.Millisecond

	backoffFirst   = 100 * time.Millisecond
	backoffLongest = 5 * time.Second

	// busyFor is how long a webhook counts as busy after it had something to do:
	// the duration of its requests determines how much to claim.
	busyFor = time.Second
	// knownFor is how long it stays known after that, so that what is new is handed
	// over without a claim.
	knownFor = 10 * time.Minute
)

// claims is the part of a scheduler that asks for work, one call at a time.
type claims struct {
	wanted bool                // something may be due
	active bool                // a call is under way
	params storage.ClaimParams // of that call
	began  time.Time           // the last call did
	after  time.Time           // none before
	poll   time.Time           // the next one though nobody called
	tidied time.Time
	faults int // in a row
}

// claim asks for work when there may be some and there is room for it.
func (s *Scheduler) claim() {
	c := &s.claims
	if !s.now.Before(c.poll) {
		c.wanted = true
	}
	if !c.wanted || c.active || s.stopped || s.now.Before(c.after) {
		return
	}
	s.giveBackLate()
	if s.tooManyUnrecorded() || s.writesFail() {
		return // until results are written
	}
	p := storage.ClaimParams{
		Lease:      s.n.Lease,
		Quick:      storage.Pool{Room: s.roomOf(&s.quick), PerHost: s.hostRoom(&s.quick, nil), Hosts: map[string]int{}},
		Others:     storage.Pool{Room: s.roomOf(&s.second), PerHost: s.hostRoom(&s.second, nil), Hosts: map[string]int{}},
		Webhooks:   make(map[ID]int, len(s.busy)),
		PerWebhook: s.n.PerWebhook,
		MaxBytes:   s.n.ClaimBytes,
	}
	if p.Quick.Room+p.Others.Room == 0 {
		return // until something ends
	}
	s.sharing = 0
	for _, w := range s.busy {
		if len(w.waiting)+w.inFlight+w.granted > 0 {
			s.sharing++
		}
	}
	for id, w := range s.busy {
		p.Webhooks[id] = s.room(w)
		if room := s.hostRoom(&s.quick, w.name); room < p.Quick.PerHost {
			p.Quick.Hosts[w.name.text] = room
		}
		if room := s.hostRoom(&s.second, w.name); room < p.Others.PerHost {
			p.Others.Hosts[w.name.text] = room
		}
	}
	c.wanted, c.active, c.params, c.began = false, true, p, s.now
	s.out.Claim = &p
}

// roomOf is how many deliveries may be claimed for p.
func (s *Scheduler) roomOf(p *pool) int {
	room := s.n.Ahead - p.waiting - s.granted
	if p == &s.second { // what cannot begin soon waits in the store
		room = min(p.places-p.used, p.starters-p.started) - p.waiting
	}
	if p.bytes >= s.n.PoolBytes {
		room = 0
	}
	return max(0, room)
}

// hostRoom is how many of them may be of one host name: the others need their part.
func (s *Scheduler) hostRoom(p *pool, name *hostName) int {
	room := s.n.Ahead * 3 / 4
	if p == &s.second {
		room = p.most
	}
	if name != nil {
		room -= name.pools[p.index].waiting
		if p == &s.second {
			room -= name.pools[p.index].used
		}
	}
	return max(0, room)
}

// room is how many more deliveries of w are worth claiming: what it may have under
// way and, in good standing, what it sends in AheadFor, as far as that is not more
// than its share of all that may wait.
func (s *Scheduler) room(w *webhook) int {
	if s.hangs(w) || w.unsaved > 0 && w.pause.until.After(s.now) {
		return 0
	}
	room := s.limit(w)
	if w.standing.Good() && w.took > 0 {
		room += min(1+int(time.Duration(room)*s.n.AheadFor/w.took), s.n.Ahead/max(1, s.sharing))
	}
	return max(0, room-len(w.waiting)-w.inFlight-w.granted)
}

// claimed takes in the end of a claim.
func (s *Scheduler) claimed(e Claimed) {
	c := &s.claims
	c.active = false
	c.poll = s.now.Add(s.spread(pollAtLeast, pollAtMost))
	if e.Err != nil {
		c.faults++
		c.wanted, c.after = true, s.now.Add(s.backoff(c.faults))
		return
	}
	c.faults = 0
	if len(e.Deliveries) > 0 {
		c.after = c.began.Add(s.n.Gather)
	}
	quick, others, brought := 0, 0, make(map[ID]int)
	for _, del := range e.Deliveries {
		brought[del.Lease.WebhookID]++
		if del.Standing.Quick() {
			quick++
		} else {
			others++
		}
		s.arrive(del, c.began)
	}
	p := &c.params
	if e.More || p.Quick.Room > 0 && quick >= p.Quick.Room || p.Others.Room > 0 && others >= p.Others.Room {
		c.wanted = true
	}
	for id, w := range s.busy {
		room, asked := p.Webhooks[id]
		if !asked {
			room = s.limit(w)
		}
		w.hungry = brought[id] >= room
		if w.idle() && s.now.Sub(w.active) > busyFor {
			delete(s.busy, id)
		}
	}
	s.forget()
}

func (w *webhook) idle() bool { return len(w.waiting)+w.inFlight+w.granted+w.unsaved == 0 }

// forget drops webhooks that had nothing to do for long.
func (s *Scheduler) forget() {
	if s.now.Sub(s.claims.tidied) < knownFor/10 {
		return
	}
	s.claims.tidied = s.now
	for id, w := range s.webhooks {
		if w.idle() && s.now.Sub(w.active) > knownFor {
			s.unname(w)
			delete(s.webhooks, id)
			delete(s.busy, id)
			if left := slices.DeleteFunc(s.forms[w.form], func(o *webhook) bool { return o == w }); len(left) > 0 {
				s.forms[w.form] = left
			} else {
				delete(s.forms, w.form)
			}
		}
	}
}

// giveBackLate gives back what has waited for too long.
func (s *Scheduler) giveBackLate() {
	for _, w := range s.busy {
		for len(w.waiting) > 0 && s.tooLate(w.waiting[0]) {
			w.pool.wait(w, w.waiting[0], -1)
			s.giveBack(w.waiting[0], 0)
			w.waiting = w.waiting[1:]
		}
	}
}

// backoff is the wait after so many faults of the store in a row.
func (s *Scheduler) backoff(faults int) time.Duration {
	wait := backoffLongest
	if faults < 7 {
		wait = min(backoffFirst<<(faults-1), backoffLongest)
	}
	return s.spread(wait/2, wait)
}

// Reserve returns the webhooks of a form for which a delivery may be handed over as
// soon as it is stored, without a claim: quick ones without a backlog that have room.
// A [Handed] must follow.
func (s *Scheduler) Reserve(form ID) []ID {
	if s.stopped || s.tooManyUnrecorded() || s.writesFail() {
		return nil
	}
	var reserved []ID
	for _, w := range s.forms[form] {
		if w.pool == &s.quick && !w.hungry && s.roomOf(&s.quick) > 0 && s.hostRoom(&s.quick, w.name) > 0 && s.room(w) > 0 {
			w.granted++
			s.granted++
			s.busy[w.id] = w
			reserved = append(reserved, w.id)
		}
	}
	return reserved
}

// handed takes in what was stored under a lease.
func (s *Scheduler) handed(e Handed) {
	for _, id := range e.Reserved {
		w := s.webhooks[id]
		w.granted--
		s.granted--
		w.active = s.now
	}
	for _, del := range e.Deliveries {
		s.arrive(del, e.At)
	}
}
