package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// metrics is the product's own middleware: it counts the requests of each operation
// and their time, in the text format of Prometheus. Package
// go.opentelemetry.io/contrib's otelhttp goes to the same place and reads the same
// r.Pattern; examples/otel does the deliveries.
type metrics struct {
	mu    sync.Mutex
	calls map[call]total
}

type call struct {
	operation string // method and path as described, not as sent
	status    int
}

type total struct {
	count   int
	seconds float64
}

func newMetrics() *metrics { return &metrics{calls: make(map[call]total)} }

func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		start := time.Now()
		next.ServeHTTP(seen, r)
		// The service has set the pattern of the operation by now.
		c := call{r.Method + " " + r.Pattern, seen.status}
		m.mu.Lock()
		defer m.mu.Unlock()
		t := m.calls[c]
		t.count++
		t.seconds += time.Since(start).Seconds()
		m.calls[c] = t
	})
}

// ServeHTTP shows the figures.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	calls := maps.Clone(m.calls)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, c := range slices.SortedFunc(maps.Keys(calls), func(a, b call) int {
		if a.operation != b.operation {
			return map[bool]int{true: -1, false: 1}[a.operation < b.operation]
		}
		return a.status - b.status
	}) {
		labels := fmt.Sprintf(`{operation=%q,status="%d"}`, c.operation, c.status)
		_, _ = fmt.Fprintf(w, "api_requests_total%s %d\napi_request_seconds_total%s %g\n", labels, calls[c].count, labels, calls[c].seconds)
	}
}

// statusWriter remembers the status. Unwrap lets http.ResponseController reach the
// methods of the writer below.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
