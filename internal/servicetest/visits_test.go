package servicetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/gather"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// countedLists remembers what the funnel was asked to count, each list as one call.
type countedLists struct {
	storage.Storage
	mu    sync.Mutex
	lists [][]storage.FunnelCount
	fail  func(ctx context.Context) error // nil: it counts
}

func (s *countedLists) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	s.mu.Lock()
	s.lists = append(s.lists, counts)
	s.mu.Unlock()
	if s.fail != nil {
		return s.fail(ctx)
	}
	return s.Storage.CountFunnel(ctx, counts)
}

func (s *countedLists) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists)
}

func visited(t *testing.T, svc *formsvc.Service, form formsvc.ID, period formsvc.Period, views, starts int64) {
	t.Helper()
	m, err := svc.AsHost().Metrics(t.Context(), form, period)
	if err != nil || m.Views != views || m.Starts != starts {
		t.Errorf("%s: %d views and %d starts, want %d and %d; %v", period, m.Views, m.Starts, views, starts, err)
	}
}

// Views and starts of all forms within a quarter of a second are one call of the store, each
// with its form and its time.
func TestVisitsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countedLists{Storage: memory.New()}
		now := servicetest.NewClock(time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC))
		b := servicetest.SetupOn(t, store, formsvc.WithClock(now.Now))
		form, other := b.Form(servicetest.TextBlock, `{}`), b.Form(servicetest.TextBlock, `{}`)
		visit := func(of formsvc.ID) {
			if err := errors.Join(b.RecordView(t.Context(), of), b.RecordStart(t.Context(), of)); err != nil {
				t.Fatal(err)
			}
		}
		visit(form)
		visit(storage.ID{1}) // there is none
		now.Advance(2 * time.Second)
		visit(form)
		visit(other)
		if n := store.calls(); n != 0 {
			t.Errorf("%d writes at once", n)
		}
		time.Sleep(gather.Pause)
		synctest.Wait()
		if n := store.calls(); n != 1 || len(store.lists[0]) != 8 {
			t.Errorf("%d writes, the first of %d counts, want one of 8", n, len(store.lists[0]))
		}
		visited(t, b.Service, form, formsvc.PeriodYesterday, 1, 1)
		visited(t, b.Service, form, formsvc.PeriodToday, 1, 1)
		visited(t, b.Service, other, formsvc.PeriodAll, 1, 1)

		visit(form) // counts for the metrics of this process before it is written
		visited(t, b.Service, form, formsvc.PeriodAll, 3, 3)
		visit(form)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := store.calls(); n != 3 {
			t.Errorf("%d writes after Metrics and Close, want 3", n)
		}
		visit(form) // one by one from now on
		if n := store.calls(); n != 5 {
			t.Errorf("%d writes after Close and a visit, want 5", n)
		}
		visited(t, b.Service, form, formsvc.PeriodAll, 5, 5)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.RecordView(ctx, form); !errors.Is(err, context.Canceled) {
			t.Errorf("a view with a cancelled context: %v", err)
		}
		visited(t, b.Service, form, formsvc.PeriodAll, 5, 5)
	})
}

// A view waits for no store, and metrics no longer than their context; nor does a store that
// cannot count keep them from being read.
func TestAStoreThatDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countedLists{Storage: memory.New(), fail: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		b := servicetest.SetupOn(t, store)
		form := b.Form(servicetest.TextBlock, `{}`)
		start := time.Now()
		for range 100 {
			if err := b.RecordView(t.Context(), form); err != nil {
				t.Fatal(err)
			}
			time.Sleep(gather.Pause)
		}
		if took := time.Since(start); took != 100*gather.Pause {
			t.Errorf("100 views in %v: they waited", took-100*gather.Pause)
		}
		if n := store.calls(); n > 3 {
			t.Errorf("%d writes at once of a store that hangs", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := b.AsHost().Metrics(ctx, form, formsvc.PeriodAll); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			t.Errorf("metrics for a second, of a store that hangs: %v after %v", err, time.Since(start))
		}
		start = time.Now() // a write is under way for ten seconds, and another one waits
		if _, err := b.AsHost().Metrics(t.Context(), form, formsvc.PeriodAll); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("metrics of a store that cannot count: %v after %v, want what it has after two seconds", err, time.Since(start))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		store.fail = func(context.Context) error { return errors.New("refused") }
		if err := b.RecordView(t.Context(), form); err != nil {
			t.Error(err)
		}
		visited(t, b.Service, form, formsvc.PeriodAll, 0, 0)
		if err := b.RecordView(t.Context(), form); err != nil {
			t.Error(err)
		}
		if err := b.Close(t.Context()); err == nil || err.Error() != "refused" {
			t.Errorf("Close, of a store that refuses views: %v", err)
		}
	})
}

// In a host's transaction a view is part of it, and its metrics wait for no other connection.
func TestVisitsInAHostsTransaction(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, server.URL(), pgtest.MaxConns(1))
	store := servicetest.Migrated(t, pool)
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	rolledBack := errors.New("rolled back")
	for i, end := range []error{rolledBack, nil} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if err := b.RecordStart(t.Context(), form); err != nil { // of the service, beside it
				return err
			}
			inTx := b.Using(store.On(tx))
			if err := errors.Join(inTx.RecordView(t.Context(), form), inTx.RecordView(t.Context(), storage.ID{1})); err != nil {
				return err
			}
			m, err := inTx.AsHost().Metrics(t.Context(), form, formsvc.PeriodAll)
			if m.Views != 1 {
				t.Errorf("in the transaction: %d views, %v", m.Views, err)
			}
			return errors.Join(end, err)
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		visited(t, b.Service, form, formsvc.PeriodAll, int64(i), int64(i+1))
	}
}
