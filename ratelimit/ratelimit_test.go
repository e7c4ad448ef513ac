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

	"github.com/formsvc/formsvc/internal/lab/expect"
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
	expect.NoError(t, err)
	defer l.Close(t.Context())
	for key, calls := range map[string]int{"a": 5, "b": 2} {
		for i := range calls {
			r, err := l.Take(t.Context(), key)
			expect.NoError(t, err)
			want := i < 3
			expect.That(t, r.Allowed == want, "call %d of %s: allowed %v, want %v", i, key, r.Allowed, want)
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
	expect.NoError(t, err)
	defer l.Close(t.Context())
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			r, err := l.Take(context.Background(), "k")
			expect.Nil(t, err)
			if r.Allowed {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	got := allowed.Load()
	expect.Require(t, got == 50, "%d calls were allowed, want 50", got)
}

func TestAHostsStoreGetsPrefixedKeysAndStaysOpen(t *testing.T) {
	t.Parallel()
	store := &fakeStore{ok: false, reset: time.Now().Add(1500 * time.Millisecond)}
	l := NewWithStore(store)
	r, err := l.Take(t.Context(), "key-id")
	expect.NoError(t, err)
	if r.Allowed || r.RetryAfter() != "2" || r.Policy() != `"key";q=5` || r.Header() != `"key";r=2;t=2` {
		t.Errorf("%+v: retry after %s, policy %s, header %s", r, r.RetryAfter(), r.Policy(), r.Header())
	}
	expect.That(t, len(store.keys) == 1 && store.keys[0] == "formsvc:key-id", "the store saw %q, want one formsvc:key-id", store.keys)
	for range 2 {
		expect.NoError(t, l.Close(t.Context()))
	}
	expect.That(t, !store.closed, "the host's store was closed")
	expect.Error(t, "after Close", expect.ErrorOf(l.Take(t.Context(), "k")), ErrClosed)
}

func TestAStoresErrorIsPassedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection refused")
	_, err := NewWithStore(&fakeStore{err: broken}).Take(t.Context(), "k")
	expect.Require(t, errors.Is(err, broken), "%v, want the store's error", err)
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
		l := NewWithStore(store)
		store.hang.Store(true)
		var wg sync.WaitGroup
		for range 3 * maxStoreCalls {
			wg.Go(func() {
				start := time.Now()
				_, err := l.Take(t.Context(), "k")
				if took := time.Since(start); !errors.Is(err, ErrTimeout) || took != StoreTimeout {
					t.Errorf("%v after %v, want ErrNoAnswer after %v", err, took, StoreTimeout)
				}
			})
		}
		wg.Wait()
		expect.Equal(t, store.running.Load(), maxStoreCalls, "calls of the store hang")

		// A request that ends first is not the store's fault.
		ctx, cancel := context.WithTimeout(t.Context(), StoreTimeout/2)
		if _, err := l.Take(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTimeout) {
			t.Errorf("with a shorter deadline: %v, want the context's error", err)
		}
		cancel()

		store.hang.Store(false)
		close(store.release)
		synctest.Wait()
		r, err := l.Take(t.Context(), "k")
		expect.That(t, err == nil && r.Allowed, "afterwards: %+v, %v", r, err)
	})
}

type panickingStore struct{ fakeStore }

func (*panickingStore) Take(context.Context, string) (tokens, remaining, reset uint64, ok bool, err error) {
	panic("out of luck")
}

func TestAStoreThatPanicsIsAStoreThatFails(t *testing.T) {
	t.Parallel()
	_, err := NewWithStore(&panickingStore{}).Take(t.Context(), "k")
	expect.That(t, err != nil && strings.Contains(err.Error(), "out of luck"), "%v, want an error that names the panic", err)
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
		expect.Equal(t, timeUntilReset(uint64(now.Add(reset).UnixNano()), now), want, "a reset in %v", reset)
	}
}

func TestNewRefusesLimitsThatLimitNothing(t *testing.T) {
	t.Parallel()
	expect.That(t, expect.ErrorOf(New(0, time.Minute)) != nil, "no tokens: no error")
	expect.That(t, expect.ErrorOf(New(1, 0)) != nil, "no interval: no error")
}

// New starts nothing: goleak fails the package if one of these left a goroutine.
func TestNothingStartsBeforeTheFirstTake(t *testing.T) {
	t.Parallel()
	expect.Must(New(1, time.Minute))
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
