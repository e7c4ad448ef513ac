package conn

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/formsvc/formsvc/internal/timeout"
)

// A call is attempted up to maxAttempts times. The pause between attempts doubles each time.
const (
	maxAttempts = 4
	firstPause  = 10 * time.Millisecond
)

// Read runs do, which must change nothing. It retries after temporary errors and lost connections.
func (c *Conn) Read(ctx context.Context, do func(context.Context) error) error {
	return c.retry(ctx, nil, do)
}

// Write runs do, which must be repeatable and run one statement or one batch. Write retries after temporary errors. If
// the connection is lost, the change may have been made, so Write returns ErrOutcomeUnknown and does not retry. Outside
// of a host's transaction, writes use at most half of the pool's connections. While another transaction holds a lock, a
// write retries until its timeout.
func (c *Conn) Write(ctx context.Context, do func(context.Context) error) error {
	return c.WriteFor(ctx, Key{}, do)
}

// WriteFor is like Write, but key identifies the lock to wait for. While another transaction holds that lock, writes
// with the same key retry one by one.
func (c *Conn) WriteFor(ctx context.Context, key Key, do func(context.Context) error) error {
	w := &pendingWrite{limiter: c.writeLimiter, key: key}
	defer w.leaveQueue()
	return c.retry(ctx, w, do)
}

func (c *Conn) retry(ctx context.Context, w *pendingWrite, do func(context.Context) error) error {
	writes := w != nil
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.checkUsable(ctx); err != nil {
		return c.TranslateError(ctx, err, writes)
	}
	within := ctx
	if c.Timeout > 0 && !c.InTx {
		var cancel context.CancelFunc
		within, cancel = timeout.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	pause := firstPause
	for tries := 1; ; tries++ {
		err := w.run(within, func() error { return c.onConnection(within, do) })
		if err == nil {
			return nil
		}
		if writes && !c.InTx && SQLState(err) == lockNotAvailable {
			tries-- // retry until the timeout
			continue
		}
		if tries == maxAttempts || !c.canRetry(err, writes) || !sleepRandomly(within, pause) {
			return c.TranslateError(ctx, err, writes)
		}
		pause *= 2
	}
}

// canRetry reports whether another attempt is safe and can succeed. An error aborts a host's transaction, so only the
// host can retry.
func (c *Conn) canRetry(err error, writes bool) bool {
	if c.InTx {
		return false
	}
	v := classifyError(err)
	return v == temporary || v == connectionLost && !writes
}

// sleepRandomly waits for a random time between d/2 and d, so that calls that failed together do not retry together. It
// returns false if ctx ended.
func sleepRandomly(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d/2 + rand.N(d/2)): // #nosec G404 -- spreads calls, no secret
		return true
	case <-ctx.Done():
		return false
	}
}
