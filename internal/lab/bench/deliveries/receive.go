package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Paths of URLs that are answered with 200. Every other path is a kind of bad
// destination.
const (
	healthy    = "hook"      // after the delay that the receiver was started with
	takes      = "takes"     // after the duration that follows in the path
	hang       = "hang"      // reads the request and never answers
	outages    = "outage"    // see takeOutage
	schedules  = "schedule"  // see setOutage
	alternates = "alternate" // see alternate
)

// receive answers requests on all addresses of the machine's loopback network
// until in ends. It writes its port to out.
func receive(in io.Reader, out io.Writer, delay time.Duration) error {
	listener, err := net.Listen("tcp", "0.0.0.0:0") //nolint:gosec,noctx // 127.0.0.1 to 127.0.4.200 are the destinations
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	defer stop()
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return running },
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			kind, arguments, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			_, _ = io.Copy(io.Discard, r.Body)
			switch kind {
			case outages:
				takeOutage(r)
			case schedules:
				setOutage(arguments)
			case alternates:
				alternate(r)
			case takes:
				if d, err := time.ParseDuration(strings.SplitN(arguments, "/", 2)[0]); err == nil {
					time.Sleep(d)
				}
			case healthy:
				if delay > 0 {
					time.Sleep(delay)
				}
			default: // hang
				<-r.Context().Done()
			}
		}),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(out, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	stop() // ends what would not end by itself
	if err := server.Shutdown(context.Background()); err != nil {
		return err
	}
	if err := <-ended; err != http.ErrServerClosed { //nolint:errorlint // it is that value
		return err
	}
	return nil
}
