package webhooks

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
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
		expect(t, b.handOver() == nil, "a dispatcher that does not run takes deliveries")
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
		expect(t, b.handOver() == nil, "a dispatcher that has stopped takes deliveries")
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
		b.d.randomDuration = polls(time.Hour)
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
			h.Dispatch(nil, false)
			h.Dispatch(nil, false)
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
type late struct{ to storage.DirectDispatcher }

func (l late) Reserve(form storage.ID) ([]storage.ID, time.Duration) { return l.to.Reserve(form) }

func (l late) Dispatch(leased []storage.ClaimedDelivery, others bool) {
	l.to.Dispatch(nil, false)
	l.to.Dispatch(leased, others)
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
		b.events(id, 100)
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

// counting counts the calls of a store.
type counting struct {
	storage.DeliveryStore
	claims, others atomic.Int32
	claimed        atomic.Int32 // deliveries
}

func (c *counting) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	c.claims.Add(1)
	list, more, err := c.DeliveryStore.ClaimDeliveries(ctx, p)
	c.claimed.Add(int32(len(list)))
	return list, more, err
}

func (c *counting) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	c.others.Add(1)
	return c.DeliveryStore.FinishDeliveries(ctx, done)
}

func (c *counting) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	c.others.Add(1)
	return c.DeliveryStore.QueueStats(ctx)
}

func TestAnIdleDispatcherMakesOneCallAPoll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		c := &counting{DeliveryStore: b.store}
		b.d.store = c
		b.d.config.Observer = nil
		b.run()
		time.Sleep(100 * time.Second)
		// A poll every 100 to 250 ms.
		if got := c.claims.Load(); got < 400 || got > 1001 {
			t.Errorf("%d claims in 100 s, want 400 to 1001", got)
		}
		if got := c.others.Load(); got != 0 {
			t.Errorf("%d other calls", got)
		}
	})
}

func TestSweepIsCalledAboutOnceAMinute(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var calls, running atomic.Int32
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		b.d.sweep = func(ctx context.Context, now time.Time) error {
			expect(t, running.Add(1) == 1, "two sweeps at a time")
			defer running.Add(-1)
			if now.IsZero() || ctx.Err() != nil {
				t.Errorf("swept at %s with %v", now, ctx.Err())
			}
			switch calls.Add(1) {
			case 1:
				return errors.New("cannot sweep today")
			case 2:
				panic("broom")
			case 3:
				time.Sleep(5 * time.Minute)
			}
			return nil
		}
		stop := b.run()
		time.Sleep(2 * time.Hour)
		stop()
		if got := calls.Load(); got < 90 || got > 160 {
			t.Errorf("%d sweeps in two hours", got)
		}
		for _, want := range []string{"cannot sweep today", "broom"} {
			expect(t, strings.Contains(b.log.String(), want), "the log lacks %q", want)
		}
	})
}

func TestASweepDelaysNoDeliveryAndEndsWithTheRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		began := make(chan struct{})
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		b.d.sweep = func(ctx context.Context, _ time.Time) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}
		id := b.webhook(hook, nil)
		stop := b.run()
		<-began
		b.event(id, "x")
		started := time.Now()
		b.d.Wake()
		b.seen.wait(t, 1)
		// A claim may have begun just before, and they keep their distance.
		if took, most := time.Since(started), scheduler.DefaultConfig(1, 1, 1, time.Second).BatchDelay; took > most {
			t.Errorf("a delivery took %s, want at most %s", took, most)
		}
		stop()
		if strings.Contains(b.log.String(), "sweep failed") {
			t.Error("a sweep that was stopped is logged as failed")
		}
	})
}

// A step of the process's clock by an hour, in either direction, neither stops
// deliveries nor hurries them: only what receivers and owners see has its time.
func TestAStepOfTheClockMovesNoDelivery(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"forwards": time.Hour, "backwards": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				var fails atomic.Bool
				b := newBench(t, Config{Retry: RetryPolicy{Delays: []time.Duration{20 * time.Second}}}, roundTrip(func(*http.Request) (*http.Response, error) {
					if fails.Load() {
						return reply(http.StatusInternalServerError), nil
					}
					time.Sleep(5 * time.Millisecond)
					return reply(http.StatusOK), nil
				}))
				var offset atomic.Int64
				b.d.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				id := b.webhook(hook, nil)
				stop := b.run()
				delivered := func(most time.Duration) {
					t.Helper()
					started := time.Now()
					b.seen.wait(t, 1)
					if took := time.Since(started); took > most {
						t.Errorf("it took %s, want at most %s", took, most)
					}
				}
				b.event(id, "x")
				delivered(time.Second)
				fails.Store(true)
				b.event(id, "y")
				delivered(time.Second) // and is tried again in 20 s
				failed := time.Now()
				fails.Store(false)
				offset.Store(int64(step))
				delivered(30 * time.Second)
				if waited := time.Since(failed); waited < 15*time.Second {
					t.Errorf("it was tried again after %s, want about 20 s", waited)
				}
				for range 3 {
					b.submit(id, "z", b.handOver())
					delivered(time.Second)
					time.Sleep(time.Minute)
					b.event(id, "z") // waits for the poll
					delivered(time.Second)
					step = -step
					offset.Store(int64(step))
				}
				stop()
				for _, a := range b.attempts(id) {
					if a.Duration < 0 || a.Duration > time.Second {
						t.Errorf("an attempt took %s", a.Duration)
					}
				}
			})
		})
	}
}

// What the scheduler is told of time is read from a clock that no step moves: its times
// keep their monotonic reading, which Round and Truncate would drop.
func TestTheSchedulersTimesAreMonotonic(t *testing.T) {
	t.Parallel()
	// Not in a bubble: its clock has no monotonic reading.
	b := newBench(t, Config{Retry: RetryPolicy{Delays: []time.Duration{time.Second}}}, roundTrip(func(*http.Request) (*http.Response, error) {
		r := reply(http.StatusServiceUnavailable)
		r.Header = http.Header{"Retry-After": {"60"}}
		return r, nil
	}))
	paused := make(chan storage.PausedWebhook, 1)
	b.d.config.Observer = &watcher{paused: paused}
	b.event(b.webhook(hook, nil), "x")
	stop := b.run()
	p := <-paused
	stop()
	for name, at := range map[string]time.Time{"FailingSince": p.FailingSince, "PausedUntil": p.PausedUntil} {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%s is %s, which has no monotonic reading", name, at)
		}
	}
}
