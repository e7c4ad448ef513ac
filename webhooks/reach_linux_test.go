package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
	"github.com/formsvc/formsvc/storage"
)

// eachResolver runs the calling test in its own network, once with each resolver,
// and reports whether this is such a run.
func eachResolver(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return inOwnNetwork(t)
	}
	if !cgoEnabled && os.Getenv(requireVariable) != "" {
		t.Fatal("built without cgo: the resolver of the C library is not there to be tested")
	}
	for _, r := range []string{"go", "cgo"} { // without cgo the second one is the first
		inOwnNetwork(t, append(env, "GODEBUG=netdns="+r)...)
	}
	return false
}

// The whole table with real sockets: an attempt ends at an address that its row
// names, or nowhere.
func TestEveryConnectionEndsAtAPublicAddress(t *testing.T) {
	if !eachResolver(t) {
		return
	}
	newNameServer(t, reachZone())
	reply := http.HandlerFunc(once)
	seen := newCanary(t, map[int]http.Handler{80: reply, 8080: reply, 443: nil, 8443: nil})
	guard := NewGuard(GuardConfig{})
	dispatcher := newDispatcher(t, Config{})

	cases := reachCases()
	refused, reachedWithout := 0, 0
	for _, c := range cases {
		want := c.reach
		if c.reachCgo != "" && cgoEnabled && os.Getenv("GODEBUG") == "netdns=cgo" {
			want = strings.Trim(c.reachCgo, "-")
		}
		for step, attempt := range map[string]func() error{
			"check":    func() error { return guard.CheckHost(t.Context(), c.url) },
			"client":   func() error { return fetch(t, NewClient(ClientConfig{Timeout: 10 * time.Second}), c.url) },
			"delivery": func() error { return attemptError(dispatcher, c.url) },
		} {
			err := attempt()
			got := seen.take()
			switch {
			case want == "" && (err == nil || len(got) != 0):
				t.Errorf("%s %q reached %v, %v: want a refusal", step, c.url, got, err)
			case want == "" && step != "delivery" && !isRefusal(err) && !errors.Is(err, errNotSent):
				t.Errorf("%s %q: %v, want a URLError", step, c.url, err)
			case want != "" && step == "check" && (err != nil || len(got) != 0):
				t.Errorf("%s %q: %v, reached %v", step, c.url, err, got)
			case want != "" && step != "check" && (len(got) == 0 || slices.ContainsFunc(got, func(at netip.AddrPort) bool {
				return !slices.Contains(strings.Fields(want), at.Addr().String())
			})):
				t.Errorf("%s %q reached %v, want %s: %v", step, c.url, got, want, err)
			}
		}
		if want == "" {
			refused++
			// What this network would have shown: a client without the guard.
			bare := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
			_ = fetch(t, bare, c.url)
			if slices.ContainsFunc(seen.take(), func(at netip.AddrPort) bool { return !slices.Contains(publicAddresses, at.Addr().String()) }) {
				reachedWithout++
			}
		}
	}
	fmt.Printf("figure: %d rows, %d of them refused; a client without the guard reached an inner address with %d of those\n", len(cases), refused, reachedWithout)
	if len(cases) < 200 || reachedWithout < 300 {
		t.Errorf("%d rows, a bare client reaches inner addresses with %d: this network shows too little", len(cases), reachedWithout)
	}
}

// errNotSent: a client was not even given the request.
var errNotSent = errors.New("no request can be made of this URL")

// fetch posts to url and reads the answer.
func fetch(t *testing.T, c *http.Client, url string) error {
	t.Helper()
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return errNotSent
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return err
}

// attemptError delivers an event and returns an error unless it was accepted.
func attemptError(d *Dispatcher, url string) error {
	a := d.deliver(context.Background(), &storage.ClaimedDelivery{URL: url, Body: []byte("{}"), Attempt: 1}).Delivery
	if !a.Success {
		return errors.New(a.Error)
	}
	return nil
}

func isRefusal(err error) bool {
	var refused *URLError
	return errors.As(err, &refused)
}

