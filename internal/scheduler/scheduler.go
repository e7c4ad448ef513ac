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
	n      Numbers
	spread func(least, most time.Duration) time.Duration

	now      time.Time
	webhooks map[ID]*webhook   // all that are known
	busy     map[ID]*webhook   // those with something to do, or that had it just now
	sharing  int               // how many of them share what may wait
	forms    map[ID][]*webhook // of a form
	names    map[string]*hostName

	quick, second pool
	young         []*Request // in quick places, oldest first
	granted       int        // deliveries that may still be handed over
	doubtful      int        // requests to webhooks that are new or failed last

	claims  claims
	results results
	stopped bool
	out     Actions
}

// Event is something that happened: one of the types below.
type Event any

// The events.
type (
	// Woken says that something was queued.
	Woken struct{}
	// Claimed is the end of a claim.
	Claimed struct {
		Deliveries []storage.Delivery
		More       bool // another claim at once may bring more
		Err        error
	}
	// Handed says what became of the deliveries that Reserve made room for at that time.
	Handed struct {
		Reserved   []ID
		Deliveries []storage.Delivery
		At         time.Time
	}
	// Ended is the end of a request.
	Ended struct {
		Request *Request
		Attempt *storage.Attempt // nil: nothing is known to have been sent
		Took    time.Duration
		RetryIn time.Duration // as in storage.Result
		Asked   time.Duration // the pause that the receiver asked for
	}
	// Wrote is the end of a write.
	Wrote struct {
		Held    []storage.Lease // of results that are to be written again
		Err     error           // then none was written
		Refused bool            // the store will never accept one of them
	}
	// Stop ends the work: nothing more is claimed or begun.
	Stop struct{}
)

// Actions are what is to be done.
type Actions struct {
	Send   []*Request
	Claim  *storage.ClaimParams // nil: none. A Claimed must follow
	Write  []storage.Result     // empty: nothing. A Wrote must follow
	Pauses []Pause              // that began, were made longer or ended
	Next   time.Time            // the latest time for the next step. Zero: none
}

// Pause is what is known about a pause of a webhook.
type Pause struct {
	Webhook, Form ID
	Reason        storage.PauseReason // empty: the pause is over
	Failures      int                 // in a row
	Since         time.Time           // the first of them
	Until         time.Time           // when the next probe goes out
}

// New returns a scheduler. spread returns a duration between least and most.
func New(n Numbers, spread func(least, most time.Duration) time.Duration) *Scheduler {
	return &Scheduler{
		n:        n,
		spread:   spread,
		webhooks: map[ID]*webhook{},
		busy:     map[ID]*webhook{},
		forms:    map[ID][]*webhook{},
		names:    map[string]*hostName{},
		quick:    newQuickPool(n),
		second:   newSecondPool(n),
		results:  results{limit: n.Rows},
	}
}

