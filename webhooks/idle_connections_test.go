package webhooks

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// piped has a transport dial receivers in memory that answer every request, and counts the
// dials and the connections that are open.
func piped(tr *transport) (dials, open *atomic.Int32) {
	dials, open = &atomic.Int32{}, &atomic.Int32{}
	tr.http.DialContext = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		open.Add(1)
		one, other := net.Pipe()
		go func() {
			defer open.Add(-1)
			defer func() { _ = other.Close() }()
			for in := bufio.NewReader(other); ; {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(other, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		}()
		return one, nil
	}
	return dials, open
}

// As many destinations as a large host has keep their connections.
func TestConnectionsToManyDestinationsAreKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		tr := newTransport(NewGuard(GuardConfig{}), DefaultTimeout, DefaultInFlight, &tls.Config{})
		defer tr.CloseIdleConnections()
		dials, open := piped(tr)
		sends := func(hosts int) {
			for i := range hosts {
				_, err := exchanged(t.Context(), tr, fmt.Sprintf("http://h%d.example/", i), "{}")
				must(t, err)
			}
		}
		sends(1000)
		sends(1000)
		if got := dials.Load(); got != 1000 {
			t.Errorf("%d connections for two requests to each of 1,000 hosts", got)
		}
		sends(idleMost + 100)
		synctest.Wait()
		if got := open.Load(); got != idleMost {
			t.Errorf("%d connections are kept, want %d", got, idleMost)
		}
	})
}

// One host has as many connections kept as a process may have requests to it.
func TestOneHostKeepsAConnectionForEachRequestInFlight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		tr := newDispatcher(t, Config{InFlight: 10, InFlightSlow: 200}).guarded
		dials, _ := piped(tr)
		inner, hold := tr.http.DialContext, make(chan struct{})
		tr.http.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			<-hold // until all have asked for a connection
			return inner(ctx, network, address)
		}
		for range 2 {
			var sending sync.WaitGroup
			for range 210 {
				sending.Go(func() {
					if _, err := exchanged(t.Context(), tr, "http://h.example/", "{}"); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			if dials.Load() == 0 {
				close(hold)
			}
			sending.Wait()
		}
		synctest.Wait()
		if got := dials.Load(); got != 210 {
			t.Errorf("%d connections, want one for each of 210 requests at one time", got)
		}
	})
}

// A connection that nothing uses ends after 30 s, and one that is used again and again
// after five minutes, so that its name is looked up again. Nobody has to call for it.
func TestKeptConnectionsEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		tr := loopbackTransport(t)
		dials, open := piped(tr)
		sends := func() {
			_, err := exchanged(t.Context(), tr, "http://h.example/", "{}")
			must(t, err)
			synctest.Wait()
		}
		sends()
		time.Sleep(idleTimeout - time.Second)
		synctest.Wait()
		if open.Load() != 1 {
			t.Error("a connection ended before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if open.Load() != 0 {
			t.Errorf("a connection is kept for more than %s", idleTimeout)
		}
		for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(10 * time.Second) {
			sends()
		}
		if got := dials.Load() - 1; got < 11 || got > 13 {
			t.Errorf("%d connections in an hour, want one in five minutes", got)
		}
	})
}

// A run leaves no connection behind, also when a host wrapped the transport.
func TestARunClosesItsConnections(t *testing.T) {
	t.Parallel()
	var open atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	b := newBench(t, Config{Transport: func(guarded http.RoundTripper) http.RoundTripper { return roundTrip(guarded.RoundTrip) }}, nil)
	b.event(b.webhook(s.URL, nil), "x")
	stop := b.run()
	b.seen.wait(t, 1)
	if open.Load() != 1 {
		t.Fatalf("%d connections are open, so this test shows nothing", open.Load())
	}
	stop()
	waits(t, "the connection is closed", func() bool { return open.Load() == 0 })
}

// A receiver that answers quickly on one connection, and lets all others hang, has no dial
// for each of its requests: net/http goes on with a dial when its request is over.
func TestDialsThatHangAreBounded(t *testing.T) {
	t.Parallel()
	const requests = spareDials + 100
	arrived, answer := make(chan struct{}), make(chan struct{})
	s := server(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-answer })
	tr := newTransport(NewGuard(GuardConfig{AllowedNetworks: loopback}), time.Hour, 4, &tls.Config{})
	var dials, hanging atomic.Int32
	tr.http.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			return tr.dial(ctx, network, address)
		}
		hanging.Add(1)
		defer hanging.Add(-1)
		ctx, over := tr.dialling(ctx)
		defer over()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var sending sync.WaitGroup
	for i := range requests {
		sending.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := exchanged(ctx, tr, s.URL, "{}"); err != nil {
				t.Error(err)
			}
		})
		if i > 0 { // the one before has the connection, and this one begins a dial that hangs
			waits(t, "a dial begins", func() bool { return int(dials.Load()) == i+1 })
			answer <- struct{}{}
		}
		<-arrived
	}
	answer <- struct{}{}
	sending.Wait()
	waits(t, "the dials that are too many end", func() bool { return hanging.Load() == spareDials })
	tr.CloseIdleConnections()
	waits(t, "all dials end", func() bool { return hanging.Load() == 0 && tr.spare.Load() == 0 })
}

// The end of TLS waits for no receiver that does not read.
func TestTheEndOfTLSWaitsForNobody(t *testing.T) {
	t.Parallel()
	certificates := newAuthority(t).issue(t, "h.example", time.Hour)
	inBubble(t, func(t *testing.T) {
		one, other := net.Pipe() // a write waits until it is read
		defer func() { _ = other.Close() }()
		c := tls.Client(socket{one}, &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- this test's own receiver
		go func() {
			_ = tls.Server(other, &tls.Config{Certificates: certificates, MaxVersion: tls.VersionTLS12}).Handshake()
		}()
		must(t, c.Handshake())
		began := time.Now()
		_ = c.Close()
		if took := time.Since(began); took > lastRecord {
			t.Errorf("it waited for %s", took)
		}
	})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_ = tls.Server(conn, &tls.Config{Certificates: certificates}).Handshake()
			_ = conn.Close()
		}
	}()
	tr := loopbackTransport(t)
	tr.tls.InsecureSkipVerify = true
	conn, err := tr.dialTLS(t.Context(), "tcp", l.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	if below, ok := conn.(*tls.Conn).NetConn().(socket); !ok {
		t.Errorf("a connection is dialled with a %T below TLS", below)
	}
}
