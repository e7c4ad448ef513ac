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
	// readBufferSize bounds what net/http writes to the standard logger, quoted, when a receiver
	// sends more than an answer. Longer headers are read in parts; longer trailers are refused.
	readBufferSize = 1 << 10
	minDialTimeout = 2 * time.Second
	// idleTimeout is how long a connection is kept without a request. Many receivers close
	// theirs after a minute or later.
	idleTimeout = 30 * time.Second
	// maxIdleConns bounds the connections that are kept. It is more than the destinations that
	// a process sends to in half a minute: at 1,000 destinations, 512 were half as fast.
	maxIdleConns = 4096
	// renewInterval is how often all idle connections are closed, so that a name which has
	// moved is looked up again.
	renewInterval = 5 * time.Minute
	// maxSpareDials bounds the dials whose requests are over; see transport.dialling. They
	// serve when a host gets more requests at one time than before.
	maxSpareDials = 64
	// tlsCloseTimeout is how long the end of TLS may wait for a receiver that does not read. The
	// buffer of a socket usually takes the record at once.
	tlsCloseTimeout = 100 * time.Millisecond
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

// NewClient returns an HTTP client for URLs that strangers chose. Webhooks are
// delivered with the same client. Hosts may use it for calls of their own.
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
// no body. Idle connections are kept for 30 s, and while requests are made all are
// closed every 5 minutes, so that changes of DNS are seen; CloseIdleConnections ends
// them.
//
// It is safe for concurrent use.
func NewClient(c ClientConfig) *http.Client {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	guard := NewGuard(GuardConfig{AllowedNetworks: c.AllowedNetworks, DeniedNetworks: c.DeniedNetworks, Resolver: c.Resolver})
	return &http.Client{
		Transport:     guardedTransport{guard, newTransport(guard, c.Timeout, DefaultInFlight, &tls.Config{})},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       c.Timeout,
	}
}

// guardedTransport is a transport that judges the URL of each request first.
type guardedTransport struct {
	guard *Guard
	next  *transport
}

// RoundTrip implements [http.RoundTripper].
func (j guardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := j.guard.checkParts(req.URL)
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
func (j guardedTransport) CloseIdleConnections() { j.next.CloseIdleConnections() }

// transport sends requests whose URL was judged, and connects only to addresses
// that its guard permits, whatever the URL is.
type transport struct {
	guard      *Guard
	timeout    time.Duration // of connecting, resolving and TLS included
	tls        *tls.Config
	http       *http.Transport
	createdAt  time.Time
	renewedAt  atomic.Int64 // when idle connections were closed: time since began
	spareDials atomic.Int64 // dials whose requests are over
}

// newTransport returns a transport that keeps up to idle connections open for one host.
func newTransport(guard *Guard, timeout time.Duration, idle int, config *tls.Config) *transport {
	t := &transport{guard: guard, timeout: timeout, tls: config, createdAt: time.Now()}
	config.MinVersion, config.NextProtos = tls.VersionTLS12, []string{"http/1.1"}
	// Proxy is nil: the environment's is not asked. HTTP/2 is off, as with any DialTLSContext
	// that does not ask for it. Over HTTP/2, net/http answers and logs each frame that a
	// receiver sends, and dials as often as the receiver says.
	t.http = &http.Transport{
		DialContext:            t.dial,
		DialTLSContext:         t.dialTLS,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxResponseHeader,
		ReadBufferSize:         readBufferSize,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    min(idle, maxIdleConns),
		IdleConnTimeout:        idleTimeout,
	}
	return t
}

// requestContextKey is the key of a request's own context in that of its dial.
type requestContextKey struct{}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	now, last := int64(time.Since(t.createdAt)), t.renewedAt.Load()
	if now-last >= int64(renewInterval) && t.renewedAt.CompareAndSwap(last, now) {
		go t.CloseIdleConnections()
	}
	ctx := req.Context()
	var over tlsConn // not TLS: zero
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, requestContextKey{}, ctx), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { over, _ = got.Conn.(tlsConn) },
	})
	resp, err := t.http.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	resp.TLS = over.state // net/http knows no type but its own
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		_ = resp.Body.Close() // it is the connection
		resp.Body = http.NoBody
	case resp.Body != http.NoBody:
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxResponseBody)
	}
	return resp, nil
}

// CloseIdleConnections closes the connections that nothing uses, and ends the dials that
// no request waits for.
func (t *transport) CloseIdleConnections() { t.http.CloseIdleConnections() }

// dialling returns the context of a dial, and what to call when it is over. A dial has the
// time of a request. When its request gets a connection that another one gives back,
// net/http dials on for those to come. Only maxSpareDials may: a receiver that serves one
// connection quickly, and lets all others hang, would have a dial for each request.
func (t *transport) dialContext(ctx context.Context) (context.Context, func()) {
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

// dial connects to a host and port.
func (t *transport) dial(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, over := t.dialContext(ctx)
	defer over()
	return t.connectHost(ctx, address)
}

// dialTLS connects to a host and port and begins TLS, all within the time of one dial:
// net/http gives the two a time-out each.
func (t *transport) dialTLS(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, over := t.dialContext(ctx)
	defer over()
	conn, err := t.connectHost(ctx, address)
	if err != nil {
		return nil, err
	}
	config := t.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address) // reach has split it
	client := tls.Client(conn, config)
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err = catchPanic(func() error { return client.HandshakeContext(ctx) }) // it asks for the host's certificate
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

// tlsConn is a connection with TLS. net/http closes connections while it holds the lock of
// all of them, and crypto/tls may wait: 5 s for its last record, and without end for an alert
// or a key update that a receiver does not read.
type tlsConn struct {
	// Conn is a *tls.Conn. Embedded as such it would have a ConnectionState, and since Go 1.27
	// net/http then reports a handshake of its own besides ours.
	net.Conn
	state *tls.ConnectionState
}

// Close implements [net.Conn]. It does not wait.
func (s tlsConn) Close() error {
	go func() {
		defer time.AfterFunc(tlsCloseTimeout, func() { _ = s.Conn.(*tls.Conn).NetConn().Close() }).Stop()
		_ = s.Conn.Close()
	}()
	return nil
}

// reach connects to one of the permitted addresses of a host, in the resolver's
// order. Each address gets its share of the time that is left, so that one
// which does not answer leaves some for the next.
func (t *transport) connectHost(ctx context.Context, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	h, err := t.guard.parseDialHost(name)
	if err != nil {
		return nil, err
	}
	addrs, err := catchPanicResult(func() ([]netip.Addr, error) { return t.guard.resolve(ctx, h) }) // a host's resolver
	if err != nil {
		return nil, err
	}
	return t.connectAny(ctx, addrs, port)
}

// connect tries addrs in turn. It takes no part in what they are: the dialer's
// Control refuses what the guard does not permit, whoever chose it.
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

// parseDialHost judges the host that the transport was about to connect to. It
// went through parse already; this is for whatever the transport makes of it.
func (g *Guard) parseDialHost(name string) (host, error) {
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		return g.parseIPv6(name)
	}
	return g.parseName(name)
}

// control is called with the address of a socket before it connects. This check counts:
// it sees the address that the system dials, not the name that was asked for.
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
