package webhooks

import (
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
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
	s, _ := counted(func(_ http.ResponseWriter, r *http.Request) {
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
				{URL: url, Attempt: 1, Body: make([]byte, 50_000), Secret: sealed("s"), OldSecret: sealed("old")},
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

func newDispatcher(t testing.TB, c Config) *Dispatcher {
	t.Helper()
	d, _, err := New(Params{Store: storage.Unimplemented{}, Config: c})
	must(t, err)
	t.Cleanup(d.guarded.CloseIdleConnections)
	return d
}
