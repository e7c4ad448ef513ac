package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counted counts the connections of a server that is to be started.
func counted(h http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	var connections atomic.Int32
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	return s, &connections
}

func loopbackTransport(t *testing.T) *transport {
	t.Helper()
	tr := newTransport(NewGuard(GuardConfig{AllowedNetworks: loopback}), DefaultTimeout, 4)
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
		"too long": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 100_000)) }, false, 5},
		"the last": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, false, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, connections := counted(c.answer)
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

// What the other side did with an idle connection concerns no request: it was closed, or
// has an answer that nobody asked for.
func TestAnIdleConnectionThatIsNotSilentIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { _ = c.Close() },
		"an unasked answer": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
		},
		"half of a next line": func(c net.Conn) { _, _ = io.WriteString(c, "H") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			must(t, err)
			defer func() { _ = l.Close() }()
			accepted := make(chan net.Conn, 10)
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = c.Read(make([]byte, 4096))
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					accepted <- c
				}
			}()
			tr := loopbackTransport(t)
			for range 3 {
				got, err := exchanged(t.Context(), tr, "http://"+l.Addr().String(), "{}")
				if err != nil || got != "ok" {
					t.Fatalf("answer %q, %v", got, err)
				}
				c := <-accepted
				defer func() { _ = c.Close() }()
				after(c)
				var idle *connection
				for _, all := range tr.kept.idle {
					idle = all[0]
				}
				if idle == nil {
					t.Fatal("the connection was not kept, so this test shows nothing")
				}
				for deadline := time.Now().Add(10 * time.Second); silent(idle.socket); {
					if time.Now().After(deadline) {
						t.Fatal("nothing came in")
					}
				}
			}
		})
	}
}

// gathers is a connection whose writes leave together.
type gathers struct {
	net.Conn
	gather bool
	held   []byte
}

func (g *gathers) Write(p []byte) (int, error) {
	if g.gather {
		g.held = append(g.held, p...)
		return len(p), nil
	}
	return g.Conn.Write(p)
}

