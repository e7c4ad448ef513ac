package pgtest

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestAPoolWorksInEachMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := Pool(t, Mode(mode), MaxConns(1))
			var got int
			if err := pool.QueryRow(t.Context(), "SELECT $1::int + 1", 41).Scan(&got); err != nil || got != 42 {
				t.Fatalf("got %d, %v", got, err)
			}
			// Only the default mode leaves prepared statements on the connection.
			var prepared int
			noError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%+ 1'").Scan(&prepared))
			if want := mode == pgx.QueryExecModeCacheStatement; (prepared == 1) != want {
				t.Errorf("%d prepared statements", prepared)
			}
			if pool.Config().MaxConns != 1 {
				t.Errorf("MaxConns = %d", pool.Config().MaxConns)
			}
		})
	}
}

func TestAConnectionThatIsNotReleasedFailsItsTest(t *testing.T) {
	t.Parallel()
	pool := must(pgxpool.New(t.Context(), URL(t)))
	held := must(pool.Acquire(t.Context()))
	r := record(t, "a test", func(r TB) { closePool(r, pool, 10*time.Millisecond) })
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "1 of its connections") {
		t.Errorf("errors = %q", r.errors)
	}
	held.Release()
}
