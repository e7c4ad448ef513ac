package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Whatever happens, each webhook with something pending stands in the turns once, or
// sleeps until something of it can be claimed.
func TestEveryWebhookHasItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		clock := start
		b := setup(t, WithClock(func() time.Time { return clock }))
		random := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- a repeatable test
		var hooks []storage.ID
		for n := range 12 {
			hooks = append(hooks, b.addWebhook(t, n))
		}
		var flying []storage.Delivery
		events := 0
		for range 400 {
			switch random.IntN(8) {
			case 0, 1:
				events++
				e := storage.Event{ID: id('e', events), Type: "form.test", Body: []byte("{}")}
				must(t, b.store.Enqueue(t.Context(), hooks[random.IntN(len(hooks))], e))
			case 2:
				events++
				b.submit(t, 1000+events)
			case 3, 4:
				got, _, err := b.store.ClaimDeliveries(t.Context(), storage.ClaimParams{
					Lease: time.Minute, Quick: storage.Pool{Room: random.IntN(6)}, Others: storage.Pool{Room: random.IntN(6)}, PerWebhook: 3,
				})
				must(t, err)
				flying = append(flying, got...)
			case 5, 6:
				if len(flying) > 0 {
					_, err := b.store.FinishDeliveries(t.Context(), []storage.Result{randomResult(random, flying[0])})
					must(t, err)
					flying = flying[1:]
				}
			default:
				clock = clock.Add(time.Duration(random.IntN(90)) * time.Second)
			}
			checkPlaces(t, b.store, clock)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func randomResult(random *rand.Rand, d storage.Delivery) storage.Result {
	r := storage.Result{Lease: d.Lease, Attempt: &storage.Attempt{
		ID: id('a', random.Int()), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, Attempt: d.Attempt, CreatedAt: start,
	}}
	switch random.IntN(4) {
	case 0:
		r.Attempt = nil
	case 1:
		r.RetryIn, r.Standing.Failures = time.Duration(random.IntN(100))*time.Second, 1
	case 2:
		r.Standing.Failures, r.PauseFor = 10, time.Minute
	default:
		r.Attempt.Success, r.Standing.Succeeded = true, true
	}
	return r
}

func checkPlaces(t *testing.T, s *Store, clock time.Time) {
	t.Helper()
	q := &s.queue
	stands := map[*webhook]int{}
	for _, w := range slices.Concat(q.turns[:]...) {
		stands[w]++
	}
	for _, w := range s.webhooks {
		p, n := w.lane.place, stands[w]
		sleeps := p.pos > 0 && q.sleeping[p.pos-1] == w
		at, pending := w.lane.due(clock)
		switch {
		case n == 1 && !slices.Contains(q.turns[turnsOf(w)], w):
			t.Error("a turn of the other pool")
		case n > 1 || (n == 1) != p.turn || n == 1 && sleeps:
			t.Errorf("%d places in the turns, asleep %t, place %+v", n, sleeps, p)
		case pending && n == 0 && (!sleeps || p.at.After(at) && p.at.After(clock)):
			t.Errorf("something can be claimed at %s, but the place is %+v, asleep %t", at, p, sleeps)
		}
	}
}

// Webhooks with something that is due later have no turn, so that a claim looks at none
// of them.
func TestWebhooksWithNothingDueHaveNoTurn(t *testing.T) {
	t.Parallel()
	b, _ := crowded(t, 1000)
	q := &b.store.queue
	if n := len(q.turns[0]) + len(q.turns[1]); n != 0 {
		t.Errorf("%d webhooks have a turn though nothing is due", n)
	}
	if n := len(q.sleeping); n != 1000 {
		t.Errorf("%d webhooks wait, want 1000", n)
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
	for _, n := range []int{0, 100, 50_000} {
		b.Run(fmt.Sprintf("beside %d webhooks", n), func(b *testing.B) {
			s, hook := crowded(b, n)
			p := storage.ClaimParams{Lease: time.Hour, Others: storage.Pool{Room: 64}, PerWebhook: 4}
			for b.Loop() {
				must(b, s.store.Enqueue(b.Context(), hook, storage.Event{ID: id('x', 1), Type: "form.test", Body: []byte("{}")}))
				got, _, err := s.store.ClaimDeliveries(b.Context(), p)
				if err != nil || len(got) != 1 {
					b.Fatal(len(got), err)
				}
				a := &storage.Attempt{ID: id('a', 1), WebhookID: hook, EventID: got[0].Lease.EventID, Success: true, CreatedAt: start}
				_, err = s.store.FinishDeliveries(b.Context(), []storage.Result{{Lease: got[0].Lease, Attempt: a}})
				must(b, err)
			}
		})
	}
}
