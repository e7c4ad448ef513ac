package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func TestHeadersOfTheHostAreSent(t *testing.T) {
	t.Parallel()
	const webhooks, each = 8, 5
	var mu sync.Mutex
	calls, sent := map[storage.ID]int{}, map[string]int{}
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(r.Header.Values("X-Route")) == 2 && r.Header.Get("Authorization") == "Bearer "+r.URL.Path[1:] {
			sent[r.URL.Path[1:]]++
		}
	})
	b := newBench(t, Config{Headers: func(ctx context.Context, w storage.Webhook) http.Header {
		mu.Lock()
		defer mu.Unlock()
		if _, bounded := ctx.Deadline(); !bounded || w.FormID.IsZero() {
			t.Errorf("webhook %+v, and a deadline: %t", w, bounded)
		}
		calls[w.ID]++
		return http.Header{"x-route": {"a", "b"}, "Authorization": {"Bearer " + w.URL[strings.LastIndexByte(w.URL, '/')+1:]}}
	}}, nil)
	for n := range webhooks {
		id := b.webhook(fmt.Sprintf("%s/%d", s.URL, n), nil)
		for range each {
			b.event(id, "{}")
		}
	}
	stop := b.run()
	b.seen.wait(t, webhooks*each)
	stop()
	if len(calls) != webhooks || len(sent) != webhooks {
		t.Fatalf("calls %v, requests with their headers %v", calls, sent)
	}
	for id, n := range calls {
		if n != each {
			t.Errorf("Headers was called %d times for %d attempts at %s", n, each, id)
		}
	}
	for path, n := range sent {
		if n != each {
			t.Errorf("%d requests to %s had their headers, want %d", n, path, each)
		}
	}
}

// What the dispatcher and HTTP say of a message is not the host's, and what HTTP does not allow
// is not sent. It is the host's fault, and no attempt.
func TestHeadersThatTheHostCannotSetPutTheDeliveryOff(t *testing.T) {
	t.Parallel()
	const secret = "the value of a header"
	for name, value := range map[string]string{
		"Content-Type": secret, "content-length": "1", "Host": secret, "user-agent": secret, "Idempotency-Key": secret,
		"service-signature": secret, "SERVICE-VERSION": secret, "Webhook-Id": secret, "webhook-signature": secret, "Webhook-Timestamp": secret,
		"Transfer-Encoding": "chunked", "Connection": "close", "Expect": "100-continue", "Accept-Encoding": "gzip", "Content-Encoding": "gzip",
		"Trailer": secret, "Te": secret, "Upgrade": secret, "Keep-Alive": secret, "Proxy-Connection": secret,
		"X Y": secret, "": secret, "X-Ä": secret, "X-Line": secret + "\r\nInjected: 1", "X-Nul": secret + "\x00",
	} {
		for _, signed := range []bool{true, false} {
			var requests atomic.Int32
			b := newBench(t, Config{Headers: func(context.Context, storage.Webhook) http.Header {
				return http.Header{"X-Good": {"yes"}, name: {value}}
			}}, roundTrip(func(*http.Request) (*http.Response, error) {
				requests.Add(1)
				return reply(200), nil
			}))
			del := &storage.ClaimedDelivery{URL: "https://good.example/", Body: []byte("{}"), Attempt: 1}
			if signed {
				del.Secret = b.d.secrets.Seal(storage.ID{}, "0123456789abcdef")
			}
			if e := b.d.deliver(t.Context(), del); requests.Load() != 0 || e.Delivery != nil || e.RetryIn != hostFaultWait {
				t.Errorf("%q, signed %t: %d requests, ended %+v", name, signed, requests.Load(), e)
			}
			if text := b.log.String(); !strings.Contains(text, "Config.Headers returned") || strings.Contains(text, secret) ||
				!strings.Contains(strings.ToLower(text), strings.ToLower(name)) {
				t.Errorf("%q: the log says %s", name, text)
			}
		}
	}
}

func TestHeadersThatPanicEndNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var repaired atomic.Bool
		b := newBench(t, Config{Headers: func(_ context.Context, w storage.Webhook) http.Header {
			if w.URL != hook && !repaired.Load() {
				panic("no header")
			}
			return nil
		}}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		good, bad := b.webhook(hook, nil), b.webhook("https://bad.example/", nil)
		b.event(good, "{}")
		b.event(bad, "{}")
		b.run()
		time.Sleep(time.Hour)
		if a := b.attempts(good); len(a) != 1 || !a[0].Success || len(b.attempts(bad)) != 0 || strings.Count(b.log.String(), "no header") != 1 {
			t.Errorf("attempts %+v and %+v, log %s", a, b.attempts(bad), b.log)
		}
		repaired.Store(true)
		time.Sleep(2 * time.Minute)
		if a := b.attempts(bad); len(a) != 1 || !a[0].Success || a[0].Attempt != 1 {
			t.Errorf("when it is repaired, attempts %+v", a)
		}
	})
}
