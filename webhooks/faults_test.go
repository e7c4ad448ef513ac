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

// faulty fails calls of a store on demand.
type faulty struct {
	storage.DeliveryStore
	mu             sync.Mutex
	claims, writes int        // how many of the next calls fail; negative: panic
	poison         storage.ID // a result of this webhook fails its batch
	held           storage.ID // somebody holds the deliveries of this webhook
}

var errDown = fmt.Errorf("down: %w", storage.ErrUnavailable)

func (f *faulty) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	f.mu.Lock()
	switch {
	case f.claims > 0:
		f.claims--
		f.mu.Unlock()
		return nil, false, errDown
	case f.claims < 0:
		f.claims++
		f.mu.Unlock()
		panic("claim")
	}
	f.mu.Unlock()
	return f.DeliveryStore.ClaimDeliveries(ctx, p)
}

func (f *faulty) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	f.mu.Lock()
	fail, poison, heldBy := f.writes > 0, f.poison, f.held
	if fail {
		f.writes--
	}
	f.mu.Unlock()
	if fail {
		return nil, errDown
	}
	rest := make([]storage.Result, 0, len(done))
	var held storage.HeldError
	for _, r := range done {
		switch r.Lease.WebhookID {
		case poison:
			return nil, fmt.Errorf("poison: %w", storage.ErrInvalidValue)
		case heldBy:
			held.Leases = append(held.Leases, r.Lease)
		default:
			rest = append(rest, r)
		}
	}
	fenced, err := f.DeliveryStore.FinishDeliveries(ctx, rest)
	if err == nil && len(held.Leases) > 0 {
		err = &held
	}
	return fenced, err
}

func TestFaultsOfTheStoreAreSurvived(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*faulty{
		"claims fail":  {claims: 5},
		"claims panic": {claims: -3},
		"writes fail":  {writes: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				sent := atomic.Int32{}
				b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { sent.Add(1); return reply(200), nil }))
				f.DeliveryStore = b.store
				b.d.store = f
				id := b.webhook(hook, nil)
				for range 10 {
					b.event(id, "x")
				}
				stop := b.run()
				time.Sleep(time.Minute)
				stop()
				if got := len(b.attempts(id)); got != 10 || sent.Load() != 10 {
					t.Errorf("%d attempts are kept, %d were sent, want 10", got, sent.Load())
				}
				if !strings.Contains(b.log.String(), `"level":"ERROR"`) {
					t.Error("nothing is logged")
				}
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
		f := &faulty{DeliveryStore: b.store, held: slow}
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
		if log := b.log.String(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "changed nothing") {
			t.Errorf("logged: %s", log)
		}
	})
}

func TestAResultThatTheStoreRefusesHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		bad, good := b.webhook("https://bad.example/", nil), b.webhook("https://good.example/", nil)
		b.d.store = &faulty{DeliveryStore: b.store, poison: bad}
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
		if got := strings.Count(b.log.String(), "refused by the store"); got != 20 {
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
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("the log lacks %q", want)
			}
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
		if !strings.Contains(b.log.String(), "changed nothing") {
			t.Errorf("log is %s", b.log)
		}
	})
}

// An outage longer than a lease repeats nothing whose result this process knows.
// Which call comes back first is chance, hence the rounds.
func TestAfterALongOutageResultsComeFirst(t *testing.T) {
	t.Parallel()
	worst := 0
	for range 2 {
		inBubble(t, func(t *testing.T) {
			var mu sync.Mutex
			sent := map[string]int{}
			b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
				body := make([]byte, 100)
				n, _ := r.Body.Read(body)
				mu.Lock()
				sent[string(body[:n])]++
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				return reply(200), nil
			}))
			var down atomic.Bool
			fails := func() error {
				if down.Load() {
					return errDown
				}
				return nil
			}
			b.d.store = gated{b.store, fails, fails}
			for w := range 100 {
				id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
				for i := range 4 {
					b.event(id, fmt.Sprintf("%d/%d", w, i))
				}
			}
			b.run()
			time.Sleep(50 * time.Millisecond)
			down.Store(true)
			time.Sleep(2 * time.Minute)
			down.Store(false)
			time.Sleep(2 * time.Minute)
			twice := 0
			mu.Lock()
			defer mu.Unlock()
			for _, n := range sent {
				twice += n - 1
			}
			worst = max(worst, twice)
			t.Logf("%d sent, %d of them again", len(sent), twice)
		})
	}
	if worst > 0 {
		t.Errorf("%d deliveries whose result was known were sent again", worst)
	}
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
		if text := b.log.String(); strings.Contains(text, `"level":"WARN"`) || !strings.Contains(text, "cannot be written") {
			t.Errorf("logged:\n%s", text)
		}
	})
}
