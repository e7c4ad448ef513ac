package webhooks

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Each request has all of its time, and no more, whatever becomes of it.
func TestEachRequestHasItsOwnTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		var last context.Context
		b := newBench(t, Config{Timeout: timeout}, roundTrip(func(r *http.Request) (*http.Response, error) {
			last = r.Context()
			switch r.URL.Host {
			case "dead.example":
				return hangs(r)
			case "broken.example":
				panic("broken")
			}
			time.Sleep(timeout - time.Second)
			return reply(200), nil
		}))
		for _, c := range []struct {
			host  string
			class string
			took  time.Duration
		}{
			{"good", "", timeout - time.Second},
			{"dead", ClassTimeout, timeout},
			{"broken", ClassNetwork, 0},
			{"good", "", timeout - time.Second},
		} {
			a, took := attemptAt(b.d, "https://"+c.host+".example/", []byte("{}"))
			if a.Error != c.class || took != c.took {
				t.Errorf("a request to a %s one: class %q after %s, want %q after %s", c.host, a.Error, took, c.class, c.took)
			}
			if last.Err() == nil {
				t.Errorf("what is left of a request to a %s one goes on", c.host)
			}
		}
		posts, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errStopped) })
		if e := b.d.deliver(posts, &storage.Delivery{URL: "https://dead.example/", Attempt: 1}); e.Attempt != nil {
			t.Errorf("a request that was stopped counts as an attempt: %+v", e.Attempt)
		}
	})
}
