package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// choosy is a store that does not take the results of some webhooks.
type choosy struct {
	storage.DeliveryStore
	poison storage.ID // a result of this webhook fails its batch
	mu     sync.Mutex
	held   storage.ID // somebody holds the deliveries of this webhook
}

var errDown = fmt.Errorf("down: %w", storage.ErrUnavailable)

func (c *choosy) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	c.mu.Lock()
	heldBy := c.held
	c.mu.Unlock()
	rest := make([]storage.Result, 0, len(done))
	var held storage.BlockedResultsError
	for _, r := range done {
		switch r.Lease.WebhookID {
		case c.poison:
			return nil, fmt.Errorf("poison: %w", storage.ErrInvalidValue)
		case heldBy:
			held.Leases = append(held.Leases, r.Lease)
		default:
			rest = append(rest, r)
		}
	}
	fenced, err := c.DeliveryStore.FinishDeliveries(ctx, rest)
	if err == nil && len(held.Leases) > 0 {
		err = &held
	}
	return fenced, err
}

func TestFaultsOfTheStoreAreSurvived(t *testing.T) {
	t.Parallel()
	works := func() error { return nil }
	fails := func() error { return errDown }
	panics := func() error { panic("claim") }
	// first calls f for the first calls.
	first := func(calls int32, f func() error) func() error {
		var n atomic.Int32
		return func() error {
			if n.Add(1) <= calls {
				return f()
			}
			return nil
		}
	}
	for name, store := range map[string]gated{
		"claims fail":  {claim: first(5, fails), finish: works},
		"claims panic": {claim: first(3, panics), finish: works},
		"writes fail":  {claim: works, finish: first(5, fails)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				sent := atomic.Int32{}
				b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { sent.Add(1); return reply(200), nil }))
				store.DeliveryStore = b.store
				b.d.store = store
				id := b.webhook(hook, nil)
				b.events(id, 10)
				stop := b.run()
				time.Sleep(time.Minute)
				stop()
				if got := len(b.attempts(id)); got != 10 || sent.Load() != 10 {
					t.Errorf("%d attempts are kept, %d were sent, want 10", got, sent.Load())
				}
				expect(t, strings.Contains(b.log.String(), `"level":"ERROR"`), "nothing is logged")
			})
		})
	}
}

// Somebody holds deliveries in the store for half a minute: the results of the others
// are written, and theirs are once nobody holds them.
func TestDeliveriesThatAreHeldHoldBackNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var sent atomic.Int32
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { sent.Add(1); return reply(200), nil }))
		slow, good := b.webhook("https://slow.example/", nil), b.webhook("https://good.example/", nil)
		f := &choosy{DeliveryStore: b.store, held: slow}
		b.d.store = f
		for range 5 {
			b.event(slow, "x")
			b.event(good, "x")
		}
		stop := b.run()
		time.Sleep(time.Second)
		if got := len(b.attempts(good)); got != 5 {
			t.Errorf("%d attempts of the other one are written, want 5", got)
		}
		time.Sleep(30 * time.Second)
		f.mu.Lock()
		f.held = storage.ID{}
		f.mu.Unlock()
		time.Sleep(time.Minute)
		stop()
		if got := len(b.attempts(slow)); got != 5 || sent.Load() != 10 {
			t.Errorf("%d attempts are written, %d were sent; want 5 and 10", got, sent.Load())
		}
		if log := b.log.String(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "webhook result ignored") {
			t.Errorf("logged: %s", log)
		}
	})
}

func TestAResultThatTheStoreRefusesHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		bad, good := b.webhook("https://bad.example/", nil), b.webhook("https://good.example/", nil)
		b.d.store = &choosy{DeliveryStore: b.store, poison: bad}
		for range 20 {
			b.event(bad, "x")
			b.event(good, "x")
		}
		stop := b.run()
		time.Sleep(30 * time.Second)
		if got := len(b.attempts(good)); got != 20 {
			t.Errorf("%d attempts of the good one are written, want 20", got)
		}
		stop()
		if got := strings.Count(b.log.String(), "storage rejected webhook result"); got != 20 {
			t.Errorf("%d refusals are logged, want 20", got)
		}
	})
}

func TestAPanicKillsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{Observer: panicky{}}, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "bad.example" {
				panic("boom")
			}
			return reply(200), nil
		}))
		bad, good := b.webhook("https://bad.example/", nil), b.webhook("https://good.example/", nil)
		b.event(bad, "x")
		b.event(good, "x")
		stop := b.run()
		time.Sleep(time.Second)
		stop()
		if got := b.attempts(bad); len(got) != 1 || got[0].Success || got[0].Error != ClassNetwork || got[0].NextAttemptAt.IsZero() {
			t.Errorf("the panicking one: %+v", got)
		}
		if got := b.attempts(good); len(got) != 1 || !got[0].Success {
			t.Errorf("the other one: %+v", got)
		}
		for _, want := range []string{"webhook delivery panicked", "boom", "webhook observer panicked"} {
			expect(t, strings.Contains(b.log.String(), want), "the log lacks %q", want)
		}
	})
}

type panicky struct{}

func (panicky) AttemptFinished(context.Context, storage.Delivery)    { panic("observer") }
func (panicky) QueueObserved(context.Context, storage.QueueStats)    { panic("observer") }
func (panicky) InFlightObserved(context.Context, InFlight)           { panic("observer") }
func (panicky) WebhookPaused(context.Context, storage.PausedWebhook) { panic("observer") }
func (panicky) WebhookResumed(context.Context, storage.ID)           { panic("observer") }

func TestAFencedResultIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, nil)
		id := b.webhook(hook, nil)
		b.d.transport = roundTrip(func(*http.Request) (*http.Response, error) {
			must(t, b.store.DeleteWebhook(context.Background(), storage.AsHost(), id))
			return reply(200), nil
		})
		b.event(id, "x")
		stop := b.run()
		b.seen.wait(t, 1)
		stop()
		expect(t, strings.Contains(b.log.String(), "webhook result ignored"), "log is %s", b.log)
	})
}

// halfway is a store that fails in the middle of a write: the results before that are
// settled.
type halfway struct {
	storage.DeliveryStore
	left int // writes that fail
}

func (h *halfway) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	if h.left--; h.left < 0 {
		return h.DeliveryStore.FinishDeliveries(ctx, done)
	}
	fenced, err := h.DeliveryStore.FinishDeliveries(ctx, done[:len(done)/2])
	return fenced, errors.Join(err, errDown)
}

// What a write settled before it failed is settled again without effect, and without a
// warning that somebody else had it.
func TestHalfOfAWriteIsNoWarning(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		b.d.store = &halfway{DeliveryStore: b.store, left: 3}
		for w := range 20 {
			id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
			b.event(id, "x")
		}
		b.run()
		b.seen.wait(t, 20)
		time.Sleep(time.Minute)
		if text := b.log.String(); strings.Contains(text, `"level":"WARN"`) || !strings.Contains(text, "failed to write webhook results") {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// A database server that is up for a moment at a time gets deliveries in the first of these
// moments, and their results are written at the latest in the next one.
func TestAStoreThatFlapsIsUsedWhenItIsUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		period, up time.Duration
		called     bool // something else succeeds in the middle of each moment
	}{
		"half a second of 5.5":      {period: 5500 * time.Millisecond, up: 500 * time.Millisecond},
		"half a second of 2":        {period: 2 * time.Second, up: 500 * time.Millisecond},
		"half a second of a minute": {period: time.Minute, up: 500 * time.Millisecond},
		"0.25 s of 7, with calls":   {period: 7 * time.Second, up: 250 * time.Millisecond, called: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				var sent atomic.Int32
				b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
					sent.Add(1)
					time.Sleep(300 * time.Millisecond) // the result often comes after the moment
					return reply(200), nil
				}))
				began := time.Now()
				works := func() error {
					if time.Since(began)%c.period < c.period-c.up { // it is down first
						return errDown
					}
					return nil
				}
				b.d.store = gated{b.store, works, works}
				id := b.webhook(hook, nil)
				b.event(id, "x")
				stop := b.run()
				time.Sleep(c.period - c.up/2)
				for range 3 {
					if c.called {
						_, stored := b.d.newDirectDispatch()
						stored()
					}
					time.Sleep(c.period)
				}
				if got := len(b.attempts(id)); got != 1 || sent.Load() != 1 {
					t.Errorf("%d attempts are written, %d were sent after 4 moments, want 1", got, sent.Load())
				}
				if lines := strings.Count(b.log.String(), `"level":"ERROR"`); lines == 0 || lines > 2*(int(4*c.period/logInterval)+1) {
					t.Errorf("%d errors are logged", lines)
				}
				stop()
			})
		})
	}
}

