package ratelimit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore is a host's store: it answers what it is told and remembers keys.
type fakeStore struct {
	mu     sync.Mutex
	keys   []string
	ok     bool
	reset  time.Time
	err    error
	closed bool
}

func (s *fakeStore) Take(_ context.Context, key string) (tokens, remaining, reset uint64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
	return 5, 2, uint64(s.reset.UnixNano()), s.ok, s.err
}
func (s *fakeStore) Get(context.Context, string) (tokens, remaining uint64, err error) {
	return 0, 0, nil
}
func (s *fakeStore) Set(context.Context, string, uint64, time.Duration) error { return nil }
func (s *fakeStore) Burst(context.Context, string, uint64) error              { return nil }
func (s *fakeStore) Close(context.Context) error                              { s.closed = true; return nil }

func TestEachKeyHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	l, err := New(3, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	for key, calls := range map[string]int{"a": 5, "b": 2} {
		for i := range calls {
			r, err := l.Take(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if want := i < 3; r.Allowed != want {
				t.Errorf("call %d of %s: allowed %v, want %v", i, key, r.Allowed, want)
			}
			if r.Limit != 3 || r.Reset < time.Second || r.Reset > time.Hour || r.Reset%time.Second != 0 {
				t.Errorf("call %d of %s: %+v", i, key, r)
			}
			if got, want := r.Policy(), `"key";q=3;w=3600`; got != want {
				t.Errorf("policy %s, want %s", got, want)
			}
		}
	}
}

func TestConcurrentCallsNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	l, err := New(50, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			r, err := l.Take(context.Background(), "k")
			if err != nil {
				t.Error(err)
			}
			if r.Allowed {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if got := allowed.Load(); got != 50 {
		t.Fatalf("%d calls were allowed, want 50", got)
	}
}

func TestAHostsStoreGetsPrefixedKeysAndStaysOpen(t *testing.T) {
	t.Parallel()
	store := &fakeStore{ok: false, reset: time.Now().Add(1500 * time.Millisecond)}
	l := Over(store)
	r, err := l.Take(t.Context(), "key-id")
	if err != nil {
		t.Fatal(err)
	}
	if r.Allowed || r.RetryAfter() != "2" || r.Policy() != `"key";q=5` || r.Header() != `"key";r=2;t=2` {
		t.Errorf("%+v: retry after %s, policy %s, header %s", r, r.RetryAfter(), r.Policy(), r.Header())
	}
	if len(store.keys) != 1 || store.keys[0] != "formsvc:key-id" {
		t.Errorf("the store saw %q, want one formsvc:key-id", store.keys)
	}
	for range 2 {
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if store.closed {
		t.Error("the host's store was closed")
	}
	if _, err := l.Take(t.Context(), "k"); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

func TestAStoresErrorIsPassedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection refused")
	if _, err := Over(&fakeStore{err: broken}).Take(t.Context(), "k"); !errors.Is(err, broken) {
		t.Fatalf("%v, want the store's error", err)
	}
}

// hangingStore answers nothing until it is let go, whatever its context says.
type hangingStore struct {
	fakeStore
	hang    atomic.Bool
	release chan struct{}
	running atomic.Int64
}

func (s *hangingStore) Take(ctx context.Context, key string) (tokens, remaining, reset uint64, ok bool, err error) {
	s.running.Add(1)
	defer s.running.Add(-1)
	if s.hang.Load() {
		<-s.release
	}
	return s.fakeStore.Take(ctx, key)
}

func TestAStoreThatHangsHoldsNobodyUpForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &hangingStore{fakeStore: fakeStore{ok: true, reset: time.Now()}, release: make(chan struct{})}
		l := Over(store)
		store.hang.Store(true)
		var wg sync.WaitGroup
		for range 3 * maxAsked {
			wg.Go(func() {
				start := time.Now()
				_, err := l.Take(t.Context(), "k")
				if took := time.Since(start); !errors.Is(err, ErrNoAnswer) || took != Patience {
					t.Errorf("%v after %v, want ErrNoAnswer after %v", err, took, Patience)
				}
			})
		}
		wg.Wait()
		if n := store.running.Load(); n != maxAsked {
			t.Errorf("%d calls of the store hang, want %d", n, maxAsked)
		}

		// A request that ends first is not the store's fault.
		ctx, cancel := context.WithTimeout(t.Context(), Patience/2)
		if _, err := l.Take(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNoAnswer) {
			t.Errorf("with a shorter deadline: %v, want the context's error", err)
		}
		cancel()

		store.hang.Store(false)
		close(store.release)
		synctest.Wait()
		if r, err := l.Take(t.Context(), "k"); err != nil || !r.Allowed {
			t.Errorf("afterwards: %+v, %v", r, err)
		}
	})
}

type panickingStore struct{ fakeStore }

func (*panickingStore) Take(context.Context, string) (tokens, remaining, reset uint64, ok bool, err error) {
	panic("out of luck")
}

func TestAStoreThatPanicsIsAStoreThatFails(t *testing.T) {
	t.Parallel()
	if _, err := Over(&panickingStore{}).Take(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("%v, want an error that names the panic", err)
	}
}

func TestResetInThePastIsOneSecond(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for reset, want := range map[time.Duration]time.Duration{
		-time.Hour:                     time.Second,
		0:                              time.Second,
		time.Nanosecond:                time.Second,
		time.Second:                    time.Second,
		time.Second + 1:                2 * time.Second,
		59 * time.Second:               59 * time.Second,
		time.Minute - time.Microsecond: time.Minute,
	} {
		if got := wait(uint64(now.Add(reset).UnixNano()), now); got != want {
			t.Errorf("a reset in %v is %v, want %v", reset, got, want)
		}
	}
}

func TestNewRefusesLimitsThatLimitNothing(t *testing.T) {
	t.Parallel()
	if _, err := New(0, time.Minute); err == nil {
		t.Error("no tokens: no error")
	}
	if _, err := New(1, 0); err == nil {
		t.Error("no interval: no error")
	}
}

// New starts nothing: goleak fails the package if one of these left a goroutine.
func TestNothingStartsBeforeTheFirstTake(t *testing.T) {
	t.Parallel()
	if _, err := New(1, time.Minute); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkTake(b *testing.B) {
	l, err := New(1<<40, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Take(b.Context(), "5f2b8c1e9d3a4b6c7d8e9f01"); err != nil {
			b.Fatal(err)
		}
	}
}
