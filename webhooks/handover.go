package webhooks

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// HandOver takes the deliveries of one response from the store that keeps it, so
// that they are sent without a claim. It implements [storage.HandOver].
type HandOver struct {
	run      *run
	called   atomic.Bool
	reserved []storage.ID
	at       time.Time
}

var _ storage.HandOver = (*HandOver)(nil)

// HandOver returns what to give to a store with one response, nil when d does not
// run.
func (d *Dispatcher) HandOver() *HandOver {
	r := d.current.Load()
	if r == nil {
		return nil
	}
	return &HandOver{run: r}
}

// Called reports whether the store takes part. After a response is stored by one
// that does not, [Dispatcher.Wake] is to be called.
func (h *HandOver) Called() bool { return h != nil && h.called.Load() }

// Reserve implements [storage.HandOver].
func (h *HandOver) Reserve(form storage.ID) (webhooks []storage.ID, lease time.Duration) {
	h.called.Store(true)
	h.at = time.Now()
	h.run.deciding.Lock()
	defer h.run.deciding.Unlock()
	h.reserved = h.run.scheduler.Reserve(form)
	return h.reserved, h.run.numbers.Lease
}

// HandOver implements [storage.HandOver].
func (h *HandOver) HandOver(leased []storage.ClaimedDelivery, others bool) {
	if len(h.reserved) > 0 {
		h.run.handed.add(h.run, scheduler.Handed{Reserved: h.reserved, Deliveries: leased, At: h.at})
	}
	// h.run may have ended since the storing began, and another one may have begun.
	if r := h.run.d.current.Load(); others && r != nil {
		r.handed.add(r, scheduler.Woken{})
	}
}

// inbox collects events for one step.
type inbox struct {
	mu     sync.Mutex
	events []scheduler.Event
}

// add has a step of r take in an event soon, with those that come until then: responses
// that are stored together are handed over together. Goroutines that can run come first,
// above all the callers whose responses were stored. So these can store their next ones
// while requests are made: with 16 of them in a loop a tenth more responses are stored.
func (i *inbox) add(r *run, e scheduler.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.events = append(i.events, e); len(i.events) > 1 {
		return
	}
	go func() {
		runtime.Gosched()
		i.mu.Lock()
		events := i.events
		i.events = nil
		i.mu.Unlock()
		r.step(events...)
	}()
}
