package webhooks

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

func BenchmarkDispatcher(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	run := newBench(b, Config{InFlightWebhook: 4}, nil)
	var hooks []storage.ID
	for range 100 {
		hooks = append(hooks, run.webhook(s.URL, nil))
	}
	body := strings.Repeat("x", 1100)
	for i := range b.N {
		run.event(hooks[i%100], body)
	}
	b.ResetTimer()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- run.d.Run(ctx) }()
	for range b.N {
		<-run.seen.attempts
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBareClient is what the same requests cost without a dispatcher.
func BenchmarkBareClient(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer c.CloseIdleConnections()
	body := strings.Repeat("x", 1100)
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				resp, err := c.Post(s.URL, "application/json", strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
