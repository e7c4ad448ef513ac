package scheduler

import (
	"maps"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// A process looks into the queue though nobody called: another one may have stored
	// something. Four to ten looks a second that find nothing cost little, and a
	// delivery is at most a quarter of a second late. The spread keeps processes apart.
	pollAtLeast = 100 * time.Millisecond
	pollAtMost  = 250 * time.Millisecond

	// The wait after a fault of the store doubles from the first to the longest: a
	// fault that passes at once costs a tenth of a second, and a store that was down
	// for long is used again at most 5 s after it came back.
	backoffFirst   = 100 * time.Millisecond
	backoffLongest = 5 * time.Second

	// busyFor is how long a webhook counts as busy after it had something to do: a
	// claim names it, and says how much to bring by the duration of its requests. A
	// second, as Patience, keeps those that have an event a second and bounds what a
	// claim names.
	busyFor = time.Second
	// knownFor is how long it stays known after that, so that what is new is handed
	// over without a claim. A webhook with an event every few minutes stays known, and
	// a process does not keep all that it ever served. One that is forgotten costs a
	// claim.
	knownFor = 10 * time.Minute
	// crowdedFor is how long nothing is claimed for the second pool after it only gave
	// back new and failing ones: ten times a second at most, a quarter of the pool is
	// leased in vain. A slow one that works is found that much later.
	crowdedFor = 100 * time.Millisecond
)

// claims is the part of a scheduler that asks for work, one call at a time.
type claims struct {
	active  bool // a call is under way
	brought bool // the last one brought something: there may be more
	began   time.Time
	after   time.Time // none before
	crowded time.Time // none for the second pool before
	poll    time.Time // the next one though nobody called
	tidied  time.Time
	faults  int // in a row
}

// claim asks for work when there may be some and there is room for it.
func (s *Scheduler) claim() {
	c := &s.claims
	if !s.now.Before(c.poll) {
		s.want()
	}
	if !s.wanted() || c.active || s.stopped || s.now.Before(c.after) {
		return
	}
	s.giveBackLate()
	p := storage.ClaimParams{
		Lease:      s.n.Lease,
		Quick:      storage.Pool{Room: s.roomOf(&s.quick), PerHost: s.hostRoom(&s.quick, &hostName{}), Hosts: map[string]int{}},
		Others:     storage.Pool{Room: s.roomOf(&s.second), PerHost: s.hostRoom(&s.second, &hostName{}), Hosts: map[string]int{}},
		Webhooks:   make(map[ID]int, len(s.busy)),
		PerWebhook: s.n.PerWebhook,
		MaxBytes:   s.n.ClaimBytes,
	}
	if (!s.quick.wanted || p.Quick.Room == 0) && (!s.second.wanted || p.Others.Room == 0) {
		return // until something ends, or has waited for too long
	}
	// A pool without room is asked for as soon as it has some.
	s.quick.wanted = s.quick.wanted && p.Quick.Room == 0
	s.second.wanted = s.second.wanted && p.Others.Room == 0
	s.sharing = 0
	for _, w := range s.busy {
		if len(w.waiting)+len(w.underWay)+w.granted > 0 {
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
	c.active, c.began = true, s.now
	s.out.Claim = &p
}

// want says that something may be due for either pool.
func (s *Scheduler) want() { s.quick.wanted, s.second.wanted = true, true }

func (s *Scheduler) wanted() bool { return s.quick.wanted || s.second.wanted }

// roomOf is how many deliveries may be claimed for p.
func (s *Scheduler) roomOf(p *pool) int {
	room := s.n.Ahead - p.waiting - s.granted
	if p == &s.second { // what cannot begin soon waits in the store
		room = min(p.holds-p.used, p.starts-p.started) - p.waiting
	}
	// After writes failed, what could be claimed may be what waits to be recorded.
	if p.full() || p.bytes >= s.n.PoolBytes || s.results.behind > 0 {
		return 0
	}
	if p == &s.second && s.now.Before(s.claims.crowded) {
		return 0
	}
	return max(0, room)
}

// hostRoom is how many of them may be of one host name: the others need their part.
func (s *Scheduler) hostRoom(p *pool, name *hostName) int {
	// Three quarters, as of the quick places (see newQuickPool).
	room := s.n.Ahead * 3 / 4
	if p == &s.second {
		room = p.most - name.used[p.index]
	}
	return max(0, room-name.waiting[p.index])
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
	return max(0, room-len(w.waiting)-len(w.underWay)-w.granted)
}

// claimed takes in the end of a claim.
func (s *Scheduler) claimed(e Claimed) {
	c := &s.claims
	c.active = false
	c.poll = s.now.Add(s.spread(pollAtLeast, pollAtMost))
	if e.Err != nil {
		c.faults++
		s.want()
		c.after = s.now.Add(s.backoff(c.faults))
		return
	}
	c.faults, c.brought = 0, len(e.Deliveries) > 0
	if e.More {
		s.want()
	}
	c.after = c.began.Add(s.n.Gather)
	for _, del := range e.Deliveries {
		s.arrive(del, c.began)
	}
	maps.DeleteFunc(s.busy, func(_ ID, w *webhook) bool { return w.idle() && s.now.Sub(w.active) > busyFor })
	if s.now.Sub(c.tidied) > knownFor/10 {
		c.tidied = s.now
		s.forget()
	}
}

// forget drops webhooks that had nothing to do for long, and host names that none has.
func (s *Scheduler) forget() {
	maps.DeleteFunc(s.webhooks, func(_ ID, w *webhook) bool { return w.idle() && s.now.Sub(w.active) > knownFor })
	maps.DeleteFunc(s.names, func(_ string, n *hostName) bool { return n.used == [2]int{} })
	clear(s.forms)
	for _, w := range s.webhooks {
		s.names[w.name.text] = w.name
		s.forms[w.form] = append(s.forms[w.form], w)
	}
}

// giveBackLate gives back what has waited for too long, or for a webhook that hangs.
func (s *Scheduler) giveBackLate() {
	for _, w := range s.busy {
		if s.hangs(w) {
			s.giveBackAll(w, 0)
		}
		for len(w.waiting) > 0 && s.tooLate(w.waiting[0]) {
			s.giveBack(s.takeWaiting(w), 0)
		}
	}
}

// backoff is the wait after so many faults of the store in a row.
func (s *Scheduler) backoff(faults int) time.Duration {
	wait := min(backoffFirst<<min(faults-1, 10), backoffLongest)
	return s.spread(wait/2, wait)
}

// Reserve returns the webhooks of a form for which a delivery may be handed over as
// soon as it is stored, without a claim: quick ones that have room. A [Handed] must
// follow.
func (s *Scheduler) Reserve(form ID) []ID {
	if s.stopped {
		return nil
	}
	var reserved []ID
	for _, w := range s.forms[form] {
		if w.pool == &s.quick && s.roomOf(&s.quick) > 0 && s.hostRoom(&s.quick, w.name) > 0 && s.room(w) > 0 {
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
