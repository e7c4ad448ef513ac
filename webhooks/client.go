package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
)

const (
	maxResponseHeader = 64 << 10
	maxResponseBody   = 64 << 10
	idleTimeout       = 30 * time.Second
	// connectionAge is how long a connection is used for further requests: a name that
	// has moved is looked up again.
	connectionAge = 2 * time.Minute
	dialAtLeast   = 2 * time.Second
	handshakeMost = 10 * time.Second
)

// ClientConfig configures [NewClient]. The zero value reaches public addresses
// only and gives each request 15 s.
type ClientConfig struct {
	// AllowedNetworks may be reached although they are not public; see
	// [Config.AllowedNetworks].
	AllowedNetworks []netip.Prefix
	// DeniedNetworks may not be reached although they are public or allowed; see
	// [Config.DeniedNetworks].
	DeniedNetworks []netip.Prefix
	// Resolver looks names up. Nil: [net.DefaultResolver].
	Resolver Resolver
	// Timeout is all the time a request has, the answer's body included. Zero:
	// 15 s.
	Timeout time.Duration
}

// NewClient returns an HTTP client for URLs that strangers chose, the one that
// webhooks are delivered with. Hosts may use it for calls of their own.
//
// Each request's URL must satisfy [Guard.CheckURL], its length aside; the error
// is a *[URLError] otherwise. Names are resolved for each new connection under
// the rules of [Guard.CheckHost], the addresses that were checked are the ones
// dialled, and the socket's address is checked again before it connects. A name
// that answers differently the next time gains nothing by it.
//
// The client uses no proxy, follows no redirect (the answer is the redirect
// itself), keeps no cookies, asks for no compression, speaks HTTP/1.1 and TLS 1.2
// or later with verified certificates. Answers may have 64 kB of headers;
// reading more than 64 kB of body is an *[http.MaxBytesError]. A 101 answer has
// no body. Idle connections are kept for 30 s; CloseIdleConnections ends them. A
// connection is used for at most 2 minutes, so that changes of DNS are seen. Of package
// httptrace the hooks of resolving, of dialling and of writing a request are called, not
// those of connections, TLS and answers. Expect is not waited for.
//
// It is safe for concurrent use.
func NewClient(c ClientConfig) *http.Client {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	guard := NewGuard(GuardConfig{AllowedNetworks: c.AllowedNetworks, DeniedNetworks: c.DeniedNetworks, Resolver: c.Resolver})
	return &http.Client{
		Transport:     judging{guard, newTransport(guard, c.Timeout, DefaultInFlight)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       c.Timeout,
	}
}

// judging is a transport that judges the URL of each request first.
type judging struct {
	guard *Guard
	next  *transport
}

// RoundTrip implements [http.RoundTripper].
func (j judging) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := j.guard.judge(req.URL)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes it, also on errors
		}
		return nil, err
	}
	if req.URL.Host != to.url.Host {
		req = req.Clone(req.Context())
		if req.Host == req.URL.Host {
			req.Host = ""
		}
		req.URL = to.url
	}
	return j.next.RoundTrip(req)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (j judging) CloseIdleConnections() { j.next.CloseIdleConnections() }

// transport sends requests whose URL was judged, and connects only to addresses
// that its guard permits, whatever the URL is.
type transport struct {
	guard   *Guard
	timeout time.Duration // of connecting, resolving included
	tls     *tls.Config
	kept    pool
}

// newTransport returns a transport that keeps up to idle connections open for
// one host, and eight times as many in all.
func newTransport(guard *Guard, timeout time.Duration, idle int) *transport {
	return &transport{
		guard:   guard,
		timeout: timeout,
		tls:     &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		kept:    pool{perHost: idle, most: 8 * idle, idle: map[origin][]*connection{}},
	}
}

// dial connects to one of the permitted addresses of a host, in the resolver's
// order. Each address gets its share of the time that is left, so that one
// which does not answer leaves some for the next.
func (t *transport) dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	h, err := t.guard.parseDialled(u.Hostname())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	addrs, err := t.guard.resolve(ctx, h)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return t.connect(ctx, addrs, port)
}

// connect tries addrs in turn. It takes no part in what they are: the dialer's
// Control refuses what the guard does not permit, whoever chose it.
func (t *transport) connect(ctx context.Context, addrs []netip.Addr, port string) (net.Conn, error) {
	dialer := net.Dialer{Control: t.guard.control}
	var errs []error
	for i, addr := range addrs {
		if end, ok := ctx.Deadline(); ok {
			dialer.Timeout = max(time.Until(end)/time.Duration(len(addrs)-i), dialAtLeast)
		}
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// parseDialled judges the host that the transport was about to connect to. It
// went through parse already; this is for whatever the transport makes of it.
func (g *Guard) parseDialled(name string) (host, error) {
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		return g.parseIPv6(name)
	}
	return g.parseName(name)
}

// control is called with the address of a socket before it connects. It is the
// check that counts: it sees what the system dials, not what was asked for.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("webhooks: network %s is not permitted", network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !g.permits(ap.Addr()) {
		return &URLError{Reason: reasonAddress, cause: fmt.Errorf("address %s is not permitted", address)}
	}
	if publicaddr.BeforeDial != nil {
		return publicaddr.BeforeDial(address)
	}
	return nil
}
