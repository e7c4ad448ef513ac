package webhooks

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// What is stored beside a running dispatcher is sent without a claim, once its webhook
// is known to be quick.
func TestAResponseIsHandedOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Millisecond)
			return reply(200), nil
		}))
		if b.handOver() != nil {
			t.Error("a dispatcher that does not run takes deliveries")
		}
		c := &counting{DeliveryStore: b.store}
		b.d.store = c
		id := b.webhook(hook, nil)
		stop := b.run()
		b.event(id, "x")
		b.seen.wait(t, 1)
		time.Sleep(time.Second)
		for range 200 {
			before := c.claimed.Load()
			started := time.Now()
			h := b.handOver()
			b.submit(id, "x", h)
			if !h.called.Load() {
				t.Fatal("the store does not hand over")
			}
			b.seen.wait(t, 1)
			if took := time.Since(started); took != 5*time.Millisecond || c.claimed.Load() != before {
				t.Fatalf("it took %s and %d claimed deliveries", took, c.claimed.Load()-before)
			}
			time.Sleep(7 * time.Millisecond)
		}
		// More at once than it has room for: the rest is claimed, and nothing is lost.
		for range 2000 {
			b.submit(id, "x", b.handOver())
		}
		b.seen.wait(t, 2000)
		stop()
		if b.handOver() != nil {
			t.Error("a dispatcher that has stopped takes deliveries")
		}
		if q := b.stats(); q.Due+q.Waiting != 0 {
			t.Errorf("the queue still has %+v", q)
		}
	})
}

// A response whose storing began during an earlier run is sent at once by the present one.
func TestAWakeUpThroughAnEarlierRunReachesThePresentOne(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		b.d.spread = polls(time.Hour)
		id := b.webhook(hook, nil)
		stop := b.run()
		time.Sleep(time.Second)
		h := b.handOver()
		stop()
		b.run()
		time.Sleep(time.Second)
		b.submit(id, "x", h)
		if !h.called.Load() {
			t.Fatal("the store does not call the HandOver")
		}
		time.Sleep(time.Second)
		if n := len(b.attempts(id)); n != 1 {
			t.Errorf("%d attempts a second after the response, want 1", n)
		}
	})
}

// Nothing is handed over to a webhook that hangs, fails or has never succeeded.
func TestWhatIsNotQuickIsNotHandedOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			switch name, _, _ := strings.Cut(r.URL.Host, "."); name {
			case "fails":
				return reply(500), nil
			case "slow":
				time.Sleep(time.Second)
				return reply(200), nil
			}
			return hangs(r)
		}))
		b.run()
		for _, name := range []string{"fails", "slow", "new"} {
			id := b.webhook("https://"+name+".example/", nil)
			b.event(id, "x")
			time.Sleep(3 * time.Second)
			h := b.handOver()
			reserved, _ := h.Reserve(b.forms[id])
			if len(reserved) != 0 {
				t.Errorf("room for the one that is called %s", name)
			}
			h.HandOver(nil, false)
		}
	})
}

// What is reserved ends once, however often HandOver is called, and what comes after that is
// sent all the same.
func TestReservationsEndOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Millisecond)
			return reply(200), nil
		}))
		id := b.webhook(hook, nil)
		b.run()
		b.event(id, "x")
		b.seen.wait(t, 1)
		time.Sleep(time.Second)
		room := func() (n int) {
			h := b.handOver()
			for {
				if reserved, _ := h.Reserve(b.forms[id]); len(reserved) == 0 {
					break
				}
				n++
			}
			h.HandOver(nil, false)
			h.HandOver(nil, false)
			time.Sleep(time.Second)
			return n
		}
		first := room()
		if first == 0 {
			t.Fatal("no room for a quick webhook")
		}
		if second := room(); second != first {
			t.Errorf("room for %d deliveries, and for %d when the reservations have ended", first, second)
		}
		b.submitTo(id, "x", late{b.handOver()})
		b.seen.wait(t, 1)
	})
}

// late hands over after its reservation has ended: the caller of the store has left.
type late struct{ to storage.HandOver }

func (l late) Reserve(form storage.ID) ([]storage.ID, time.Duration) { return l.to.Reserve(form) }

func (l late) HandOver(leased []storage.ClaimedDelivery, others bool) {
	l.to.HandOver(nil, false)
	l.to.HandOver(leased, others)
}

// blocking is an Observer that does not return.
type blocking struct {
	NoObserver
	calls atomic.Int32
	end   chan struct{}
}

func (o *blocking) AttemptFinished(_ context.Context, _ storage.Delivery)    { o.calls.Add(1); <-o.end }
func (o *blocking) QueueObserved(_ context.Context, _ storage.QueueStats)    { o.calls.Add(1); <-o.end }
func (o *blocking) WebhookPaused(_ context.Context, _ storage.PausedWebhook) { o.calls.Add(1); <-o.end }

func TestAnObserverThatBlocksHoldsUpNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		o := &blocking{end: make(chan struct{})}
		b := newBench(t, Config{Observer: o}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		id := b.webhook(hook, nil)
		stop := b.run()
		for range 100 {
			b.event(id, "x")
		}
		time.Sleep(5 * time.Second)
		if got := b.attempts(id); len(got) != 100 || o.calls.Load() < 101 {
			t.Errorf("%d deliveries are written and the Observer was called %d times", len(got), o.calls.Load())
		}
		started := time.Now()
		stop()
		if took := time.Since(started); took > 2*time.Second {
			t.Errorf("the stop took %s", took)
		}
		close(o.end)
	})
}
