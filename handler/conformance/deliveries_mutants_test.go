package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/webhooks"
)

// carried is a delivery on its way from the service to the receiver. Its header,
// method and body may be changed.
type carried struct {
	*http.Request

	body   []byte
	follow bool // a redirect is followed on the way
}

// newDeliveringTarget is newTarget with a dispatcher whose deliveries pass through
// alter; nil leaves them as they are.
func newDeliveringTarget(t *testing.T, serve func(*exchange), alter func(*carried), opts ...formsvc.Option) conformance.Target {
	t.Helper()
	networks := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	config := webhooks.Config{AllowedNetworks: networks, Resolver: dialguard.Names{}}
	target, svc := newTargetOf(t, serve, append(opts, formsvc.WithWebhookConfig(config))...)
	ctx, stop := context.WithCancel(context.Background()) // t.Context() ends before the cleanups
	ended := make(chan error, 1)
	go func() { ended <- svc.Dispatcher().Run(ctx) }()
	t.Cleanup(func() {
		stop()
		err := <-ended
		expect.That(t, err == nil, "%v", err)
	})
	carrier := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { carry(w, r, alter) }))
	t.Cleanup(carrier.Close)
	target.AllowedNetworks = networks
	target.ReceiverURL = func(address string) string { return carrier.URL + "/" + address }
	return target
}

