package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// ID identifies a record.
type ID = storage.ID

// Scheduler decides what a dispatcher does next. Create it with [New]. It is not safe for concurrent use.
type Scheduler struct {
	config         derivedConfig
	randomDuration func(minimum, maximum time.Duration) time.Duration
	now            time.Time
	stopped        bool
	actions        Actions // of the current step

	webhooks map[ID]*webhook
	forms    map[ID][]*webhook // by form ID

	fast, slow   pool
	fastRequests []*Request // requests in fast slots, oldest first
	newOrFailing int        // in-flight requests to webhooks that were new or failing
	slowFullFor  time.Duration

	claims  claims
	results results
}

// Request is a delivery from its arrival to its result.
type Request struct {
	Delivery storage.ClaimedDelivery

	webhook   *webhook
	claimed   bool      // arrived through a claim, not through direct dispatch
	leasedAt  time.Time // time at or before the start of the lease
	arrivedAt time.Time

	// These fields are set when the request starts.
	startedAt    time.Time
	pool         *pool // pool that the request's slot belongs to
	moved        bool  // whether the request moved from the fast to the slow pool
	newOrFailing bool  // whether its webhook was new or failing at the start
}

// An Event has any of the event types below.
type Event any

// Event types.
type (
	// Woken reports that a delivery was queued.
	Woken struct{}
	// ClaimFinished is the result of a claim.
	ClaimFinished struct {
		Deliveries []storage.ClaimedDelivery
		More       bool // another immediate claim may return more deliveries
		Err        error
	}
	// Dispatched holds the deliveries that were stored after a call to Reserve.
	Dispatched struct {
		Reserved   []ID
		Deliveries []storage.ClaimedDelivery
		ReservedAt time.Time
	}
	// RequestFinished is the result of a request.
	RequestFinished struct {
		Request        *Request
		Delivery       *storage.Delivery // nil if the request was stopped and its outcome is unknown
		Duration       time.Duration
		RetryIn        time.Duration // see storage.Result
		Summary        ID            // see storage.Result
		RequestedPause time.Duration // requested by the receiver
	}
	// WriteFinished is the result of a write.
	WriteFinished struct {
		Blocked  []storage.Lease // leases of results that must be written again
		Err      error           // if set, no result was written
		Rejected bool            // the store permanently rejects a result
	}
	// StoreResponded reports that another call to the store succeeded.
	StoreResponded struct{}
	// Stop ends claims and new requests.
	Stop struct{}
)

// Actions lists the work that the caller must do after a step.
type Actions struct {
	Send     []*Request
	Claim    *storage.ClaimParams    // if set, a ClaimFinished must follow
	Write    []storage.Result        // if not empty, a WriteFinished must follow
	Pauses   []storage.PausedWebhook // pauses that were started or extended, or ended if Reason is empty
	NextStep time.Time               // latest time for the next step; zero if only an event requires a step
}

// New returns a Scheduler. randomDuration must return a random duration between its arguments.
func New(n Config, randomDuration func(minimum, maximum time.Duration) time.Duration) *Scheduler {
	d := n.derive()
	return &Scheduler{
		config:         d,
		randomDuration: randomDuration,
		webhooks:       map[ID]*webhook{},
		forms:          map[ID][]*webhook{},
		fast:           pool{poolLimits: d.fast, hosts: map[string]load{}, workspaces: map[ID]load{}},
		slow:           pool{poolLimits: d.slow, hosts: map[string]load{}, workspaces: map[ID]load{}},
	}
}

// Lease returns the duration of a lease.
func (s *Scheduler) Lease() time.Duration { return s.config.lease }

