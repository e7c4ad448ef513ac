package memory

import (
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
