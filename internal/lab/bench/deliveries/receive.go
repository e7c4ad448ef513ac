package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Paths of URLs that are answered with 200. Every other path is a kind of bad
// destination.
const (
	healthy    = "hook"      // after the delay that the receiver was started with
	takes      = "takes"     // after the duration that follows in the path
	outages    = "outage"    // see takeOutage
	schedules  = "schedule"  // see setOutage
	alternates = "alternate" // see alternate
)

// receive answers requests on all addresses of the machine's loopback network
// until in ends. It writes its port to out, and at its end what came in.
func receive(in io.Reader, out io.Writer, delay time.Duration) error {
	listener, err := net.Listen("tcp", "0.0.0.0:0") //nolint:gosec,noctx // 127.0.0.1 to 127.0.4.200 are the destinations
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	defer stop()
	seen := newTraffic()
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return running },
		ConnContext:       keepLittle,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			kind, arguments, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			seen.enter(kind, r.Host)
			defer seen.leave(kind, r.Host)
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
			default:
				misbehave(kind, w, r)
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
	return json.NewEncoder(out).Encode(seen.peaks())
}

// keepLittle makes a connection hold little that is written and not yet read. The
// system's own bound is megabytes: writing those would take most of the processor
// time of the machine that is measured.
func keepLittle(ctx context.Context, conn net.Conn) context.Context {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(16 << 10)
	}
	return ctx
}

// counts are of requests of one kind.
type counts struct {
	Requests int // in all
	AtOnce   int // at most at one time
	ToOne    int // at most at one time to one destination
	now      int
}

// peaks is what came in. A request is under way until its handler knows that it
// has ended. Of a stream that is some time after the sender gave it up, so that
// the next one to the same destination may have begun.
type peaks struct {
	AtOnce int // requests of all kinds
	Kinds  map[string]*counts
}

// traffic counts requests.
type traffic struct {
	mu   sync.Mutex
	now  int
	host map[string]int
	seen peaks
}

func newTraffic() *traffic {
	return &traffic{host: map[string]int{}, seen: peaks{Kinds: map[string]*counts{}}}
}

func (t *traffic) enter(kind, host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.seen.Kinds[kind]
	if c == nil {
		c = &counts{}
		t.seen.Kinds[kind] = c
	}
	t.now++
	c.now++
	t.host[host]++
	c.Requests++
	c.AtOnce, c.ToOne, t.seen.AtOnce = max(c.AtOnce, c.now), max(c.ToOne, t.host[host]), max(t.seen.AtOnce, t.now)
}

func (t *traffic) leave(kind, host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now--
	t.seen.Kinds[kind].now--
	t.host[host]--
}

func (t *traffic) peaks() peaks {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}
