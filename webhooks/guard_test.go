package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
)

func TestCheckURLRefuses(t *testing.T) {
	t.Parallel()
	guard := NewGuard(GuardConfig{})
	for _, c := range otherCases {
		err := guard.CheckURL(c.url)
		var refused *URLError
		switch {
		case c.reason == "":
			expect(t, err == nil, "%q: %v", c.url, err)
		case !errors.As(err, &refused):
			t.Errorf("%q: %v, want a URLError", c.url, err)
		case c.reason != anyReason && refused.Reason != c.reason:
			t.Errorf("%q: %q, want %q", c.url, refused.Reason, c.reason)
		}
	}
}

func TestCheckURLAcceptsAndNormalises(t *testing.T) {
	t.Parallel()
	guard := NewGuard(GuardConfig{})
	for raw, want := range map[string]string{
		"https://h.example":                 "https://h.example",
		"HTTPS://H.EXAMPLE:443/A?b=%20":     "https://h.example/A?b=%20",
		"http://h.example:80/":              "http://h.example/",
		"http://h.example:443/":             "http://h.example:443/",
		"http://h.example:/a":               "http://h.example/a",
		"https://[2606:4700::1111]:/":       "https://[2606:4700::1111]/",
		"https://h.example:8443/a%2Fb":      "https://h.example:8443/a%2Fb",
		"https://h.example./":               "https://h.example/",
		"https://Bücher.example/ä":          "https://xn--bcher-kva.example/%C3%A4",
		"https://r3---sn-apo3.example/":     "https://r3---sn-apo3.example/",
		"https://8.8.8.8/":                  "https://8.8.8.8/",
		"https://[2606:4700::1111]:8443/":   "https://[2606:4700::1111]:8443/",
		"https://[2606:4700:0:0::1111]/":    "https://[2606:4700::1111]/",
		"https://mylocal.example/":          "https://mylocal.example/",
		"https://h.example/?u=user@a:1%23x": "https://h.example/?u=user@a:1%23x",
		"https://4chan.example/":            "https://4chan.example/",
		"https://my_app._x.example/":        "https://my_app._x.example/",
		"https://1.2.3.4.example/":          "https://1.2.3.4.example/",
	} {
		d, err := guard.parseURL(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
		} else if got := d.url.String(); got != want {
			t.Errorf("%q becomes %q, want %q", raw, got, want)
		}
	}
}

func TestAllowedNetworksAreTheOnlyWayRound(t *testing.T) {
	t.Parallel()
	guard := NewGuard(GuardConfig{
		AllowedNetworks: append([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, loopback...),
		Resolver: resolver{
			"localhost": {"127.0.0.1", "::1"}, "receiver": {"10.1.2.3"}, "receiver.lan": {"10.1.2.3"},
			"outside": {"8.8.8.8"}, "mixed.lan": {"10.1.2.3", "8.8.8.8"}, "h.example": {"8.8.8.8", "10.1.0.1"}, "bad.example": {"8.8.8.8", "10.2.0.1"},
		},
	})
	for raw, ok := range map[string]bool{
		"http://localhost:8080/": true, "http://127.0.0.1:8080/": true, "http://[::1]/": true, "http://receiver/": true,
		"http://receiver.lan/": true, "http://10.1.9.9/": true, "http://h.example/": true, "http://8.8.8.8/": true,
		"http://outside/": false, "http://mixed.lan/": false, "http://bad.example/": false, "http://10.2.0.1/": false,
		"http://[::ffff:127.0.0.1]/": false, "http://127.1/": false, "http://localhost:22/": false, "http://192.168.0.1/": false,
	} {
		if err := guard.CheckHost(t.Context(), raw); (err == nil) != ok {
			t.Errorf("%s: %v, accepted should be %v", raw, err, ok)
		}
	}
}

func TestCheckHostRefusesANameWithAnyAddressThatIsNotPublic(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 20)
	for range 19 {
		many = append(many, "8.8.8.8")
	}
	guard := NewGuard(GuardConfig{Resolver: resolver{
		"good.example":   {"8.8.8.8", "2606:4700::1111"},
		"mapped.example": {"::ffff:8.8.8.8"},
		"mixed.example":  {"8.8.8.8", "127.0.0.1"},
		"six.example":    {"2606:4700::1111", "fe80::1"},
		"hidden.example": {"::ffff:10.0.0.1"},
		"late.example":   append(many, "10.0.0.1"),
		"none.example":   {},
		"zone.example":   {"2606:4700::1111%eth0"},
	}})
	for name, ok := range map[string]bool{
		"good": true, "mapped": true,
		"mixed": false, "six": false, "hidden": false, "late": false, "none": false, "missing": false, "zone": false,
	} {
		err := guard.CheckHost(t.Context(), "https://"+name+".example/")
		if ok {
			expect(t, err == nil, "%s: %v", name, err)
			continue
		}
		var refused *URLError
		if !errors.As(err, &refused) || refused.Reason != reasonResolve {
			t.Errorf("%s: %v, want the one reason for all", name, err)
			continue
		}
		if strings.ContainsAny(err.Error(), "0123456789") {
			t.Errorf("%s: the error %q tells an address", name, err)
		}
	}
}