// Step takes in what happened since the last step, perhaps nothing, and returns what
// to do now.
func (s *Scheduler) Step(now time.Time, events ...Event) Actions {
	s.now, s.out = now, Actions{}
	for _, e := range events {
		switch e := e.(type) {
		case Woken:
			s.want()
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
			for _, w := range s.busy {
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

// Done reports whether nothing is left to wait for after a Stop.
func (s *Scheduler) Done() bool {
	left := s.quick.used + s.second.used + s.granted + len(s.results.pending) + len(s.results.active)
	return s.stopped && left == 0 && !s.claims.active
}

// next is when Step must be called again though nothing happens: soon while there is
// something that grows old, and else for the next look into the queue.
func (s *Scheduler) next() time.Time {
	c, r := &s.claims, &s.results
	switch {
	case len(s.young) > 0, len(r.pending) > 0 && len(r.active) == 0, s.wanted() && !c.active && !s.stopped:
		return s.now.Add(s.n.Gather)
	case c.active || s.stopped: // their ends are events
		return time.Time{}
	}
	return c.poll
}

// ready reports whether a request to w may begin, as far as w is concerned.
func (s *Scheduler) ready(w *webhook) bool {
	return len(w.waiting) > 0 && len(w.underWay) < s.limit(w) && !s.hangs(w)
}

// limit is how many requests w may have under way.
func (s *Scheduler) limit(w *webhook) int {
	if w.standing.Good() {
		return s.n.PerWebhook
	}
	return 1
}

// hangs reports whether a quick webhook has a request that is not quick after all. It
// gets no further one until that has ended.
func (s *Scheduler) hangs(w *webhook) bool {
	return w.pool == &s.quick && len(w.underWay) > 0 && s.now.Sub(w.underWay[0].began) >= s.n.Moment
}

// arrive takes in a delivery whose lease this process has.
func (s *Scheduler) arrive(del storage.Delivery, leased time.Time) {
	id := del.Lease.WebhookID
	w := s.webhooks[id]
	if w == nil {
		w = &webhook{id: id, form: del.FormID, pool: &s.second, destination: &destination{}}
		s.webhooks[id] = w
		s.forms[w.form] = append(s.forms[w.form], w)
	}
	s.busy[id] = w
	w.active = s.now
	switch {
	case w.name == nil || w.url != del.URL || w.generation != del.Generation:
		s.aim(w, del)
	case w.unsaved == 0 && len(w.underWay) == 0 && leased.After(w.saved): // another process may know better
		s.believe(w, del)
	}
	r := &Request{Delivery: del, webhook: w, leased: leased, arrived: s.now}
	if s.stopped || w.pool.bytes >= s.n.PoolBytes { // of what is handed over only the number was known
		s.giveBack(r, 0)
		return
	}
	w.waiting = append(w.waiting, r)
	w.pool.wait(w, r, 1)
	if s.ready(w) {
		w.lineUp()
	}
}

// aim makes the URL of a delivery that of its webhook. A webhook with a new URL is
// another destination: what is known of it is what the store knows.
func (s *Scheduler) aim(w *webhook, del storage.Delivery) {
	s.giveBackAll(w, 0)
	name := s.names[del.Host]
	if name == nil {
		name = &hostName{text: del.Host}
		s.names[del.Host] = name
	}
	w.destination = &destination{url: del.URL, generation: del.Generation, name: name}
	s.believe(w, del)
}

// believe takes over what the store knows of w.
func (s *Scheduler) believe(w *webhook, del storage.Delivery) {
	w.failing, w.pause = time.Time{}, pause{}
	if del.Standing.Failures > 0 {
		w.failing = s.now.Add(-del.FailingFor)
	}
	if del.PauseReason != "" {
		w.pause = pause{until: s.now.Add(del.PausedFor), reason: del.PauseReason}
	}
	s.stand(w, del.Standing)
}

// stand gives w a standing and has it start its requests in the pool for that.
func (s *Scheduler) stand(w *webhook, standing storage.Standing) {
	w.standing = standing
	from, to := w.pool, &s.second
	if standing.Quick() {
		to = &s.quick
	}
	if from != to {
		if w.lined {
			from.takeOut(slices.Index(from.line, w))
		}
		s.giveBackAll(w, 0)
		w.pool = to
	}
	if s.ready(w) {
		w.lineUp()
	}
}

// start begins requests while p has places.
func (s *Scheduler) start(p *pool) {
	crowded, good := false, false
	for !s.stopped && p.hasPlace() {
		w := p.next(s.ready)
		if w == nil {
			break
		}
		switch r := s.takeWaiting(w); {
		case s.tooLate(r):
			s.giveBack(r, 0)
		case !w.standing.Good() && s.doubtful >= s.n.Second/2: // the rest is for those that work
			s.giveBack(r, s.n.Timeout)
			crowded = true
		default:
			s.begin(w, r)
			good = good || w.standing.Good()
		}
		if s.ready(w) {
			w.lineUp()
		}
	}
	if crowded && !good {
		s.claims.crowded = s.now.Add(crowdedFor)
	}
}

// takeWaiting takes out the delivery that has waited longest for w.
func (s *Scheduler) takeWaiting(w *webhook) *Request {
	r := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	w.pool.wait(w, r, -1)
	return r
}

func (s *Scheduler) begin(w *webhook, r *Request) {
	r.began, r.to = s.now, w.destination
	w.active = s.now
	w.underWay = append(w.underWay, r)
	w.pool.take(r)
	if w.pool == &s.quick {
		s.young = append(s.young, r)
	}
	if r.doubtful = !w.standing.Good(); r.doubtful {
		s.doubtful++
	}
	s.out.Send = append(s.out.Send, r)
}

// tooLate reports whether a delivery has waited for too long, or its lease could be
// somebody else's before the result of a request is written.
func (s *Scheduler) tooLate(r *Request) bool {
	return s.now.Sub(r.arrived) > s.n.Patience || s.now.Sub(r.leased) > s.n.Lease/2
}

// moveOver moves requests that have had a quick place for long enough to the second
// pool, as far as that has places. The others keep their quick place, and their results
// count there. So each pool bounds what it sent and did not record.
func (s *Scheduler) moveOver() {
	if len(s.young) == 0 || s.now.Sub(s.young[0].began) < s.n.Stay {
		return
	}
	s.young = slices.DeleteFunc(s.young, func(r *Request) bool {
		if s.now.Sub(r.began) < s.n.Stay || !s.second.canTake(r, s.n.PoolBytes) {
			return false
		}
		s.quick.free(r)
		r.moved = true
		s.second.take(r)
		return true
	})
}

// ended takes in what became of a request.
func (s *Scheduler) ended(e Ended) {
	r, w := e.Request, e.Request.webhook
	is := func(other *Request) bool { return other == r }
	r.pool.free(r)
	w.underWay = slices.DeleteFunc(w.underWay, is)
	if r.pool == &s.quick {
		s.young = slices.DeleteFunc(s.young, is)
	}
	if r.doubtful {
		s.doubtful--
	}
	w.active = s.now
	if s.claims.brought {
		s.want()
	}
	s.record(r, e.Attempt, e.RetryIn)
	switch {
	case e.Attempt == nil && e.RetryIn > 0: // the others have to wait for the same
		s.giveBackAll(w, e.RetryIn)
	case e.Attempt != nil:
		s.learn(w, r, e)
	}
	if s.ready(w) {
		w.lineUp()
	}
}

// learn draws the conclusions from an attempt. When w has another URL by now they are
// only kept for the result: they say nothing about w.
func (s *Scheduler) learn(w *webhook, r *Request, e Ended) {
	to := r.to
	if to.took == 0 {
		to.took = e.Took
	}
	// A quarter: one request that is slow by chance changes little, and after eight the
	// old duration counts for a tenth.
	to.took = max(1, to.took+(e.Took-to.took)/4)
	is, pauseChanged := to.standing, false
	switch {
	case !e.Attempt.Success:
		if is.Failures++; is.Failures == 1 {
			to.failing = s.now
		}
		wait, reason := pauseFor(is.Failures, s.now.Sub(to.failing), e.Asked)
		if until := s.now.Add(wait); wait > 0 && until.After(to.pause.until) {
			to.pause = pause{s.now, until, reason}
			pauseChanged = true
		}
	case r.began.Before(to.pause.began):
		// It says nothing about the time since then.
	default:
		failures := is.Failures
		is = s.n.afterSuccess(is, e.Took)
		to.failing = time.Time{}
		if to.pause != (pause{}) || failures >= pauseAfterFailures {
			to.pause = pause{}
			pauseChanged = true
		}
	}
	if to != w.destination {
		to.standing = is
		return
	}
	if pauseChanged {
		s.tell(w, is)
	}
	s.stand(w, is)
	if !is.Good() {
		s.giveBackAll(w, 0) // what it may have now is claimed when it is due
	}
}

// tell reports the pause of w, or that it is over.
func (s *Scheduler) tell(w *webhook, is storage.Standing) {
	s.out.Pauses = append(s.out.Pauses, Pause{w.id, w.form, w.pause.reason, is.Failures, w.failing, w.pause.until})
}

// giveBackAll gives back what waits for w.
func (s *Scheduler) giveBackAll(w *webhook, retryIn time.Duration) {
	for len(w.waiting) > 0 {
		s.giveBack(s.takeWaiting(w), retryIn)
	}
}

// giveBack returns a delivery to the queue as it was, due again after so long.
func (s *Scheduler) giveBack(r *Request, retryIn time.Duration) { s.record(r, nil, retryIn) }