func TestRebindingReachesNothingInside(t *testing.T) {
	if !eachResolver(t) {
		return
	}
	newNameServer(t, reachZone())
	keep := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/redirect") {
			w.Header().Set("Location", "http://"+strings.TrimPrefix(r.URL.Path, "/redirect/")+"/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	seen := newCanary(t, map[int]http.Handler{80: keep, 8080: http.HandlerFunc(once)})
	google := netip.MustParseAddr("8.8.8.8")
	reached := func(t *testing.T, want ...netip.AddrPort) {
		t.Helper()
		if got := seen.take(); !slices.Equal(got, want) {
			t.Errorf("reached %v, want %v", got, want)
		}
	}

	t.Run("between the check and the dial", func(t *testing.T) {
		must(t, NewGuard(GuardConfig{}).CheckHost(t.Context(), "http://rebound.example/"))
		if err := fetch(t, NewClient(ClientConfig{}), "http://rebound.example/"); !isRefusal(err) {
			t.Errorf("error is %v", err)
		}
		reached(t)
	})
	t.Run("to an answer that is public in part", func(t *testing.T) {
		must(t, NewGuard(GuardConfig{}).CheckHost(t.Context(), "http://rebound-later.example/"))
		if err := fetch(t, NewClient(ClientConfig{}), "http://rebound-later.example/"); !isRefusal(err) {
			t.Errorf("error is %v", err)
		}
		reached(t)
	})
	t.Run("while a connection is kept alive", func(t *testing.T) {
		d := newDispatcher(t, Config{})
		must(t, attemptError(d, "http://kept-alive.example/"))
		reached(t, netip.AddrPortFrom(google, 80))
		must(t, attemptError(d, "http://kept-alive.example/")) // on the same connection, to the address that was checked
		reached(t)
		d.guarded.CloseIdleConnections()
		if err := attemptError(d, "http://kept-alive.example/"); err == nil || err.Error() != ClassNetwork {
			t.Errorf("after it ended: %v", err)
		}
		reached(t)
	})
	t.Run("and the receiver ends the connection", func(t *testing.T) {
		d := newDispatcher(t, Config{})
		must(t, attemptError(d, "http://closed.example:8080/"))
		reached(t, netip.AddrPortFrom(google, 8080))
		if err := attemptError(d, "http://closed.example:8080/"); err == nil || err.Error() != ClassNetwork {
			t.Errorf("error is %v", err)
		}
		reached(t)
	})
	t.Run("by a redirect", func(t *testing.T) {
		for _, to := range []string{"127.0.0.1", "10.0.0.1:8080", "[::1]", "loopback.example", "8.8.4.4"} {
			d := newDispatcher(t, Config{})
			if err := attemptError(d, "http://8.8.8.8/redirect/"+to); err == nil || err.Error() != ClassRedirect {
				t.Errorf("to %s: %v", to, err)
			}
			must(t, fetch(t, NewClient(ClientConfig{}), "http://8.8.8.8/redirect/"+to))
			reached(t, netip.AddrPortFrom(google, 80), netip.AddrPortFrom(google, 80))
		}
	})
}

func TestAllowedNetworksWithRealSockets(t *testing.T) {
	if !eachResolver(t) {
		return
	}
	newNameServer(t, reachZone())
	seen := newCanary(t, map[int]http.Handler{80: http.HandlerFunc(once)})
	d := newDispatcher(t, Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}})
	for url, want := range map[string]string{
		"http://10.1.2.3/":                                "10.1.2.3",
		"http://[fd00:1::9]/":                             "fd00:1::9",
		"http://onpremises/":                              "10.1.2.3", // in the hosts file
		"http://receiver/":                                "10.1.2.4", // through the search list
		"http://" + spelled("10.1.0.1") + "/":             "10.1.0.1",
		"http://" + spelled("::ffff:10.1.0.1") + "/":      "10.1.0.1",
		"http://8.8.8.8/":                                 "8.8.8.8",
		"http://public.example/":                          "8.8.8.8",
		"http://elsewhere/":                               "",
		"http://public/":                                  "", // public.example is outside
		"http://localhost/":                               "",
		"http://intranet/":                                "",
		"http://router.home.arpa/":                        "",
		"http://10.2.0.1/":                                "",
		"http://[::ffff:10.1.2.3]/":                       "",
		"http://10.1.515/":                                "",
		"http://" + spelled("10.1.0.1", "10.2.0.1") + "/": "",
		"http://" + spelled("fd00:2::1") + "/":            "",
		"http://169.254.169.254/":                         "",
	} {
		err := attemptError(d, url)
		got := seen.take()
		switch {
		case want == "" && (len(got) != 0 || err == nil):
			t.Errorf("%s reached %v", url, got)
		case want != "" && (err != nil || len(got) != 1 || got[0].Addr().String() != want):
			t.Errorf("%s reached %v, want %s: %v", url, got, want, err)
		}
	}
}

