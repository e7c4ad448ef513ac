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

// groups writes the items of concurrent callers together. An item that comes while a
// write of its key is under way waits for the end of that write; then all waiting items
// are written at once. There is no timer, so an item that comes alone is written at
// once. Items of different keys are never written together, and never wait for each
// other.
//
// A write runs in a goroutine and under a context of its own, so that no caller
// who leaves takes the others along. Both end with the write: when nobody writes,
// nothing is left of a key. A write that panics does so in the goroutine of each caller
// whose item it has taken, where whoever called them recovers; the next write goes on.
type groups[K comparable, T, R any] struct {
	// write writes items of one key and returns a result for each of them, in their
	// order. It calls take once, when it is ready to write: until then the callers of
	// these items can leave, and others can join. take returns nothing when all have
	// left. A write that has stored nothing and waits may call back: then these callers can
	// leave again, and it takes again. ctx ends when nobody waits for the write any longer: at
	// once before it has taken anything, and after outcomeFor then.
	write func(ctx context.Context, key K, take func() []T, back func()) []R
	// items and bytes bound the items of one write, 0 items are any number; a single item is
	// taken whatever its size.
	items, bytes int

	mu    sync.Mutex
	lines map[K]*line[T, R] // each has a write under way
}

// line is the items of one key that wait, and the write under way.
type line[T, R any] struct {
	waiting []*ticket[T, R]
	write   *groupWrite[T, R]
}

const (
	// settle is how long a caller whose time is over waits for an attempt that has begun: it
	// ends so soon when a lock is held.
	settle = 3 * conn.LockTimeout
	// outcomeFor is how long a write continues when all of its callers have left. It hands
	// over what it has stored, which otherwise waits for the end of a lease.
	outcomeFor = time.Second
)

// ticket is an item that somebody waits for.
type ticket[T, R any] struct {
	item   T
	size   int
	left   bool              // the caller has left or is about to: no further write takes it
	write  *groupWrite[T, R] // that has taken it; nil while it waits
	done   chan struct{}     // closed when what follows is set
	result R
	thrown *thrown // nil unless the write panicked
}

// thrown is what somebody panicked with, and where.
type thrown struct {
	value any
	stack []byte
}

// Error has both, so that whoever recovers or logs it sees where it comes from.
func (t *thrown) Error() string { return fmt.Sprintf("%v\n\n%s", t.value, t.stack) }

// Unwrap returns the value when that is an error.
func (t *thrown) Unwrap() error {
	err, _ := t.value.(error)
	return err
}

type groupWrite[T, R any] struct {
	cancel  context.CancelFunc
	taken   []*ticket[T, R]
	present int // callers of taken who have not left
}

// do writes an item of size bytes and returns its result. It returns the error of ctx when
// that ends before, or [context.DeadlineExceeded] when late has a value; begun says whether
// the item may be written all the same. It panics with a *thrown when the write has
// panicked.
func (g *groups[K, T, R]) do(ctx context.Context, late <-chan time.Time, key K, item T, size int) (result R, begun bool, err error) {
	t := &ticket[T, R]{item: item, size: size, done: make(chan struct{})}
	g.mu.Lock()
	l := g.lines[key]
	if l == nil {
		if g.lines == nil {
			g.lines = map[K]*line[T, R]{}
		}
		l = &line[T, R]{}
		g.lines[key] = l
		w, wctx := l.begin()
		go g.run(wctx, key, l, w)
	}
	l.waiting = append(l.waiting, t)
	g.mu.Unlock()

	select {
	case <-t.done:
		return t.end(), true, nil
	case <-ctx.Done():
	case <-late:
		if g.settling(t) {
			select {
			case <-t.done:
			case <-ctx.Done():
			case <-time.After(settle):
			}
		}
	}
	select {
	case <-t.done: // at the same moment
		return t.end(), true, nil
	default:
	}
	return result, g.leave(l, t), cmp.Or(ctx.Err(), context.DeadlineExceeded)
}

// end is what became of an item whose write has ended.
func (t *ticket[T, R]) end() R {
	if t.thrown != nil {
		panic(t.thrown)
	}
	return t.result
}

// begin makes the next write. The lock is held.
func (l *line[T, R]) begin() (*groupWrite[T, R], context.Context) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // run calls it
	l.write = &groupWrite[T, R]{cancel: cancel}
	return l.write, ctx
}

