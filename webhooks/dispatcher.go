package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
)

const (
	// graceful is how long requests under way may take to end after a stop.
	graceful = 10 * time.Second
	// storeTimeout bounds each call of the store.
	storeTimeout = 10 * time.Second
	// lastWrites is how long a stopping dispatcher tries to write results.
	lastWrites = 5 * time.Second
	// leaseMargin is what a lease has beyond two time-outs of an attempt: for
	// writing the result when the store is slow.
	leaseMargin = 30 * time.Second

	pollAtLeast = 100 * time.Millisecond
	pollAtMost  = 250 * time.Millisecond

	backoffFirst   = 100 * time.Millisecond
	backoffLongest = 5 * time.Second
)

// ErrRunning is what [Dispatcher.Run] returns while another Run of the same
// dispatcher has not returned.
var ErrRunning = errors.New("webhooks: dispatcher is already running")

// Params are the parts of a [Dispatcher].
type Params struct {
	// Store holds the deliveries. Required. The dispatcher never closes it.
	Store storage.DeliveryStore
	// Config is what the host may change. Its zero value is ready for use.
	Config Config
	// Secrets opens signing secrets. Nil: they are stored as they are.
	Secrets *Secrets
	// Logger gets failed attempts and faults. Nil: discards.
	Logger *slog.Logger
	// Now is the clock that due times are compared with. Nil: [time.Now].
	// Time-outs, leases and grace periods do not use it.
	Now func() time.Time
	// Sweep removes what has served its time, as [storage.Storage.Sweep] does, at
	// the time that Now tells. While a dispatcher runs it is called about once a
	// minute, beside the deliveries and one call at a time; ctx ends when the
	// dispatcher stops, and a call that does not return then holds up the end of
	// Run. Errors and panics are logged and have no other effect. Nil: nothing is
	// swept.
	Sweep func(ctx context.Context, now time.Time) error
}

// Dispatcher delivers pending events. All methods are
// safe for concurrent use.
type Dispatcher struct {
	store     storage.DeliveryStore
	config    Config
	secrets   *Secrets
	log       *slog.Logger
	now       func() time.Time
	sweep     func(ctx context.Context, now time.Time) error
	ids       *objectid.Source
	guard     *Guard
	transport http.RoundTripper
	grace     time.Duration
	poll      func() time.Duration // the wait for the next look at an idle queue

	signatureHeader string      // in canonical form
	header          http.Header // of every request

	running atomic.Bool
	wake    chan struct{} // holds one: wake-ups before a claim count once
}

