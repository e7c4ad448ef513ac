package webhooks

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter limits the delay that a receiver can request with Retry-After.
const maxRetryAfter = 24 * time.Hour

// RetryPolicy defines when failed deliveries are retried. The zero value means eight attempts with seven delays: 5 s, 5
// min, 30 min, 2 h, 5 h, 10 h and 10 h. Each delay varies randomly by up to 20 %.
type RetryPolicy struct {
	// Delays are the delays before attempts 2, 3 and so on. If the attempt after the last delay fails, the delivery
	// ends. If nil, the default delays apply. An empty slice that is not nil means one attempt.
	//
	// A delivery ends if its next delay would exceed [Config.MaxAge]. A delay can be at most 30 days. If a delay
	// exceeds 26 hours ([storage.MaxFailureGap]), each failure starts a new series, so a webhook may never count as
	// failing.
	Delays []time.Duration
	// Jitter is the maximum fraction by which each delay varies randomly. It must be at least 0 and below 1. It
	// prevents deliveries that failed together from being retried together. A zero value means no jitter, but the zero
	// RetryPolicy uses 0.2.
	Jitter float64
}

var defaultDelays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Delays == nil {
		p.Jitter = cmp.Or(p.Jitter, 0.2)
		p.Delays = defaultDelays
	}
	p.Delays = slices.Clone(p.Delays)
	return p
}

func (p RetryPolicy) validate() error {
	if !(p.Jitter >= 0 && p.Jitter < 1) { // also false for NaN
		return fmt.Errorf("webhooks: Retry.Jitter is %v, want at least 0 and below 1", p.Jitter)
	}
	for i, d := range p.Delays {
		if d < 0 || d > 30*24*time.Hour {
			return fmt.Errorf("webhooks: Retry.Delays[%d] is %s, want 0 to 30 days", i, d)
		}
	}
	return nil
}

// delayAfter returns the delay after attempt n fails, or false if there is no further attempt. Attempts are numbered
// from 1. The delay is at least requestedPause, up to maxRetryAfter.
func (p RetryPolicy) delayAfter(n int, requestedPause time.Duration) (time.Duration, bool) {
	if n < 1 || n > len(p.Delays) {
		return 0, false
	}
	wait := float64(p.Delays[n-1])
	wait *= 1 + p.Jitter*(2*rand.Float64()-1) // #nosec G404 -- spreads load, guards nothing
	return max(time.Duration(wait), min(requestedPause, maxRetryAfter)), true
}

// parseRetryAfter parses the Retry-After header (RFC 9110, section 10.2.3): seconds or a date. It returns zero for a
// missing, malformed or past value.
func parseRetryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // the only possible error is an overflow
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
