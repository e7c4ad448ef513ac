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

// batcher writes the items of concurrent callers together. An item that comes while a
// write of its key is under way waits for the end of that write; then all waiting items
// are written at once. There is no timer, so an item that comes alone is written at
// once. Items of different keys are never written together, and never wait for each
// other.
//
// A write runs in a goroutine and under a context of its own, so that no caller
// who leaves takes the others along. Both end with the write: when nobody writes,
// nothing is left of a key. A write that panics does so in the goroutine of each caller
// whose item it has taken, where whoever called them recovers; the next write goes on.
type batcher[K comparable, T, R any] struct {
	// write writes items of one key and returns a result for each of them, in their
	// order. It calls take once, when it is ready to write: until then the callers of
	// these items can leave, and others can join. take returns nothing when all have
	// left. A write that has stored nothing and waits may call back: then these callers can
	// leave again, and it takes again. ctx ends when nobody waits for the write any longer: at
	// once before it has taken anything, and after abandonedWriteTime then.
	write func(ctx context.Context, key K, takeItems func() []T, returnItems func()) []R
	// maxItems and bytes bound the items of one write, 0 items are any number; a single item is
	// taken whatever its size.
	maxItems, maxBytes int

	mu     sync.Mutex
	queues map[K]*batchQueue[T, R] // each has a write under way
}

// batchQueue is the items of one key that wait, and the write under way.
type batchQueue[T, R any] struct {
	waiting []*batchItem[T, R]
	write   *batchWrite[T, R]
}

const (
	// settle is how long a caller whose time is over waits for an attempt that has begun: it
	// ends so soon when a lock is held.
	settleTime = 3 * conn.LockTimeout
	// abandonedWriteTime is how long a write continues when all of its callers have left. It hands
	// over what it has stored, which otherwise waits for the end of a lease.
	abandonedWriteTime = time.Second
)

// batchItem is an item that somebody waits for.
type batchItem[T, R any] struct {
	value     T
	size      int
	abandoned bool              // the caller has left or is about to: no further write takes it
	write     *batchWrite[T, R] // that has taken it; nil while it waits
	done      chan struct{}     // closed when what follows is set
	result    R
	panicErr  *panicError // nil unless the write panicked
}

// thrown is what somebody panicked with, and where.
type panicError struct {
	value any
	stack []byte
}

// Error has both, so that whoever recovers or logs it sees where it comes from.
func (e *panicError) Error() string { return fmt.Sprintf("%v\n\n%s", e.value, e.stack) }

// Unwrap returns the value when that is an error.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

type batchWrite[T, R any] struct {
	cancel  context.CancelFunc
	items   []*batchItem[T, R]
	callers int // callers of taken who have not left
}

// do writes an item of size bytes and returns its result. It returns the error of ctx when
// that ends before, or [context.DeadlineExceeded] when late has a value; begun says whether
// the item may be written all the same. It panics with a *thrown when the write has
// panicked.
func (b *batcher[K, T, R]) do(ctx context.Context, timedOut <-chan time.Time, key K, value T, size int) (result R, begun bool, err error) {
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
		return item.outcome(), true, nil
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
	case <-item.done: // at the same moment
		return item.outcome(), true, nil
	default:
	}
	return result, b.abandon(q, item), cmp.Or(ctx.Err(), context.DeadlineExceeded)
}

// end is what became of an item whose write has ended.
func (item *batchItem[T, R]) outcome() R {
	if item.panicErr != nil {
		panic(item.panicErr)
	}
	return item.result
}

// begin makes the next write. The lock is held.
func (q *batchQueue[T, R]) startWrite() (*batchWrite[T, R], context.Context) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // run calls it
	q.write = &batchWrite[T, R]{cancel: cancel}
	return q.write, ctx
}

// run writes until nothing waits.
func (b *batcher[K, T, R]) run(ctx context.Context, key K, q *batchQueue[T, R], write *batchWrite[T, R]) {
	for {
		results, panicErr := b.writeRecovering(ctx, key, func() []T { return b.takeItems(ctx, q, write) }, func() { b.returnItems(q, write) })
		if panicErr != nil && write.items == nil {
			b.takeItems(ctx, q, write) // or they would wait for the same again
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

// guarded writes, and recovers what that panics with.
func (b *batcher[K, T, R]) writeRecovering(ctx context.Context, key K, takeItems func() []T, returnItems func()) (results []R, panicErr *panicError) {
	defer func() {
		if value := recover(); value != nil {
			panicErr = &panicError{value, debug.Stack()}
		}
	}()
	return b.write(ctx, key, takeItems, returnItems), nil
}

// take hands out the items that have waited longest, as many as are written at
// once.
func (b *batcher[K, T, R]) takeItems(ctx context.Context, q *batchQueue[T, R], write *batchWrite[T, R]) []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return nil // what waits now has come since, and is written next
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

// back undoes take.
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

// settling reports whether a write has taken the item. If so, no further write takes it.
func (b *batcher[K, T, R]) stopRetries(item *batchItem[T, R]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	item.abandoned = item.write != nil
	return item.abandoned
}

// leave is called when the caller of t does not wait any longer. It reports
// whether the item has been taken.
func (b *batcher[K, T, R]) abandon(q *batchQueue[T, R], item *batchItem[T, R]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	item.abandoned = true
	if write := item.write; write != nil {
		if write.callers--; write.callers == 0 {
			time.AfterFunc(abandonedWriteTime, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				if write.callers == 0 { // else it has gone back and taken others
					write.cancel()
				}
			})
		}
		return true
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(other *batchItem[T, R]) bool { return other == item })
	if len(q.waiting) == 0 && q.write.items == nil {
		q.write.cancel() // it was getting ready for nobody
	}
	return false
}

// writeWithConnection takes items as soon as there is a connection, and does something with them
// on it, again when that fails for a passing reason. While a lock that they need is held, no
// items are taken, so that their callers know that nothing is stored. A zero form is any form.
// failed is the result of each item when all of them have failed.
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
			// Callers that can run come first and join: with 16 of them in a loop a tenth
			// more responses are stored in a second.
			runtime.Gosched()
			items = takeItems()
		}
		if len(items) > 0 {
			out, err = do(ctx, items)
		}
		if conn.LockHeld(err) {
			returnItems()
			items = nil
		}
		return err
	})
	if err == nil {
		return out
	}
	if conn.LockHeld(err) {
		return nil // the next write takes those that still wait
	}
	if items == nil {
		items = takeItems()
	}
	return slices.Repeat([]R{failed(err)}, len(items))
}

// late is when a caller has waited for as long as a call may take.
func (s *Store) lateTimer(ctx context.Context) (at <-chan time.Time, end func()) {
	left, spent := timeout.TimeLeft(ctx, s.db.Timeout)
	timedOut := time.NewTimer(left - min(settleTime, left/4))
	return timedOut.C, func() {
		timedOut.Stop()
		spent()
	}
}

// abandonedError is the error of a caller who has left a group.
func abandonedError(ctx context.Context, err error, begun bool) error {
	if err != nil && begun {
		return fmt.Errorf("%w: %w", err, storage.ErrOutcomeUnknown)
	} else if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", err, storage.ErrUnavailable)
	}
	return err
}
