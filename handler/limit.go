package handler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/ratelimit"
)

// limitResult is the rate limiter's result for one request. If the limiter fails, the request is allowed, because a
// broken limiter must not make the service unavailable.
type limitResult struct {
	keyID  string
	result ratelimit.Result
	known  bool // Whether the limiter returned a result.
}

func (t limitResult) allowed() bool { return !t.known || t.result.Allowed }

func (c *call) takeLimiterToken(keyID string) limitResult {
	if c.h.config.Limiter == nil {
		return limitResult{keyID: keyID}
	}
	result, err := c.h.config.Limiter.Take(c.ctx(), c.h.limiterKey+keyID)
	if err != nil {
		if c.ctx().Err() == nil { // If the request has ended, the limiter is not at fault.
			c.h.limiterHealth.recordFailure(c.ctx(), c.h.config.Logger, err)
		}
		return limitResult{keyID: keyID}
	}
	c.h.limiterHealth.recordSuccess(c.ctx(), c.h.config.Logger)
	return limitResult{keyID: keyID, result: result, known: true}
}

func (c *call) applyLimit(t limitResult) error {
	if !t.known {
		return nil
	}
	h := c.w.Header()
	// The header names are spelled as in the API description.
	h["Ratelimit-Policy"] = []string{t.result.Policy()}
	h["Ratelimit"] = []string{t.result.Header()}
	if !t.result.Allowed {
		h["Retry-After"] = []string{t.result.RetryAfter()}
		return apierror.ErrRateLimited
	}
	return nil
}

// limiterHealth logs when the limiter starts to fail and when it recovers.
type limiterHealth struct {
	// failedAt is when the limiter last failed, in nanoseconds since 1970. A zero value means that the limiter works.
	failedAt atomic.Int64
}

// recoveryTime is how long the limiter must work without a failure before it counts as recovered. Without this delay, a
// limiter that fails occasionally would cause two log lines per failure.
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
