package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// ID names a record.
type ID = storage.ID

// Scheduler decides what happens next. Make one with [New]. It is not safe for
// concurrent use.
type Scheduler struct {
	n       derived
	spread  func(least, most time.Duration) time.Duration
	now     time.Time
	stopped bool
	out     Actions // of this step

	webhooks map[ID]*webhook   // all that are known
	forms    map[ID][]*webhook // of a form

	quick, second pool
	young         []*Request // in quick places, oldest first
	doubtful      int        // requests to webhooks that were new or had failed last
	secondFull    time.Duration

	claims  claims
	results results
}

// Request is a delivery from its claim to its result.
type Request struct {
	Delivery storage.ClaimedDelivery

	webhook *webhook
	claimed bool      // not handed over
	leased  time.Time // a time before the claim, so the lease began no earlier
	arrived time.Time

	// Once it began:
	began    time.Time
	pool     *pool // whose place it has
	moved    bool  // it began in the quick pool, and is in the second one
	doubtful bool  // its webhook was new or had failed last
}

// Event is something that happened: one of the types below.
type Event any

// The events.
type (
	// Woken says that something was queued.
	Woken struct{}
	// Claimed is the end of a claim.
	Claimed struct {
		Deliveries []storage.ClaimedDelivery
		More       bool // another claim at once may bring more
		Err        error
	}
	// Handed says what became of the deliveries that Reserve made room for at that time.
	Handed struct {
		Reserved   []ID
		Deliveries []storage.ClaimedDelivery
		At         time.Time
	}
	// Ended is the end of a request.
	Ended struct {
		Request  *Request
		Delivery *storage.Delivery // nil: nothing is known to have been sent
		Took     time.Duration
		RetryIn  time.Duration // as in storage.Result,
		Summary  ID            // and this, too
		Asked    time.Duration // the pause that the receiver asked for
	}
	// Wrote is the end of a write.
	Wrote struct {
		Held    []storage.Lease // of results that are to be written again
		Err     error           // then none was written
		Refused bool            // the store will never accept one of them
	}
	// Reached says that the store has done something else for this process.
	Reached struct{}
	// Stop ends the work: nothing more is claimed or begun.
	Stop struct{}
)

// Actions are what is to be done.
type Actions struct {
	Send   []*Request
	Claim  *storage.ClaimParams    // nil: none. A Claimed must follow
	Write  []storage.Result        // empty: nothing. A Wrote must follow
	Pauses []storage.PausedWebhook // that began, were made longer or, without a Reason, ended
	Next   time.Time               // the latest time for the next step. Zero: none
}

// New returns a scheduler. spread returns a duration between least and most.
func New(n Numbers, spread func(least, most time.Duration) time.Duration) *Scheduler {
	d := n.derive()
	return &Scheduler{
		n:        d,
		spread:   spread,
		webhooks: map[ID]*webhook{},
		forms:    map[ID][]*webhook{},
		quick:    pool{bounds: d.quick, hosts: map[string]load{}, workspaces: map[ID]load{}},
		second:   pool{bounds: d.second, hosts: map[string]load{}, workspaces: map[ID]load{}},
	}
}

// Lease returns how long a delivery is leased.
func (s *Scheduler) Lease() time.Duration { return s.n.lease }

// Step takes in what happened since the last step, perhaps nothing, and returns what
// to do now.
func (s *Scheduler) Step(now time.Time, events ...Event) Actions {
	if s.second.full() {
		s.secondFull += now.Sub(s.now)
	}
	s.now, s.out = now, Actions{}
	for _, e := range events {
		switch e := e.(type) {
		case Woken:
			s.want()
			s.reached()
		case Reached:
			s.reached()
		case Claimed:
			s.claimed(e)
		case Handed:
			s.handed(e)
		case Ended:
			s.ended(e)
		case Wrote:
			s.wrote(e)
		case Stop:
			s.stopped = true
			for _, w := range s.webhooks {
				s.giveBackAll(w, 0)
			}
		}
	}
	s.moveOver()
	s.start(&s.quick)
	s.start(&s.second)
	s.claim()
	s.write()
	s.out.Next = s.next()
	return s.out
}

// next is when Step must be called again though nothing happens: soon while there is
// something that grows old, and else for the next look into the queue.
func (s *Scheduler) next() time.Time {
	results := len(s.results.pending) > 0 && len(s.results.active) == 0
	switch due := s.results.since.Add(s.n.Gather); {
	case results && due.After(s.now):
		return due // no later than in the next case
	case results, len(s.young) > 0, s.wantsClaim():
		return s.now.Add(s.n.Gather)
	case s.claims.active || s.stopped: // their ends are events
		return time.Time{}
	}
	return s.claims.poll
}

