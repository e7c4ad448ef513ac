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
	config         derivedConfig
	randomDuration func(least, most time.Duration) time.Duration
	now            time.Time
	stopped        bool
	actions        Actions // of this step

	webhooks map[ID]*webhook   // all that are known
	forms    map[ID][]*webhook // of a form

	fast, slow   pool
	fastRequests []*Request // in quick places, oldest first
	newOrFailing int        // requests to webhooks that were new or had failed last
	slowFullFor  time.Duration

	claims  claims
	results results
}

// Request is a delivery from its claim to its result.
type Request struct {
	Delivery storage.ClaimedDelivery

	webhook   *webhook
	claimed   bool      // not handed over
	leasedAt  time.Time // a time before the claim, so the lease began no earlier
	arrivedAt time.Time

	// Once it began:
	startedAt    time.Time
	pool         *pool // whose place it has
	moved        bool  // it began in the quick pool, and is in the second one
	newOrFailing bool  // its webhook was new or had failed last
}

// Event is something that happened: one of the types below.
type Event any

// The events.
type (
	// Woken says that something was queued.
	Woken struct{}
	// ClaimFinished is the end of a claim.
	ClaimFinished struct {
		Deliveries []storage.ClaimedDelivery
		More       bool // another claim at once may bring more
		Err        error
	}
	// Dispatched says what became of the deliveries that Reserve made room for at that time.
	Dispatched struct {
		Reserved   []ID
		Deliveries []storage.ClaimedDelivery
		ReservedAt time.Time
	}
	// RequestFinished is the end of a request.
	RequestFinished struct {
		Request        *Request
		Delivery       *storage.Delivery // nil: nothing is known to have been sent
		Duration       time.Duration
		RetryIn        time.Duration // as in storage.Result,
		Summary        ID            // and this, too
		RequestedPause time.Duration // the pause that the receiver asked for
	}
	// WriteFinished is the end of a write.
	WriteFinished struct {
		Blocked  []storage.Lease // of results that are to be written again
		Err      error           // then none was written
		Rejected bool            // the store will never accept one of them
	}
	// StoreResponded says that the store has done something else for this process.
	StoreResponded struct{}
	// Stop ends the work: nothing more is claimed or begun.
	Stop struct{}
)

// Actions are what is to be done.
type Actions struct {
	Send     []*Request
	Claim    *storage.ClaimParams    // nil: none. A Claimed must follow
	Write    []storage.Result        // empty: nothing. A Wrote must follow
	Pauses   []storage.PausedWebhook // that began, were made longer or, without a Reason, ended
	NextStep time.Time               // the latest time for the next step. Zero: none
}

// New returns a scheduler. spread returns a duration between least and most.
func New(n Config, spread func(least, most time.Duration) time.Duration) *Scheduler {
	d := n.derive()
	return &Scheduler{
		config:         d,
		randomDuration: spread,
		webhooks:       map[ID]*webhook{},
		forms:          map[ID][]*webhook{},
		fast:           pool{poolLimits: d.fast, hosts: map[string]load{}, workspaces: map[ID]load{}},
		slow:           pool{poolLimits: d.slow, hosts: map[string]load{}, workspaces: map[ID]load{}},
	}
}

// Lease returns how long a delivery is leased.
func (s *Scheduler) Lease() time.Duration { return s.config.lease }

// Step takes in what happened since the last step, perhaps nothing, and returns what
// to do now.
func (s *Scheduler) Step(now time.Time, events ...Event) Actions {
	if s.slow.isFull() {
		s.slowFullFor += now.Sub(s.now)
	}
	s.now, s.actions = now, Actions{}
	for _, e := range events {
		switch e := e.(type) {
		case Woken:
			s.wantClaims()
			s.shortenBackoff()
		case StoreResponded:
			s.shortenBackoff()
		case ClaimFinished:
			s.finishClaim(e)
		case Dispatched:
			s.acceptDispatched(e)
		case RequestFinished:
			s.finishRequest(e)
		case WriteFinished:
			s.finishWrite(e)
		case Stop:
			s.stopped = true
			for _, w := range s.webhooks {
				s.releaseAll(w, 0)
			}
		}
	}
	s.moveToSlowPool()
	s.startRequests(&s.fast)
	s.startRequests(&s.slow)
	s.startClaim()
	s.startWrite()
	s.actions.NextStep = s.nextStep()
	return s.actions
}

// next is when Step must be called again though nothing happens: soon while there is
// something that grows old, and else for the next look into the queue.
func (s *Scheduler) nextStep() time.Time {
	results := len(s.results.pending) > 0 && len(s.results.writing) == 0
	switch due := s.results.waitingSince.Add(s.config.BatchDelay); {
	case results && due.After(s.now):
		return due // no later than in the next case
	case results, len(s.fastRequests) > 0, s.claimWanted():
		return s.now.Add(s.config.BatchDelay)
	case s.claims.running || s.stopped: // their ends are events
		return time.Time{}
	}
	return s.claims.nextPoll
}

