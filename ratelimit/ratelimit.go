// Package ratelimit limits the request rate of each API key, with any store of github.com/sethvargo/go-limiter.
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

	"github.com/formsvc/formsvc/internal/timeout"
)

// The default limit is DefaultTokens per DefaultPer.
const (
	DefaultTokens = 600
	DefaultPer    = time.Minute
)

// keyPrefix separates the service's keys from the host's keys in a shared store.
const keyPrefix = "formsvc:"

// ErrClosed is returned by [Limiter.Take] after Close.
var ErrClosed = errors.New("ratelimit: the limiter is closed")

// Limiter limits the rate of calls for each key. It is safe for concurrent use. Create it with [New] or
// [NewWithStore].
type Limiter struct {
	policy    string
	ownConfig *memorystore.Config // configures the limiter's own store; nil for a host's store
	slots     chan struct{}       // limits concurrent calls to a host's store

	mu     sync.Mutex
	store  limiter.Store // the limiter's own store is opened at the first Take
	closed bool
}

// New returns a limiter that allows each key the given number of calls per interval, counted in this process. The first
// call to Take starts a goroutine, which Close stops.
func New(tokens uint64, per time.Duration) (*Limiter, error) {
	if tokens == 0 || per <= 0 {
		return nil, errors.New("ratelimit: the limit must have at least one token and a positive interval")
	}
	return &Limiter{
		policy: fmt.Sprintf(`"key";q=%d;w=%d`, tokens, int64((per+time.Second-1)/time.Second)),
		// With a shorter minimum TTL, the store's sweep would reset limits early.
		ownConfig: &memorystore.Config{Tokens: tokens, Interval: per, SweepMinTTL: max(12*time.Hour, 2*per)},
	}, nil
}

// NewWithStore returns a limiter that uses the host's store. The store defines the limit, and several processes can
// share it. Keys have the prefix "formsvc:". If the store hangs, [Limiter.Take] returns after [StoreTimeout]. The
// limiter never closes the store.
func NewWithStore(store limiter.Store) *Limiter {
	return &Limiter{store: store, slots: make(chan struct{}, maxStoreCalls)}
}

// Result is the result of [Limiter.Take].
type Result struct {
	Allowed   bool
	Limit     uint64
	Remaining uint64
	// Reset is the time until the key's full limit is available again, rounded up to whole seconds. It is at least 1 s.
	Reset time.Duration

	policy string
}

// Take counts one call for key and reports whether the call is allowed. An error means that the store or ctx failed,
// not that the limit was exceeded. If a host's store does not respond within [StoreTimeout], the error is [ErrTimeout].
func (l *Limiter) Take(ctx context.Context, key string) (Result, error) {
	store, err := l.openStore()
	if err != nil {
		return Result{}, err
	}
	type result struct {
		limit, remaining, reset uint64
		ok                      bool
	}
	take := func(ctx context.Context) (r result, err error) {
		r.limit, r.remaining, r.reset, r.ok, err = store.Take(ctx, keyPrefix+key)
		return r, err
	}
	if l.ownConfig == nil { // a host's store may hang and ignore its context
		unlimited := take
		take = func(ctx context.Context) (result, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, StoreTimeout, ErrTimeout)
			defer cancel()
			return timeout.Call(ctx, l.slots, unlimited)
		}
	}
	a, err := take(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("ratelimit: %w", err)
	}
	return Result{
		Allowed:   a.ok,
		Limit:     a.limit,
		Remaining: a.remaining,
		Reset:     timeUntilReset(a.reset, time.Now()),
		policy:    l.policy,
	}, nil
}

// StoreTimeout is the timeout for calls to a host's store. A call over the network usually takes a millisecond. It is
// better not to count a request than to delay it for longer than this timeout.
const StoreTimeout = 250 * time.Millisecond

// maxStoreCalls limits concurrent calls to a host's store, so that a store that ignores its context cannot block an
// unlimited number of goroutines. At a millisecond per call, this limit allows a million calls per second.
const maxStoreCalls = 1024

// ErrTimeout is returned by [Limiter.Take] if the host's store does not respond within [StoreTimeout].
var ErrTimeout = errors.New("ratelimit: the store did not respond in time")

// timeUntilReset returns the time from now to reset, which is in nanoseconds since 1970.
func timeUntilReset(reset uint64, now time.Time) time.Duration {
	d := time.Duration(reset - uint64(now.UnixNano())) // #nosec G115 -- the difference is small, of either sign
	return max(time.Second, (d + time.Second - 1).Truncate(time.Second))
}

// Policy returns the value of the RateLimit-Policy header (draft-ietf-httpapi-ratelimit-headers).
func (r Result) Policy() string {
	if r.policy != "" {
		return r.policy
	}
	return `"key";q=` + strconv.FormatUint(r.Limit, 10)
}

// Header returns the value of the RateLimit header (same draft as Policy).
func (r Result) Header() string {
	b := make([]byte, 0, 32)
	b = append(b, `"key";r=`...)
	b = strconv.AppendUint(b, r.Remaining, 10)
	b = append(b, ";t="...)
	return string(strconv.AppendInt(b, int64(r.Reset/time.Second), 10))
}

// RetryAfter returns the value of the Retry-After header for a rejected call: whole seconds, at least 1.
func (r Result) RetryAfter() string {
	return strconv.FormatInt(int64(max(r.Reset, time.Second)/time.Second), 10)
}

func (l *Limiter) openStore() (limiter.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.store == nil {
		store, err := memorystore.New(l.ownConfig)
		if err != nil {
			return nil, fmt.Errorf("ratelimit: %w", err)
		}
		l.store = store
	}
	return l.store, nil
}

// Close stops the limiter's own store, but not a host's store. It can be called more than once.
func (l *Limiter) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.ownConfig != nil && l.store != nil {
		return l.store.Close(ctx)
	}
	return nil
}
