package handler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/ratelimit"
)

// token is the limiter's answer to one call of a key. A limiter that failed gives a
// token without a result, and the call is allowed: the limit protects the service and
// must not take the service down.
type token struct {
	keyID   string
	result  ratelimit.Result
	counted bool // result is the limiter's
}

func (t token) allowed() bool { return !t.counted || t.result.Allowed }

// take counts the call against a key's limit.
func (c *call) take(keyID string) token {
	if c.h.config.Limiter == nil {
		return token{keyID: keyID}
	}
	result, err := c.h.config.Limiter.Take(c.ctx(), c.h.limiterKey+keyID)
	if err != nil {
		if c.ctx().Err() == nil { // else it is the request that ended, not the limiter that failed
			c.h.limiterHealth.failed(c.ctx(), c.h.config.Logger, err)
		}
		return token{keyID: keyID}
	}
	c.h.limiterHealth.answered(c.ctx(), c.h.config.Logger)
	return token{keyID: keyID, result: result, counted: true}
}

// spend writes the limiter's figures into the response's headers and refuses the call
// when the limit is exceeded.
func (c *call) spend(t token) error {
	if !t.counted {
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

// recovery is how long a limiter must go without a failure before it counts as
// recovered. Without it, a store that fails now and then would log two lines each time.
const recovery = 5 * time.Second

func (l *limiterHealth) failed(ctx context.Context, logger *slog.Logger, err error) {
	if l.failedAt.Swap(time.Now().UnixNano()) == 0 {
		logger.LogAttrs(ctx, slog.LevelWarn, "rate limiter failed, requests are allowed until it recovers", slog.Any("error", err))
	}
}

func (l *limiterHealth) answered(ctx context.Context, logger *slog.Logger) {
	at := l.failedAt.Load()
	if at == 0 || time.Since(time.Unix(0, at)) < recovery {
		return
	}
	if l.failedAt.CompareAndSwap(at, 0) {
		logger.LogAttrs(ctx, slog.LevelInfo, "rate limiter recovered")
	}
}
