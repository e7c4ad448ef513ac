package webhooks

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// The example of the specification's own libraries.
func TestStandardSignature(t *testing.T) {
	t.Parallel()
	const secret, id, at, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`
	if got := signStandard(secret, id, at, []byte(body)); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
	// The bytes of any other secret are the key.
	raw := signStandard("0123456789abcdef", id, at, []byte(body))
	if encoded := signStandard("whsec_MDEyMzQ1Njc4OWFiY2RlZg==", id, at, []byte(body)); encoded != raw {
		t.Errorf("%s and %s", raw, encoded)
	}
	if odd := signStandard("whsec_not base64", id, at, []byte(body)); odd == raw || odd == signStandard("", id, at, []byte(body)) {
		t.Error("a secret that is not base64 has another's key")
	}
}

func TestStandardWebhooksHeaders(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		got := make(chan http.Header, 10)
		b := newBench(t, Config{StandardWebhooks: true}, roundTrip(func(r *http.Request) (*http.Response, error) {
			got <- r.Header
			return reply(200), nil
		}))
		b.d.spread = polls(time.Minute) // a day of polls takes long
		const first, second, third = "0123456789abcdef", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "fedcba9876543210"
		sealed := b.d.secrets.Seal
		id := b.webhook(hook, sealed(storage.ID{}, first))
		change := func(secret string) {
			s := sealed(id, secret)
			_, err := b.store.UpdateWebhook(t.Context(), storage.AsHost(), id, storage.WebhookChange{Secret: &s, At: time.Now()})
			must(t, err)
		}
		b.run()
		check := func(when string, secrets ...string) {
			t.Helper()
			event := b.event(id, "x").String()
			b.d.Wake()
			h := <-got
			at := strconv.FormatInt(time.Now().Unix(), 10)
			var want []string
			for _, s := range secrets {
				want = append(want, signStandard(s, event, at, []byte("x")))
			}
			if h.Get("webhook-id") != event || h.Get("webhook-timestamp") != at || h.Get("webhook-signature") != strings.Join(want, " ") {
				t.Errorf("%s: %v, want %s", when, h, want)
			}
			if h.Get("Service-Signature") != Sign(secrets[0], []byte("x")) {
				t.Errorf("%s: %v", when, h)
			}
		}
		check("at first", first)
		change(second)
		check("after a change", second, first)
		time.Sleep(23 * time.Hour)
		check("a day later, nearly", second, first)
		time.Sleep(2 * time.Hour)
		check("a day later", second)
		change(third)
		check("after another change", third, second)
		change(first)
		check("after two changes within a day", first, third)
		change(third)
		check("when the old secret comes back", third, first)
		time.Sleep(25 * time.Hour)
		check("a day after both", third)

		unsigned := b.webhook("https://unsigned.example/", nil)
		event := b.event(unsigned, "x")
		b.d.Wake()
		if h := <-got; h.Get("webhook-id") != event.String() || h.Get("webhook-timestamp") == "" || h["Webhook-Signature"] != nil {
			t.Errorf("without a secret: %v", h)
		}
	})
}

func TestDeniedNetworksWin(t *testing.T) {
	t.Parallel()
	denied := []netip.Prefix{netip.MustParsePrefix("8.8.8.0/24"), netip.MustParsePrefix("127.0.0.2/32"), netip.MustParsePrefix("2606:4700::/32")}
	names := resolver{"own.example": {"1.1.1.1", "8.8.8.8"}, "public.example": {"1.1.1.1"}, "inside.example": {"127.0.0.2"}, "allowed.example": {"127.0.0.1"}}
	g := NewGuard(GuardConfig{AllowedNetworks: loopback, DeniedNetworks: denied, Resolver: names})
	for url, ok := range map[string]bool{
		"https://8.8.8.8/": false, "https://8.8.4.4/": true, "https://[2606:4700::1]/": false, "http://127.0.0.2/": false, "http://127.0.0.1/": true,
		"https://own.example/": false, "https://public.example/": true, "http://inside.example/": false, "http://allowed.example/": true,
	} {
		if err := g.CheckHost(t.Context(), url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	// The guard checks the address that the socket connects to, whatever the name
	// resolved to.
	s := server(t, func(http.ResponseWriter, *http.Request) { t.Error("a request came through") })
	c := NewClient(ClientConfig{AllowedNetworks: loopback, DeniedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if resp, err := c.Get(s.URL); err == nil {
		_ = resp.Body.Close()
		t.Error("a denied address was reached")
	}
	if err := (Config{DeniedNetworks: []netip.Prefix{{}}}).Validate(); err == nil || !strings.Contains(err.Error(), "DeniedNetworks") {
		t.Errorf("an invalid prefix: %v", err)
	}
}

// A host's transport is asked for each attempt, and what it sends is guarded.
func TestAHostWrapsTheTransport(t *testing.T) {
	t.Parallel()
	var through atomic.Int32
	received := make(chan string, 1)
	s := server(t, func(_ http.ResponseWriter, r *http.Request) { received <- r.Header.Get("Traceparent") })
	b := newBench(t, Config{Transport: func(guarded http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			through.Add(1)
			r = r.Clone(r.Context())
			r.Header.Set("Traceparent", "00-1-2-01")
			return guarded.RoundTrip(r)
		})
	}}, nil)
	b.event(b.webhook(s.URL, nil), "x")
	b.event(b.webhook("http://10.0.0.1/", nil), "x")
	stop := b.run()
	if got := <-received; got != "00-1-2-01" {
		t.Errorf("received %q", got)
	}
	b.seen.wait(t, 2)
	stop()
	if got := through.Load(); got != 1 { // the URL of the other is refused before
		t.Errorf("%d requests went through it", got)
	}
	if _, _, err := New(Params{Store: b.store, Config: Config{Transport: func(http.RoundTripper) http.RoundTripper { return nil }}}); err == nil {
		t.Error("no transport is accepted")
	}
}