func TestAProxyInTheEnvironmentChangesNothing(t *testing.T) {
	const proxy = "http://9.9.9.9:3128"
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+proxy, strings.ToLower(name)+"="+proxy)
	}
	if !inOwnNetwork(t, append(env, "NO_PROXY=", "no_proxy=", "REQUEST_METHOD=")...) {
		return
	}
	newNameServer(t, reachZone())
	seen := newCanary(t, map[int]http.Handler{80: http.HandlerFunc(once), 443: nil, 3128: http.HandlerFunc(once)})
	d := newDispatcher(t, Config{})
	for url, want := range map[string]string{
		"http://public.example/":   "8.8.8.8:80",
		"https://public.example/":  "8.8.8.8:443",
		"http://8.8.4.4/":          "8.8.4.4:80",
		"http://loopback.example/": "",
		"http://localhost/":        "",
	} {
		for step, attempt := range map[string]func() error{
			"client":   func() error { return fetch(t, NewClient(ClientConfig{}), url) },
			"delivery": func() error { return attemptError(d, url) },
		} {
			err := attempt()
			got := seen.take()
			if want == "" && (len(got) != 0 || err == nil) || want != "" && (len(got) != 1 || got[0].String() != want) {
				t.Errorf("%s %s reached %v, want %s: %v", step, url, got, want, err)
			}
		}
	}
	// The variables are in force: a client that looks at them goes through.
	for _, url := range []string{"http://public.example/", "https://public.example/"} {
		_ = fetch(t, &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}, url)
		if got := seen.take(); len(got) != 1 || got[0].String() != "9.9.9.9:3128" {
			t.Errorf("a client with the proxy reached %v for %s", got, url)
		}
	}
}

// reachCases is the whole table.
func reachCases() []destinationCase {
	cases := append([]destinationCase(nil), otherCases...)
	literal := func(addr string) string {
		if strings.Contains(addr, ":") {
			return "http://[" + addr + "]/"
		}
		return "http://" + addr + "/"
	}
	for _, a := range publicAddresses {
		cases = append(cases,
			destinationCase{url: literal(a), reach: a},
			destinationCase{url: "http://" + spelled(a) + "/", reach: a})
	}
	for _, a := range insideAddresses {
		cases = append(cases,
			destinationCase{url: literal(a)},
			destinationCase{url: "http://" + spelled(a) + "/"},
			destinationCase{url: "http://" + spelled("8.8.8.8", "2606:4700::1111", a) + "/"},
			destinationCase{url: "http://" + spelled(a, "8.8.8.8") + "/"})
	}
	return cases
}

// reachZone is what DNS knows. The last label of a name is that of its owner, so
// that one server stands for all of DNS.
func reachZone() map[string][][]string {
	zone := map[string][][]string{}
	for name, answer := range map[string]string{
		"public.example":            "8.8.8.8",
		"xn--bcher-kva.example":     "8.8.4.4",
		"under_score.example":       "8.8.4.4",
		"six.example":               "2606:4700::1111",
		"both.example":              "8.8.8.8 2606:4700::1111",
		"10.0.0.1.example":          "8.8.8.8",
		"localhost.public.example":  "8.8.8.8",
		"0x7f000001.public.example": "8.8.8.8",
		"nothing.example":           "",
		"many.example":              "9.9.9.1 9.9.9.2 9.9.9.3 9.9.9.4 9.9.9.5 9.9.9.6 9.9.9.7 9.9.9.8 9.9.9.9",
		"many-and-one.example":      strings.Repeat("8.8.8.8 ", 40) + "10.0.0.1",

		"loopback.example":               "127.0.0.1",
		"loopback6.example":              "::1",
		"metadata.example":               "169.254.169.254",
		"unspecified.example":            "0.0.0.0 ::",
		"mixed.example":                  "8.8.8.8 127.0.0.1",
		"mixed-first.example":            "127.0.0.1 8.8.8.8",
		"four-public-six-inside.example": "8.8.8.8 ::1",
		"six-public-four-inside.example": "2606:4700::1111 10.0.0.1",
		"mapped-inside.example":          "::ffff:10.0.0.1",
		"mapped-public.example":          "::ffff:8.8.8.8",

		"alias.example":                 "=public.example",
		"alias-of-alias.example":        "=alias.example",
		"alias-inside.example":          "=loopback.example",
		"alias-of-alias-inside.example": "=alias-inside.example",
		"alias-localhost.example":       "=localhost",
		"alias-internal.example":        "=metadata.google.internal",
		"alias-mixed.example":           "=mixed.example",
		"alias-nowhere.example":         "=nowhere.example",
		"alias-loop.example":            "=alias-loop2.example",
		"alias-loop2.example":           "=alias-loop.example",

		"both-in-search.example":                  "8.8.8.8",
		"both-in-search.example.corp.test":        "10.0.0.1",
		"both-in-search.example.example":          "10.0.0.1",
		"only-in-search.example.corp.test":        "9.9.9.9",
		"only-in-search-inside.example.corp.test": "10.0.0.1",
		"intranet.corp.test":                      "10.0.0.1",
		"receiver.corp.test":                      "10.1.2.4",
		"inside-in-hosts.example":                 "8.8.8.8",
		"loopback-in-hosts.example":               "10.0.0.1",
		"localhost":                               "127.0.0.1",
		"a.localhost":                             "127.0.0.1",
		"metadata.google.internal":                "169.254.169.254",
		"printer.local":                           "192.168.1.9",
		"router.lan":                              "192.168.1.1",
		"router.home.arpa":                        "8.8.8.8",
		"api.default.svc":                         "10.96.0.10",
		"host.localdomain":                        "8.8.8.8",
		"kubernetes.default.svc.cluster.local":    "10.96.0.1",
	} {
		zone[name] = [][]string{strings.Fields(answer)}
	}
	zone["rebound.example"] = [][]string{{"8.8.8.8"}, {"10.0.0.1"}}
	zone["rebound-later.example"] = [][]string{{"8.8.8.8"}, {"8.8.8.8", "127.0.0.1"}}
	zone["kept-alive.example"] = [][]string{{"8.8.8.8"}, {"10.0.0.1"}}
	zone["closed.example"] = [][]string{{"8.8.8.8"}, {"127.0.0.1"}}
	return zone
}

