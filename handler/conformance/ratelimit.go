package conformance

import (
	"net/http"
	"strconv"
)

func rateLimitCases() []testCase {
	return []testCase{
		{"ratelimit/exceeded", "A key above its rate limit receives 429 with Retry-After in whole seconds, and the user's other keys are not affected.", needs(NeedsRateLimit), ratelimitExceeded},
	}
}

func ratelimitExceeded(s *session) {
	c := s.caller()
	other := c.withScopes(scopes()...)
	// The window may end meanwhile and allow as many again: three of them are enough.
	for range 3*s.target.RateLimit + 1 {
		r := c.get("/me")
		if r.status == http.StatusTooManyRequests {
			r.wantError("RATE_LIMITED").checkRetryAfter()
			c.post("/workspaces", []byte("{")).refused("RATE_LIMITED") // before the body
			c.get("/nothing").refused("NOT_FOUND")                     // after the route
			other.get("/me").want(http.StatusOK)
			return
		}
		r.want(http.StatusOK)
	}
	s.errorf("all of %d requests with one key were accepted, although the rate limit is %d", 3*s.target.RateLimit+1, s.target.RateLimit)
}

// checkRetryAfter notes a fault unless Retry-After is a whole number of seconds,
// at least 1.
func (r *response) checkRetryAfter() {
	value := r.header.Get("Retry-After")
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		r.faultf("Retry-After is %q, want whole seconds, at least 1", value)
	}
}
