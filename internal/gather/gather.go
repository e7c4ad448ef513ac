// Package gather combines single values into batches. Callers do not wait, and the store gets one write
// instead of many.
package gather

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

// Pause is how long a value waits for others before it is written: with its write, a quarter of
// a second.
const Pause = 200 * time.Millisecond

const (
	most       = 10_000           // values that wait
	timeout    = 10 * time.Second // of one write
	afterFault = 10 * time.Second // until the next write; an outage is not to fill the log
)

// Group gathers values until they are written. It is safe for concurrent use. It makes one
// write at a time, and has a goroutine only for that.
type Group[T any] struct {
	what  string // the values are, for the log
	log   *slog.Logger
	write func(context.Context, []T) error
	turn  chan struct{} // full while a write is under way

	mu     sync.Mutex
	next   []T
	failed bool // the last write
	closed bool
}

// New returns a group whose values are given to write. What that returns or panics with is
// logged, and after [storage.ErrUnavailable] the values wait again.
func New[T any](what string, log *slog.Logger, write func(context.Context, []T) error) *Group[T] {
	return &Group[T]{what: what, log: log, write: write, turn: make(chan struct{}, 1)}
}

// Add takes a value, to be written after [Pause] or, when the last write failed, after ten
// seconds, and reports whether it did: not while too many wait, nor after Close.
func (g *Group[T]) Add(value T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.next) == most {
		return false
	}
	if g.next = append(g.next, value); len(g.next) == 1 {
		pause := Pause
		if g.failed {
			pause = afterFault
		}
		time.AfterFunc(pause, func() { _ = g.Flush(context.Background()) })
	}
	return true
}

// Flush writes what was added before, at once, and returns the error. When ctx ends first,
// the write goes on.
func (g *Group[T]) Flush(ctx context.Context) error {
	turn, written := g.turn, make(chan error, 1)
	for {
		select {
		case turn <- struct{}{}:
			turn = nil
			go func() { written <- g.writeNext() }()
		case err := <-written:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close is Flush, and nothing is added any more. What the storage cannot take it writes once
// more, also that of a write that was under way.
func (g *Group[T]) Close(ctx context.Context) error {
	err := g.Flush(ctx)
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	if last := g.Flush(ctx); last != nil || errors.Is(err, storage.ErrUnavailable) {
		err = last
	}
	return err
}

// writeNext writes what waits, and ends the turn.
func (g *Group[T]) writeNext() (err error) {
	defer func() { <-g.turn }()
	g.mu.Lock()
	values := g.next
	g.next = nil
	g.mu.Unlock()
	if len(values) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
		if err != nil {
			g.log.Warn("failed to write "+g.what, "values", len(values), "error", err)
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
