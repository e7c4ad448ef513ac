//go:build linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/sethvargo/go-limiter"
)

// redisLimiter is a store of rate limits in Redis, for [formsvc.WithLimiter]. It
// counts with redis_rate, which is a leaky bucket (GCRA): a key that has used up its
// rate gets one request back at a time, not all of them when a minute ends.
//
// When Redis does not answer in time, Take returns an error; the service then lets
// the request pass, and logs it once until the store works again.
type redisLimiter struct {
	rate    *redis_rate.Limiter
	limit   redis_rate.Limit
	timeout time.Duration
}

// redisTimeout is the default of how long one request may wait for Redis. On a local network
// Redis answers within a millisecond; a call that takes this long has failed.
const redisTimeout = 50 * time.Millisecond

func newRedisLimiter(client *redis.Client, tokens int, per, timeout time.Duration) limiter.Store {
	return &redisLimiter{
		rate:    redis_rate.NewLimiter(client),
		limit:   redis_rate.Limit{Rate: tokens, Burst: tokens, Period: per},
		timeout: timeout,
	}
}

// Take implements [limiter.Store].
func (l *redisLimiter) Take(ctx context.Context, key string) (tokens, remaining, reset uint64, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	r, err := l.rate.Allow(ctx, key, l.limit)
	if err != nil {
		return 0, 0, 0, false, err
	}
	wait := r.ResetAfter
	if r.Allowed == 0 {
		wait = r.RetryAfter
	}
	return uint64(r.Limit.Rate), uint64(r.Remaining), uint64(time.Now().Add(wait).UnixNano()), r.Allowed > 0, nil
}

// Get implements [limiter.Store]. It takes nothing.
func (l *redisLimiter) Get(ctx context.Context, key string) (tokens, remaining uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	r, err := l.rate.AllowN(ctx, key, l.limit, 0)
	if err != nil {
		return 0, 0, err
	}
	return uint64(r.Limit.Rate), uint64(r.Remaining), nil
}

var errOneLimit = errors.New("cluster: limits per key are not supported")

// Set implements [limiter.Store]; the service does not call it.
func (l *redisLimiter) Set(context.Context, string, uint64, time.Duration) error { return errOneLimit }

// Burst implements [limiter.Store]; the service does not call it.
func (l *redisLimiter) Burst(context.Context, string, uint64) error { return errOneLimit }

// Close implements [limiter.Store]. The client belongs to whoever made it.
func (l *redisLimiter) Close(context.Context) error { return nil }
