package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
)

const (
	// gracePeriod is how long requests under way may take to end after a stop. With
	// finalWriteTime it is half of the 30 s that Kubernetes gives a process by default. What
	// takes longer is given back and sent again.
	gracePeriod = 10 * time.Second
	// storeTimeout bounds each call of the store. Calls take tens of milliseconds. One
	// that takes this long has lost its connection or waits for a lock, and the next
	// one may fare better.
	storeTimeout = 10 * time.Second
	// finalWriteTime is how long a stopping dispatcher tries to write results after that:
	// some writes, or some attempts after a fault. What is not written is repeated.
	finalWriteTime = 5 * time.Second
	// observerTimeout is how long a Run waits for an Observer after that. Its methods
	// should return quickly.
	observerTimeout = time.Second
)

// ErrRunning is what [Dispatcher.Run] returns while another Run of the same
// dispatcher has not returned.
var ErrRunning = errors.New("webhooks: dispatcher is already running")

// Dispatcher delivers pending events. All methods are
// safe for concurrent use.
type Dispatcher struct {
	store          storage.DeliveryStore
	config         Config
	secrets        *secrets.Encrypter
	log            *slog.Logger
	now            func() time.Time
	sweep          func(ctx context.Context, now time.Time) error
	ids            *objectid.Source
	guard          *Guard
	guarded        *transport
	transport      http.RoundTripper // guarded, or what the host made of it
	grace          time.Duration
	randomDuration func(least, most time.Duration) time.Duration

	signatureHeader string      // in canonical form
	header          http.Header // of every request

	hostErrors cache.Cache[storage.ID, bool] // whether a fault of the host keeps a webhook from getting anything

	running    atomic.Bool
	currentRun atomic.Pointer[run] // nil: no run takes deliveries that are handed over
}

// NewDispatcher returns the dispatcher of a service for package formsvc: no other module can name the
// type of p. It starts nothing and opens no connection. It returns an error when p.Store is nil or
// config is not valid.
//
// directDispatch returns what to give to a store with one response, nil while d does not run,
// and a function to call when the response is stored.
func NewDispatcher(config Config, p dispatch.Params) (d *Dispatcher, handOver func() (to storage.DirectDispatcher, stored func()), err error) {
	if p.Store == nil {
		return nil, nil, errors.New("webhooks: Params.Store is nil")
	}
	if err := config.Validate(); err != nil {
		return nil, nil, err
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	c := config.withDefaults()
	guard := NewGuard(GuardConfig{AllowedNetworks: c.AllowedNetworks, DeniedNetworks: c.DeniedNetworks, Resolver: c.Resolver})
	guarded := newTransport(guard, c.Timeout, c.InFlight+c.InFlightSlow, &tls.Config{RootCAs: c.RootCAs, GetClientCertificate: c.ClientCertificate})
	var transport http.RoundTripper = guarded
	if c.Transport != nil {
		if transport = c.Transport(transport); transport == nil {
			return nil, nil, errors.New("webhooks: Config.Transport returned nil")
		}
	}
	d = &Dispatcher{
		store:          p.Store,
		config:         c,
		secrets:        p.Secrets,
		log:            cmp.Or(p.Logger, slog.New(slog.DiscardHandler)),
		now:            p.Now,
		ids:            objectid.NewSource(),
		guard:          guard,
		guarded:        guarded,
		transport:      transport,
		grace:          gracePeriod,
		randomDuration: randomBetween,
		sweep:          p.Sweep,

		signatureHeader: http.CanonicalHeaderKey(c.HeaderPrefix + "-Signature"),
		header: http.Header{
			"Content-Type": {"application/json"},
			"User-Agent":   {c.UserAgent},
			http.CanonicalHeaderKey(c.HeaderPrefix + "-Version"): {payloadVersion},
			// Without a value it is not sent. It tells net/http that a request may be sent
			// again when a connection that was kept ends before the answer begins.
			"Idempotency-Key": {},
		},
	}
	return d, d.newDirectDispatch, nil
}

// Guard returns the rules that deliveries obey, for checking a webhook's URL when
// it is created.
func (d *Dispatcher) Guard() *Guard { return d.guard }

// Wake makes a running dispatcher look for due deliveries soon rather than at its next poll,
// 100 to 250 ms after the last look. It looks at once when the last look ended 10 ms ago or
// earlier and there is room for more deliveries. It does not wait for that. Run begins with a
// look, so a call before Run is not lost.
func (d *Dispatcher) Wake() {
	if r := d.currentRun.Load(); r != nil {
		r.step(scheduler.Woken{})
	}
}

// Run delivers until ctx ends, then drains and returns nil. To drain, it claims nothing
// more, lets requests under way end for up to 10 s, gives the rest back to the queue
// and writes all results. That takes at most 15 s, and one more when an [Observer] or a
// transport does not return. A call of the store or of maintenance that does not
// return when its context ends delays Run for as long as it takes. Faults of the store
// are logged, every 5 s while they last, and never end a run. The dispatcher tries again after
// at most 0.4 s, and sooner when another call of the service succeeds.
//
// Deliveries are claimed up to a second before they are sent. For so long a delivery
// may still go out after its webhook was disabled or deleted, or go to the old URL with
// the old secret after a change.
//
// A process that stops ends ctx after its server: see "Stopping" in the documentation of
// package [github.com/formsvc/formsvc].
//
// A second Run while one is active returns [ErrRunning]. After a return it may be
// called again. Any number of dispatchers, in this or other processes, may run on
// one store.
func (d *Dispatcher) Run(ctx context.Context) error {
	if !d.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer d.running.Store(false)
	defer d.guarded.CloseIdleConnections()
	r := newRun(ctx, d)
	defer r.wait()
	r.requests.Go(r.reportPauses)
	r.storeCalls.Go(func() { d.runMaintenance(ctx, r.requests.Go) })
	if d.config.Observer != nil {
		r.storeCalls.Go(func() { r.observeQueue(ctx) })
	}
	d.currentRun.Store(r)
	r.step()
	<-ctx.Done()
	d.currentRun.Store(nil)
	r.drain() //nolint:contextcheck // ctx has ended
	return nil
}

// randomBetween returns a random duration from least to most.
func randomBetween(least, most time.Duration) time.Duration {
	return least + time.Duration(rand.Int64N(int64(most-least)+1)) // #nosec G404 -- spreads load, guards nothing
}