// InFlight returns how many requests each pool has under way, and for how long the second
// one was full so far: no request could move over.
func (s *Scheduler) InFlight() (quick, second int, full time.Duration) {
	return s.quick.used, s.second.used, s.secondFull
}

// Done reports whether nothing is left to wait for after a Stop.
func (s *Scheduler) Done() bool {
	return s.stopped && !s.claims.active && s.quick.used+s.second.used+s.quick.waiting+len(s.results.pending)+len(s.results.active) == 0
}

// arrive takes in a delivery that was leased at that time.
func (s *Scheduler) arrive(del storage.ClaimedDelivery, leased time.Time, claimed bool) {
	w := s.known(del, leased)
	r := &Request{Delivery: del, webhook: w, claimed: claimed, leased: leased, arrived: s.now}
	if s.stopped || w.pool.bytes >= s.n.PoolBytes { // of what is handed over only the number was known
		s.record(r, storage.Result{})
		return
	}
	w.waiting = append(w.waiting, r)
	w.pool.count(r, 1, 0)
	s.lineUp(w)
}

// lineUp gives w a turn after all that stand in the line of its pool.
func (s *Scheduler) lineUp(w *webhook) {
	if !w.lined && s.ready(w) {
		w.lined = true
		w.pool.line = append(w.pool.line, w)
	}
}

// start begins requests while p has places.
func (s *Scheduler) start(p *pool) {
	for !s.stopped && p.places() > 0 {
		w := p.next(s.ready)
		if w == nil {
			return
		}
		if s.tooLate(w.waiting[0]) || !w.standing.Healthy() && s.doubtful >= s.n.doubtful { // the rest is for those that work
			s.giveBack(w, 0)
		} else {
			s.begin(w)
		}
		s.lineUp(w)
	}
}

// begin begins the request that has waited longest for w.
func (s *Scheduler) begin(w *webhook) {
	r := s.takeWaiting(w)
	r.began, r.pool, r.doubtful = s.now, w.pool, !w.standing.Healthy()
	r.Delivery.Age += s.now.Sub(r.leased)
	r.pool.count(r, 0, 1)
	w.underWay = append(w.underWay, r)
	if r.pool == &s.quick {
		s.young = append(s.young, r)
	}
	if r.doubtful {
		s.doubtful++
	}
	s.out.Send = append(s.out.Send, r)
}

// takeWaiting takes out the delivery that has waited longest for w.
func (s *Scheduler) takeWaiting(w *webhook) *Request {
	r := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	w.pool.count(r, -1, 0)
	return r
}

// tooLate reports whether a delivery has waited for too long, or its lease could be
// somebody else's before the result of a request is written.
func (s *Scheduler) tooLate(r *Request) bool {
	return s.now.Sub(r.arrived) > s.n.Patience || s.now.Sub(r.leased) > s.n.beginWithin
}

// giveBack returns the delivery that has waited longest for w to the queue as it was, due
// again after so long.
func (s *Scheduler) giveBack(w *webhook, retryIn time.Duration) {
	s.record(s.takeWaiting(w), storage.Result{RetryIn: retryIn})
}

// giveBackAll gives back what waits for w.
func (s *Scheduler) giveBackAll(w *webhook, retryIn time.Duration) {
	for len(w.waiting) > 0 {
		s.giveBack(w, retryIn)
	}
}

// moveOver moves requests that have had a quick place for long enough to the second
// pool, as far as that has places. The others keep their quick place, and their results
// count there. So each pool bounds what it sent and did not record.
func (s *Scheduler) moveOver() {
	s.young = slices.DeleteFunc(s.young, func(r *Request) bool {
		if s.now.Sub(r.began) < s.n.Stay || !s.second.canTake(r, s.n.PoolBytes) {
			return false
		}
		s.quick.count(r, 0, -1)
		s.second.count(r, 0, 1)
		s.second.guests++
		r.pool, r.moved = &s.second, true
		return true
	})
}

// ended takes in what became of a request.
func (s *Scheduler) ended(e Ended) {
	r, w := e.Request, e.Request.webhook
	is := func(other *Request) bool { return other == r }
	r.pool.count(r, 0, -1)
	if r.moved {
		r.pool.guests--
	}
	s.young = slices.DeleteFunc(s.young, is)
	if r.doubtful {
		s.doubtful--
	}
	w.underWay = slices.DeleteFunc(w.underWay, is)
	w.active = s.now
	s.record(r, storage.Result{Delivery: e.Delivery, RetryIn: e.RetryIn, Summary: e.Summary})
	switch {
	case e.Delivery != nil:
		s.learn(w, r.began, e)
	case e.RetryIn > 0: // the others have to wait for the same
		s.giveBackAll(w, e.RetryIn)
	}
	s.lineUp(w)
}
