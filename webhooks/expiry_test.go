package webhooks

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

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
		b.d.spread = polls(5 * time.Minute)
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
			b.d.spread = polls(time.Minute)
			id := b.webhook(hook, nil)
			for range 50 {
				b.event(id, "x")
			}
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
		b.d.spread = polls(time.Minute)
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
