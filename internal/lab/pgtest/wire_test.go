package pgtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestAWireSwallowsTheConnectionsOfTheMoment(t *testing.T) {
	t.Parallel()
	wire, address := NewWire(t, URL(t))
	connect := func() *pgx.Conn {
		c := must(pgx.Connect(t.Context(), address))
		t.Cleanup(func() { _ = c.PgConn().Conn().Close() })
		return c
	}
	before := connect()
	noError(t, before.Ping(t.Context()))
	if n := wire.Swallow(); n != 1 {
		t.Errorf("%d connections are swallowed, want 1", n)
	}
	after := connect()
	if err := after.Ping(t.Context()); err != nil {
		t.Errorf("a later connection: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := before.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a swallowed connection answers: %v", err)
	}
}
