package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// desk is a groups whose writes wait until they are let go. Items are strings and
// are their own results. A test of it runs in a bubble, which also finds whatever
// goroutine is left at its end.
type desk struct {
	batcher[string, string, string]

	ready chan struct{} // a value lets a write take its items
	done  chan struct{} // a value lets a write end

	mu      sync.Mutex
	written [][]string
	ended   int // writes whose context ended before they did
}

func newDesk(items, bytes int) *desk {
	d := &desk{ready: make(chan struct{}), done: make(chan struct{})}
	d.maxItems, d.maxBytes = items, bytes
	d.write = func(ctx context.Context, _ string, take func() []string, _ func()) []string {
		select {
		case <-d.ready:
		case <-ctx.Done():
			return nil
		}
		taken := take()
		d.mu.Lock()
		d.written = append(d.written, taken)
		d.mu.Unlock()
		select {
		case <-d.done:
		case <-ctx.Done():
			d.mu.Lock()
			d.ended++
			d.mu.Unlock()
		}
		return taken
	}
	return d
}

// call is a caller of do.
type call struct {
	cancel context.CancelFunc
	over   bool
	result string
	begun  bool
	err    error
	thrown any
}

// bring calls do and returns when nothing moves any more.
func (d *desk) bring(t *testing.T, key, item string) *call {
	ctx, cancel := context.WithCancel(t.Context())
	c := &call{cancel: cancel}
	go func() {
		defer func() {
			c.over, c.thrown = true, recover()
			cancel()
		}()
		c.result, c.begun, c.err = d.addAndWait(ctx, nil, key, item, len(item))
	}()
	synctest.Wait()
	return c
}

// step lets one write go on and returns when nothing moves any more.
func step(c chan struct{}) {
	c <- struct{}{}
	synctest.Wait()
}

func (d *desk) want(t *testing.T, written ...[]string) {
	t.Helper()
	if !slices.EqualFunc(d.written, written, slices.Equal) {
		t.Errorf("written: %q, want %q", d.written, written)
	}
}

func (c *call) want(t *testing.T, result string) {
	t.Helper()
	if !c.over || c.err != nil || c.thrown != nil || c.result != result {
		t.Errorf("over %v with %q, %v, %v; want %q", c.over, c.result, c.err, c.thrown, result)
	}
}

func (c *call) wantLeft(t *testing.T, begun bool) {
	t.Helper()
	if !c.over || !errors.Is(c.err, context.Canceled) || c.begun != begun {
		t.Errorf("over %v, begun %v, %v; want begun %v and a canceled context", c.over, c.begun, c.err, begun)
	}
}

func TestAWriteIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(3, 10)
		for _, item := range []string{"1", "2", "3", "4", "twelve bytes", "5", "nine byte", "6"} {
			d.bring(t, "form", item)
		}
		for range 5 {
			step(d.ready)
			step(d.done)
		}
		d.want(t, []string{"1", "2", "3"}, []string{"4"}, []string{"twelve bytes"}, []string{"5", "nine byte"}, []string{"6"})
	})
}

// A write that has begun continues for a while when all callers have left, because it hands
// over what it stores.
func TestAWriteEndsWhenAllHaveLeft(t *testing.T) {
	t.Parallel()
	for _, inTime := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(10, 100)
			a, b := d.bring(t, "form", "a"), d.bring(t, "form", "b")
			step(d.ready)
			a.cancel()
			b.cancel()
			synctest.Wait()
			a.wantLeft(t, true)
			b.wantLeft(t, true)
			ended := 0
			if inTime {
				time.Sleep(abandonedWriteTime - 1)
				step(d.done)
			} else {
				time.Sleep(abandonedWriteTime)
				synctest.Wait()
				ended = 1
			}
			if d.ended != ended || len(d.queues) != 0 {
				t.Errorf("%d writes ended with their callers, want %d; %d keys are left", d.ended, ended, len(d.queues))
			}
		})
	}
}

