// Package batching combines single values into batches. Callers do not wait, and the store gets one write
// instead of many.
package batching

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Delay is how long a value waits for others before it is written: with its write, a quarter of
// a second.
const Delay = 200 * time.Millisecond

const (
	maxPending   = 10_000           // values that wait
	writeTimeout = 10 * time.Second // of one write
	retryDelay   = 10 * time.Second // until the next write; an outage is not to fill the log
)

// Batcher gathers values until they are written. It is safe for concurrent use. It makes one
// write at a time, and has a goroutine only for that.
type Batcher[T any] struct {
	label   string // the values are, for the log
	log     *slog.Logger
	write   func(context.Context, []T) error
	writing chan struct{} // full while a write is under way

	mu      sync.Mutex
	pending []T
	failed  bool // the last write
	closed  bool
}

// New returns a group whose values are given to write. What that returns or panics with is
// logged, and after [storage.ErrUnavailable] the values wait again.
func New[T any](what string, log *slog.Logger, write func(context.Context, []T) error) *Batcher[T] {
	return &Batcher[T]{label: what, log: log, write: write, writing: make(chan struct{}, 1)}
}

// Add takes a value, to be written after [Delay] or, when the last write failed, after ten
// seconds, and reports whether it did: not while too many wait, nor after Close.
func (g *Batcher[T]) Add(value T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.pending) == maxPending {
		return false
	}
	if g.pending = append(g.pending, value); len(g.pending) == 1 {
		pause := Delay
		if g.failed {
			pause = retryDelay
		}
		time.AfterFunc(pause, func() { _ = g.Flush(context.Background()) })
	}
	return true
}

// Flush writes what was added before, at once, and returns the error. When ctx ends first,
// the write goes on.
func (g *Batcher[T]) Flush(ctx context.Context) error {
	turn, written := g.writing, make(chan error, 1)
	for {
		select {
		case turn <- struct{}{}:
			turn = nil
			go func() { written <- g.writePending() }()
		case err := <-written:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close is Flush, and nothing is added any more. What the storage cannot take it writes once
// more, also that of a write that was under way.
func (g *Batcher[T]) Close(ctx context.Context) error {
	err := g.Flush(ctx)
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	if last := g.Flush(ctx); last != nil || errors.Is(err, storage.ErrUnavailable) {
		err = last
	}
	return err
}

// writePending writes what waits, and ends the turn.
func (g *Batcher[T]) writePending() (err error) {
	defer func() { <-g.writing }()
	g.mu.Lock()
	values := g.pending
	g.pending = nil
	g.mu.Unlock()
	if len(values) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
		if err != nil {
			g.log.Warn("failed to write "+g.label, "values", len(values), "error", err)
		}
		g.mu.Lock()
		g.failed = err != nil
		g.mu.Unlock()
		for i := 0; errors.Is(err, storage.ErrUnavailable) && i < len(values); i++ {
			g.Add(values[i])
		}
	}()
	return g.write(ctx, values)
}
