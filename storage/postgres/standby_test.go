package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// withStandby returns a store on a server of its own whose commits wait for a standby.
func withStandby(t *testing.T, options ...Option) (*Store, *pgxpool.Pool, *pgtest.Server) {
	t.Helper()
	primary := pgtest.NewServer(t, pgtest.Config{NoSync: true})
	pool := pgtest.PoolAt(t, primary.URL(), pgtest.MaxConns(8))
	createTables(t, pool, DefaultSchema)
	must(t, pgseed.Fill(t.Context(), pool, DefaultSchema, pgseed.Size{Forms: 1, Webhooks: 1}))
	standby := primary.Standby()
	for _, text := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
		if _, err := pool.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for synchronous := false; !synchronous; {
		must(t, pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous))
	}
	return New(pool, options...), pool, standby
}

// A call that is cut off while its commit waits for the standby leaves a row that everybody
// sees and that a failover loses. The response that repeats it is acknowledged, so it waits.
func TestARepeatedResponseWaitsForTheStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	s, pool, standby := withStandby(t, WithTimeout(time.Second))
	n := response(1)
	n.IdempotencyKey = "key"
	standby.Pause()
	if _, _, err := s.Submit(t.Context(), n); !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit = %v, want an unknown outcome: the standby hangs", err)
	}
	for rows := 0; rows == 0; { // the server has been told that nobody waits any more
		rows = count(t, pool, s, "submissions")
	}
	if _, _, err := s.Submit(t.Context(), n); !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit of the same response = %v, want an error: the standby still has neither", err)
	}
	standby.Resume()
	if _, again, err := New(pool).Submit(t.Context(), n); err != nil || !again {
		t.Errorf("Submit when the standby goes on = %v, %v; want the first response", again, err)
	}
}