// What comes along with an answer over TLS cannot be seen in the socket any more.
func TestATLSConnectionThatReadMoreThanItsAnswerIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		extra func(*tls.Conn)
		want  int32
	}{
		"nothing":            {func(*tls.Conn) {}, 1},
		"the end":            {func(s *tls.Conn) { _ = s.CloseWrite() }, 3},
		"an unasked answer":  {func(s *tls.Conn) { _, _ = io.WriteString(s, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nstale") }, 3},
		"half a status line": {func(s *tls.Conn) { _, _ = io.WriteString(s, "HTTP") }, 3},
	} {
		for version, most := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
			t.Run(version+", "+name, func(t *testing.T) {
				t.Parallel()
				l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
				must(t, err)
				defer func() { _ = l.Close() }()
				tr := loopbackTransport(t)
				_, url := secured(t, tr, l, most)
				config := &tls.Config{Certificates: newAuthority(t).issue(t, "h.example", time.Hour), MaxVersion: most}
				tr.tls.InsecureSkipVerify = true // its authority is not the one that the transport knows
				var connections atomic.Int32
				go func() {
					for {
						conn, err := l.Accept()
						if err != nil {
							return
						}
						connections.Add(1)
						go func() {
							defer func() { _ = conn.Close() }()
							g := &gathers{Conn: conn}
							s := tls.Server(g, config)
							for buf := make([]byte, 4096); ; {
								if _, err := s.Read(buf); err != nil {
									return
								}
								g.gather, g.held = true, nil
								_, _ = io.WriteString(s, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
								c.extra(s)
								g.gather = false
								_ = conn.SetDeadline(time.Time{}) // CloseWrite sets one
								_, _ = conn.Write(g.held)
							}
						}()
					}
				}()
				for range 3 {
					if got, err := exchanged(t.Context(), tr, url, "{}"); err != nil || got != "ok" {
						t.Fatalf("answer %q, %v", got, err)
					}
				}
				if connections.Load() != c.want {
					t.Errorf("%d connections for 3 requests, want %d", connections.Load(), c.want)
				}
			})
		}
	}
}

// Answers of every form, one after the other, each to its own request.
func TestAnswersOfEveryFormEndWhereTheyEnd(t *testing.T) {
	t.Parallel()
	const last = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast"
	for name, c := range map[string]struct {
		answer string
		status int
		body   string
		kept   bool
	}{
		"a length of a 204":          {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, "", true},
		"a body of a 204":            {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nstale", 204, "", false},
		"chunks of a 204":            {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstale\r\n0\r\n\r\n", 204, "", false},
		"a length of a 304":          {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true},
		"a body of a 304":            {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nstale", 304, "", false},
		"a 101":                      {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 101, "", false},
		"hints first":                {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 100) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
		"a hint after":               {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 103 Early Hints\r\n\r\n", 200, "ok", false},
		"a trailer":                  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", 200, "ok", true},
		"extensions of chunks":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0;c\r\n\r\n", 200, "ok", true},
		"a line after the last":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n", 200, "ok", false},
		"HTTP/1.0":                   {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
		"HTTP/1.0 that is kept":      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
		"more than its length":       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay", 200, "ok", false},
		"an unasked answer after it": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nstale", 200, "ok", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			must(t, err)
			defer func() { _ = l.Close() }()
			var connections atomic.Int32
			go func() {
				answers := []string{c.answer, last}
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					connections.Add(1)
					for buf := make([]byte, 4096); len(answers) > 0; answers = answers[1:] {
						if _, err := conn.Read(buf); err != nil {
							break
						}
						_, _ = io.WriteString(conn, answers[0])
					}
					defer func() { _ = conn.Close() }()
				}
			}()
			tr := loopbackTransport(t)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), strings.NewReader("{}"))
			must(t, err)
			resp, err := tr.RoundTrip(req)
			must(t, err)
			text, err := io.ReadAll(resp.Body)
			must(t, err)
			_ = resp.Body.Close()
			if resp.StatusCode != c.status || string(text) != c.body {
				t.Errorf("answer %d %q, want %d %q", resp.StatusCode, text, c.status, c.body)
			}
			if got, err := exchanged(t.Context(), tr, "http://"+l.Addr().String(), "{}"); got != "last" || err != nil {
				t.Errorf("the next answer is %q, %v", got, err)
			}
			if kept := connections.Load() == 1; kept != c.kept {
				t.Errorf("the connection was used again: %v, want %v", kept, c.kept)
			}
		})
	}
}

// A request that says that it is the last is, whatever its receiver answers.
func TestARequestMayBeTheLast(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	var connections atomic.Int32
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer func() { _ = conn.Close() }()
				for buf := make([]byte, 4096); ; {
					if _, err := conn.Read(buf); err != nil {
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			}()
		}
	}()
	tr := loopbackTransport(t)
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
		must(t, err)
		req.Header.Set("Connection", "Close")
		resp, err := tr.RoundTrip(req)
		must(t, err)
		_ = resp.Body.Close()
	}
	if connections.Load() != 3 {
		t.Errorf("%d connections for 3 requests", connections.Load())
	}
}