// addressBytes is a resolver that reads its addresses from bytes: an even byte
// and four more are an IPv4 address, an odd one and sixteen an IPv6 address.
type addressBytes []byte

func (b addressBytes) LookupNetIP(context.Context, string, string) (out []netip.Addr, err error) {
	for len(b) > 0 {
		size := 4 + 12*int(b[0]%2)
		if len(b) < 1+size {
			break
		}
		addr, _ := netip.AddrFromSlice(b[1 : 1+size])
		out, b = append(out, addr), b[1+size:]
	}
	return out, nil
}

func (b addressBytes) with(addr string) addressBytes {
	a := netip.MustParseAddr(addr)
	return append(append(b, byte(a.BitLen()/128)), a.AsSlice()...)
}

// FuzzClient posts to any URL, whatever DNS responds, through real sockets. It runs only where
// [TestFuzzedURLsReachNothingInside] starts it, because elsewhere it would reach strangers.
func FuzzClient(f *testing.F) {
	if os.Getenv(insideVariable) == "" {
		f.Skip("it runs in a network of its own, below TestFuzzedURLsReachNothingInside")
	}
	public := addressBytes(nil).with("8.8.8.8").with("2606:4700::1111")
	for _, c := range otherCases {
		f.Add(c.url, []byte(public))
	}
	for _, a := range append(slices.Clone(insideAddresses), publicAddresses...) {
		f.Add("http://h.example/", []byte(addressBytes(nil).with(a)))
		f.Add("http://h.example/", []byte(public.with(a)))
	}
	f.Fuzz(func(t *testing.T, url string, addresses []byte) {
		_ = fetch(t, NewClient(ClientConfig{Resolver: addressBytes(addresses), Timeout: time.Second}), url)
		d, _, err := New(Params{Store: storage.Unimplemented{}, Config: Config{Resolver: addressBytes(addresses), Timeout: time.Second}})
		must(t, err)
		_ = attemptError(d, url)
		d.guarded.CloseIdleConnections()
	})
}

// The canary is in one process and the fuzzer in another, both in one network.
func TestFuzzedURLsReachNothingInside(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	reply := http.HandlerFunc(once)
	seen := newCanary(t, map[int]http.Handler{80: reply, 8080: reply, 443: nil, 8443: nil})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$", "-test.fuzz=^FuzzClient$", "-test.timeout=0",
		"-test.fuzztime=2000x", "-test.fuzzcachedir="+t.TempDir())
	cmd.Dir = t.TempDir() // where inputs that fail are written
	out, err := cmd.CombinedOutput()
	expect(t, err == nil, "%v\n%s", err, out)
	reached := seen.take()
	expect(t, len(reached) != 0, "no connection was made, so this shows nothing\n%s", out)
	for _, at := range reached {
		expect(t, publicaddr.IsPublic(at.Addr()), "%s was reached", at)
	}
}