// New returns a Dispatcher. It starts nothing and opens no connection. It
// returns an error when p.Store is nil or p.Config is not valid.
func New(p Params) (*Dispatcher, error) {
	if p.Store == nil {
		return nil, errors.New("webhooks: Params.Store is nil")
	}
	if err := p.Config.Validate(); err != nil {
		return nil, err
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	c := p.Config.withDefaults()
	guard := NewGuard(GuardConfig{AllowedNetworks: c.AllowedNetworks, Resolver: c.Resolver})
	return &Dispatcher{
		store:     p.Store,
		config:    c,
		secrets:   p.Secrets,
		log:       p.Logger,
		now:       p.Now,
		ids:       objectid.NewSource(),
		guard:     guard,
		transport: newTransport(guard, c.Timeout, c.InFlight),
		grace:     graceful,
		poll:      func() time.Duration { return between(pollAtLeast, pollAtMost) },
		wake:      make(chan struct{}, 1),
		sweep:     p.Sweep,

		signatureHeader: http.CanonicalHeaderKey(c.HeaderPrefix + "-Signature"),
		header: http.Header{
			"Content-Type": {"application/json"},
			"User-Agent":   {c.UserAgent},
			http.CanonicalHeaderKey(c.HeaderPrefix + "-Version"): {payloadVersion},
		},
	}, nil
}

// Guard returns the rules that deliveries obey, for checking a webhook's URL when
// it is created.
func (d *Dispatcher) Guard() *Guard { return d.guard }

// Wake makes a running dispatcher look for due deliveries at once rather than at
// its next poll, 100 to 250 ms later. It never blocks; several calls in a row
// count as one, and one before Run is not lost.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends, then drains and returns nil: it claims nothing
// more, lets requests under way end for up to 10 s, gives the rest back to the
// queue and writes all results. That takes at most 15 s, or 25 s when the store
// does not answer. Faults of the store are logged and tried again after a growing
// pause; they never end a run.
//
// Deliveries are claimed up to half a second before they are sent. For so long
// one may still go out after its webhook was disabled or deleted, or go to the URL
// and be signed with the secret from before a change.
//
// A second Run while one is active returns [ErrRunning]. After a return it may be
// called again. Any number of dispatchers, in this or other processes, may run on
// one store.
func (d *Dispatcher) Run(ctx context.Context) error {
	if !d.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer d.running.Store(false)
	if t, ok := d.transport.(interface{ CloseIdleConnections() }); ok {
		defer t.CloseIdleConnections()
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	if d.config.Observer != nil && ctx.Err() == nil {
		watch.Go(func() { d.watchQueue(ctx) })
	}
	if d.sweep != nil && ctx.Err() == nil {
		watch.Go(func() { d.sweepNowAndThen(ctx) })
	}
	r := newRun(ctx, d)
	r.loop(ctx)
	r.drain() //nolint:contextcheck // ctx has ended
	return nil
}

// run is one Run of a dispatcher. Its fields belong to the goroutine that called
// Run; all others only send it what came out, on channels with room for it.
//
// A delivery goes one way: a claim brings it (claim.go), it waits in the line of
// its destination (destination.go) until there is a slot (slots.go), is sent
// (delivery.go), and its result is written (results.go).
type run struct {
	d *Dispatcher
	//nolint:containedctx // a run is one call of Run; this is its context without the end
	base context.Context

	//nolint:containedctx // ends when a stop has lasted for the grace period
	posts     context.Context
	stopPosts context.CancelCauseFunc

	// destinations has an entry for every webhook with deliveries that wait or are
	// under way, or results not yet written, or that had them just now.
	destinations map[storage.ID]*destination
	paces        paces
	slots        slots
	work         chan posting // for the workers, which are started as they are needed
	idle         int          // workers that wait for work
	outcomes     chan outcome

	claims  claims
	results results
}

func newRun(ctx context.Context, d *Dispatcher) *run {
	base := context.WithoutCancel(ctx)
	posts, stopPosts := context.WithCancelCause(base)
	return &run{
		d:            d,
		base:         base,
		posts:        posts,
		stopPosts:    stopPosts,
		destinations: map[storage.ID]*destination{},
		paces:        newPaces(),
		slots:        newSlots(d.config.InFlight),
		work:         make(chan posting, d.config.InFlight),
		outcomes:     make(chan outcome, d.config.InFlight),
		claims:       newClaims(d.poll(), d.config.InFlight),
		results:      newResults(),
	}
}

// loop runs until ctx ends.
func (r *run) loop(ctx context.Context) {
	for ctx.Err() == nil {
		r.startPosts()
		r.startClaim() //nolint:contextcheck // what a run starts may end after ctx; see run.base
		r.startWrite() //nolint:contextcheck // as above
		select {
		case <-ctx.Done():
		case <-r.d.wake:
			r.claims.wanted, r.claims.woken = true, true
		case <-r.claims.timer.C:
			r.claims.wanted = true
		case c := <-r.claims.done:
			r.claimed(c)
		case <-r.results.timer.C:
			r.results.due = true
		case w := <-r.results.done:
			r.written(w)
		case o := <-r.outcomes:
			r.ended(o)
			r.othersEnded()
		}
	}
}

// othersEnded takes in what became of other deliveries meanwhile.
func (r *run) othersEnded() {
	for range len(r.outcomes) {
		r.ended(<-r.outcomes)
	}
}

// drain gives back what waits, ends what is under way and writes the results.
func (r *run) drain() {
	defer close(r.work)
	defer r.stopPosts(errStopped)
	defer r.claims.timer.Stop()
	defer r.results.timer.Stop()
	grace := time.NewTimer(r.d.grace)
	defer grace.Stop()
	r.releaseWaiting(func(waiting) bool { return true })
	for r.slots.inFlight() > 0 || r.claims.active {
		r.startWrite()
		select {
		case <-grace.C:
			r.stopPosts(errStopped)
		case c := <-r.claims.done:
			r.claimed(c)
			r.releaseWaiting(func(waiting) bool { return true })
		case <-r.results.timer.C:
			r.results.due = true
		case w := <-r.results.done:
			r.written(w)
		case o := <-r.outcomes:
			r.ended(o)
		}
	}
	r.writeLast()
}

// post sends a delivery. Workers stay until the run ends, which costs less than a
// goroutine for each delivery: its stack would have to grow every time.
func (r *run) post(s *destination, del storage.Delivery, now time.Time) {
	c := s.class(now)
	s.begin(now)
	r.slots.take(c)
	r.claims.sent++
	p := posting{delivery: del, class: c}
	if del.URL == s.url {
		p.to = s.to
	}
	r.work <- p // there is room: it has a slot
	if r.idle > 0 {
		r.idle--
		return
	}
	go newWorker(r.posts, r.d).run(r.work, r.outcomes)
}

// ended takes in what became of a delivery and makes room for the next.
func (r *run) ended(o outcome) {
	id := o.delivery.Lease.WebhookID
	s := r.destinations[id]
	if s.hungry || broken(s.failures) || o.class == unproven { // whose slots let others be claimed
		r.claims.wanted = true
	}
	now := time.Now()
	r.idle++
	s.end(now)
	r.slots.free(o.class, now)
	if o.attempt == nil {
		r.release(o.delivery)
		r.lineUp(s, now)
		return
	}
	if o.delivery.URL == s.url { // else of a destination that the webhook no longer has
		s.to = o.to
		s.answered(o.attempt.Duration, o.endless)
		r.count(s, o)
	}
	r.paces.remember(id, s.pace, now)
	r.add(storage.Result{Lease: o.delivery.Lease, Attempt: o.attempt})
	r.lineUp(s, now)
}

// count counts failures in a row.
func (r *run) count(s *destination, o outcome) {
	if o.attempt.Success {
		s.failures, s.pausedUntil = 0, time.Time{}
		return
	}
	wasBroken := broken(s.failures)
	s.failures = failuresAfter(s.failures, broken(o.delivery.Failures))
	if wait := pause(s.failures); wait > 0 {
		s.pausedUntil = r.d.now().Add(wait).UTC().Truncate(time.Microsecond)
		if !wasBroken {
			r.d.log.Warn("webhook paused after failures in a row",
				"webhook", o.delivery.Lease.WebhookID.String(), "failures", s.failures, "pause", wait)
		}
	}
}

// release gives a delivery back to the queue as it was.
func (r *run) release(del storage.Delivery) {
	r.add(storage.Result{Lease: del.Lease})
}

// forget drops what is known about a webhook when the store knows as much. A
// claim under way may have read the store before that. One that works and was busy
// just now stays: as a stranger it would be given less of its backlog than others.
func (r *run) forget(id storage.ID, now time.Time) {
	s := r.destinations[id]
	if !s.idle() || r.claims.active || s.failures == 0 && now.Sub(s.progress) < knownFor {
		return
	}
	delete(r.destinations, id)
}

// leaseFor is how long a claim holds.
func (d *Dispatcher) leaseFor() time.Duration { return 2*d.config.Timeout + leaseMargin }

// backoff is the wait after so many faults of the store in a row.
func backoff(faults int) time.Duration {
	wait := backoffLongest
	if faults < 7 {
		wait = min(backoffFirst<<(faults-1), backoffLongest)
	}
	return between(wait/2, wait)
}

// between returns a random duration from low to high.
func between(low, high time.Duration) time.Duration {
	return low + time.Duration(rand.Int64N(int64(high-low)+1)) // #nosec G404 -- spreads load, guards nothing
}
