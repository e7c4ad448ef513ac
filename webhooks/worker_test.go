package webhooks

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Each request of a worker has all of its time, whatever became of those before.
func TestRequestsOfAWorkerHaveTheirOwnTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		var seen []context.Context
		b := newBench(t, Config{Timeout: timeout}, roundTrip(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Context())
			switch r.URL.Host {
			case "dead.example":
				return hangs(r)
			case "broken.example":
				panic("broken")
			}
			time.Sleep(timeout - time.Second)
			return reply(200), nil
		}))
		posts, stop := context.WithCancelCause(t.Context())
		w := newWorker(posts, b.d)
		for i, c := range []struct {
			host  string
			class string
			took  time.Duration
		}{
			{"good", "", timeout - time.Second},
			{"good", "", timeout - time.Second},
			{"dead", ClassTimeout, timeout},
			{"good", "", timeout - time.Second},
			{"broken", ClassNetwork, 0},
			{"dead", ClassTimeout, timeout},
			{"good", "", timeout - time.Second},
		} {
			a, took := w.attemptAt("https://"+c.host+".example/", []byte("{}"))
			if a.Error != c.class || took != c.took {
				t.Errorf("request %d, to a %s one: class %q after %s, want %q after %s", i, c.host, a.Error, took, c.class, c.took)
			}
			time.Sleep(timeout) // the time of a request that has ended does not run on
		}
		if seen[0] != seen[1] {
			t.Error("two requests that ended in time had different contexts")
		}
		if seen[4].Err() == nil {
			t.Error("what is left of a request that panicked goes on")
		}
		time.AfterFunc(time.Second, func() { stop(errStopped) })
		if e := w.deliver(&storage.Delivery{URL: "https://dead.example/", Attempt: 1}); e.Attempt != nil {
			t.Errorf("a request that was stopped counts as an attempt: %+v", e.Attempt)
		}
		w.close()
		if seen[len(seen)-1].Err() == nil {
			t.Error("the last context outlives the worker")
		}
	})
}
