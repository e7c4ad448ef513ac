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
	// gracePeriod is how long in-flight requests can continue after a stop. gracePeriod and finalWriteTime together are
	// half of the 30 s that Kubernetes gives a process by default. Deliveries that take longer are sent again.
	gracePeriod = 10 * time.Second
	// storeTimeout limits each call to the store, which usually takes tens of milliseconds. A call that takes longer
	// has lost its connection or is waiting for a lock. Another call may then succeed.
	storeTimeout = 10 * time.Second
	// finalWriteTime is how long a stopping dispatcher tries to write results after gracePeriod. Deliveries whose
	// results are not written are sent again.
	finalWriteTime = 5 * time.Second
	// observerTimeout is how long a stopping dispatcher waits at the end for an Observer, whose methods should return
	// quickly.
	observerTimeout = time.Second
)

// ErrRunning is returned by [Dispatcher.Run] while another Run of the same dispatcher is active.
var ErrRunning = errors.New("webhooks: dispatcher is already running")

// Dispatcher delivers pending events. It is safe for concurrent use.
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
	transport      http.RoundTripper // guarded, or the host's transport that wraps it
	local          localHandlers
	grace          time.Duration
	randomDuration func(least, most time.Duration) time.Duration

	signatureHeader string      // in canonical form
	header          http.Header // sent with every request

	hostErrors cache.Cache[storage.ID, bool] // whether an error of the host prevents deliveries to a webhook

	running    atomic.Bool
	currentRun atomic.Pointer[run] // nil if no run accepts direct dispatches
}

// NewDispatcher returns a service's dispatcher for package formsvc. Other modules cannot name the type of p. It starts
// no goroutine and opens no connection. It returns an error if p.Store is nil or config is invalid.
//
// newDirect returns the direct dispatcher for one submission (nil while d is not running), and a function to call after
// the submission is stored.
func NewDispatcher(config Config, p dispatch.Params) (d *Dispatcher, newDirect func() (to storage.DirectDispatcher, stored func()), err error) {
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
		local:          newLocalHandlers(c),
		grace:          gracePeriod,
		randomDuration: randomBetween,
		sweep:          p.Sweep,

		signatureHeader: http.CanonicalHeaderKey(c.HeaderPrefix + "-Signature"),
		header: http.Header{
			"Content-Type": {"application/json"},
			"User-Agent":   {c.UserAgent},
			http.CanonicalHeaderKey(c.HeaderPrefix + "-Version"): {payloadVersion},
			// The header has no value, so it is not sent. Because the key is present, net/http resends a request if a
			// reused connection is closed before the response starts.
			"Idempotency-Key": {},
		},
	}
	return d, d.newDirectDispatch, nil
}

// Guard returns the guard that checks destinations. The service also uses it when a webhook is created.
func (d *Dispatcher) Guard() *Guard { return d.guard }

// Wake makes a running dispatcher claim due deliveries before its next poll, which is 100 to 250 ms after the last
// claim. The claim starts immediately if the last claim ended at least 10 ms ago and there is capacity. Wake does not
// wait for the claim to end. Wake is not needed before Run, which starts with a claim.
func (d *Dispatcher) Wake() {
	if r := d.currentRun.Load(); r != nil {
		r.step(scheduler.Woken{})
	}
}

// Run sends deliveries until ctx ends, then drains and returns nil. While it drains, it claims nothing, lets in-flight
// requests continue for up to 10 s, releases the other deliveries, and writes all results. Draining takes at most 15 s,
// plus one second if an [Observer] or a transport does not return. Draining takes longer if the store or maintenance
// ignores its context. Store errors do not end Run. They are logged at most every 5 s, and Run retries after at most
// 0.4 s, or as soon as another call by the service succeeds.
//
// Deliveries are claimed up to a second before they are sent. If a webhook is disabled or deleted in the meantime, its
// claimed deliveries are still sent. If its URL or secret changes, they are sent to the old URL with the old secret.
//
// To stop a process, cancel ctx after the server has stopped: see "Graceful shutdown" in package
// [github.com/formsvc/formsvc]. Run returns [ErrRunning] if another call of Run is active. It can be called again after
// it has returned. Any number of dispatchers, in this or other processes, can use the same store.
func (d *Dispatcher) Run(ctx context.Context) error {
	if !d.running.CompareAndSwap(false, true) {
		d.log.Error("dispatcher was not started", "error", ErrRunning) // most hosts ignore the result of a go statement
		return ErrRunning
	}
	defer d.running.Store(false)
	defer d.log.Info("dispatcher stopped because its context ended")
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

func randomBetween(least, most time.Duration) time.Duration {
	return least + time.Duration(rand.Int64N(int64(most-least)+1)) // #nosec G404 -- spreads load, guards nothing
}
