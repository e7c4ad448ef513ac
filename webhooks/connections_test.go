package webhooks

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted counts the connections of a server that is to be started, and how many of them are open.
func counted(h http.HandlerFunc) (s *httptest.Server, connections, open *atomic.Int32) {
	s, connections, open = httptest.NewUnstartedServer(h), &atomic.Int32{}, &atomic.Int32{}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			connections.Add(1)
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	return s, connections, open
}

func loopbackTransport(t *testing.T) *transport {
	t.Helper()
	tr := newTransport(NewGuard(GuardConfig{AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.1"}}}), DefaultTimeout, 4, &tls.Config{})
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// exchanged makes a request and returns its answer.
func exchanged(ctx context.Context, tr *transport, url, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), errors.Join(err, resp.Body.Close())
}

// waits fails the test unless what is polled becomes true.
func waits(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A connection is used again after every kind of answer that says where it ends, and
// not after one that was not read to its end, or says that it is the last.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		tls    bool
		want   int32
	}{
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, false, 1},
		"a length":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, false, 1},
		"over TLS":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, true, 1},
		"in chunks":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 50_000)) }, false, 1},
		"a trailer":  {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(http.TrailerPrefix+"X", "y") }, false, 1},
		"an early hint": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}, false, 1},
		// Since Go 1.27, net/http reads up to 256 KiB of the rest itself.
		"too long": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) }, false, 5},
		"the last": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, false, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, connections, _ := counted(c.answer)
			tr := loopbackTransport(t)
			if c.tls {
				s.StartTLS()
				tr.tls.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			} else {
				s.Start()
			}
			defer s.Close()
			for range 5 {
				var tooLong *http.MaxBytesError
				if _, err := exchanged(t.Context(), tr, s.URL, "{}"); err != nil && !errors.As(err, &tooLong) {
					t.Fatal(err)
				}
			}
			if got := connections.Load(); got != c.want {
				t.Errorf("%d connections for 5 requests, want %d", got, c.want)
			}
		})
	}
}

// A receiver that offers HTTP/2 is spoken to in HTTP/1.1: over HTTP/2 it could have every
// frame that it sends answered and logged, and as many connections dialed as it likes.
func TestHTTP2IsNotSpoken(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"a delivery", "a client"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			authority, spoken := newAuthority(t), make(chan string, 1)
			config := &tls.Config{Certificates: authority.issue(t, "h.example", time.Hour)}
			url := tlsServer(t, config, func(_ http.ResponseWriter, r *http.Request) { spoken <- r.Proto })
			if through == "a delivery" {
				d, text := hostileDispatcher(t, 10*time.Second)
				d.guarded.tls.RootCAs = authority.pool
				a, _ := attemptAt(d, url, []byte("{}"))
				checkAttempt(t, a, text.String(), http.StatusOK, "")
			} else {
				c := client(t, ClientConfig{AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.1"}}})
				c.Transport.(guardedTransport).next.tls.RootCAs = authority.pool
				resp, err := c.Get(url)
				must(t, err)
				_ = resp.Body.Close()
			}
			if got := <-spoken; got != "HTTP/1.1" {
				t.Errorf("%s was spoken", got)
			}
		})
	}
}

// fickle is a receiver that closes connections which it answered on: at once, or, as far as
// the sender can see, just before the next request arrives. Requests are bodies of one line.
type fickle struct {
	url      string
	heard    atomic.Int32 // requests that got no answer
	mu       sync.Mutex
	sent     strings.Builder // all that arrived
	answered map[string]int  // by body
}

