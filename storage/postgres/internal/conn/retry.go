package conn

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/formsvc/formsvc/internal/timeout"
)

// A call is tried this often in all, with a pause that doubles in between.
const (
	maxAttempts = 4
	firstPause  = 10 * time.Millisecond
)

// Read runs do, which changes nothing, again when it failed for a passing reason
// or lost its connection. do starts from nothing each time.
func (c *Conn) Read(ctx context.Context, do func(context.Context) error) error {
	return c.retry(ctx, nil, do)
}

// Write runs do, which is one statement or one batch, again when it failed for a
// passing reason. When the connection was lost on the way, the change may have
// been made: the error is then an ErrOutcomeUnknown, and do is not run again. do starts
// from nothing each time.
//
// Outside a host's transaction the writes on a pool have half of its connections at most. A
// write whose lock is held tries again until its time is over.
func (c *Conn) Write(ctx context.Context, do func(context.Context) error) error {
	return c.WriteFor(ctx, Key{}, do)
}

// WriteFor is Write for a write that may wait for the same lock as others of its key. If the
// lock is held, these try one after another.
func (c *Conn) WriteFor(ctx context.Context, key Key, do func(context.Context) error) error {
	w := &pendingWrite{limiter: c.writeLimiter, key: key}
	defer w.leaveQueue()
	return c.retry(ctx, w, do)
}

// try runs do until it succeeds. w is nil for a read.
func (c *Conn) retry(ctx context.Context, w *pendingWrite, do func(context.Context) error) error {
	writes := w != nil
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.checkUsable(ctx); err != nil {
		return c.Translate(ctx, err, writes)
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
			tries-- // until the time is over
			continue
		}
		if tries == maxAttempts || !c.canRetry(err, writes) || !sleep(within, pause) {
			return c.Translate(ctx, err, writes)
		}
		pause *= 2
	}
}

// again reports whether another try is harmless and may help. An error inside a host's
// transaction has ended the transaction, so only the host can start again.
func (c *Conn) canRetry(err error, writes bool) bool {
	if c.InTx {
		return false
	}
	v := classifyError(err)
	return v == temporary || v == connectionLost && !writes
}

// wait pauses between a half of d and d, so that those who failed together do not
// come back together. It reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d/2 + rand.N(d/2)): // #nosec G404 -- spreads calls, no secret
		return true
	case <-ctx.Done():
		return false
	}
}