// If a submission times out in one batch, the next batch must not make it wait again.
func TestATimeoutStaysOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(10, 100)
		d.bring(t, "form", "a")
		s := &Store{db: conn.Conn{Timeout: time.Second}}
		timedOut, end := s.newTimeoutTimer(t.Context())
		defer end()
		for range 3 {
			_, begun, err := d.addAndWait(t.Context(), timedOut, "form", "b", 1)
			expect(t, errors.Is(err, context.DeadlineExceeded) && !begun, "begun %v, %v", begun, err)
		}
		step(d.ready)
		step(d.done)
	})
}

// A write that gives back what it has taken takes it again, with what has come since and
// without what was left. Who leaves in between knows that nothing is written.
func TestAWriteThatGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(10, 100)
		works, first := d.write, true
		d.write = func(ctx context.Context, key string, take func() []string, back func()) []string {
			if first {
				first = false
				take()
				<-d.ready
				back()
				<-d.ready
			}
			return works(ctx, key, take, back)
		}
		a, b, c := d.bring(t, "form", "a"), d.bring(t, "form", "b"), d.bring(t, "form", "c")
		b.cancel() // during the attempt
		synctest.Wait()
		step(d.ready)
		c.cancel() // after it
		e := d.bring(t, "form", "e")
		c.wantLeft(t, false)
		step(d.ready)
		step(d.ready)
		step(d.done)
		d.want(t, []string{"a", "e"})
		a.want(t, "a")
		e.want(t, "e")
	})
}

// Many callers of which some leave: nobody gets another one's result, nothing is
// written twice, and what a caller was told is not written is not.
func TestGroupsUnderLoad(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	written := map[int]int{}
	g := &batcher[int, int, int]{maxItems: 7, maxBytes: 1 << 20}
	g.write = func(_ context.Context, _ int, take func() []int, _ func()) []int {
		taken := take()
		results := make([]int, len(taken))
		mu.Lock()
		defer mu.Unlock()
		for i, item := range taken {
			written[item]++
			results[i] = -item
		}
		return results
	}
	var callers sync.WaitGroup
	var not sync.Map
	for caller := range 16 {
		callers.Go(func() {
			for i := range 2000 {
				item := caller*2000 + i + 1
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					time.AfterFunc(time.Duration(rand.N(int64(20*time.Microsecond))), cancel)
				}
				got, begun, err := g.addAndWait(ctx, nil, i%2, item, 1)
				switch {
				case err == nil && got != -item:
					t.Errorf("item %d has the result %d", item, got)
				case err != nil && !begun:
					not.Store(item, true)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	mu.Lock()
	defer mu.Unlock()
	for item, times := range written {
		if _, told := not.Load(item); told || times != 1 {
			t.Errorf("item %d was written %d times; its caller was told that it is not: %v", item, times, told)
		}
	}
}

// However fast a write is, nothing of a context that has ended is written.
func TestAnEndedContextWritesNothing(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	var g batcher[int, int, int]
	g.write = func(_ context.Context, _ int, takeItems func() []int, _ func()) []int {
		taken := takeItems()
		written.Add(int64(len(taken)))
		return taken
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10_000 {
		_, begun, err := g.addAndWait(ctx, nil, 1, 1, 1)
		if begun || !errors.Is(err, context.Canceled) || written.Load() > 0 {
			t.Fatalf("begun %v, %v, %d written", begun, err, written.Load())
		}
	}
}

// isIdle reports whether nothing waits or is written.
func (g *batcher[K, T, R]) isIdle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queues) == 0
}

// waitFor returns how many wait for the next write of a key.
func (g *batcher[K, T, R]) waitFor(key K) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.queues[key]; l != nil {
		return len(l.waiting)
	}
	return 0
}

// heldFor counts the items that wait, and those that the write in progress has taken. It returns all
// of them to the queue while the lock is held.
func (g *batcher[K, T, R]) heldFor(key K) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.queues[key]; l != nil {
		return len(l.waiting) + len(l.write.items)
	}
	return 0
}
