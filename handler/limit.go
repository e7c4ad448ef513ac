package handler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/ratelimit"
)

// limitResult is the limiter's answer to one call of a key. A limiter that failed gives a
// limitResult without a result, and the call is allowed: the limit protects the service and
// must not take the service down.
type limitResult struct {
	keyID  string
	result ratelimit.Result
	known  bool // result is the limiter's
}

func (t limitResult) allowed() bool { return !t.known || t.result.Allowed }

// take counts the call against a key's limit.
func (c *call) takeToken(keyID string) limitResult {
	if c.h.config.Limiter == nil {
		return limitResult{keyID: keyID}
	}
	result, err := c.h.config.Limiter.Take(c.ctx(), c.h.limiterKey+keyID)
	if err != nil {
		if c.ctx().Err() == nil { // else it is the request that ended, not the limiter that failed
			c.h.limiterHealth.recordFailure(c.ctx(), c.h.config.Logger, err)
		}
		return limitResult{keyID: keyID}
	}
	c.h.limiterHealth.recordSuccess(c.ctx(), c.h.config.Logger)
	return limitResult{keyID: keyID, result: result, known: true}
}

// spend writes the limiter's figures into the response's headers and refuses the call
// when the limit is exceeded.
func (c *call) applyLimit(t limitResult) error {
	if !t.known {
		return nil
	}
	h := c.w.Header()
	// The draft's names as they are written in the description.
	h["Ratelimit-Policy"] = []string{t.result.Policy()}
	h["Ratelimit"] = []string{t.result.Header()}
	if !t.result.Allowed {
		h["Retry-After"] = []string{t.result.RetryAfter()}
		return apierror.ErrRateLimited
	}
	return nil
}

// limiterHealth logs when the limiter begins to fail and when it has recovered, not
// each call that passes in between.
type limiterHealth struct {
	// failedAt is the time of the latest failure in nanoseconds since 1970; 0 while
	// the limiter works.
	failedAt atomic.Int64
}

// recoveryTime is how long a limiter must go without a failure before it counts as
// recovered. Without it, a store that fails now and then would log two lines each time.
const recoveryTime = 5 * time.Second

func (l *limiterHealth) recordFailure(ctx context.Context, logger *slog.Logger, err error) {
	if l.failedAt.Swap(time.Now().UnixNano()) == 0 {
		logger.LogAttrs(ctx, slog.LevelWarn, "rate limiter failed, requests are allowed until it recovers", slog.Any("error", err))
	}
}

func (l *limiterHealth) recordSuccess(ctx context.Context, logger *slog.Logger) {
	at := l.failedAt.Load()
	if at == 0 || time.Since(time.Unix(0, at)) < recoveryTime {
		return
	}
	if l.failedAt.CompareAndSwap(at, 0) {
		logger.LogAttrs(ctx, slog.LevelInfo, "rate limiter recovered")
	}
}
