// Package ratelimit limits how often an API key may call the service
// (specification, "Limits"), over any store of
// github.com/sethvargo/go-limiter.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
)

// The default limit.
const (
	DefaultTokens = 600
	DefaultPer    = time.Minute
)

// keyPrefix keeps the service's keys apart from the host's in a shared store.
const keyPrefix = "formsvc:"

// ErrClosed is returned by Take after Close.
var ErrClosed = errors.New("ratelimit: closed")

// Limiter counts calls by key. It is safe for concurrent use. Make one with
// [New] or [Over].
type Limiter struct {
	policy string
	own    bool // the store is made and closed here

	tokens uint64
	per    time.Duration

	mu     sync.RWMutex
	store  limiter.Store // nil until the first Take when own
	closed bool
}

// New returns a limiter that lets each key make tokens calls per interval and
// keeps its counts in this process. The store behind it starts a goroutine, so
// it is made with the first Take and stopped by Close.
func New(tokens uint64, per time.Duration) (*Limiter, error) {
	if tokens == 0 || per <= 0 {
		return nil, errors.New("ratelimit: a limit has at least one token and a positive interval")
	}
	return &Limiter{
		policy: fmt.Sprintf(`"key";q=%d;w=%d`, tokens, int64((per+time.Second-1)/time.Second)),
		own:    true,
		tokens: tokens,
		per:    per,
	}, nil
}

// Over returns a limiter on the host's own store, which may be shared by several
// processes. The limit is the store's. Keys carry the prefix "formsvc:". The
// store is never closed here.
func Over(store limiter.Store) *Limiter {
	return &Limiter{store: store}
}

// Result is the answer to one call.
type Result struct {
	Allowed   bool
	Limit     uint64
	Remaining uint64
	// Reset is how long until the key has its full limit again, in whole seconds
	// rounded up, at least 1.
	Reset time.Duration

	policy string
}

// Take counts one call for key and tells whether it may proceed. An error is the
// store's: it says nothing about the key.
func (l *Limiter) Take(ctx context.Context, key string) (Result, error) {
	store, err := l.open()
	if err != nil {
		return Result{}, err
	}
	limit, remaining, reset, ok, err := store.Take(ctx, keyPrefix+key)
	if err != nil {
		return Result{}, fmt.Errorf("ratelimit: %w", err)
	}
	return Result{
		Allowed:   ok,
		Limit:     limit,
		Remaining: remaining,
		Reset:     wait(reset, time.Now()),
		policy:    l.policy,
	}, nil
}

// wait is the time from now to a store's reset, which it gives in nanoseconds
// since 1970.
func wait(reset uint64, now time.Time) time.Duration {
	d := time.Duration(reset - uint64(now.UnixNano())) // #nosec G115 -- the difference is small, of either sign
	if d <= 0 {
		return time.Second
	}
	return (d + time.Second - 1).Truncate(time.Second)
}

// Policy is the value of the RateLimit-Policy header
// (draft-ietf-httpapi-ratelimit-headers).
func (r Result) Policy() string {
	if r.policy != "" {
		return r.policy
	}
	return `"key";q=` + strconv.FormatUint(r.Limit, 10)
}

// Header is the value of the RateLimit header.
func (r Result) Header() string {
	b := make([]byte, 0, 32)
	b = append(b, `"key";r=`...)
	b = strconv.AppendUint(b, r.Remaining, 10)
	b = append(b, ";t="...)
	return string(strconv.AppendInt(b, int64(r.Reset/time.Second), 10))
}

// RetryAfter is the value of the Retry-After header of a refused call: whole
// seconds, at least 1.
func (r Result) RetryAfter() string {
	return strconv.FormatInt(int64(max(r.Reset, time.Second)/time.Second), 10)
}

func (l *Limiter) open() (limiter.Store, error) {
	l.mu.RLock()
	store, closed := l.store, l.closed
	l.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	if store != nil {
		return store, nil
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.store == nil {
		config := &memorystore.Config{Tokens: l.tokens, Interval: l.per}
		if least := 2 * l.per; least > 12*time.Hour {
			// Below the interval, the store's sweep would hand out fresh limits.
			config.SweepMinTTL = least
		}
		made, err := memorystore.New(config)
		if err != nil {
			return nil, fmt.Errorf("ratelimit: %w", err)
		}
		l.store = made
	}
	return l.store, nil
}

// Close stops what the limiter started. A store of the host's stays open. It may
// be called more than once.
func (l *Limiter) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.own && l.store != nil {
		return l.store.Close(ctx)
	}
	return nil
}
