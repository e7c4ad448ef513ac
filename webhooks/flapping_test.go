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

// flapping is a store that works for a part of each period only.
type flapping struct {
	storage.DeliveryStore
	began      time.Time
	period, up time.Duration // it is down first
}

func (f *flapping) down() error {
	if time.Since(f.began)%f.period < f.period-f.up {
		return errDown
	}
	return nil
}

func (f *flapping) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	if err := f.down(); err != nil {
		return nil, false, err
	}
	return f.DeliveryStore.ClaimDeliveries(ctx, p)
}

func (f *flapping) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	if err := f.down(); err != nil {
		return nil, err
	}
	return f.DeliveryStore.FinishDeliveries(ctx, done)
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
				b.d.store = &flapping{DeliveryStore: b.store, began: time.Now(), period: c.period, up: c.up}
				id := b.webhook(hook, nil)
				b.event(id, "x")
				stop := b.run()
				time.Sleep(c.period - c.up/2)
				for range 3 {
					if c.called {
						_, stored := b.d.offer()
						stored()
					}
					time.Sleep(c.period)
				}
				if got := len(b.attempts(id)); got != 1 || sent.Load() != 1 {
					t.Errorf("%d attempts are written, %d were sent after 4 moments, want 1", got, sent.Load())
				}
				if lines := strings.Count(b.log.String(), `"level":"ERROR"`); lines == 0 || lines > 2*(int(4*c.period/logEvery)+1) {
					t.Errorf("%d errors are logged", lines)
				}
				stop()
			})
		})
	}
}
