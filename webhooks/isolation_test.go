package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// Half of 100 destinations are new, hang and have 2,000 deliveries. Time is the bubble's, so this
// does not depend on the machine. What more there is to delay others is in package scheduler.
func TestBadDestinationsCostHealthyOnesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		inFlight, most := map[string]int{}, 0
		count := func(host string, by int) {
			mu.Lock()
			defer mu.Unlock()
			inFlight[host] += by
			most = max(most, inFlight[host])
		}
		b := newBench(t, Config{InFlightWebhook: 3}, roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, "bad") {
				return hangs(r)
			}
			count(r.URL.Host, 1)
			defer count(r.URL.Host, -1)
			time.Sleep(45 * time.Millisecond)
			return reply(200), nil
		}))
		for i := range 100 {
			kind := []string{"bad", "good"}[i/50] // the bad ones are in front of the others
			id := b.webhook(fmt.Sprintf("https://%s-%d.example/", kind, i), nil)
			b.events(id, 40)
		}
		started := time.Now()
		stop := b.run()
		for left := 50 * 40; left > 0; {
			if a := <-b.seen.attempts; a.Success {
				left--
			}
		}
		// In 64 places it takes 1.4 s.
		if took := time.Since(started); took > 2*time.Second {
			t.Errorf("healthy ones took %s", took)
		}
		expect(t, most == 3, "%d requests to one webhook at one time, want 3", most)
		stop()
	})
}