// Step handles the events since the last step and returns the next actions.
func (s *Scheduler) Step(now time.Time, events ...Event) Actions {
	if s.slow.isFull() {
		s.slowFullFor += now.Sub(s.now)
	}
	s.now, s.actions = now, Actions{}
	for _, e := range events {
		switch e := e.(type) {
		case Woken:
			s.requestClaims()
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
	s.maybeStartClaim()
	s.maybeStartWrite()
	s.actions.NextStep = s.nextStepTime()
	return s.actions
}

// nextStepTime returns when Step must be called even without an event: within BatchDelay while results are pending, a
// fast slot is in use or a claim is wanted, and otherwise at the time of the next poll.
func (s *Scheduler) nextStepTime() time.Time {
	results := len(s.results.pending) > 0 && len(s.results.writing) == 0
	switch due := s.results.waitingSince.Add(s.config.BatchDelay); {
	case results && due.After(s.now):
		return due
	case results, len(s.fastRequests) > 0, s.claimWanted():
		return s.now.Add(s.config.BatchDelay)
	case s.claims.running || s.stopped: // an event will follow
		return time.Time{}
	}
	return s.claims.nextPoll
}

// InFlight returns the number of in-flight requests in each pool. full is the total time during which the slow pool was
// full, so that no request could move there.
func (s *Scheduler) InFlight() (fast, slow int, full time.Duration) {
	return s.fast.inFlight, s.slow.inFlight, s.slowFullFor
}

// Done reports whether all work has ended after a Stop.
func (s *Scheduler) Done() bool {
	return s.stopped && !s.claims.running && s.fast.inFlight+s.slow.inFlight+s.fast.waiting+len(s.results.pending)+len(s.results.writing) == 0
}

func (s *Scheduler) addDelivery(del storage.ClaimedDelivery, leased time.Time, claimed bool) {
	w := s.findOrAddWebhook(del, leased)
	r := &Request{Delivery: del, webhook: w, claimed: claimed, leasedAt: leased, arrivedAt: s.now}
	if s.stopped || w.pool.bytes >= s.config.PoolBytes { // direct dispatch reserves a number of deliveries, not bytes
		s.queueResult(r, storage.Result{})
		return
	}
	w.waiting = append(w.waiting, r)
	w.pool.updateLoad(r, 1, 0)
	s.enqueue(w)
}

func (s *Scheduler) enqueue(w *webhook) {
	if !w.queued && s.canStart(w) {
		w.queued = true
		w.pool.queue = append(w.pool.queue, w)
	}
}

func (s *Scheduler) startRequests(p *pool) {
	for !s.stopped && p.freeSlots() > 0 {
		w := p.nextWebhook(s.canStart)
		if w == nil {
			return
		}
		if s.waitedTooLong(w.waiting[0]) || !w.health.Healthy() && s.newOrFailing >= s.config.maxNewOrFailing { // the other slots are for healthy webhooks
			s.release(w, 0)
		} else {
			s.startRequest(w)
		}
		s.enqueue(w)
	}
}

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

func (s *Scheduler) popWaiting(w *webhook) *Request {
	r := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	w.pool.updateLoad(r, -1, 0)
	return r
}

// waitedTooLong reports whether r has waited for longer than MaxWait, or its lease could expire before its result is
// recorded.
func (s *Scheduler) waitedTooLong(r *Request) bool {
	return s.now.Sub(r.arrivedAt) > s.config.MaxWait || s.now.Sub(r.leasedAt) > s.config.startWithin
}

// release returns w's longest-waiting delivery to the store. The delivery is due again after retryIn.
func (s *Scheduler) release(w *webhook, retryIn time.Duration) {
	s.queueResult(s.popWaiting(w), storage.Result{RetryIn: retryIn})
}

func (s *Scheduler) releaseAll(w *webhook, retryIn time.Duration) {
	for len(w.waiting) > 0 {
		s.release(w, retryIn)
	}
}

// moveToSlowPool moves requests that exceed FastSlotTime to the slow pool if it accepts them. Other requests keep their
// fast slots, and their results count in the fast pool, so that each pool limits its unrecorded deliveries.
func (s *Scheduler) moveToSlowPool() {
	s.fastRequests = slices.DeleteFunc(s.fastRequests, func(r *Request) bool {
		if s.now.Sub(r.startedAt) < s.config.FastSlotTime || !s.slow.hasRoomFor(r, s.config.PoolBytes) {
			return false
		}
		s.fast.updateLoad(r, 0, -1)
		s.slow.updateLoad(r, 0, 1)
		s.slow.moved++
		r.pool, r.moved = &s.slow, true
		return true
	})
}

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
	case e.RetryIn > 0: // the webhook's other deliveries must wait for the same reason
		s.releaseAll(w, e.RetryIn)
	}
	s.enqueue(w)
}
