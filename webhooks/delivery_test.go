package webhooks

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/secrets"
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
			expect(t, last.Err() != nil, "what is left of a request to a %s one goes on", c.host)
		}
		posts, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errStopped) })
		if e := b.d.deliver(posts, &storage.ClaimedDelivery{URL: "https://dead.example/", Attempt: 1}); e.Delivery != nil {
			t.Errorf("a request that was stopped counts as an attempt: %+v", e.Delivery)
		}
	})
}

// received is all that a receiver can see of a request.
type received struct {
	method, uri, proto, host, body string
	length                         int64
	header                         http.Header
}

// A delivery sends its body and the headers that are documented, to the path and the host of
// its URL, and nothing more.
func TestADeliverySendsWhatIsDocumented(t *testing.T) {
	t.Parallel()
	seen := make(chan received, 1)
	s, _, _ := counted(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		seen <- received{r.Method, r.RequestURI, r.Proto, r.Host, string(text), r.ContentLength, r.Header}
	})
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	sealed := func(secret string) []byte { return append([]byte{0}, secret...) }
	for _, config := range []Config{{}, {StandardWebhooks: true, UserAgent: "a  b/1 (c: d)", HeaderPrefix: "x-y"}} {
		config.AllowedNetworks, config.Resolver = loopback, resolver{"h.example": {"127.0.0.1"}, "xn--bcher-kva.example": {"127.0.0.1"}}
		d, _, err := New(Params{Store: storage.Unimplemented{}, Config: config})
		must(t, err)
		defer d.guarded.CloseIdleConnections()
		now := time.Unix(1_800_000_000, 0)
		d.now = func() time.Time { return now }
		for url, want := range map[string][2]string{
			"http://127.0.0.1:" + port:                                         {"127.0.0.1", "/"},
			"http://H.EXAMPLE:" + port + "/a/../b//c;d=e":                      {"h.example", "/a/../b//c;d=e"},
			"http://Bücher.example:" + port + "/ü":                             {"xn--bcher-kva.example", "/%C3%BC"},
			"http://h.example:" + port + "?q":                                  {"h.example", "/?q"},
			"http://h.example:" + port + "/?":                                  {"h.example", "/?"},
			"http://h.example:" + port + "/%2f%20%0d%0a?x=%0d%0aX:%20y&é=<\">": {"h.example", "/%2f%20%0d%0a?x=%0d%0aX:%20y&é=<\">"},
			"http://h.example:" + port + "//other.example/":                    {"h.example", "//other.example/"},
			"http://h.example:" + port + "/HTTP/1.1":                           {"h.example", "/HTTP/1.1"},
		} {
			for _, del := range []*storage.ClaimedDelivery{
				{URL: url, Attempt: 1},
				{URL: url, Attempt: 1, Body: []byte("{}\r\n\r\nPOST / HTTP/1.1\r\n"), Secret: sealed("s")},
				{URL: url, Attempt: 3, Body: make([]byte, 50_000), Secret: sealed("s"), OldSecret: sealed("old")},
			} {
				header := http.Header{
					"Content-Type": {"application/json"}, "User-Agent": {d.config.UserAgent}, "Content-Length": {strconv.Itoa(len(del.Body))},
					http.CanonicalHeaderKey(d.config.HeaderPrefix + "-Version"): {payloadVersion},
				}
				signed := del.Secret != nil
				if signed {
					header[http.CanonicalHeaderKey(d.config.HeaderPrefix+"-Signature")] = []string{Sign("s", del.Body)}
				}
				if config.StandardWebhooks {
					id, at := del.Lease.EventID.String(), "1800000000"
					header["Webhook-Id"], header["Webhook-Timestamp"] = []string{id}, []string{at}
					if signed {
						signatures := signStandard("s", id, at, del.Body)
						if del.OldSecret != nil {
							signatures += " " + signStandard("old", id, at, del.Body)
						}
						header["Webhook-Signature"] = []string{signatures}
					}
				}
				if e := d.deliver(t.Context(), del); !e.Delivery.Success {
					t.Fatalf("%s: %+v", url, e.Delivery)
				}
				wanted := received{http.MethodPost, want[1], "HTTP/1.1", want[0] + ":" + port, string(del.Body), int64(len(del.Body)), header}
				if got := <-seen; !reflect.DeepEqual(got, wanted) {
					t.Errorf("%s: sent\n%.1000v\nwant\n%.1000v", url, got, wanted)
				}
			}
		}
	}
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
			b.change(id, storage.WebhookChange{Enabled: &enabled})
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