// newFickle starts a receiver. closes says what becomes of a connection that was answered on.
func newFickle(t *testing.T, closes func() (atOnce, later bool)) *fickle {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	f := &fickle{url: "http://" + l.Addr().String() + "/", answered: map[string]int{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(io.TeeReader(conn, f)); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(r.Body)
					f.mu.Lock()
					f.answered[string(body)]++
					f.mu.Unlock()
					if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
						return
					}
					if atOnce, later := closes(); atOnce {
						return
					} else if later {
						// A request that was not written to its end is not sent again by net/http.
						if r, err := http.ReadRequest(in); err == nil {
							_, _ = io.Copy(io.Discard, r.Body)
							f.heard.Add(1)
						}
						_ = conn.(*net.TCPConn).SetLinger(0) // a reset
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return f
}

func (f *fickle) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent.Write(p)
}

// A delivery whose connection was kept, and ends before a byte of the answer, is sent once
// more; a request of a host that may not be repeated is not. What allows that is not sent.
func TestARequestIsSentAgainWhenItsKeptConnectionEnds(t *testing.T) {
	t.Parallel()
	always := func() (bool, bool) { return false, true }
	for name, wrap := range map[string]func(http.RoundTripper) http.RoundTripper{
		"directly": func(tr http.RoundTripper) http.RoundTripper { return tr },
		"through a host's transport": func(tr http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) { return tr.RoundTrip(r.Clone(r.Context())) })
		},
	} {
		for what, body := range map[string]string{"a small body": "{}", "no body": "", "a body of many writes": strings.Repeat("x", 100_000)} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				f := newFickle(t, always)
				d, text := hostileDispatcher(t, 10*time.Second)
				d.transport = wrap(d.transport)
				for range 2 {
					a, _ := attemptAt(d, f.url, []byte(body))
					checkAttempt(t, a, text.String(), http.StatusNoContent, "")
				}
				d.guarded.CloseIdleConnections() // the receiver waits for another one
				if heard := f.heard.Load(); heard != 1 || f.answered[body] != 2 {
					t.Errorf("%d requests got no answer and %d did, want 1 and 2", heard, f.answered[body])
				}
				if sent := strings.ToLower(f.sent.String()); strings.Contains(sent, "idempotency") || strings.Count(sent, "content-type: application/json\r\n") < 2 {
					t.Errorf("sent: %.1000s", sent)
				}
			})
		}
	}
	t.Run("a host's own request", func(t *testing.T) {
		t.Parallel()
		f := newFickle(t, always)
		c := client(t, ClientConfig{AllowedNetworks: loopback})
		for i := range 2 {
			resp, err := c.Post(f.url, "text/plain", strings.NewReader("x"))
			expect(t, (err == nil) == (i == 0), "request %d: %v", i+1, err)
			if err == nil {
				_ = resp.Body.Close()
			}
		}
		if f.heard.Load() != 1 || f.answered["x"] != 1 {
			t.Errorf("%d requests got no answer and %d did, want 1 each", f.heard.Load(), f.answered["x"])
		}
	})
}

// A receiver that ends connections instead of answering one request gets no copy of it on
// each connection that was kept.
func TestARequestIsNotSentOnEachKeptConnection(t *testing.T) {
	t.Parallel()
	const kept = 3 * maxResends
	var arrived, copies atomic.Int32
	all := make(chan struct{})
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/breaks" {
			copies.Add(1)
			panic(http.ErrAbortHandler)
		}
		if arrived.Add(1) == kept {
			close(all)
		}
		<-all // each has a connection of its own
	})
	d, text := hostileDispatcher(t, 10*time.Second)
	var sending sync.WaitGroup
	for range kept {
		sending.Go(func() { _, _ = attemptAt(d, s.URL, []byte("{}")) })
	}
	sending.Wait()
	a, _ := attemptAt(d, s.URL+"/breaks", []byte("{}"))
	checkAttempt(t, a, text.String(), 0, ClassNetwork)
	if got := copies.Load(); got != 1+maxResends {
		t.Errorf("%d copies, want %d", got, 1+maxResends)
	}
}

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
		sends(maxIdleConns + 100)
		synctest.Wait()
		if got := open.Load(); got != maxIdleConns {
			t.Errorf("%d connections are kept, want %d", got, maxIdleConns)
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
			synctest.Wait() // until all connections are idle again
		}
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
		expect(t, open.Load() == 1, "a connection ended before its time")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, open.Load() == 0, "a connection is kept for more than %s", idleTimeout)
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
	s, _, open := counted(func(http.ResponseWriter, *http.Request) {})
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
	const requests = maxSpareDials + 100
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
		ctx, over := tr.newDialContext(ctx)
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
	waits(t, "the dials that are too many end", func() bool { return hanging.Load() == maxSpareDials })
	tr.CloseIdleConnections()
	waits(t, "all dials end", func() bool { return hanging.Load() == 0 && tr.spareDials.Load() == 0 })
}

