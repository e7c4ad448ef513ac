package batching

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// written is what a group was asked to write, and how that ends.
type written struct {
	mu    sync.Mutex
	lists [][]int
	log   bytes.Buffer
	end   func(ctx context.Context, list []int) error
}

func (w *written) group() *Batcher[int] {
	return New("numbers", slog.New(slog.NewTextHandler(&w.log, nil)), func(ctx context.Context, list []int) error {
		w.mu.Lock()
		w.lists = append(w.lists, list)
		w.mu.Unlock()
		if w.end == nil {
			return nil
		}
		return w.end(ctx, list)
	})
}

func (w *written) all() [][]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lists)
}

func (w *written) is(t *testing.T, want ...[]int) {
	t.Helper()
	synctest.Wait()
	lists := w.all()
	expect.That(t, slices.EqualFunc(lists, want, slices.Equal), "written is %v, want %v", lists, want)
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func add(t *testing.T, g *Batcher[int], values ...int) {
	t.Helper()
	for _, v := range values {
		expect.Require(t, g.Add(v), "%d is not taken", v)
	}
}

func TestValuesAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w written
		g := w.group()
		add(t, g, 1)
		pass(Delay - 1)
		add(t, g, 2)
		w.is(t)
		pass(1)
		w.is(t, []int{1, 2})
		pass(time.Hour)
		add(t, g, 3)
		pass(Delay)
		w.is(t, []int{1, 2}, []int{3})
	})
}

// A flush waits for a write that has its values, and never for the pause.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := written{end: func(context.Context, []int) error { time.Sleep(time.Second); return nil }}
		g := w.group()
		for _, took := range []time.Duration{0, time.Second, time.Second} {
			err := g.Flush(t.Context())
			expect.That(t, err == nil && time.Since(start) == took, "a flush after %v: %v", time.Since(start), err)
			if took == 0 {
				add(t, g, 1)
			}
		}
		w.is(t, []int{1})

		add(t, g, 2)
		pass(Delay + time.Second/2) // half of the write
		add(t, g, 3)
		start = time.Now()
		err := g.Flush(t.Context())
		expect.That(t, err == nil && time.Since(start) == 3*time.Second/2, "a flush during a write: %v, %v", time.Since(start), err)
		w.is(t, []int{1}, []int{2}, []int{3})
	})
}

// Who leaves takes nothing along, and waits for no write that hangs.
func TestACallerWhoLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := written{end: func(ctx context.Context, _ []int) error { <-ctx.Done(); return ctx.Err() }}
		g := w.group()
		add(t, g, 1)
		start := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			expect.Error(t, "a flush whose context ends", g.Flush(ctx), context.DeadlineExceeded)
			cancel()
			add(t, g, 2)
		}
		w.is(t, []int{1})
		expect.Equal(t, time.Since(start), 3*time.Second, "three flushes of a second take")
		pass(writeTimeout)
		w.is(t, []int{1}, []int{2, 2, 2})
		pass(writeTimeout)
		expect.Equal(t, strings.Count(w.log.String(), "failed to write numbers"), 2, "lines of failed writes: %s", &w.log)
	})
}

func TestWhatTheStorageCannotTakeWaitsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		var w written
		w.end = func(context.Context, []int) error {
			if !up.Load() {
				return fmt.Errorf("down: %w", storage.ErrUnavailable)
			}
			return storage.ErrOutcomeUnknown // may be written
		}
		g := w.group()
		add(t, g, 1, 2)
		pass(Delay)
		add(t, g, 3)
		expect.Error(t, "a flush that fails", g.Flush(t.Context()), storage.ErrUnavailable)
		w.is(t, []int{1, 2}, []int{1, 2, 3})
		up.Store(true)
		pass(time.Hour)
		w.is(t, []int{1, 2}, []int{1, 2, 3}, []int{1, 2, 3})
	})
}

func TestAPanicIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := written{end: func(context.Context, []int) error { panic("of the store") }}
		g := w.group()
		add(t, g, 1)
		pass(Delay)
		add(t, g, 2)
		if err := g.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "of the store") || !strings.Contains(err.Error(), "batching_test.go") {
			t.Errorf("a flush that panics: %v", err)
		}
		pass(time.Hour)
		w.is(t, []int{1}, []int{2})
		expect.Equal(t, strings.Count(w.log.String(), "panic: of the store"), 2, "lines of panics")
	})
}

func TestAGroupIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := written{end: func(context.Context, []int) error { return storage.ErrUnavailable }}
		g := w.group()
		for i := range maxPending {
			add(t, g, i)
		}
		expect.That(t, !g.Add(0), "one more is taken")
		pass(3 * Delay) // they wait again, and leave no room
		expect.That(t, !g.Add(0) && len(g.pending) == maxPending, "after writes that failed %d wait, and one more is taken", len(g.pending))
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w written
		g := w.group()
		add(t, g, 1)
		for range 2 {
			expect.Nil(t, g.Close(t.Context()))
		}
		expect.That(t, !g.Add(2), "a value is taken after Close")
		pass(time.Hour)
		w.is(t, []int{1})
	})
}

// What a write that is under way cannot store is not lost, and an error says so when it is.
func TestCloseDuringAWriteThatFails(t *testing.T) {
	t.Parallel()
	for faults, want := range []error{nil, nil, nil, storage.ErrUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			var w written
			w.end = func(context.Context, []int) error {
				time.Sleep(time.Second)
				if len(w.all()) <= faults {
					return storage.ErrUnavailable
				}
				return nil
			}
			g := w.group()
			add(t, g, 1)
			pass(Delay)
			err := g.Close(t.Context())
			expect.That(t, errors.Is(err, want) && (err == nil) == (want == nil), "Close after %d faults: %v, want %v", faults, err, want)
			lists := w.all()
			expect.That(t, len(lists) == min(faults, 2)+1 && slices.Equal(lists[len(lists)-1], []int{1}), "after %d faults written is %v", faults, lists)
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var sum, most int
	writing := make(chan struct{}, 1)
	g := New("numbers", slog.New(slog.DiscardHandler), func(_ context.Context, list []int) error {
		select {
		case writing <- struct{}{}:
		default:
			t.Error("two writes at once")
		}
		for _, v := range list {
			sum += v
		}
		most = max(most, len(list))
		<-writing
		return nil
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 1000 {
				expect.That(t, g.Add(1), "a value is not taken")
				if i == 0 {
					_ = g.Flush(t.Context())
				}
			}
		})
	}
	wg.Wait()
	err := g.Flush(t.Context())
	expect.That(t, err == nil && sum == 8000 && most >= 2, "%d of 8000 are written, at most %d together, %v", sum, most, err)
}

// An outage of an hour has a line in the log every ten seconds, not four a second.
func TestAnOutageDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		w := written{end: func(context.Context, []int) error {
			if up.Load() {
				return nil
			}
			return storage.ErrUnavailable
		}}
		g := w.group()
		add(t, g, 1)
		pass(time.Hour)
		n := len(w.all())
		expect.That(t, n >= 300 && n <= 361, "%d writes in an hour", n)
		up.Store(true)
		pass(retryDelay)
		add(t, g, 2)
		pass(Delay)
		lists := w.all()
		last := lists[len(lists)-1]
		expect.That(t, slices.Equal(last, []int{2}), "after the outage %v is written last, want 2 after %v", last, Delay)
		expect.Nil(t, g.Close(t.Context()))
	})
}