func newDispatcher(t testing.TB, c Config) *Dispatcher {
	t.Helper()
	d, _, err := New(Params{Store: storage.Unimplemented{}, Config: c})
	must(t, err)
	t.Cleanup(d.guarded.CloseIdleConnections)
	return d
}

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
		expect(t, n == each, "Headers was called %d times for %d attempts at %s", n, each, id)
	}
	for path, n := range sent {
		expect(t, n == each, "%d requests to %s had their headers, want %d", n, path, each)
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
				del.Secret = b.d.secrets.Encrypt(storage.ID{}, "0123456789abcdef")
			}
			if e := b.d.deliver(t.Context(), del); requests.Load() != 0 || e.Delivery != nil || e.RetryIn != hostErrorRetryDelay {
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

func TestSignIsFrozen(t *testing.T) {
	t.Parallel()
	// The second is case 2 of RFC 4231. The last was made, and verified, by sign and verify of
	// the npm package @octokit/webhooks-methods 6.0.0.
	for _, v := range []struct{ secret, body, want string }{
		{"0123456789abcdef", `{"id":"65f0c0ffee65f0c0ffee65f0","response":{}}`, "sha256=0db010043cd9e9edb67d3d2e547322dbefe474a08c4ad08f1d458dd99e90ff00"},
		{"Jefe", "what do ya want for nothing?", "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{"key", "", "sha256=5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"},
		{"schlüssel", "\x00\xff\r\n", "sha256=51e97e5289a524fe1debe0ba3accd2d2416bcedd2ed4ed31b3bcb139f2d8e85d"},
	} {
		if got := Sign(v.secret, []byte(v.body)); got != v.want {
			t.Errorf("Sign(%q, %q) = %s, want %s", v.secret, v.body, got, v.want)
		}
		if err := Verify(v.secret, []byte(v.body), v.want); err != nil {
			t.Errorf("Verify(%q, %q): %v", v.secret, v.body, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	const secret, body = "0123456789abcdef", `{"id":"1"}`
	good := Sign(secret, []byte(body))
	digits := strings.TrimPrefix(good, "sha256=")
	for _, signature := range []string{
		good, "sha256=" + strings.ToUpper(digits), "", digits, "sha512=" + digits, good[:len(good)-2], good + "00", good[:len(good)-1] + "g", " " + good,
		good[:len(good)-1] + "0", good[:len(good)-1] + "1",
		Sign("fedcba9876543210", []byte(body)), Sign(secret, []byte(`{"id":"2"}`)),
	} {
		f.Add(secret, []byte(body), signature)
	}
	f.Add("", []byte(body), Sign("", []byte(body)))
	f.Add("k", []byte{0xff}, Sign("k", []byte{0xff}))
	f.Fuzz(func(t *testing.T, secret string, body []byte, signature string) {
		own, err := Sign(secret, body), Verify(secret, body, signature)
		want := secret != "" && strings.HasPrefix(signature, "sha256=") && strings.EqualFold(signature, own)
		if want != (err == nil) || !want && !errors.Is(err, ErrSignature) {
			t.Errorf("Verify = %v for %q, the signature is %q", err, signature, own)
		}
		if err := Verify(secret, body, own); (err == nil) != (secret != "") {
			t.Errorf("Verify of Sign: %v", err)
		}
		if Verify(secret, append([]byte{1}, body...), own) == nil {
			t.Error("a changed body is accepted")
		}
	})
}

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

func gcm(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	must(t, err)
	aead, err := cipher.NewGCM(block)
	must(t, err)
	return aead
}

func secretsWith(t *testing.T, current cipher.AEAD, previous ...cipher.AEAD) *secrets.Encrypter {
	t.Helper()
	s, err := secrets.New(current, previous...)
	must(t, err)
	return s
}
