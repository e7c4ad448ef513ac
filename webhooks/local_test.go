package webhooks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const mail = "local:mail"

// localAttempts returns the history of a local webhook, oldest first. It waits, because an observer can
// hear of an attempt before the attempt is recorded.
func (b *bench) localAttempts(webhook storage.ID) []storage.Delivery {
	b.t.Helper()
	synctest.Wait()
	list, err := b.store.Deliveries(context.Background(), storage.AsLocal(), webhook, storage.MaxHistory)
	must(b.t, err)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

func local(handlers ...any) map[string]http.Handler {
	all := map[string]http.Handler{}
	for i := 0; i < len(handlers); i += 2 {
		all[handlers[i].(string)] = http.HandlerFunc(handlers[i+1].(func(http.ResponseWriter, *http.Request)))
	}
	return all
}

// The handler gets the request that a receiver would get.
func TestAHandlerGetsAnOrdinaryRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const secret = "a secret of some length"
		var got, sent *http.Request
		var body []byte
		c := Config{
			StandardWebhooks: true,
			Headers:          func(context.Context, storage.Webhook) http.Header { return http.Header{"X-Gateway": {"g"}} },
			Local: local("mail", func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				r.Header["User-Agent"][0] = "changed" // a handler can change its request
				w.WriteHeader(http.StatusEarlyHints)
				_, _ = io.WriteString(w, "thanks")
				w.WriteHeader(http.StatusTeapot)
			}),
		}
		b := newBench(t, c, roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r
			return reply(200), nil
		}))
		b.run()
		id := b.webhook(mail, []byte("\x00"+secret))
		event := b.event(id, "the body")
		b.d.Wake()
		b.seen.wait(t, 1)
		other := b.webhook(hook, []byte("\x00"+secret))
		b.event(other, "the body")
		b.d.Wake()
		b.seen.wait(t, 1)
		if got == nil || got.Method != sent.Method || string(body) != "the body" || got.ContentLength != 8 || got.URL.Path != "/" || got.RequestURI != "/" || got.Host != "mail" {
			t.Fatalf("the request %+v with the body %q", got, body)
		}
		for name := range sent.Header {
			if name != "Idempotency-Key" && name != "User-Agent" && name != "Webhook-Id" && name != "Webhook-Timestamp" && name != "Webhook-Signature" {
				expect(t, got.Header.Get(name) != "" && got.Header.Get(name) == sent.Header.Get(name), "the header %s is %q, want %q", name, got.Header.Get(name), sent.Header.Get(name))
			}
		}
		expect(t, sent.Header.Get("User-Agent") == DefaultUserAgent, "a handler changed the header of other requests: %s", sent.Header.Get("User-Agent"))
		expect(t, got.Header.Get("Webhook-Id") == event.String(), "the id is %s", got.Header.Get("Webhook-Id"))
		must(t, Verify(secret, body, got.Header.Get("Service-Signature")))
		if a := b.localAttempts(id); len(a) != 1 || !a[0].Success || a[0].Status != 200 {
			t.Errorf("attempts %+v", a)
		}
	})
}

// The status decides as that of a receiver.
func TestAHandlersStatusDecides(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			handler func(http.ResponseWriter, *http.Request)
			want    string
		}{
			{"nothing", func(http.ResponseWriter, *http.Request) {}, "200 true  ended"},
			{"created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, "201 true  ended"},
			{"redirect", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, "302 false redirect retry"},
			{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, "410 false status ended"},
			{"error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusInternalServerError) }, "500 false status retry"},
			{"panic", func(http.ResponseWriter, *http.Request) { panic("oops") }, "0 false network retry"},
			{"panic after a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK); panic("oops") }, "0 false network retry"},
			{"invalid status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) }, "0 false network retry"},
			{"Goexit", func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, "0 false network retry"},
			{"ends with its context", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "0 false timeout retry"},
		} {
			b := newBench(t, Config{Local: local("mail", c.handler)}, nil)
			stop := b.run()
			id := b.webhook(mail, nil)
			b.event(id, "x")
			b.seen.wait(t, 1)
			time.Sleep(time.Second)
			a := b.localAttempts(id)[0]
			next := "ended"
			if !a.NextAttemptAt.IsZero() {
				next = "retry"
			}
			if got := fmt.Sprintf("%d %v %s %s", a.Status, a.Success, a.Error, next); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			expect(t, strings.Contains(b.log.String(), "webhook handler failed") == strings.HasPrefix(c.want, "0 false network"), "%s: the log is\n%s", c.name, b.log)
			stop()
		}
	})
}

// A handler that hangs, sleeps for 30 s or panics delays no other destination. Calls that have
// not returned keep their places, so that there are never more than four.
func TestABadHandlerDelaysNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most, calls := 0, 0, 0
		release := make(chan struct{})
		b := newBench(t, Config{Local: local(
			"hangs", func(http.ResponseWriter, *http.Request) {
				mu.Lock()
				calls++
				running++
				most = max(most, running)
				mu.Unlock()
				<-release
				mu.Lock()
				running--
				mu.Unlock()
			},
			"sleeps", func(http.ResponseWriter, *http.Request) { time.Sleep(30 * time.Second) },
			"panics", func(http.ResponseWriter, *http.Request) { panic("oops") },
			"good", func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Millisecond) },
		)}, roundTrip(func(*http.Request) (*http.Response, error) { time.Sleep(10 * time.Millisecond); return reply(200), nil }))
		b.d.randomDuration = polls(time.Second)
		stop := b.run()
		bad := map[storage.ID]string{}
		for _, name := range []string{"hangs", "sleeps", "panics"} {
			id := b.webhook("local:"+name, nil)
			bad[id] = name
			b.events(id, 20)
		}
		good := []storage.ID{b.webhook("local:good", nil), b.webhook(hook, nil)}
		for range 400 {
			before := time.Now()
			for _, id := range good {
				b.submit(id, "x", b.handOver())
			}
			b.d.Wake()
			expect(t, time.Since(before) == 0, "a submission took %s", time.Since(before))
			for left := len(good); left > 0; {
				a := <-b.seen.attempts
				if bad[a.WebhookID] == "" {
					left--
					if took := time.Since(before); took > 300*time.Millisecond {
						t.Errorf("a good delivery took %s", took)
					}
				}
			}
			time.Sleep(time.Second - time.Since(before))
		}
		mu.Lock()
		expect(t, most == DefaultInFlightWebhook && calls == most, "%d calls of the hanging handler, %d at a time, want %d", calls, most, DefaultInFlightWebhook)
		mu.Unlock()
		for id, name := range bad {
			a := b.localAttempts(id)
			want := map[string]string{"hangs": ClassTimeout, "sleeps": ClassTimeout, "panics": ClassNetwork}[name]
			expect(t, len(a) > 9 && a[0].Error == want && a[0].Duration <= DefaultTimeout+time.Second, "attempts of %s: %+v", name, a[0])
		}
		paused, err := b.store.PausedWebhooks(t.Context(), storage.AsLocal(), storage.Page{Limit: 10})
		must(t, err)
		expect(t, len(paused) == 3, "%d paused webhooks, want the three bad ones", len(paused))
		stop() // does not wait for the handler
		close(release)
		// The handler works again: every event arrives.
		b.run()
		time.Sleep(3 * time.Hour)
		log := b.localAttempts(good[0])
		expect(t, len(log) == 100, "%d attempts of the good one", len(log))
		for id, name := range bad {
			if a := b.localAttempts(id); name == "hangs" && !a[len(a)-1].Success {
				t.Errorf("the last attempt after the handler works again is %+v", a[len(a)-1])
			}
		}
	})
}

