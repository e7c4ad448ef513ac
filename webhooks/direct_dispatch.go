package webhooks

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// directDispatch takes the deliveries of one response from the store that keeps it, so
// that they are sent without a claim. It implements [storage.HandOver].
type directDispatch struct {
	run    *run
	called atomic.Bool

	mu       sync.Mutex
	reserved []storage.ID
	at       time.Time
}

var _ storage.DirectDispatcher = (*directDispatch)(nil)

// offer is what New returns as directDispatch. A store that does not take part leaves its
// deliveries to be claimed.
func (d *Dispatcher) newDirectDispatch() (to storage.DirectDispatcher, stored func()) {
	r := d.currentRun.Load()
	if r == nil {
		return nil, d.Wake
	}
	h := &directDispatch{run: r}
	return h, func() {
		if !h.called.Load() {
			d.Wake()
		} else if r := d.currentRun.Load(); r != nil {
			r.storeResponded()
		}
	}
}

// Reserve implements [storage.HandOver].
func (h *directDispatch) Reserve(form storage.ID) (webhooks []storage.ID, lease time.Duration) {
	h.called.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Now()
	h.run.stepMu.Lock()
	defer h.run.stepMu.Unlock()
	webhooks = h.run.scheduler.Reserve(form)
	h.reserved = append(h.reserved, webhooks...)
	return webhooks, h.run.scheduler.Lease()
}

// HandOver implements [storage.HandOver]. It ends what is reserved, once: who called the
// store calls it again, for a store that panicked, and the store may still be about to.
func (h *directDispatch) Dispatch(leased []storage.ClaimedDelivery, others bool) {
	h.mu.Lock()
	reserved, at := h.reserved, h.at
	h.reserved = nil
	h.mu.Unlock()
	if len(reserved)+len(leased) > 0 {
		h.run.stepLater(scheduler.Dispatched{Reserved: reserved, Deliveries: leased, ReservedAt: at})
	}
	// h.run may have ended since the storing began, and another one may have begun.
	if r := h.run.d.currentRun.Load(); others && r != nil {
		r.stepLater(scheduler.Woken{})
	}
}

// stepLater has a step take in an event soon, with those that come until then: responses
// that are stored together are handed over together. Goroutines that can run come first,
// above all the callers whose responses were stored. So these can store their next ones
// while requests are made: with 16 of them in a loop a tenth more responses are stored.
func (r *run) stepLater(e scheduler.Event) {
	r.pendingMu.Lock()
	defer r.pendingMu.Unlock()
	if r.pendingEvents = append(r.pendingEvents, e); len(r.pendingEvents) > 1 {
		return
	}
	go func() {
		runtime.Gosched()
		r.pendingMu.Lock()
		events := r.pendingEvents
		r.pendingEvents = nil
		r.pendingMu.Unlock()
		r.step(events...)
	}()
}
