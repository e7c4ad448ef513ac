package webhooks

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

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
