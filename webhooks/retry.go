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

// maxRetryAfter bounds the wait that a receiver may ask for with Retry-After.
const maxRetryAfter = 24 * time.Hour

// RetryPolicy says when a failed delivery is tried again. The zero value is the default
// of eight attempts with seven delays: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h.
// Each delay is moved by up to 20 % either way.
type RetryPolicy struct {
	// Delays are the waits before attempt 2, 3 and so on; when they are used up
	// the delivery ends. Nil: the default delays. Empty but not nil: one attempt.
	//
	// A delay that leads beyond [Config.MaxAge] ends the delivery. A delay is at most 30 days. A failure that comes more than 26 hours
	// ([storage.MaxFailureGap]) after the one before it starts a new row of failures, so
	// with a longer delay that webhook may never count as failing.
	Delays []time.Duration
	// Jitter moves each delay by a random share of up to this much either way,
	// from 0 to below 1, so that deliveries that failed together do not come back
	// together. Zero is none, but in the zero RetryPolicy it is 0.2.
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
		return fmt.Errorf("webhooks: Retry.Jitter is %v, want 0 to below 1", p.Jitter)
	}
	for i, d := range p.Delays {
		if d < 0 || d > 30*24*time.Hour {
			return fmt.Errorf("webhooks: Retry.Delays[%d] is %s, want 0 to 30 days", i, d)
		}
	}
	return nil
}

// next returns the wait after the failure of attempt n (1 is the first), and false when
// there is no further attempt. The wait is never shorter than asked, the wait that the
// receiver asked for.
func (p RetryPolicy) delayAfter(n int, asked time.Duration) (time.Duration, bool) {
	if n < 1 || n > len(p.Delays) {
		return 0, false
	}
	wait := float64(p.Delays[n-1])
	wait *= 1 + p.Jitter*(2*rand.Float64()-1) // #nosec G404 -- spreads load, guards nothing
	return max(time.Duration(wait), min(asked, maxRetryAfter)), true
}

// parseRetryAfter reads the Retry-After header (RFC 9110, section 10.2.3): seconds or
// a date. What is absent, malformed or past is zero.
func parseRetryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // more digits than fit is a long time too
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
