package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// body is a request body that counts how often it is closed.
type body struct {
	io.Reader
	closed *atomic.Int32
}

func (b body) Close() error {
	b.closed.Add(1)
	if c, ok := b.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// reads is a body that is a function.
type reads func([]byte) (int, error)

func (f reads) Read(p []byte) (int, error) { return f(p) }

// waits fails the test unless what is polled becomes true.
func waits(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// A request that cannot be sent, for a reason of its own, fails at once and with that
// reason: nobody answers it. Its body is closed once and its connection ended.
func TestARequestThatCannotBeSentFailsAtOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("the body broke")
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   string
	}{
		"a body that cannot be read": {func(r *http.Request) {
			r.Body, r.ContentLength = body{Reader: reads(func([]byte) (int, error) { return 0, broken })}, -1
		}, "the body broke"},
		"a body that breaks after some of it": {func(r *http.Request) {
			r.Body, r.ContentLength = body{Reader: io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), reads(func([]byte) (int, error) { return 0, broken }))}, 200_000
		}, "the body broke"},
		"a body that panics": {func(r *http.Request) {
			r.Body, r.ContentLength = body{Reader: reads(func([]byte) (int, error) { panic("a fault") })}, -1
		}, "a fault"},
		"a small body that panics":                 {func(r *http.Request) { r.Body = body{Reader: reads(func([]byte) (int, error) { panic("a fault") })} }, "a fault"},
		"a body that is too short":                 {func(r *http.Request) { r.ContentLength = 10 }, "ContentLength=10"},
		"a body that is too long":                  {func(r *http.Request) { r.ContentLength = 2 }, "ContentLength=2"},
		"a long body that is too short":            {func(r *http.Request) { r.ContentLength = 100_000 }, "ContentLength=100000"},
		"a control character in the query":         {func(r *http.Request) { r.URL.RawQuery = "a\x01" }, "control character"},
		"a method that is two words":               {func(r *http.Request) { r.Method = "GET / HTTP/1.1\r\nX:" }, "invalid method"},
		"a header name with a space":               {func(r *http.Request) { r.Header["X y"] = []string{"z"} }, "invalid header name"},
		"a header value with a line break":         {func(r *http.Request) { r.Header["X"] = []string{"secret\r\nY: z"} }, `invalid value of header "X"`},
		"a trailer value with a control character": {func(r *http.Request) { r.Trailer = http.Header{"X": {"\x01"}} }, `invalid value of header "X"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var open atomic.Int32
			s, _ := counted(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // a server that does not read sees no end
				<-r.Context().Done()
			})
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
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			tr := loopbackTransport(t)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("abc"))
			must(t, err)
			c.change(req)
			var closed atomic.Int32
			if b, ok := req.Body.(body); ok {
				req.Body = body{b.Reader, &closed}
			} else {
				req.Body = body{req.Body, &closed}
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("it was answered")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
			if c.want == broken.Error() && !errors.Is(err, broken) {
				t.Errorf("error is %#v, want the body's", err)
			}
			waits(t, "the connection is closed", func() bool { return open.Load() == 0 })
			if closed.Load() != 1 || tr.kept.count != 0 {
				t.Errorf("the body was closed %d times and %d connections are kept, want 1 and 0", closed.Load(), tr.kept.count)
			}
		})
	}
}

// secured has a transport trust, and a listener of TLS for h.example.
func secured(t *testing.T, tr *transport, l net.Listener, most uint16) (net.Listener, string) {
	t.Helper()
	a := newAuthority(t)
	tr.guard = NewGuard(GuardConfig{AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.1"}}})
	tr.tls.RootCAs = a.pool
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	return tls.NewListener(l, &tls.Config{Certificates: a.issue(t, "h.example", time.Hour), MaxVersion: most}), "https://h.example:" + port
}

// A receiver that answers before it has read the body, and leaves the connection open, is
// heard: it refuses what is large, or what does not come.
func TestAnAnswerIsHeardWhileTheRequestWaits(t *testing.T) {
	t.Parallel()
	for name, overTLS := range map[string]bool{"TCP": false, "TLS": true} {
		for what, size := range map[string]int64{"a large body": 64 << 20, "a body that does not come": -1} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
				must(t, err)
				tr, url := loopbackTransport(t), "http://"+l.Addr().String()
				if overTLS {
					l, url = secured(t, tr, l, 0)
				}
				defer func() { _ = l.Close() }()
				ended, heard := make(chan error, 1), make(chan struct{})
				go func() {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 1000))
					_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
					select { // before that it reads nothing more: all of it could be sent in time
					case <-heard:
					case <-t.Context().Done():
					}
					_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
					_, err = io.Copy(io.Discard, conn)
					ended <- err
					_ = conn.Close()
				}()
				never, writer := io.Pipe()
				defer func() { _ = writer.Close() }()
				var closed atomic.Int32
				content := body{never, &closed}
				if size > 0 {
					content = body{bytes.NewReader(make([]byte, size)), &closed}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, content)
				must(t, err)
				req.ContentLength = size
				resp, err := tr.RoundTrip(req)
				must(t, err)
				text, err := io.ReadAll(resp.Body)
				if resp.StatusCode != http.StatusRequestEntityTooLarge || string(text) != "no" || err != nil {
					t.Errorf("answer %d %q, %v", resp.StatusCode, text, err)
				}
				_ = resp.Body.Close()
				close(heard)
				var late net.Error
				if err := <-ended; errors.As(err, &late) && late.Timeout() {
					t.Error("the connection was left open")
				}
				waits(t, "the body is closed", func() bool { return closed.Load() > 0 })
				if closed.Load() != 1 || tr.kept.count != 0 {
					t.Errorf("the body was closed %d times and %d connections are kept, want 1 and 0", closed.Load(), tr.kept.count)
				}
			})
		}
	}
}

// A request and its answer can be a conversation, and the connection is used again.
func TestABodyIsSentWhileItsAnswerIsRead(t *testing.T) {
	t.Parallel()
	s, connections := counted(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		part := make([]byte, 4)
		for {
			n, err := io.ReadFull(r.Body, part)
			_, _ = w.Write(part[:n])
			_ = c.Flush()
			if err != nil {
				return
			}
		}
	})
	s.Start()
	defer s.Close()
	tr := loopbackTransport(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for round := range 3 {
		content, writer := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, content)
		must(t, err)
		go func() { _, _ = io.WriteString(writer, "0000") }()
		resp, err := tr.RoundTrip(req)
		must(t, err)
		part := make([]byte, 4)
		for i := range 5 {
			if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != fmt.Sprintf("%04d", i) {
				t.Fatalf("round %d, part %d: %q, %v", round, i, part, err)
			}
			if i < 4 {
				_, err = fmt.Fprintf(writer, "%04d", i+1)
				must(t, err)
			}
		}
		_ = writer.Close()
		_, err = io.ReadAll(resp.Body)
		must(t, err)
		_ = resp.Body.Close()
	}
	if connections.Load() != 1 {
		t.Errorf("%d connections for 3 requests", connections.Load())
	}
}

// A caller that gives up is not held by a body that does not come.
func TestABodyThatDoesNotComeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	url := listen(t, holds(""))
	tr := loopbackTransport(t)
	never, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	var closed atomic.Int32
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body{reads(func(p []byte) (int, error) {
		cancel(reason)
		return never.Read(p)
	}), &closed})
	must(t, err)
	returned := make(chan error, 1)
	go func() {
		resp, err := tr.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		returned <- err
	}()
	select {
	case err := <-returned:
		if !errors.Is(err, reason) || closed.Load() != 1 {
			t.Errorf("error is %v and the body was closed %d times", err, closed.Load())
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not return")
	}
}
