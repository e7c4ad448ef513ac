package webhooks

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// handOver takes the deliveries of one response from the store that keeps it, so
// that they are sent without a claim. It implements [storage.HandOver].
type handOver struct {
	run    *run
	called atomic.Bool

	mu       sync.Mutex
	reserved []storage.ID
	at       time.Time
}

var _ storage.DirectDispatcher = (*handOver)(nil)

// offer is what New returns as handOver. A store that does not take part leaves its
// deliveries to be claimed.
func (d *Dispatcher) offer() (to storage.DirectDispatcher, stored func()) {
	r := d.current.Load()
	if r == nil {
		return nil, d.Wake
	}
	h := &handOver{run: r}
	return h, func() {
		if !h.called.Load() {
			d.Wake()
		} else if r := d.current.Load(); r != nil {
			r.reached()
		}
	}
}

// Reserve implements [storage.HandOver].
func (h *handOver) Reserve(form storage.ID) (webhooks []storage.ID, lease time.Duration) {
	h.called.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Now()
	h.run.deciding.Lock()
	defer h.run.deciding.Unlock()
	webhooks = h.run.scheduler.Reserve(form)
	h.reserved = append(h.reserved, webhooks...)
	return webhooks, h.run.scheduler.Lease()
}

// HandOver implements [storage.HandOver]. It ends what is reserved, once: who called the
// store calls it again, for a store that panicked, and the store may still be about to.
func (h *handOver) Dispatch(leased []storage.ClaimedDelivery, others bool) {
	h.mu.Lock()
	reserved, at := h.reserved, h.at
	h.reserved = nil
	h.mu.Unlock()
	if len(reserved)+len(leased) > 0 {
		h.run.stepSoon(scheduler.Handed{Reserved: reserved, Deliveries: leased, At: at})
	}
	// h.run may have ended since the storing began, and another one may have begun.
	if r := h.run.d.current.Load(); others && r != nil {
		r.stepSoon(scheduler.Woken{})
	}
}

// stepSoon has a step take in an event soon, with those that come until then: responses
// that are stored together are handed over together. Goroutines that can run come first,
// above all the callers whose responses were stored. So these can store their next ones
// while requests are made: with 16 of them in a loop a tenth more responses are stored.
func (r *run) stepSoon(e scheduler.Event) {
	r.collecting.Lock()
	defer r.collecting.Unlock()
	if r.handed = append(r.handed, e); len(r.handed) > 1 {
		return
	}
	go func() {
		runtime.Gosched()
		r.collecting.Lock()
		events := r.handed
		r.handed = nil
		r.collecting.Unlock()
		r.step(events...)
	}()
}
