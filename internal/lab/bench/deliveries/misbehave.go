package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// The kinds of bad destinations.
const (
	hang       = "hang"        // reads the request and never answers
	dripHeader = "drip-header" // answers with a header that gets a byte a second and never ends
	dripBody   = "drip-body"   // answers 200 with a body that does
	reset      = "reset"       // resets the connection
	stream     = "stream"      // answers 200 with an endless body, as fast as it is read
)

func kinds() []string { return []string{hang, dripHeader, dripBody, reset, stream} }

// misbehave answers a request as a bad destination does, until the sender has
// enough of it or the receiver ends.
func misbehave(kind string, w http.ResponseWriter, r *http.Request) {
	switch kind {
	case dripHeader:
		hijack(w, func(conn net.Conn) { dripHeaders(r.Context(), conn) })
	case dripBody:
		flush := http.NewResponseController(w).Flush
		drip(r.Context(), func() error {
			if _, err := w.Write([]byte("x")); err != nil {
				return err
			}
			return flush()
		})
	case reset:
		hijack(w, func(conn net.Conn) {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		})
	case stream:
		for some := make([]byte, 32<<10); r.Context().Err() == nil; {
			if _, err := w.Write(some); err != nil {
				return
			}
		}
	default: // hang
		<-r.Context().Done()
	}
}

// dripHeaders writes a header without end.
func dripHeaders(ctx context.Context, conn net.Conn) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // the server does not look any more whether the sender is there
		_, _ = io.Copy(io.Discard, conn)
		stop()
	}()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Drip: "); err != nil {
		return
	}
	drip(ctx, func() error {
		_, err := io.WriteString(conn, "x")
		return err
	})
}

// drip calls write once a second until that fails or ctx ends.
func drip(ctx context.Context, write func() error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for write() == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hijack takes the connection from the server, and closes it after use.
func hijack(w http.ResponseWriter, use func(net.Conn)) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	use(conn)
}
