package gather

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

	"github.com/formsvc/formsvc/storage"
)

// written is what a group was asked to write, and how that ends.
type written struct {
	mu    sync.Mutex
	lists [][]int
	log   bytes.Buffer
	end   func(ctx context.Context, list []int) error
}

func (w *written) group() *Group[int] {
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

func (w *written) is(t *testing.T, want ...[]int) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.EqualFunc(w.lists, want, slices.Equal) {
		t.Errorf("written is %v, want %v", w.lists, want)
	}
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func add(t *testing.T, g *Group[int], values ...int) {
	t.Helper()
	for _, v := range values {
		if !g.Add(v) {
			t.Fatalf("%d is not taken", v)
		}
	}
}

func TestValuesAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w written
		g := w.group()
		add(t, g, 1)
		pass(Pause - 1)
		add(t, g, 2)
		w.is(t)
		pass(1)
		w.is(t, []int{1, 2})
		pass(time.Hour)
		add(t, g, 3)
		pass(Pause)
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
			if err := g.Flush(t.Context()); err != nil || time.Since(start) != took {
				t.Errorf("a flush after %v: %v", time.Since(start), err)
			}
			if took == 0 {
				add(t, g, 1)
			}
		}
		w.is(t, []int{1})

		add(t, g, 2)
		pass(Pause + time.Second/2) // half of the write
		add(t, g, 3)
		start = time.Now()
		if err := g.Flush(t.Context()); err != nil || time.Since(start) != 3*time.Second/2 {
			t.Errorf("a flush during a write: %v, %v", time.Since(start), err)
		}
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
			if err := g.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a flush whose context ends: %v", err)
			}
			cancel()
			add(t, g, 2)
		}
		w.is(t, []int{1})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("three flushes of a second take %v", took)
		}
		pass(timeout)
		w.is(t, []int{1}, []int{2, 2, 2})
		pass(timeout)
		if n := strings.Count(w.log.String(), "numbers were not written"); n != 2 {
			t.Errorf("%d lines say that two writes failed: %s", n, &w.log)
		}
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
		pass(Pause)
		add(t, g, 3)
		if err := g.Flush(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("a flush that fails: %v", err)
		}
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
		pass(Pause)
		add(t, g, 2)
		if err := g.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "of the store") || !strings.Contains(err.Error(), "gather_test.go") {
			t.Errorf("a flush that panics: %v", err)
		}
		pass(time.Hour)
		w.is(t, []int{1}, []int{2})
		if log := w.log.String(); strings.Count(log, "panic: of the store") != 2 {
			t.Errorf("the log has %s", log)
		}
	})
}

func TestAGroupIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := written{end: func(context.Context, []int) error { return storage.ErrUnavailable }}
		g := w.group()
		for i := range most {
			add(t, g, i)
		}
		if g.Add(0) {
			t.Error("one more is taken")
		}
		pass(3 * Pause) // they wait again, and leave no room
		if g.Add(0) || len(g.next) != most {
			t.Errorf("after writes that failed %d wait, and one more is taken", len(g.next))
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w written
		g := w.group()
		add(t, g, 1)
		for range 2 {
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if g.Add(2) {
			t.Error("a value is taken after Close")
		}
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
				if len(w.lists) <= faults {
					return storage.ErrUnavailable
				}
				return nil
			}
			g := w.group()
			add(t, g, 1)
			pass(Pause)
			if err := g.Close(t.Context()); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("Close after %d faults: %v, want %v", faults, err, want)
			}
			if n := len(w.lists); n != min(faults, 2)+1 || !slices.Equal(w.lists[n-1], []int{1}) {
				t.Errorf("after %d faults written is %v", faults, w.lists)
			}
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
				if !g.Add(1) {
					t.Error("a value is not taken")
				}
				if i == 0 {
					_ = g.Flush(t.Context())
				}
			}
		})
	}
	wg.Wait()
	if err := g.Flush(t.Context()); err != nil || sum != 8000 || most < 2 {
		t.Errorf("%d of 8000 are written, at most %d together, %v", sum, most, err)
	}
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
		if n := len(w.lists); n < 300 || n > 361 {
			t.Errorf("%d writes in an hour", n)
		}
		up.Store(true)
		pass(afterFault)
		add(t, g, 2)
		pass(Pause)
		if last := w.lists[len(w.lists)-1]; !slices.Equal(last, []int{2}) {
			t.Errorf("after the outage %v is written last, want 2 after %v", last, Pause)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