func TestCheckHostUsesEightAddressesAtMost(t *testing.T) {
	t.Parallel()
	list := []string{"8.8.8.8", "8.8.8.8"}
	for _, last := range "123456789" {
		list = append(list, "9.9.9."+string(last))
	}
	guard := NewGuard(GuardConfig{Resolver: resolver{"h.example": list}})
	addrs, err := guard.resolve(t.Context(), host{name: "h.example"})
	must(t, err)
	if len(addrs) != 8 || addrs[0].String() != "8.8.8.8" || addrs[1].String() != "9.9.9.1" {
		t.Errorf("addresses are %v", addrs)
	}
}

func TestCheckHostTellsAnEndedContextFromARefusal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := NewGuard(GuardConfig{Resolver: resolver{}}).CheckHost(ctx, "https://h.example/")
	var refused *URLError
	if !errors.Is(err, context.Canceled) || errors.As(err, &refused) {
		t.Errorf("error is %v, want one that is context.Canceled and no URLError", err)
	}
}

// A name below .invalid is nobody's: it is refused without a question to a name server.
func TestCheckHostAsksNobodyAboutInvalid(t *testing.T) {
	t.Parallel()
	asked := false
	guard := NewGuard(GuardConfig{Resolver: resolverFunc(func(context.Context) error { asked = true; return errors.New("asked") })})
	for raw, want := range map[string]bool{"https://a.invalid/": false, "https://b.a.INVALID./": false, "https://invalid.example/": true, "https://a.notinvalid/": true} {
		asked = false
		err := guard.CheckHost(t.Context(), raw)
		var refused *URLError
		if !errors.As(err, &refused) || refused.Reason != reasonResolve || asked != want {
			t.Errorf("%s: %v, asked: %v", raw, err, asked)
		}
	}
}

type silentResolver struct{}

func (silentResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCheckHostGivesUpAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		started := time.Now()
		err := NewGuard(GuardConfig{Resolver: silentResolver{}}).CheckHost(t.Context(), "https://h.example/")
		var refused *URLError
		if !errors.As(err, &refused) || time.Since(started) != 5*time.Second {
			t.Errorf("after %s: %v", time.Since(started), err)
		}
	})
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://h.example/", "http://127.0.0.1/", "http://[::1]:80/", "http://１２７.０.０.１/", "http://0x7f.1/", "http://a@b/",
		"http://[::ffff:127.0.0.1]/", "http://[fe80::1%25eth0]/", "http://localhost./", "http://8.8.8.8:8080/a?b", "http://bücher.example/",
	} {
		f.Add(seed)
	}
	guard := NewGuard(GuardConfig{})
	f.Fuzz(func(t *testing.T, raw string) {
		d, err := guard.parseURL(raw)
		if err != nil {
			var refused *URLError
			if !errors.As(err, &refused) {
				t.Fatalf("%q: %T", raw, err)
			}
			return
		}
		// What is sent must be read by net/url as what was judged, and be accepted
		// again unchanged.
		again, err := url.Parse(d.url.String())
		if err != nil {
			t.Fatalf("%q becomes %q: %v", raw, d.url, err)
		}
		if again.Hostname() != d.host.String() {
			t.Fatalf("%q: judged %q, sent to %q", raw, d.host, again.Hostname())
		}
		if addr, err := netip.ParseAddr(again.Hostname()); err == nil && !publicaddr.IsPublic(addr) {
			t.Fatalf("%q: accepted with address %s", raw, addr)
		}
		if len(d.url.String()) <= maxURL {
			twice, err := guard.parseURL(d.url.String())
			if err != nil || twice.url.String() != d.url.String() {
				t.Fatalf("%q becomes %q, which becomes %v, %v", raw, d.url, twice.url, err)
			}
		}
	})
}

// at returns the port of a server's URL as a URL of another host.
func at(t *testing.T, serverURL, host string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(serverURL, "http://"))
	must(t, err)
	return "http://" + host + ":" + port + "/"
}

