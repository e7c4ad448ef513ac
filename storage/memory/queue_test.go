package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Whatever happens, a claim passes over no webhook that has something to claim.
func TestAClaimMissesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		clock := start
		b := setup(t, WithClock(func() time.Time { return clock }))
		random := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- a repeatable test
		var hooks []storage.ID
		for n := range 3 {
			hooks = append(hooks, b.addWebhook(t, n))
		}
		var flying []storage.ClaimedDelivery
		var tried []storage.Delivery
		events := 0
		for range 400 {
			hook := hooks[random.IntN(len(hooks))]
			switch random.IntN(11) {
			case 0, 1:
				events++
				must(t, b.store.Enqueue(t.Context(), hook, storage.Event{ID: id('e', events), Type: "form.test", Body: []byte("{}")}))
			case 2:
				events++
				b.submit(t, 1000+events)
			case 3, 4:
				got, _, err := b.store.ClaimDeliveries(t.Context(), storage.ClaimParams{
					Lease: time.Minute, Quick: storage.Pool{Room: random.IntN(6)}, Slow: storage.Pool{Room: random.IntN(6)}, Others: storage.Pool{Room: random.IntN(6)}, PerWebhook: 3,
				})
				must(t, err)
				flying = append(flying, got...)
			case 5, 6:
				if len(flying) > 0 {
					r := randomResult(random, flying[0])
					_, err := b.store.FinishDeliveries(t.Context(), []storage.Result{r})
					must(t, err)
					flying = flying[1:]
					if r.Delivery != nil {
						tried = append(tried, *r.Delivery)
					}
				}
			case 7:
				url := fmt.Sprint("https://example.com/", random.IntN(3))
				_, err := b.store.UpdateWebhook(t.Context(), b.owner, hook, storage.WebhookChange{URL: &url, At: start})
				must(t, err)
			case 8:
				if len(tried) > 0 {
					a := tried[random.IntN(len(tried))]
					if err := b.store.Redeliver(t.Context(), a.WebhookID, a.ID); !errors.Is(err, storage.ErrNotFound) { // pushed out
						must(t, err)
					}
				}
			default:
				clock = clock.Add(time.Duration(random.IntN(90)) * time.Second)
			}
			checkIdle(t, b.store, clock)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// checkIdle holds what claims pass over against everything that is pending.
func checkIdle(t *testing.T, s *Store, clock time.Time) {
	t.Helper()
	for _, w := range s.webhooks {
		for _, d := range w.queue.byEvent {
			if !d.due.After(clock) && (d.asked || !w.paused(clock)) && clock.Before(w.queue.idleUntil) {
				t.Errorf("a delivery is due, but claims pass over its webhook until %s", w.queue.idleUntil)
			}
		}
	}
}

func randomResult(random *rand.Rand, d storage.ClaimedDelivery) storage.Result {
	r := storage.Result{Lease: d.Lease, Delivery: &storage.Delivery{
		ID: id('a', random.Int()), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, Attempt: d.Attempt, CreatedAt: start,
	}}
	switch random.IntN(4) {
	case 0:
		r.Delivery = nil
	case 1:
		r.RetryIn, r.Standing.Failures = time.Duration(random.IntN(100))*time.Second, 1
	case 2:
		r.Standing.Failures, r.PauseFor = 10, 5*time.Minute
	default:
		r.Delivery.Success, r.Standing.Succeeded = true, true
	}
	return r
}

// A claim that finds nothing due of a webhook notes until when, so that the next one looks
// at none of its deliveries.
func TestClaimsPassOverWhatIsNotDue(t *testing.T) {
	t.Parallel()
	b, _ := crowded(t, 1000)
	for range 2 {
		got, _, err := b.store.ClaimDeliveries(t.Context(), storage.ClaimParams{Others: storage.Pool{Room: 1}, PerWebhook: 1})
		if err != nil || len(got) != 0 {
			t.Fatal(len(got), err)
		}
	}
	idle := 0
	for _, w := range b.store.webhooks {
		if w.queue.idleUntil.After(start) {
			idle++
		}
	}
	if idle != 1001 {
		t.Errorf("%d webhooks are passed over, want 1001", idle)
	}
}

// crowded returns a store in which each of n webhooks has something that is due later,
// and one more webhook.
func crowded(tb testing.TB, n int) (*bundle, storage.ID) {
	tb.Helper()
	ctx := context.Background()
	b := setup(tb, WithClock(func() time.Time { return start }))
	for i := range n {
		must(tb, b.store.Enqueue(ctx, b.addWebhook(tb, i), storage.Event{ID: id('e', i), Type: "form.test", Body: []byte("{}")}))
	}
	got, _, err := b.store.ClaimDeliveries(ctx, storage.ClaimParams{Lease: time.Hour, Others: storage.Pool{Room: n}, PerWebhook: 1})
	if err != nil || len(got) != n {
		tb.Fatal(len(got), err)
	}
	results := make([]storage.Result, n)
	for i, d := range got {
		results[i] = storage.Result{Lease: d.Lease, RetryIn: time.Hour}
	}
	_, err = b.store.FinishDeliveries(ctx, results)
	must(tb, err)
	return b, b.addWebhook(tb, n)
}

// BenchmarkClaim claims and settles one delivery beside webhooks that all have something
// which is due later.
func BenchmarkClaim(b *testing.B) {
	for _, n := range []int{0, 100, 10_000, 50_000} {
		b.Run(fmt.Sprintf("beside %d webhooks", n), func(b *testing.B) {
			s, hook := crowded(b, n)
			p := storage.ClaimParams{Lease: time.Hour, Others: storage.Pool{Room: 64}, PerWebhook: 4}
			for b.Loop() {
				must(b, s.store.Enqueue(b.Context(), hook, storage.Event{ID: id('x', 1), Type: "form.test", Body: []byte("{}")}))
				got, _, err := s.store.ClaimDeliveries(b.Context(), p)
				if err != nil || len(got) != 1 {
					b.Fatal(len(got), err)
				}
				a := &storage.Delivery{ID: id('a', 1), WebhookID: hook, EventID: got[0].Lease.EventID, Success: true, CreatedAt: start}
				_, err = s.store.FinishDeliveries(b.Context(), []storage.Result{{Lease: got[0].Lease, Delivery: a}})
				must(b, err)
			}
		})
	}
}

// BenchmarkClaimOfMany claims a batch while 10,000 webhooks wait for their turns.
func BenchmarkClaimOfMany(b *testing.B) {
	const n = 10_000
	for name, pool := range map[string]storage.Pool{
		"64 deliveries":       {Room: 64},
		"a host without room": {Room: 64, Hosts: map[string]int{"example.com": 0}},
	} {
		b.Run(name, func(b *testing.B) {
			s := setup(b, WithClock(func() time.Time { return start }))
			for i := range n {
				must(b, s.store.Enqueue(b.Context(), s.addWebhook(b, i), storage.Event{ID: id('e', i), Type: "form.test", Body: []byte("{}")}))
			}
			for b.Loop() {
				// The lease has no length, so what is claimed waits again.
				_, _, err := s.store.ClaimDeliveries(b.Context(), storage.ClaimParams{Others: pool, PerWebhook: 4})
				must(b, err)
			}
		})
	}
}
