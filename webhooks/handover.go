package webhooks

import (
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
func (h *HandOver) HandOver(leased []storage.Delivery, others bool) {
	if len(h.reserved) > 0 {
		h.run.step(scheduler.Handed{Reserved: h.reserved, Deliveries: leased, At: h.at})
	}
	if others {
		h.run.d.Wake()
	}
}
