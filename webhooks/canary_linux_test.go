package webhooks

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"
)

// canary accepts connections to all addresses on some ports and remembers which
// address each of them was for.
type canary struct {
	mu      sync.Mutex
	reached []netip.AddrPort
}

// newCanary listens on the ports. Where handler is nil, a connection is closed as
// soon as it is noted: enough for ports on which a TLS hello arrives.
func newCanary(t testing.TB, handlers map[int]http.Handler) *canary {
	t.Helper()
	c := &canary{}
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // after what closes the listeners
	for port, handler := range handlers {
		// One socket takes both families.
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "[::]:"+strconv.Itoa(port))
		must(t, err)
		if handler == nil {
			running.Go(func() { c.closeAll(l) })
			t.Cleanup(func() { _ = l.Close() })
			continue
		}
		s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateNew {
				c.note(conn)
			}
		}}
		running.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Errorf("canary: %v", err)
			}
		})
		t.Cleanup(func() { _ = s.Close() })
	}
	return c
}

func (c *canary) closeAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.note(conn)
		_ = conn.Close()
	}
}

func (c *canary) note(conn net.Conn) {
	at := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = append(c.reached, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}

// take returns what was reached since the last call.
func (c *canary) take() []netip.AddrPort {
	c.mu.Lock()
	defer c.mu.Unlock()
	reached := c.reached
	c.reached = nil
	return reached
}

// once answers 204 and ends the connection.
func once(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusNoContent)
}
