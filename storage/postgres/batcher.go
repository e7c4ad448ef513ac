package postgres

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// batcher writes the items of concurrent callers in batches. An item that arrives while items with the same key are
// being written waits for that write to end. Then all waiting items are written together. A single item is written
// immediately, without a timer. Items with different keys never share a batch and never wait for each other. A write
// runs in its own goroutine and context, so a caller that leaves does not cancel the write for other callers. If a
// write panics, each of its callers panics, but later writes run as usual.
type batcher[K comparable, T, R any] struct {
	// write writes items with the same key and returns their results in order. It calls takeItems when it is ready to
	// write. Until then, callers can leave and others can join. takeItems returns nothing if all callers have left. If
	// write has stored nothing and must wait, it can call returnItems and take items again later. If all callers leave
	// before write calls takeItems, ctx ends immediately. If they leave afterwards, ctx ends after abandonedWriteTime.
	write func(ctx context.Context, key K, takeItems func() []T, returnItems func()) []R
	// maxItems and maxBytes limit a batch. A zero maxItems means no limit. A single item can exceed maxBytes.
	maxItems, maxBytes int

	mu     sync.Mutex
	queues map[K]*batchQueue[T, R] // each has a write in progress
}

type batchQueue[T, R any] struct {
	waiting []*batchItem[T, R]
	write   *batchWrite[T, R]
}

const (
	// settleTime is how long a caller waits for a write in progress after the caller's timeout. A write that waits for
	// a lock ends within this time.
	settleTime = 3 * conn.LockTimeout
	// abandonedWriteTime is how long a write continues after all callers have left, so that it can still dispatch its
	// deliveries. Otherwise, the deliveries would wait until their leases end.
	abandonedWriteTime = time.Second
)

// batchItem is an item whose caller is waiting.
type batchItem[T, R any] struct {
	value     T
	size      int
	abandoned bool              // no further write may take the item
	write     *batchWrite[T, R] // the write that took the item, or nil
	done      chan struct{}     // closed when the following fields are set
	result    R
	panicErr  *panicError // set if the write panicked
}

type panicError struct {
	value any
	stack []byte
}

// Error includes the stack, because the caller's own stack does not show where the panic happened.
func (e *panicError) Error() string { return fmt.Sprintf("%v\n\n%s", e.value, e.stack) }

func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

type batchWrite[T, R any] struct {
	cancel  context.CancelFunc
	items   []*batchItem[T, R]
	callers int // number of callers that have not left
}

// addAndWait writes an item and returns its result. The parameter size is the item's size in bytes. If ctx has already
// ended, the item is not written, because a fast write could be over before the wait begins. If ctx ends first,
// it returns the error of ctx. If timedOut is closed first, it returns [context.DeadlineExceeded]. In both cases, begun
// reports whether the item may still be written. If the write panicked, addAndWait panics with a *panicError.
func (b *batcher[K, T, R]) addAndWait(ctx context.Context, timedOut <-chan struct{}, key K, value T, size int) (result R, begun bool, err error) {
	if err := ctx.Err(); err != nil {
		return result, false, err
	}
	item := &batchItem[T, R]{value: value, size: size, done: make(chan struct{})}
	b.mu.Lock()
	q := b.queues[key]
	if q == nil {
		if b.queues == nil {
			b.queues = map[K]*batchQueue[T, R]{}
		}
		q = &batchQueue[T, R]{}
		b.queues[key] = q
		write, wctx := q.startWrite()
		go b.run(wctx, key, q, write)
	}
	q.waiting = append(q.waiting, item)
	b.mu.Unlock()

	select {
	case <-item.done:
		return item.resultOrPanic(), true, nil
	case <-ctx.Done():
	case <-timedOut:
		if b.stopRetries(item) {
			select {
			case <-item.done:
			case <-ctx.Done():
			case <-time.After(settleTime):
			}
		}
	}
	select {
	case <-item.done: // the write ended at the same moment
		return item.resultOrPanic(), true, nil
	default:
	}
	return result, b.abandon(q, item), cmp.Or(ctx.Err(), context.DeadlineExceeded)
}

func (item *batchItem[T, R]) resultOrPanic() R {
	if item.panicErr != nil {
		panic(item.panicErr)
	}
	return item.result
}

// startWrite prepares the next write. The caller must hold the mutex.
func (q *batchQueue[T, R]) startWrite() (*batchWrite[T, R], context.Context) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // the method run calls cancel
	q.write = &batchWrite[T, R]{cancel: cancel}
	return q.write, ctx
}

