package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// receive answers every request with 200 after a delay, on all addresses of the
// machine's loopback network, until in ends. It writes its port to out.
func receive(in io.Reader, out io.Writer, delay time.Duration) error {
	listener, err := net.Listen("tcp", "0.0.0.0:0") //nolint:gosec,noctx // 127.0.0.1 to 127.0.0.200 are the destinations
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if delay > 0 {
			time.Sleep(delay)
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(out, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	if err := server.Shutdown(context.Background()); err != nil {
		return err
	}
	if err := <-ended; err != http.ErrServerClosed { //nolint:errorlint // it is that value
		return err
	}
	return nil
}