// The end of TLS waits for no receiver that does not read, whatever is to be written to it:
// net/http holds the lock of all connections meanwhile.
func TestTheEndOfTLSWaitsForNobody(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	certificates := authority.issue(t, "h.example", time.Hour)
	for name, broken := range map[string]string{
		"the last record": "",
		"an alert":        "\x17\x03\x03\x00\x20" + strings.Repeat("x", 32),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := net.Pipe() // a write waits until it is read
			defer func() { _ = other.Close() }()
			tr := loopbackTransport(t)
			tr.http.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				c := tls.Client(one, &tls.Config{RootCAs: authority.pool, ServerName: "h.example"})
				return tlsConn{Conn: c}, c.HandshakeContext(ctx)
			}
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				s := tls.Server(other, &tls.Config{Certificates: certificates})
				r, err := http.ReadRequest(bufio.NewReader(s))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(s, "HTTP/1.1 204 No Content\r\n\r\n")
				if broken != "" {
					_, _ = io.WriteString(other, broken)
					_, _ = other.Read(make([]byte, 1)) // the alert has begun
				}
			}()
			_, err := exchanged(t.Context(), tr, "https://h.example/", "{}")
			must(t, err)
			<-answered
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				tr.CloseIdleConnections()
				for err := error(nil); err == nil; {
					_, err = other.Write([]byte("x"))
				}
			}()
			select {
			case <-ended:
			case <-time.After(slack):
				t.Error("a receiver that does not read holds it up")
				_ = other.Close()
				<-ended
			}
		})
	}
}

// Answers say what TLS they came over, and traces see each handshake.
func TestTLSIsTold(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	config := &tls.Config{Certificates: authority.issue(t, "h.example", time.Hour)}
	url := tlsServer(t, config, func(http.ResponseWriter, *http.Request) {})
	tr := loopbackTransport(t)
	var begun, done, reused int
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		TLSHandshakeStart: func() { begun++ },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { done++ },
		GotConn: func(got httptrace.GotConnInfo) {
			if got.Reused {
				reused++
			}
		},
	})
	for i := range 3 {
		if i == 1 { // the first one is refused
			tr.tls.RootCAs = authority.pool
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		must(t, err)
		resp, err := tr.RoundTrip(req)
		if i == 0 {
			expect(t, err != nil, "a certificate of nobody is accepted")
			continue
		}
		must(t, err)
		_ = resp.Body.Close()
		if resp.TLS == nil || !resp.TLS.HandshakeComplete {
			t.Errorf("answer %d came over %+v", i, resp.TLS)
		}
	}
	if begun != 2 || done != 2 || reused != 1 {
		t.Errorf("%d handshakes began, %d ended, %d connections were used again; want 2, 2 and 1", begun, done, reused)
	}
}

// What a host's own code does wrong while net/http dials ends an attempt, not the process.
func TestAPanicWhileDiallingIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	config := &tls.Config{Certificates: authority.issue(t, "h.example", time.Hour), ClientAuth: tls.RequestClientCert}
	url := tlsServer(t, config, func(http.ResponseWriter, *http.Request) {})
	for name, breaks := range map[string]func(*Dispatcher){
		"in the resolver": func(d *Dispatcher) { d.guard.resolver = resolverFunc(func(context.Context) error { panic("boom") }) },
		"for want of a certificate": func(d *Dispatcher) {
			d.guarded.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return nil, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, text := hostileDispatcher(t, 10*time.Second)
			d.guarded.tls.RootCAs = authority.pool
			breaks(d)
			a, _ := attemptAt(d, url, nil)
			checkAttempt(t, a, text.String(), 0, ClassNetwork)
			expect(t, strings.Contains(text.String(), "panic"), "the log says %s", text)
		})
	}
}