// Each caller gets the answer to its own request, also when others give up in the middle.
func TestAnswersBelongToTheirRequests(t *testing.T) {
	t.Parallel()
	s, _ := counted(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
		if f, ok := w.(http.Flusher); ok && len(body)%3 == 0 {
			f.Flush()
		}
		_, _ = w.Write(body)
	})
	s.Start()
	defer s.Close()
	tr := loopbackTransport(t)
	var callers sync.WaitGroup
	var answered, gaveUp atomic.Int32
	for i := range 16 {
		callers.Go(func() {
			for j := range 60 {
				ctx, cancel := context.WithCancel(t.Context())
				if j%4 == 0 {
					time.AfterFunc(time.Duration(j)*10*time.Microsecond, cancel)
				}
				body := strings.Repeat(fmt.Sprintf("%d-%d ", i, j), 1+j%7*700)
				got, err := exchanged(ctx, tr, s.URL, body)
				switch {
				case err == nil && got != body+body:
					t.Errorf("asked %.20q, answered %.20q", body, got)
				case err == nil:
					answered.Add(1)
				case !errors.Is(err, context.Canceled) || j%4 > 0:
					t.Error(err)
				default:
					gaveUp.Add(1)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	if answered.Load() == 0 || gaveUp.Load() == 0 {
		t.Errorf("%d were answered and %d gave up, want some of both", answered.Load(), gaveUp.Load())
	}
	if n := len(tr.kept.idle); n != 1 || tr.kept.count > tr.kept.perHost {
		t.Errorf("%d connections to %d hosts are kept, want at most %d to one", tr.kept.count, n, tr.kept.perHost)
	}
}

// A caller that gives up while it reads an answer gets the reason.
func TestReadingAnAnswerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	url := listen(t, holds("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"))
	tr := loopbackTransport(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(t, err)
	resp, err := tr.RoundTrip(req)
	must(t, err)
	reason := errors.New("enough")
	cancel(reason)
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, reason) {
		t.Errorf("reading ends with %v, want %v", err, reason)
	}
	_ = resp.Body.Close()
	if tr.kept.count != 0 {
		t.Error("the connection is kept")
	}
}

// A receiver that refuses a large body without reading it, and hangs up, is heard.
func TestAnAnswerBeforeTheEndOfTheRequestCounts(t *testing.T) {
	t.Parallel()
	url := listen(t, writes("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n\r\n"))
	d, text := hostileDispatcher(t, 10*time.Second)
	for range 5 {
		a, _ := attemptAt(d, url, make([]byte, 16<<20))
		if a.Status != http.StatusRequestEntityTooLarge {
			t.Fatalf("status %d: %s", a.Status, text)
		}
	}
}

// Idle connections are bounded in number, for one host and in all, and in time.
func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	p := &pool{perHost: 2, most: 8, idle: map[origin][]*connection{}}
	open := map[net.Conn]bool{}
	put := func(host int) {
		one, _ := net.Pipe()
		p.put(&connection{conn: closing{one, open}, to: origin{"http", fmt.Sprint(host)}, began: time.Now()})
	}
	for host := range 10 {
		for range 3 {
			put(host)
		}
	}
	if p.count != p.most || len(open) != 30-p.most {
		t.Errorf("%d are kept and %d closed, want %d and %d", p.count, len(open), p.most, 30-p.most)
	}
	if len(p.idle[origin{"http", "9"}]) != 2 {
		t.Error("the host that was used last has not its two")
	}
	for _, all := range p.idle {
		for _, c := range all {
			c.since = time.Now().Add(-idleTimeout)
		}
	}
	put(100)
	p.sweep(idleTimeout)
	if p.count != 1 || p.timer == nil {
		t.Errorf("%d are kept after their time, want the new one", p.count)
	}
	p.sweep(0)
	if p.count != 0 || len(p.idle) != 0 || p.timer != nil || len(open) != 31 {
		t.Errorf("%d are kept at the end, %d of 31 were closed", p.count, len(open))
	}
}

// stuck is a connection that takes its time to close.
type stuck struct {
	net.Conn
	until chan struct{}
}

func (s stuck) Close() error { <-s.until; return s.Conn.Close() }

// A receiver that does not read holds up the end of its TLS connection, and no request to
// another.
func TestClosingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	until := make(chan struct{})
	defer close(until)
	p := &pool{perHost: 2, most: 2, idle: map[origin][]*connection{}}
	put := func(host string) {
		one, _ := net.Pipe()
		p.put(&connection{conn: stuck{one, until}, tls: &tls.ConnectionState{}, to: origin{"https", host}, began: time.Now()})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 { // one more than a host may have
			put("a")
		}
		put("b") // in place of one
		p.sweep(0)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("the pool waits for connections that are closed")
	}
}

// A connection lives for idleTimeout, whenever the one before it was put.
func TestIdleConnectionsEndInTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		p := &pool{perHost: 2, most: 2, idle: map[origin][]*connection{}}
		for range 2 {
			one, other := net.Pipe()
			p.put(&connection{conn: one, to: origin{"http", "a"}, began: time.Now()})
			ended := make(chan time.Duration)
			started := time.Now()
			go func() {
				_, _ = other.Read(make([]byte, 1))
				if lived := time.Since(started); lived != idleTimeout {
					t.Errorf("it lived for %s, want %s", lived, idleTimeout)
				}
				close(ended)
			}()
			defer func() { <-ended }()
			time.Sleep(idleTimeout - time.Second)
		}
	})
}

// closing notes that it was closed.
type closing struct {
	net.Conn
	closed map[net.Conn]bool
}

func (c closing) Close() error {
	c.closed[c.Conn] = true
	return c.Conn.Close()
}