// A destination that is dead for eight days: what is older than three days has ended, and
// its history still has real attempts.
func TestADeadDestinationIsGivenUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var sent atomic.Int32
		b := newBench(t, Config{Observer: NoObserver{}}, roundTrip(func(*http.Request) (*http.Response, error) {
			sent.Add(1)
			return reply(500), nil
		}))
		b.d.randomDuration = polls(5 * time.Minute)
		id := b.webhook(hook, nil)
		b.run()
		for day := range 8 {
			for range 100 {
				b.event(id, "x")
				time.Sleep(24 * time.Hour / 100)
			}
			q := b.stats()
			if got := q.Due + q.Waiting; got > 310 {
				t.Fatalf("after %d days %d deliveries are pending", day+1, got)
			}
			if day > 4 && time.Since(q.OldestDue) > 73*time.Hour && !q.OldestDue.IsZero() {
				t.Fatalf("after %d days one has been pending since %s", day+1, q.OldestDue)
			}
		}
		history, err := b.store.Deliveries(context.Background(), storage.AsHost(), id, 1000)
		must(t, err)
		expired, tried := 0, 0
		for _, a := range history {
			switch {
			case a.Error == storage.DeliveryExpired && a.Status == 0 && !a.Success && a.NextAttemptAt.IsZero():
				expired++
			case a.Status == 500:
				tried++
			default:
				t.Errorf("the history has %+v", a)
			}
		}
		if expired == 0 || tried < 80 {
			t.Errorf("the history has %d summaries of expired deliveries and %d attempts", expired, tried)
		}
		t.Logf("%d requests in eight days; %d summaries, %d attempts are kept", sent.Load(), expired, tried)
	})
}

// A dispatcher that was off for four days ends nothing, whether the webhook failed
// before or not.
func TestADispatcherThatWasOffLosesNothing(t *testing.T) {
	t.Parallel()
	for _, failedBefore := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			var healthy atomic.Bool
			b := newBench(t, Config{Observer: NoObserver{}}, roundTrip(func(*http.Request) (*http.Response, error) {
				if healthy.Load() {
					return reply(200), nil
				}
				return reply(500), nil
			}))
			b.d.randomDuration = polls(time.Minute)
			id := b.webhook(hook, nil)
			b.events(id, 50)
			if failedBefore {
				stop := b.run()
				time.Sleep(2 * time.Hour)
				stop()
			}
			time.Sleep(4 * 24 * time.Hour)
			b.run()
			time.Sleep(5 * time.Hour) // it is still down for a while
			healthy.Store(true)
			time.Sleep(30 * time.Hour)
			delivered := 0
			for _, a := range b.attempts(id) {
				if a.Success {
					delivered++
				}
				if a.Error == storage.DeliveryExpired {
					t.Errorf("failed before %v: something expired: %+v", failedBefore, a)
				}
			}
			if delivered != 50 {
				t.Errorf("failed before %v: %d of 50 deliveries arrived, the queue has %+v", failedBefore, delivered, b.stats())
			}
		})
	}
}

// A receiver that asks for a day each time: no retry is set for later than three days after
// the event was queued, and redelivering gives three days more.
func TestNoRetryIsLaterThanMaxAge(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		sent := 0
		b := newBench(t, Config{Observer: NoObserver{}}, roundTrip(func(*http.Request) (*http.Response, error) {
			sent++
			return reply(503, "Retry-After", "86400"), nil
		}))
		b.d.randomDuration = polls(time.Minute)
		id := b.webhook(hook, nil)
		queued := time.Now()
		event := b.event(id, "x")
		b.run()
		for round := 1; round <= 2; round++ {
			time.Sleep(6 * 24 * time.Hour)
			if b.stats() != (storage.QueueStats{}) || sent != 3*round {
				t.Fatalf("round %d: %d requests, want 3 more; the queue has %+v", round, sent, b.stats())
			}
			history := b.attempts(id)
			last := history[len(history)-1]
			if len(history) != 4*round || last.Error != storage.DeliveryExpired || last.EventID != event || last.Attempt != 4 {
				t.Fatalf("round %d: the history has %+v", round, history)
			}
			if end := history[len(history)-2]; end.Status != 503 || !end.NextAttemptAt.IsZero() {
				t.Errorf("round %d: the last attempt is %+v, want none after it", round, end)
			}
			for _, a := range history[4*(round-1):] {
				if a.NextAttemptAt.Sub(queued) > DefaultMaxAge {
					t.Errorf("round %d: a retry was set for %s after queueing", round, a.NextAttemptAt.Sub(queued))
				}
			}
			queued = time.Now()
			must(t, b.store.Redeliver(t.Context(), id, last.ID))
			b.d.Wake()
		}
	})
}
