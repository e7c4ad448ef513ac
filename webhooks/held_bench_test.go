package webhooks

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkHeldRequests is the memory of each request that hangs, heap and stacks together, as
// many as InFlightSlow lets begin: what "Each holds" in Config says.
//
//	go test -run '^$' -bench HeldRequests -benchtime 1x ./webhooks
func BenchmarkHeldRequests(b *testing.B) {
	var lc net.ListenConfig
	l, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	must(b, err)
	accepted := make(chan net.Conn, DefaultInFlightSlow)
	go func() { // reads nothing, so that the receiver's part is a socket
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	body := strings.Repeat("x", 1100)
	for b.Loop() {
		client := NewClient(ClientConfig{AllowedNetworks: loopback, Timeout: time.Hour})
		ctx, cancel := context.WithCancel(b.Context())
		var requests sync.WaitGroup
		before := inUse()
		for range DefaultInFlightSlow {
			requests.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.Addr().String(), strings.NewReader(body))
				if err == nil {
					_, _ = client.Do(req) // there is no answer
				}
			})
		}
		conns := make([]net.Conn, DefaultInFlightSlow)
		for i := range conns {
			conns[i] = <-accepted
		}
		b.ReportMetric(float64(inUse()-before)/DefaultInFlightSlow, "B/request")
		cancel()
		requests.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	}
	_ = l.Close()
}