// carry passes a delivery on to the address in its path.
func carry(w http.ResponseWriter, r *http.Request, alter func(*carried)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c := &carried{Request: r.Clone(r.Context()), body: body}
	if alter != nil {
		alter(c)
	}
	to, err := http.NewRequestWithContext(r.Context(), c.Method, "http://"+strings.TrimPrefix(r.URL.Path, "/")+"/", bytes.NewReader(c.body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	to.Header = c.Header
	client := http.Client{}
	if !c.follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	res, err := client.Do(to)
	if err != nil {
		panic(http.ErrAbortHandler) // nobody listens there
	}
	defer func() { _ = res.Body.Close() }()
	w.WriteHeader(res.StatusCode)
}

// summaries changes every delivery summary of an answer.
func summaries(change func(o map[string]any)) func(*exchange) {
	return after(func(e *exchange) {
		if e.is(http.MethodGet, "/deliveries") {
			e.edit(func(o map[string]any) {
				items, _ := o["items"].([]any)
				for _, item := range items {
					change(item.(map[string]any))
				}
			})
		}
	})
}

// remembered changes the lists of deliveries, given all summaries that were told so far, newest first.
func remembered(change func(o map[string]any, seen []any)) func(*exchange) {
	var mu sync.Mutex
	all := map[string][]any{} // by path
	return func(e *exchange) {
		e.ask()
		if !e.is(http.MethodGet, "/deliveries") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		e.edit(func(o map[string]any) {
			items, _ := o["items"].([]any)
			seen := all[e.r.URL.Path]
			for _, item := range slices.Backward(items) {
				id := item.(map[string]any)["id"]
				if !slices.ContainsFunc(seen, func(x any) bool { return x.(map[string]any)["id"] == id }) {
					seen = slices.Insert(seen, 0, item)
				}
			}
			all[e.r.URL.Path] = seen
			change(o, seen)
		})
	}
}

func deliveryMutants() []deliveryMutant {
	return []deliveryMutant{
		{"an unsigned delivery", "deliveries/signature", nil, func(c *carried) { c.Header.Del("Service-Signature") }},
		{"a signature of another body", "deliveries/signature", nil, func(c *carried) { c.body = append(c.body, ' ') }},
		{"a signature without its scheme", "deliveries/signature", nil, func(c *carried) {
			c.Header.Set("Service-Signature", strings.TrimPrefix(c.Header.Get("Service-Signature"), "sha256="))
		}},
		{"a signature without a secret", "deliveries/request", nil, func(c *carried) { c.Header.Set("Service-Signature", "sha256=00") }},
		{"another version", "deliveries/request", nil, func(c *carried) { c.Header.Set("Service-Version", "2.0.0") }},
		{"a GET", "deliveries/request", nil, func(c *carried) { c.Method, c.body = http.MethodGet, nil }},
		{"a delivery of another type", "deliveries/request", nil, func(c *carried) { c.Header.Set("Content-Type", "text/plain") }},
		{"answers as a list", "deliveries/request", nil, func(c *carried) {
			c.body = bytes.Replace(c.body, []byte(`"answers":{`), []byte(`"answers":[],"other":{`), 1)
		}},
		{"an event for each webhook", "deliveries/each-webhook", nil, func(c *carried) {
			c.body = bytes.Replace(c.body, []byte(`{"id":"`), []byte(`{"to":"`+c.URL.Path+`","id":"`), 1)
		}},
		{"the old secret", "deliveries/new-secret", func(e *exchange) {
			if e.r.Method == http.MethodPatch && bytes.Contains(e.body, []byte("signing_secret")) {
				// The change is confirmed and not made.
				e.r.Method = http.MethodGet
				e.body = nil
			}
			e.ask()
		}, nil},
		{"a disabled webhook that is sent to", "deliveries/disabled", func(e *exchange) {
			if bytes.Contains(e.body, []byte(`"enabled":false`)) {
				e.body = bytes.Replace(e.body, []byte(`"enabled":false`), []byte(`"enabled":true`), 1)
			}
			e.ask()
		}, nil},
		{"a redirect that is followed", "deliveries/redirect", nil, func(c *carried) { c.follow = true }},
		{"a failure that counts as success", "deliveries/failure", summaries(func(o map[string]any) { o["success"] = true }), nil},
		{"no time for the next attempt", "deliveries/failure", summaries(func(o map[string]any) { o["next_attempt_at"] = nil }), nil},
		{"a status of its own for no answer", "deliveries/unreachable", summaries(func(o map[string]any) { o["status"] = 599 }), nil},
		{"a summary with the body", "deliveries/summary", summaries(func(o map[string]any) { o["body"] = json.RawMessage(`{}`) }), nil},
		{"101 deliveries are kept", "deliveries/most", remembered(func(o map[string]any, seen []any) { o["items"] = seen }), nil},
		{"the 101st delivery is not told", "deliveries/most", remembered(func(o map[string]any, seen []any) {
			o["items"] = seen[max(0, len(seen)-100):]
		}), nil},
		{"the oldest delivery first", "deliveries/retry", after(func(e *exchange) {
			if e.is(http.MethodGet, "/deliveries") {
				e.edit(func(o map[string]any) { slices.Reverse(o["items"].([]any)) })
			}
		}), nil},
		{"a second attempt that counts as the first", "deliveries/retry", summaries(func(o map[string]any) { o["attempt"] = 1 }), nil},
		{"a second attempt that is another event", "deliveries/retry", nil, func() func(c *carried) {
			var mu sync.Mutex
			seen := map[string]bool{}
			return func(c *carried) {
				mu.Lock()
				defer mu.Unlock()
				if seen[c.URL.Path] {
					c.body = bytes.Replace(c.body, []byte(`{"id":"`), []byte(`{"id":"a`), 1)
				}
				seen[c.URL.Path] = true
			}
		}()},
		{"a summary of another event", "deliveries/summary", summaries(func(o map[string]any) { o["event_id"] = o["id"] }), nil},
	}
}

// deliveryMutant is a mutant of a service that delivers.
type deliveryMutant struct {
	name   string
	notice string
	serve  func(*exchange)
	alter  func(*carried)
}

func TestEveryDeliveryMutantIsNoticedByItsCase(t *testing.T) {
	t.Parallel()
	for _, m := range deliveryMutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			expectOutcome(t, newDeliveringTarget(t, m.serve, m.alter), m.notice, conformance.Failed)
		})
	}
	for _, c := range conformance.Cases() {
		if strings.HasPrefix(c.Name, "deliveries/") {
			t.Run("none, "+c.Name, func(t *testing.T) {
				t.Parallel()
				expectOutcome(t, newDeliveringTarget(t, nil, nil), c.Name, conformance.Passed)
			})
		}
	}
}

// expectOutcome runs one case.
func expectOutcome(t *testing.T, target conformance.Target, name string, want conformance.Outcome) {
	t.Helper()
	report := expect.Must(conformance.Check(t.Context(), target, conformance.Only(name)))
	if got := report.Results[0]; len(report.Results) != 1 || got.Outcome != want {
		t.Errorf("%s: outcome is %s, want %s\n%s", name, got.Outcome, want, got)
	}
}
