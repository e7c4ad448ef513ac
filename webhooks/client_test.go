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
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a URLError", url, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	if hits.Load() != 0 {
		t.Errorf("the server inside got %d requests", hits.Load())
	}
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

// turncoat answers with a public address first and with loopback ever after.
type turncoat struct{ asked atomic.Int32 }

func (r *turncoat) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if r.asked.Add(1) == 1 {
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func TestClientIsNotFooledByRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	s := server(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	r := &turncoat{}
	guard := NewGuard(GuardConfig{Resolver: r})
	url := at(t, s.URL, "rebind.example")
	if err := guard.CheckHost(t.Context(), url); err != nil {
		t.Fatalf("the first answer is public: %v", err)
	}
	_, err := client(t, ClientConfig{Resolver: r}).Get(url)
	var refused *URLError
	if !errors.As(err, &refused) || hits.Load() != 0 {
		t.Errorf("error is %v, %d requests arrived", err, hits.Load())
	}
}

func TestSocketIsCheckedAgain(t *testing.T) {
	t.Parallel()
	s := server(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	must(t, err)
	inside := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	// As if resolving had let the address through.
	conn, err := newTransport(NewGuard(GuardConfig{}), time.Second, 1, &tls.Config{}).connect(t.Context(), inside, port)
	var refused *URLError
	if !errors.As(err, &refused) {
		t.Errorf("error is %v, want a URLError", err)
	}
	if conn != nil {
		_ = conn.Close()
	}
	conn, err = newTransport(NewGuard(GuardConfig{AllowedNetworks: loopback}), time.Second, 1, &tls.Config{}).connect(t.Context(), inside, port)
	must(t, err)
	_ = conn.Close()
	for _, network := range []string{"udp4", "unix", "tcp", "ip4"} {
		if err := NewGuard(GuardConfig{}).control(network, "8.8.8.8:80", nil); err == nil {
			t.Errorf("network %s is permitted", network)
		}
	}
	if err := NewGuard(GuardConfig{}).control("tcp4", "nonsense", nil); err == nil {
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

func TestClientIgnoresProxiesOfTheEnvironment(t *testing.T) {
	proxied := make(chan string, 10)
	proxy := server(t, func(_ http.ResponseWriter, r *http.Request) { proxied <- r.RequestURI })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	target := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	url := at(t, target.URL, "h.example")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	if through, err := http.ProxyFromEnvironment(req); err != nil || through == nil {
		t.Fatalf("the environment names no proxy for %s, so this test shows nothing: %v", url, err)
	}
	resp, err := client(t, ClientConfig{AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.1"}}}).Do(req)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent || len(proxied) != 0 {
		t.Errorf("status %d, %d requests went to the proxy", resp.StatusCode, len(proxied))
	}
}

func TestClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var second atomic.Int32
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/second" {
			second.Add(1)
		}
		http.Redirect(w, r, "/second", http.StatusFound)
	})
	resp, err := client(t, ClientConfig{AllowedNetworks: loopback}).Get(s.URL)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusFound || second.Load() != 0 {
		t.Errorf("status %d, %d requests followed", resp.StatusCode, second.Load())
	}
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
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}