func client(t *testing.T, c ClientConfig) *http.Client {
	t.Helper()
	client := NewClient(c)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func server(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestClientReachesNothingInside(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	s := server(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	c := client(t, ClientConfig{Resolver: resolver{"inside.example": {"127.0.0.1"}, "mixed.example": {"8.8.8.8", "127.0.0.1"}}})
	for _, url := range []string{s.URL, at(t, s.URL, "localhost"), at(t, s.URL, "inside.example"), at(t, s.URL, "mixed.example"), at(t, s.URL, "missing.example")} {
		resp, err := c.Get(url)
		var refused *URLError
		expect(t, errors.As(err, &refused), "%s: %v, want a URLError", url, err)
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	expect(t, hits.Load() == 0, "the server inside got %d requests", hits.Load())
}

func TestClientReachesAllowedNetworksByName(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	c := client(t, ClientConfig{AllowedNetworks: loopback, Resolver: resolver{"localhost": {"127.0.0.1"}, "xn--bcher-kva.example": {"::ffff:127.0.0.1"}}})
	for url, host := range map[string]string{
		at(t, s.URL, "LOCALHOST"):      at(t, s.URL, "localhost"),
		at(t, s.URL, "bücher.example"): at(t, s.URL, "xn--bcher-kva.example"),
		s.URL + "/":                    s.URL + "/",
	} {
		resp, err := c.Get(url)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		_ = resp.Body.Close()
		if got := "http://" + string(body) + "/"; got != host {
			t.Errorf("%s was asked for as %s, want %s", url, got, host)
		}
	}
}

func TestRealResolverFindsLocalhost(t *testing.T) {
	t.Parallel()
	if err := NewGuard(GuardConfig{AllowedNetworks: loopback}).CheckHost(t.Context(), "http://localhost:8080/"); err != nil {
		t.Error(err)
	}
}

func TestSocketIsCheckedAgain(t *testing.T) {
	t.Parallel()
	s := server(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	must(t, err)
	inside := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	// As if resolving had let the address through.
	conn, err := newTransport(NewGuard(GuardConfig{}), time.Second, 1, &tls.Config{}).connectAny(t.Context(), inside, port)
	var refused *URLError
	expect(t, errors.As(err, &refused), "error is %v, want a URLError", err)
	if conn != nil {
		_ = conn.Close()
	}
	conn, err = newTransport(NewGuard(GuardConfig{AllowedNetworks: loopback}), time.Second, 1, &tls.Config{}).connectAny(t.Context(), inside, port)
	must(t, err)
	_ = conn.Close()
	for _, network := range []string{"udp4", "unix", "tcp", "ip4"} {
		if err := NewGuard(GuardConfig{}).checkSocket(network, "8.8.8.8:80", nil); err == nil {
			t.Errorf("network %s is permitted", network)
		}
	}
	if err := NewGuard(GuardConfig{}).checkSocket("tcp4", "nonsense", nil); err == nil {
		t.Error("an address that cannot be read is permitted")
	}
}

func TestClientTriesTheNextAddress(t *testing.T) {
	t.Parallel()
	s := server(t, func(http.ResponseWriter, *http.Request) {})
	// The server listens on 127.0.0.1 only.
	c := client(t, ClientConfig{AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.2", "::1", "127.0.0.1"}}})
	resp, err := c.Get(at(t, s.URL, "h.example"))
	must(t, err)
	_ = resp.Body.Close()
}

func TestClientNeverTouchesASwitchedConnection(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 1)
	url := listen(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err := conn.Read(make([]byte, 1))
		closed <- err
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	must(t, err)
	resp, err := client(t, ClientConfig{AllowedNetworks: loopback}).Do(req)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	if _, writable := resp.Body.(io.Writer); writable || len(body) != 0 || err != nil {
		t.Errorf("the body of a 101 is a %T with %q, %v", resp.Body, body, err)
	}
	_ = resp.Body.Close()
	if err := <-closed; !errors.Is(err, io.EOF) {
		t.Errorf("the connection was left open: %v", err)
	}
}

func TestClientHasATimeout(t *testing.T) {
	t.Parallel()
	if got := NewClient(ClientConfig{}).Timeout; got != 15*time.Second {
		t.Errorf("the default is %s", got)
	}
	end := make(chan struct{})
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	})
	defer close(end)
	_, err := client(t, ClientConfig{AllowedNetworks: loopback, Timeout: 50 * time.Millisecond}).Get(s.URL)
	expect(t, errors.Is(err, context.DeadlineExceeded), "error is %v", err)
}
