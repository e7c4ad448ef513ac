package webhooks

import (
	"context"
	"errors"
	"fmt"
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
			last = r.Context() //nolint:fatcontext // that of the last request
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

// A pause that a change of the webhook ended in the store has ended in the process too.
func TestEnablingAWebhookEndsItsPause(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		answers := make(chan *http.Response, 2)
		answers <- reply(503, "Retry-After", "3600")
		answers <- reply(500)
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return <-answers, nil }))
		id := b.webhook(hook, nil)
		b.event(id, "x")
		b.run()
		b.seen.wait(t, 1)
		time.Sleep(time.Minute)
		paused := func() []storage.PausedWebhook {
			list, err := b.store.PausedWebhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 10})
			must(t, err)
			return list
		}
		if got := paused(); len(got) != 1 {
			t.Fatalf("paused are %+v, want the webhook", got)
		}
		for _, enabled := range []bool{false, true} {
			_, err := b.store.UpdateWebhook(t.Context(), storage.AsHost(), id, storage.WebhookChange{Enabled: &enabled, At: time.Now()})
			must(t, err)
		}
		b.event(id, "x")
		b.d.Wake()
		b.seen.wait(t, 1)
		time.Sleep(time.Second)
		if got := paused(); len(got) != 0 {
			t.Errorf("one failure after it was enabled, it is paused: %+v", got)
		}
	})
}

// URLs are judged once, and not more of them are remembered than the bound.
func TestTargetsAreRemembered(t *testing.T) {
	t.Parallel()
	d := newTestDispatcher(t)
	for i := range 3 * targetsKept {
		raw := fmt.Sprintf("https://h%d.example/", i%(targetsKept+1))
		to, err := d.target(raw)
		if err != nil || to.url.String() != raw {
			t.Fatalf("the target of %s is %v, %v", raw, to.url, err)
		}
		if len(d.judged.targets) > targetsKept {
			t.Fatalf("%d targets are remembered", len(d.judged.targets))
		}
	}
	for range 2 { // a refusal is not remembered as something else
		if _, err := d.target("http://10.0.0.1/"); !isURLError(err) {
			t.Errorf("a private address: %v", err)
		}
	}
}

func newTestDispatcher(t *testing.T) *Dispatcher {
	t.Helper()
	d, err := New(Params{Store: storage.Unimplemented{}})
	must(t, err)
	return d
}

func isURLError(err error) bool {
	var refused *URLError
	return errors.As(err, &refused)
}

// Webhooks whose secret cannot be opened are remembered up to a bound: nobody says when
// one is deleted.
func TestNotAllWebhooksWithoutASecretAreRemembered(t *testing.T) {
	t.Parallel()
	d := newTestDispatcher(t)
	id := func(i int) storage.ID { return storage.ID{byte(i >> 8), byte(i), 1} }
	for i := range 3 * sealedKept {
		if !d.unopenable(&storage.Attempt{WebhookID: id(i)}, ErrSecret) {
			t.Fatal("a secret that cannot be opened does not put off its delivery")
		}
		if got := len(d.sealed.webhooks); got == 0 || got > sealedKept {
			t.Fatalf("%d webhooks are remembered", got)
		}
	}
	if last := id(3*sealedKept - 1); d.unopenable(&storage.Attempt{WebhookID: last}, nil) || d.sealed.webhooks[last] {
		t.Error("a webhook whose secret can be opened is remembered")
	}
}