// run writes until nothing waits.
func (g *groups[K, T, R]) run(ctx context.Context, key K, l *line[T, R], w *groupWrite[T, R]) {
	for {
		results, thrown := g.guarded(ctx, key, func() []T { return g.take(ctx, l, w) }, func() { g.back(l, w) })
		if thrown != nil && w.taken == nil {
			g.take(ctx, l, w) // or they would wait for the same again
		}
		for i, t := range w.taken {
			if t.thrown = thrown; thrown == nil {
				t.result = results[i]
			}
			close(t.done)
		}
		w.cancel()
		g.mu.Lock()
		if len(l.waiting) == 0 {
			delete(g.lines, key)
			g.mu.Unlock()
			return
		}
		w, ctx = l.begin()
		g.mu.Unlock()
	}
}

// guarded writes, and recovers what that panics with.
func (g *groups[K, T, R]) guarded(ctx context.Context, key K, take func() []T, back func()) (results []R, t *thrown) {
	defer func() {
		if value := recover(); value != nil {
			t = &thrown{value, debug.Stack()}
		}
	}()
	return g.write(ctx, key, take, back), nil
}

// take hands out the items that have waited longest, as many as are written at
// once.
func (g *groups[K, T, R]) take(ctx context.Context, l *line[T, R], w *groupWrite[T, R]) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil {
		return nil // what waits now has come since, and is written next
	}
	n, size := 0, 0
	for _, t := range l.waiting {
		if n > 0 && (n == g.items || size+t.size > g.bytes) {
			break
		}
		n++
		size += t.size
	}
	w.taken, w.present = slices.Clone(l.waiting[:n]), n
	l.waiting = slices.Delete(l.waiting, 0, n)
	items := make([]T, n)
	for i, t := range w.taken {
		t.write = w
		items[i] = t.item
	}
	return items
}

// back undoes take.
func (g *groups[K, T, R]) back(l *line[T, R], w *groupWrite[T, R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var again []*ticket[T, R]
	for _, t := range w.taken {
		t.write = nil
		if !t.left {
			again = append(again, t)
		}
	}
	l.waiting = append(again, l.waiting...)
	w.taken, w.present = nil, 0
	if len(l.waiting) == 0 {
		w.cancel()
	}
}

// settling reports whether a write has taken the item. If so, no further write takes it.
func (g *groups[K, T, R]) settling(t *ticket[T, R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.left = t.write != nil
	return t.left
}

// leave is called when the caller of t does not wait any longer. It reports
// whether the item has been taken.
func (g *groups[K, T, R]) leave(l *line[T, R], t *ticket[T, R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.left = true
	if w := t.write; w != nil {
		if w.present--; w.present == 0 {
			time.AfterFunc(outcomeFor, func() {
				g.mu.Lock()
				defer g.mu.Unlock()
				if w.present == 0 { // else it has gone back and taken others
					w.cancel()
				}
			})
		}
		return true
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(other *ticket[T, R]) bool { return other == t })
	if len(l.waiting) == 0 && l.write.taken == nil {
		l.write.cancel() // it was getting ready for nobody
	}
	return false
}

// withConnection takes items as soon as there is a connection, and does something with them
// on it, again when that fails for a passing reason. While a lock that they need is held, no
// items are taken, so that their callers know that nothing is stored. A zero form is any form.
// failed is the result of each item when all of them have failed.
func withConnection[T, R any](ctx context.Context, s *Store, form storage.ID, lock any, take func() []T, back func(),
	failed func(error) R, do func(context.Context, []T) ([]R, error),
) []R {
	var taken []T
	var out []R
	key := conn.Key{About: string(form[:]), Lock: lock}
	if form.IsZero() {
		key = conn.Key{}
	}
	err := s.db.WriteFor(ctx, key, func(ctx context.Context) (err error) {
		if taken == nil {
			// Callers that can run come first and join: with 16 of them in a loop a tenth
			// more responses are stored in a second.
			runtime.Gosched()
			taken = take()
		}
		if len(taken) > 0 {
			out, err = do(ctx, taken)
		}
		if conn.LockHeld(err) {
			back()
			taken = nil
		}
		return err
	})
	if err == nil {
		return out
	}
	if conn.LockHeld(err) {
		return nil // the next write takes those that still wait
	}
	if taken == nil {
		taken = take()
	}
	return slices.Repeat([]R{failed(err)}, len(taken))
}

// late is when a caller has waited for as long as a call may take.
func (s *Store) late(ctx context.Context) (at <-chan time.Time, end func()) {
	left, spent := timeout.Spend(ctx, s.db.Timeout)
	late := time.NewTimer(left - min(settle, left/4))
	return late.C, func() {
		late.Stop()
		spent()
	}
}

// notWaited is the error of a caller who has left a group.
func notWaited(ctx context.Context, err error, begun bool) error {
	if err != nil && begun {
		return fmt.Errorf("%w: %w", err, storage.ErrOutcomeUnknown)
	} else if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", err, storage.ErrUnavailable)
	}
	return err
}
