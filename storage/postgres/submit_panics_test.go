package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

type valueKey struct{}

var errHook = errors.New("the host's hook is broken")

// hostTracer is a host's tracer, whose hook of that name panics.
type hostTracer struct {
	broken atomic.Pointer[string]
	value  atomic.Value // of the last batch's context
}

func (h *hostTracer) hook(name string) {
	if broken := h.broken.Load(); broken != nil && *broken == name {
		panic(errHook)
	}
}

func (h *hostTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (h *hostTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (h *hostTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	value, _ := ctx.Value(valueKey{}).(string)
	h.value.Store(value)
	h.hook("batch start")
	return ctx
}
func (h *hostTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {
	h.hook("batch query")
}
func (h *hostTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {
	h.hook("batch end")
}

func (h *hostTracer) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	h.hook("acquire")
	return ctx
}
func (h *hostTracer) TraceAcquireEnd(context.Context, *pgxpool.Pool, pgxpool.TraceAcquireEndData) {}

// handCounts is a storage.DirectDispatcher that counts its calls.
type handCounts struct{ reserved, settled atomic.Int32 }

func (s *handCounts) Reserve(storage.ID) ([]storage.ID, time.Duration) {
	s.reserved.Add(1)
	return nil, time.Hour
}
func (s *handCounts) Dispatch([]storage.ClaimedDelivery, bool) { s.settled.Add(1) }

// What a host's hook panics with reaches every caller whose response was part of the write,
// in the caller's own goroutine, and the store goes on.
func TestAHostsHookThatPanics(t *testing.T) {
	t.Parallel()
	const group = 7
	for _, name := range []string{"acquire", "batch start", "batch query", "batch end"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracer := &hostTracer{}
			pool := pgtest.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = tracer })
			s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1, Webhooks: 1})))
			mustSubmit(t, s, response(99))
			hands := &handCounts{}
			var callers sync.WaitGroup
			var mu sync.Mutex
			var thrown []any
			submit := func(number int) {
				callers.Go(func() {
					defer func() {
						mu.Lock()
						defer mu.Unlock()
						thrown = append(thrown, recover())
					}()
					n := response(number)
					n.Dispatcher = hands
					_, _, _ = s.Submit(t.Context(), n)
				})
			}
			release := hold(t, s, 0)
			submit(100)
			eventually(t, "the first response waits", func() bool { return waitingFor(t, pool, s, 0) == 1 })
			for i := range group {
				submit(101 + i)
			}
			queued(t, s, 0, group)
			tracer.broken.Store(&name)
			release()
			callers.Wait()

			panics := 0
			for _, value := range thrown {
				if value == nil {
					continue
				}
				panics++
				err, ok := value.(error)
				if !ok || !errors.Is(err, errHook) || !strings.Contains(err.Error(), "hostTracer).hook") {
					t.Errorf("a caller got %v, want the hook's value and its stack", value)
				}
			}
			if panics < group {
				t.Errorf("%d callers got the panic, want the %d of the group at least", panics, group)
			}
			if hands.reserved.Load() != hands.settled.Load() {
				t.Errorf("%d calls of Reserve, %d of HandOver", hands.reserved.Load(), hands.settled.Load())
			}
			tracer.broken.Store(nil)
			if _, _, err := s.Submit(t.Context(), response(200)); err != nil {
				t.Errorf("when the hook works again: %v", err)
			}
			if n := pool.Stat().AcquiredConns(); n != 0 {
				t.Errorf("%d connections were not given back", n)
			}
		})
	}
}

// A write of many callers has the values of none of their contexts. In a host's transaction
// there is one caller.
func TestWhoseContextAHostsHookSees(t *testing.T) {
	t.Parallel()
	tracer := &hostTracer{}
	pool := pgtest.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = tracer })
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1})))
	ctx := context.WithValue(t.Context(), valueKey{}, "the caller's")
	must(t, lastError(s.Submit(ctx, response(1))))
	if got := tracer.value.Load(); got != "" {
		t.Errorf("on the pool the hook sees %q, want no value", got)
	}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return lastError(s.On(tx).Submit(ctx, response(2))) })
	if got := tracer.value.Load(); err != nil || got != "the caller's" {
		t.Errorf("in a transaction the hook sees %q (%v), want the caller's value", got, err)
	}
}

// A pool that the host has closed, or never made, is told from a fault.
func TestAPoolThatIsNone(t *testing.T) {
	t.Parallel()
	closed, err := pgxpool.New(t.Context(), pgtest.URL(t))
	must(t, err)
	closed.Close()
	s := New(closed)
	if _, err := s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1}); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a read on a closed pool = %v", err)
	}
	if err := s.CreateWorkspace(t.Context(), storage.Workspace{}, 0); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("a change on a closed pool = %v", err)
	}
	if _, _, err := s.Submit(t.Context(), response(1)); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("a response on a closed pool = %v", err)
	}

	var none *pgxpool.Pool
	_, _, submitted := New(none).Submit(t.Context(), response(1))
	for name, err := range map[string]error{
		"Validate of New(nil)":        New(nil).Validate(),
		"Validate of a nil pool":      New(none).Validate(),
		"Validate of a zero store":    new(Store).Validate(),
		"Validate of a nil store":     (*Store)(nil).Validate(),
		"Validate on nil":             s.On(nil).Validate(),
		"Validate of a long name":     New(closed, WithSchema(strings.Repeat("x", 64))).Validate(),
		"CheckVersion without a pool": New(nil).CheckVersion(t.Context()),
		"Submit without a pool":       submitted,
		"Migrate without a pool":      Migrate(t.Context(), nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "nil") && !strings.Contains(err.Error(), "63 bytes") {
			t.Errorf("%s = %v, want an error that says what is nil", name, err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Errorf("Validate of a store = %v", err)
	}
}
