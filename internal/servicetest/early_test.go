package servicetest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

// earlyAnswer is a request that is answered before its body was read.
type earlyAnswer struct {
	name   string
	key    string
	media  string
	size   int // bytes of the body
	status int
}

// earlyAnswers makes the requests to POST /v1/forms that are refused early, with
// bodies that are far larger than what the sockets of both sides hold.
func earlyAnswers(b *servicetest.Bundle) []earlyAnswer {
	b.T.Helper()
	issue := func(name string, scopes ...formsvc.Scope) string {
		issued, err := b.CreateKey(b.T.Context(), formsvc.KeyRequest{User: b.User, Name: name, Scopes: scopes})
		if err != nil {
			b.T.Fatal(err)
		}
		return issued.Secret
	}
	reader, spent := issue("reader", storage.ScopeFormsRead), issue("spent", storage.Scopes()...)
	for servicetest.Get(b.T, b, "/v1/me", spent) != http.StatusTooManyRequests {
	}
	const allowed, tooMuch = 1_000_000, 5 << 20
	return []earlyAnswer{
		{"no key", "", "application/json", allowed, 401},
		{"no scope", reader, "application/json", allowed, 403},
		{"over its limit", spent, "application/json", allowed, 429},
		{"not JSON", b.Key, "text/plain", allowed, 415},
		{"too large", b.Key, "application/json", tooMuch, 413},
	}
}

// raw writes the whole request before it reads, as urllib and nginx do, and returns
// the status of the answer.
func (e earlyAnswer) raw(address, connection string, chunked bool) (int, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var head strings.Builder
	fmt.Fprintf(&head, "POST /v1/forms HTTP/1.1\r\nHost: x\r\nConnection: %s\r\nX-API-Key: %s\r\nContent-Type: %s\r\n", connection, e.key, e.media)
	body := bytes.Repeat([]byte(" "), e.size)
	if chunked {
		fmt.Fprintf(&head, "Transfer-Encoding: chunked\r\n\r\n%x\r\n", e.size)
		body = append(body, "\r\n0\r\n\r\n"...)
	} else {
		fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n", e.size)
	}
	if _, err := conn.Write(append([]byte(head.String()), body...)); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// A client that writes everything before it reads sees the status, not a reset.
func TestEarlyAnswersReachClientsThatWriteFirst(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithRateLimit(1000, time.Hour))
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	for _, e := range earlyAnswers(b) {
		for _, connection := range []string{"close", "keep-alive"} {
			for _, chunked := range []bool{false, true} {
				for range 5 {
					status, err := e.raw(address, connection, chunked)
					if err != nil || status != e.status {
						t.Fatalf("%s, Connection: %s, chunked %v: %d, %v; want %d", e.name, connection, chunked, status, err, e.status)
					}
				}
			}
		}
		for _, close := range []bool{true, false} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/forms", bytes.NewReader(make([]byte, e.size)))
			if err != nil {
				t.Fatal(err)
			}
			r.Close = close
			r.Header.Set("X-API-Key", e.key)
			r.Header.Set("Content-Type", e.media)
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Fatalf("%s with Go's client: %v", e.name, err)
			}
			answer.Body.Close()
			if answer.StatusCode != e.status {
				t.Errorf("%s with Go's client: %d, want %d", e.name, answer.StatusCode, e.status)
			}
		}
	}
}

// pipes is a listener on connections in memory, which keep to the time of a
// synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() net.Conn {
	server, client := net.Pipe()
	p.conns <- server
	return client
}

// serve runs a server on pipes until the test ends its part.
func servePipes(t *testing.T, h http.Handler) (p *pipes, stop func()) {
	t.Helper()
	p = newPipes()
	server := &http.Server{Handler: h} // no time-outs of the host's
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(p); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	return p, func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-ended
	}
}

// Draining ends after five seconds, and the connection with it.
func TestAClientThatStallsIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		p, stop := servePipes(t, b)
		conn := p.dial()
		start := time.Now()
		go func() {
			// The writes end when the server gives up.
			_, _ = io.WriteString(conn, "POST /v1/forms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\nabc")
		}()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); answer.StatusCode != http.StatusUnauthorized || !answer.Close || took != 5*time.Second {
			t.Errorf("%d after %v, Connection: close %v; want 401 after 5s with close", answer.StatusCode, took, answer.Close)
		}
		conn.Close()
		stop()
	})
}

// A client that sends without end is answered after a bounded number of bytes.
func TestDrainingIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	body := &endless{}
	r := httptest.NewRequest(http.MethodPost, "/v1/forms", body)
	w := httptest.NewRecorder()
	servicetest.Serve(t, b.Service, w, r)
	if w.Code != http.StatusUnauthorized || w.Header().Get("Connection") != "close" || body.read > 10<<20 || body.read < 1<<20 {
		t.Errorf("%d with %v after %d bytes; want 401 and Connection: close after 1 to 10 MiB", w.Code, w.Header(), body.read)
	}
}

type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) { e.read += len(b); return len(b), nil }

// A client that asks before it sends is told the answer, and not to send.
func TestAClientThatWaitsForContinueIsNotAskedToSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		p, stop := servePipes(t, b)
		for _, c := range []struct {
			key, length string
			status      int
		}{{"", "1000", 401}, {b.Key, "9000000", 413}} {
			conn := p.dial()
			start := time.Now()
			go func() {
				_, _ = io.WriteString(conn, "POST /v1/forms HTTP/1.1\r\nHost: x\r\nX-API-Key: "+c.key+"\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: "+c.length+"\r\n\r\n")
			}()
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); answer.StatusCode != c.status || took != 0 {
				t.Errorf("%d after %v, want %d at once", answer.StatusCode, took, c.status)
			}
			conn.Close()
		}
		stop()
	})
}