// A process delivers only to the handlers that it has, and leaves the rest to others.
func TestTwoProcessesWithDifferentHandlers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		served := map[string]int{}
		count := func(process string) func(http.ResponseWriter, *http.Request) {
			return func(http.ResponseWriter, *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				served[process]++
			}
		}
		b := newBench(t, Config{Local: local("one", count("one by first"), "both", count("both"))}, nil)
		second := newBench(t, Config{Local: local("two", count("two by second"), "both", count("both"))}, nil)
		second.store, second.d.store, second.forms, second.workspace = b.store, b.store, b.forms, b.workspace
		ids := map[string]storage.ID{}
		for _, name := range []string{"one", "two", "both", "nobody"} {
			ids[name] = b.webhook("local:"+name, nil)
		}
		stop := b.run()
		for range 20 {
			for _, id := range ids {
				b.submit(id, "x", b.handOver())
			}
			b.d.Wake()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		expect(t, served["one by first"] == 20 && served["both"] == 20 && len(served) == 2, "the first process served %v", served)
		expect(t, b.stats().Due == 40, "%d deliveries wait for other processes, want 40", b.stats().Due)
		expect(t, len(b.localAttempts(ids["two"])) == 0, "a delivery without a handler is an attempt")
		second.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, served["two by second"] == 20 && served["both"] == 20, "both processes served %v", served)
		expect(t, b.stats().Due == 20, "%d deliveries wait, want those without a handler", b.stats().Due)

		// A new name while the process knows the old one as fast: the direct dispatch is released.
		c := storage.WebhookChange{URL: new(string), At: time.Now()}
		*c.URL = "local:two"
		h := b.handOver()
		_, err := b.store.UpdateWebhook(t.Context(), storage.AsLocal(), ids["one"], c)
		must(t, err)
		b.submit(ids["one"], "x", h)
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, served["two by second"] == 21 && served["one by first"] == 20, "after the change of the name, %v", served)
		a := b.localAttempts(ids["one"])
		expect(t, len(a) == 21 && a[20].Attempt == 1 && a[20].Success, "the last attempt is %+v", a[len(a)-1])
		stop()
	})
}

func TestNamesOfHandlers(t *testing.T) {
	t.Parallel()
	handler := http.NotFoundHandler()
	for name, valid := range map[string]bool{
		"mail": true, "A.b-c_9": true, strings.Repeat("n", 64): true,
		"": false, "a b": false, "a/b": false, "ä": false, "a\n": false, strings.Repeat("n", 65): false,
	} {
		err := Config{Local: map[string]http.Handler{name: handler}}.Validate()
		expect(t, (err == nil) == valid, "the name %q: %v", name, err)
		expect(t, (CheckLocalURL("local:"+name) == nil) == valid, "the URL of %q", name)
	}
	expect(t, Config{Local: map[string]http.Handler{"mail": nil}}.Validate() != nil, "a nil handler is valid")
	for _, raw := range []string{"mail", "LOCAL:mail", "local://mail", "local:mail?x", "http://local:80/mail", " local:mail"} {
		expect(t, CheckLocalURL(raw) != nil, "%q is a local URL", raw)
	}
	for _, raw := range []string{"local:mail", "LOCAL:mail", "local://mail", "local:", "Local:mail"} {
		expect(t, NewGuard(GuardConfig{AllowedNetworks: loopback}).CheckURL(raw) != nil, "the guard accepts %q", raw)
	}
}
