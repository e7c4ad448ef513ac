package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
)

const (
	maxResponseHeader = 64 << 10
	maxResponseBody   = 64 << 10
	// readBufferSize limits the data that net/http writes to the standard logger if a receiver sends more data than a
	// response. Headers longer than the buffer are read in parts, and longer trailers are rejected.
	readBufferSize = 1 << 10
	minDialTimeout = 2 * time.Second
	// idleTimeout is how long an unused connection stays open. Many receivers close unused connections after a minute
	// or more.
	idleTimeout = 30 * time.Second
	// maxIdleConns exceeds the number of destinations that a process sends requests to within idleTimeout. With 1,000
	// destinations, a limit of 512 halved the throughput.
	maxIdleConns = 4096
	// renewInterval is how often all idle connections are closed, so that hostnames are resolved again.
	renewInterval = 5 * time.Minute
	// maxSpareDials limits dials that continue after their requests have ended (see transport.newDialContext). The
	// resulting connections serve later requests.
	maxSpareDials = 64
	// tlsCloseTimeout limits how long closing a TLS connection waits for a receiver that does not read. Usually, the
	// socket's buffer accepts the last record immediately.
	tlsCloseTimeout = 100 * time.Millisecond
)

// ClientConfig configures [NewClient]. The zero value allows only public addresses and a timeout of 15 s.
type ClientConfig struct {
	// AllowedNetworks are non-public networks to allow; see [Config.AllowedNetworks].
	AllowedNetworks []netip.Prefix
	// DeniedNetworks are networks that are never allowed; see [Config.DeniedNetworks].
	DeniedNetworks []netip.Prefix
	// Resolver resolves hostnames. Defaults to [net.DefaultResolver].
	Resolver Resolver
	// Timeout limits a request, including the response body. Defaults to 15 s.
	Timeout time.Duration
}

// NewClient returns an HTTP client for untrusted URLs, with the same restrictions as for webhook deliveries. Hosts can
// use it for their own requests. It is safe for concurrent use.
//
// Each URL must satisfy [Guard.CheckURL], except for its length. Otherwise the error is a *[URLError]. For each new
// connection, the client resolves the hostname under the rules of [Guard.CheckHost], dials only the addresses that it
// checked, and checks the socket's address again. A name that later resolves to another address cannot bypass the
// check.
//
// The client uses no proxy, does not follow redirects (it returns them), stores no cookies, and requests no
// compression. It uses HTTP/1.1, and TLS 1.2 or later with verified certificates. Response headers can have 64 kB.
// Reading more than 64 kB of a body returns an *[http.MaxBytesError]. A 101 response has no body. Idle connections stay
// open for 30 s. While requests are made, all idle connections are closed every 5 minutes, so that DNS changes take
// effect.
func NewClient(c ClientConfig) *http.Client {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	guard := NewGuard(GuardConfig{AllowedNetworks: c.AllowedNetworks, DeniedNetworks: c.DeniedNetworks, Resolver: c.Resolver})
	return &http.Client{
		Transport:     guardedTransport{guard, newTransport(guard, c.Timeout, DefaultInFlight, &tls.Config{})},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       c.Timeout,
	}
}

// guardedTransport checks the URL of each request before sending it.
type guardedTransport struct {
	guard *Guard
	next  *transport
}

func (j guardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := j.guard.checkURLParts(req.URL)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must close it, even on errors
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

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (j guardedTransport) CloseIdleConnections() { j.next.CloseIdleConnections() }

// transport sends requests whose URLs have already been checked. It connects only to addresses that its guard permits.
type transport struct {
	guard      *Guard
	timeout    time.Duration // for connecting, including DNS and TLS
	tls        *tls.Config
	http       *http.Transport
	createdAt  time.Time
	renewedAt  atomic.Int64 // when idle connections were last closed, as the time since createdAt
	spareDials atomic.Int64 // dials whose requests have ended
}

// newTransport returns a transport that keeps up to maxIdlePerHost unused connections per host.
func newTransport(guard *Guard, timeout time.Duration, maxIdlePerHost int, config *tls.Config) *transport {
	t := &transport{guard: guard, timeout: timeout, tls: config, createdAt: time.Now()}
	config.MinVersion, config.NextProtos = tls.VersionTLS12, []string{"http/1.1"}
	// Proxy is nil, so the proxies in the environment are ignored. HTTP/2 is off, because net/http does not enable it
	// by default if DialTLSContext is set. With HTTP/2, net/http would reply to and log each frame of a receiver, and
	// dial as often as the receiver requests.
	t.http = &http.Transport{
		DialContext:            t.dial,
		DialTLSContext:         t.dialTLS,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxResponseHeader,
		ReadBufferSize:         readBufferSize,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    min(maxIdlePerHost, maxIdleConns),
		IdleConnTimeout:        idleTimeout,
	}
	return t
}

// requestContextKey is the context key that gives a dial the context of its request.
type requestContextKey struct{}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	now, last := int64(time.Since(t.createdAt)), t.renewedAt.Load()
	if now-last >= int64(renewInterval) && t.renewedAt.CompareAndSwap(last, now) {
		go t.CloseIdleConnections()
	}
	ctx := req.Context()
	var conn tlsConn // zero without TLS
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, requestContextKey{}, ctx), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { conn, _ = got.Conn.(tlsConn) },
	})
	resp, err := t.http.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	resp.TLS = conn.state // net/http sets the field only for a *tls.Conn
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		_ = resp.Body.Close() // the body of a 101 response is the connection
		resp.Body = http.NoBody
	case resp.Body != http.NoBody:
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxResponseBody)
	}
	return resp, nil
}

