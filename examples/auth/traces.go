package main

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"time"
)

var traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)

// traced logs a span for each request, in the trace that its traceparent header names
// (W3C Trace Context) or in a new one. A product with OpenTelemetry puts otelhttp here.
func traced(logger *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trace, parent := randomHex(16), ""
		if found := traceparent.FindStringSubmatch(r.Header.Get("Traceparent")); found != nil {
			trace, parent = found[1], found[2]
		}
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		start := time.Now()
		next.ServeHTTP(seen, r)
		// The operation, not the path: ids do not belong into the name of a span.
		logger.InfoContext(r.Context(), "span", "trace", trace, "span", randomHex(8), "parent", parent,
			"name", r.Method+" "+r.Pattern, "status", seen.status, "duration", time.Since(start))
	})
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