// InFlight returns how many requests each pool has under way, and for how long the second
// one was full so far: no request could move over.
func (s *Scheduler) InFlight() (fast, slow int, full time.Duration) {
	return s.fast.inFlight, s.slow.inFlight, s.slowFullFor
}

// Done reports whether nothing is left to wait for after a Stop.
func (s *Scheduler) Done() bool {
	return s.stopped && !s.claims.running && s.fast.inFlight+s.slow.inFlight+s.fast.waiting+len(s.results.pending)+len(s.results.writing) == 0
}

// arrive takes in a delivery that was leased at that time.
func (s *Scheduler) addDelivery(del storage.ClaimedDelivery, leased time.Time, claimed bool) {
	w := s.findOrAddWebhook(del, leased)
	r := &Request{Delivery: del, webhook: w, claimed: claimed, leasedAt: leased, arrivedAt: s.now}
	if s.stopped || w.pool.bytes >= s.config.PoolBytes { // of what is handed over only the number was known
		s.queueResult(r, storage.Result{})
		return
	}
	w.waiting = append(w.waiting, r)
	w.pool.updateLoad(r, 1, 0)
	s.enqueue(w)
}

// enqueue gives w a turn after all that stand in the line of its pool.
func (s *Scheduler) enqueue(w *webhook) {
	if !w.queued && s.canStart(w) {
		w.queued = true
		w.pool.queue = append(w.pool.queue, w)
	}
}

// start begins requests while p has places.
func (s *Scheduler) startRequests(p *pool) {
	for !s.stopped && p.freeSlots() > 0 {
		w := p.nextWebhook(s.canStart)
		if w == nil {
			return
		}
		if s.waitedTooLong(w.waiting[0]) || !w.health.Healthy() && s.newOrFailing >= s.config.maxNewOrFailing { // the rest is for those that work
			s.release(w, 0)
		} else {
			s.startRequest(w)
		}
		s.enqueue(w)
	}
}

// begin begins the request that has waited longest for w.
func (s *Scheduler) startRequest(w *webhook) {
	r := s.popWaiting(w)
	r.startedAt, r.pool, r.newOrFailing = s.now, w.pool, !w.health.Healthy()
	r.Delivery.Age += s.now.Sub(r.leasedAt)
	r.pool.updateLoad(r, 0, 1)
	w.inFlight = append(w.inFlight, r)
	if r.pool == &s.fast {
		s.fastRequests = append(s.fastRequests, r)
	}
	if r.newOrFailing {
		s.newOrFailing++
	}
	s.actions.Send = append(s.actions.Send, r)
}

// popWaiting takes out the delivery that has waited longest for w.
func (s *Scheduler) popWaiting(w *webhook) *Request {
	r := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	w.pool.updateLoad(r, -1, 0)
	return r
}

// waitedTooLong reports whether a delivery has waited for too long, or its lease could be
// somebody else's before the result of a request is written.
func (s *Scheduler) waitedTooLong(r *Request) bool {
	return s.now.Sub(r.arrivedAt) > s.config.MaxWait || s.now.Sub(r.leasedAt) > s.config.startWithin
}

// release returns the delivery that has waited longest for w to the queue as it was, due
// again after so long.
func (s *Scheduler) release(w *webhook, retryIn time.Duration) {
	s.queueResult(s.popWaiting(w), storage.Result{RetryIn: retryIn})
}

// releaseAll gives back what waits for w.
func (s *Scheduler) releaseAll(w *webhook, retryIn time.Duration) {
	for len(w.waiting) > 0 {
		s.release(w, retryIn)
	}
}

// moveToSlowPool moves requests that have had a quick place for long enough to the second
// pool, as far as that has places. The others keep their quick place, and their results
// count there. So each pool bounds what it sent and did not record.
func (s *Scheduler) moveToSlowPool() {
	s.fastRequests = slices.DeleteFunc(s.fastRequests, func(r *Request) bool {
		if s.now.Sub(r.startedAt) < s.config.FastSlotTime || !s.slow.accepts(r, s.config.PoolBytes) {
			return false
		}
		s.fast.updateLoad(r, 0, -1)
		s.slow.updateLoad(r, 0, 1)
		s.slow.moved++
		r.pool, r.moved = &s.slow, true
		return true
	})
}

// ended takes in what became of a request.
func (s *Scheduler) finishRequest(e RequestFinished) {
	r, w := e.Request, e.Request.webhook
	is := func(other *Request) bool { return other == r }
	r.pool.updateLoad(r, 0, -1)
	if r.moved {
		r.pool.moved--
	}
	s.fastRequests = slices.DeleteFunc(s.fastRequests, is)
	if r.newOrFailing {
		s.newOrFailing--
	}
	w.inFlight = slices.DeleteFunc(w.inFlight, is)
	w.activeAt = s.now
	s.queueResult(r, storage.Result{Delivery: e.Delivery, RetryIn: e.RetryIn, Summary: e.Summary})
	switch {
	case e.Delivery != nil:
		s.updateHealth(w, r.startedAt, e)
	case e.RetryIn > 0: // the others have to wait for the same
		s.releaseAll(w, e.RetryIn)
	}
	s.enqueue(w)
}