// CloseIdleConnections closes unused connections, and ends dials without a waiting request.
func (t *transport) CloseIdleConnections() { t.http.CloseIdleConnections() }

// newDialContext returns the context for a dial, and a function to call after the dial. A dial has the same timeout as
// a request. If its request gets another connection, net/http continues the dial for later requests. maxSpareDials
// limits such dials. Otherwise, a receiver that serves one connection and lets all other connections hang would cause
// one such dial per
// request.
func (t *transport) newDialContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	request, ok := ctx.Value(requestContextKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(request, func() {
		if t.spareDials.Add(1) > maxSpareDials {
			cancel()
		}
		<-ctx.Done()
		t.spareDials.Add(-1)
	})
	return ctx, func() { stop(); cancel() }
}

func (t *transport) dial(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, done := t.newDialContext(ctx)
	defer done()
	return t.connectHost(ctx, address)
}

// dialTLS connects to a host and port and performs the TLS handshake. One timeout covers both steps, whereas net/http
// would give each step a separate timeout.
func (t *transport) dialTLS(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, done := t.newDialContext(ctx)
	defer done()
	conn, err := t.connectHost(ctx, address)
	if err != nil {
		return nil, err
	}
	config := t.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address) // connectHost has validated it
	client := tls.Client(conn, config)
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err = catchPanic(func() error { return client.HandshakeContext(ctx) }) // may call the host's ClientCertificate
	state := client.ConnectionState()
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(state, err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tlsConn{client, &state}, nil
}

// tlsConn is a TLS connection whose Close does not block. net/http closes connections while it holds a global lock.
// Closing with crypto/tls can block for 5 s while it writes the last record, and indefinitely while it writes an alert
// or a key update that a receiver does not read.
type tlsConn struct {
	// Conn is a *tls.Conn. It is embedded as net.Conn, because if it had a ConnectionState method, net/http would
	// report a second handshake since Go 1.27.
	net.Conn
	state *tls.ConnectionState
}

func (s tlsConn) Close() error {
	go func() {
		defer time.AfterFunc(tlsCloseTimeout, func() { _ = s.Conn.(*tls.Conn).NetConn().Close() }).Stop()
		_ = s.Conn.Close()
	}()
	return nil
}

// connectHost connects to one of the host's permitted addresses, which it tries in the resolver's order. Each address
// gets a share of the remaining time, so that an unresponsive address leaves time for the next.
func (t *transport) connectHost(ctx context.Context, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	h, err := t.guard.parseDialHost(name)
	if err != nil {
		return nil, err
	}
	addrs, err := catchPanicResult(func() ([]netip.Addr, error) { return t.guard.resolve(ctx, h) }) // may call the host's resolver
	if err != nil {
		return nil, err
	}
	return t.connectAny(ctx, addrs, port)
}

// connectAny tries addrs in order. The dialer's Control function rejects addresses that the guard does not permit.
func (t *transport) connectAny(ctx context.Context, addrs []netip.Addr, port string) (net.Conn, error) {
	dialer := net.Dialer{Control: t.guard.checkSocket}
	var errs []error
	for i, addr := range addrs {
		if end, ok := ctx.Deadline(); ok {
			dialer.Timeout = max(time.Until(end)/time.Duration(len(addrs)-i), minDialTimeout)
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

// parseDialHost parses and checks the host of a dial again, because a host's Config.Transport may have changed it.
func (g *Guard) parseDialHost(name string) (host, error) {
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		return g.parseIPv6(name)
	}
	return g.parseHostname(name)
}

// checkSocket is called with a socket's address before the socket connects. This check is decisive, because it sees the
// address that the system dials, not a name.
func (g *Guard) checkSocket(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("webhooks: network %s is not allowed", network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !g.isPermitted(ap.Addr()) {
		return &URLError{Reason: reasonAddress, cause: fmt.Errorf("address %s is not allowed", address)}
	}
	if publicaddr.BeforeDial != nil {
		return publicaddr.BeforeDial(address)
	}
	return nil
}
