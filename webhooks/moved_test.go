package webhooks

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Requests that hang at the old URL hold back neither what waits for the new one nor a
// test event, whether the webhook is new or has been quick.
func TestANewURLDoesNotWaitForTheOldOne(t *testing.T) {
	t.Parallel()
	for name, quick := range map[string]bool{"a new one": false, "a quick one": true} {
		inBubble(t, func(t *testing.T) {
			hangs := !quick
			arrived := make(chan time.Time, 10)
			b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "new.example" {
					arrived <- time.Now()
				} else if hangs {
					<-r.Context().Done()
					return nil, context.Cause(r.Context())
				}
				return reply(200), nil
			}))
			id := b.webhook("https://old.example/", nil)
			b.run()
			if quick {
				for range 20 { // it is new, and slow for its first successes
					b.event(id, "x")
					b.seen.wait(t, 1)
				}
				hangs = true
			}
			for range 6 {
				b.event(id, "x")
			}
			time.Sleep(2 * time.Second)
			to := "https://new.example/"
			_, err := b.store.UpdateWebhook(t.Context(), storage.AsHost(), id, storage.WebhookChange{URL: &to, At: time.Now()})
			must(t, err)
			b.testEvent(id)
			moved := time.Now()
			b.d.Wake()
			for i := range 2 {
				if late := (<-arrived).Sub(moved); late > time.Second {
					t.Errorf("%s: delivery %d came to the new URL after %s", name, i+1, late)
				}
			}
		})
	}
}
