// Package batching combines values into batches, so that callers do not wait and the store handles fewer writes.
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

// Delay is how long a value waits for other values. Including the write, it takes about 250 ms to store a value.
const Delay = 200 * time.Millisecond

const (
	maxPending   = 10_000           // maximum number of waiting values
	writeTimeout = 10 * time.Second // for each write
	retryDelay   = 10 * time.Second // after a failed write, so that an outage does not fill the log
)

// Batcher collects values and writes them in batches, one batch at a time, in its own goroutine. It is safe for
// concurrent use.
type Batcher[T any] struct {
	label   string // name of the values in the log
	log     *slog.Logger
	write   func(context.Context, []T) error
	writing chan struct{} // full during a write

	mu      sync.Mutex
	pending []T
	failed  bool // the last write failed
	closed  bool
}

// New returns a Batcher that passes its values to write. It logs errors and panics from write. If write returns
// [storage.ErrUnavailable], the Batcher keeps the values for the next write.
func New[T any](label string, log *slog.Logger, write func(context.Context, []T) error) *Batcher[T] {
	return &Batcher[T]{label: label, log: log, write: write, writing: make(chan struct{}, 1)}
}

// Add adds a value, which is written after [Delay], or after ten seconds if the last write failed. It returns false if
// too many values are waiting or the Batcher is closed.
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

// Flush immediately writes all values added so far and returns any error. If ctx ends first, Flush returns and the
// write continues.
func (g *Batcher[T]) Flush(ctx context.Context) error {
	slot, written := g.writing, make(chan error, 1)
	for {
		select {
		case slot <- struct{}{}:
			slot = nil
			go func() { written <- g.writePending() }()
		case err := <-written:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close flushes and stops accepting values. If the storage is unavailable, it retries the write once.
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
