package webhooks

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