func (b *batcher[K, T, R]) run(ctx context.Context, key K, q *batchQueue[T, R], write *batchWrite[T, R]) {
	for {
		results, panicErr := b.writeRecovering(ctx, key, func() []T { return b.takeItems(ctx, q, write) }, func() { b.returnItems(q, write) })
		if panicErr != nil && write.items == nil {
			b.takeItems(ctx, q, write) // otherwise the next write would panic for the same items
		}
		for i, item := range write.items {
			if item.panicErr = panicErr; panicErr == nil {
				item.result = results[i]
			}
			close(item.done)
		}
		write.cancel()
		b.mu.Lock()
		if len(q.waiting) == 0 {
			delete(b.queues, key)
			b.mu.Unlock()
			return
		}
		write, ctx = q.startWrite()
		b.mu.Unlock()
	}
}

func (b *batcher[K, T, R]) writeRecovering(ctx context.Context, key K, takeItems func() []T, returnItems func()) (results []R, panicErr *panicError) {
	defer func() {
		if value := recover(); value != nil {
			panicErr = &panicError{value, debug.Stack()}
		}
	}()
	return b.write(ctx, key, takeItems, returnItems), nil
}

// takeItems removes the oldest items from the queue, up to the limits for a batch.
func (b *batcher[K, T, R]) takeItems(ctx context.Context, q *batchQueue[T, R], write *batchWrite[T, R]) []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return nil // the waiting items belong to the next write
	}
	n, size := 0, 0
	for _, item := range q.waiting {
		if n > 0 && (n == b.maxItems || size+item.size > b.maxBytes) {
			break
		}
		n++
		size += item.size
	}
	write.items, write.callers = slices.Clone(q.waiting[:n]), n
	q.waiting = slices.Delete(q.waiting, 0, n)
	items := make([]T, n)
	for i, item := range write.items {
		item.write = write
		items[i] = item.value
	}
	return items
}

func (b *batcher[K, T, R]) returnItems(q *batchQueue[T, R], write *batchWrite[T, R]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var again []*batchItem[T, R]
	for _, item := range write.items {
		item.write = nil
		if !item.abandoned {
			again = append(again, item)
		}
	}
	q.waiting = append(again, q.waiting...)
	write.items, write.callers = nil, 0
	if len(q.waiting) == 0 {
		write.cancel()
	}
}

// stopRetries reports whether a write has taken the item, and prevents further writes from taking it.
func (b *batcher[K, T, R]) stopRetries(item *batchItem[T, R]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	item.abandoned = item.write != nil
	return item.abandoned
}

// abandon removes an item whose caller is no longer waiting. It reports whether a write has taken the item.
func (b *batcher[K, T, R]) abandon(q *batchQueue[T, R], item *batchItem[T, R]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	item.abandoned = true
	if write := item.write; write != nil {
		if write.callers--; write.callers == 0 {
			time.AfterFunc(abandonedWriteTime, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				if write.callers == 0 { // otherwise the write contains other callers' items
					write.cancel()
				}
			})
		}
		return true
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(other *batchItem[T, R]) bool { return other == item })
	if len(q.waiting) == 0 && q.write.items == nil {
		q.write.cancel() // no item is left for this write
	}
	return false
}

// writeWithConnection acquires a connection, takes items and calls do with them. It retries after temporary errors.
// While another transaction holds a lock, it returns the items to the queue, so that callers that leave know that
// nothing was stored. A zero form means that the items can belong to any form. If the whole batch fails, the function
// failed converts the error into each item's result.
func writeWithConnection[T, R any](ctx context.Context, s *Store, form storage.ID, lock any, takeItems func() []T, returnItems func(),
	failed func(error) R, do func(context.Context, []T) ([]R, error),
) []R {
	var items []T
	var out []R
	key := conn.Key{Record: string(form[:]), Lock: lock}
	if form.IsZero() {
		key = conn.Key{}
	}
	err := s.db.WriteFor(ctx, key, func(ctx context.Context) (err error) {
		if items == nil {
			// Let other callers join. With 16 callers in a loop, this yield lets the store write a tenth more
			// submissions per second.
			runtime.Gosched()
			items = takeItems()
		}
		if len(items) > 0 {
			out, err = do(ctx, items)
		}
		if conn.IsLockHeld(err) {
			returnItems()
			items = nil
		}
		return err
	})
	if err == nil {
		return out
	}
	if conn.IsLockHeld(err) {
		return nil // the next write takes the items that are still waiting
	}
	if items == nil {
		items = takeItems()
	}
	return slices.Repeat([]R{failed(err)}, len(items))
}

// newTimeoutTimer returns a channel that is closed shortly before the call times out. The caller must call end.
func (s *Store) newTimeoutTimer(ctx context.Context) (timedOut <-chan struct{}, end func()) {
	left, spent := timeout.TimeLeft(ctx, s.db.Timeout)
	closed := make(chan struct{})
	timer := time.AfterFunc(left-min(settleTime, left/4), func() { close(closed) })
	return closed, func() { timer.Stop(); spent() }
}

func abandonedError(ctx context.Context, err error, begun bool) error {
	if err != nil && begun {
		return fmt.Errorf("%w: %w", err, storage.ErrOutcomeUnknown)
	} else if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", err, storage.ErrUnavailable)
	}
	return err
}
