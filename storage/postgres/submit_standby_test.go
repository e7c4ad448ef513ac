package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A synchronous standby does not answer. The response of a caller whose time is up is in the
// primary then, for all to see, and a caller who asks again is told so when the standby has it,
// not before: if the primary were lost now, the response would be.
func TestAResponseIsAcknowledgedAgainWhenTheStandbyHasIt(t *testing.T) {
	t.Parallel()
	primary := pgtest.NewServer(t, pgtest.Config{NoSync: true})
	pool := pgtest.PoolAt(t, primary.URL(), pgtest.MaxConns(4))
	createTables(t, pool, DefaultSchema)
	if err := pgseed.Fill(t.Context(), pool, DefaultSchema, pgseed.Size{Forms: 1}); err != nil {
		t.Fatal(err)
	}
	standby := primary.Standby()
	for _, setting := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
		if _, err := pool.Exec(t.Context(), setting); err != nil {
			t.Fatal(err)
		}
	}
	for synchronous := false; !synchronous; {
		if err := pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous); err != nil {
			t.Fatal(err)
		}
	}
	s := New(pool, WithTimeout(500*time.Millisecond))
	n := response(1)
	n.IdempotencyKey = "one"

	standby.Pause()
	if _, _, err := s.Submit(t.Context(), n); !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Fatalf("Submit without the standby = %v, want an outcome that nobody knows", err)
	}
	for seen := 0; seen == 0; { // the primary has given up waiting
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM formsvc.submissions`).Scan(&seen); err != nil {
			t.Fatal(err)
		}
	}
	if _, again, err := s.Submit(t.Context(), n); err == nil {
		t.Errorf("Submit again without the standby says that it is stored (%v)", again)
	}
	standby.Resume()
	if _, again, err := New(pool).Submit(t.Context(), n); err != nil || !again {
		t.Errorf("Submit again with the standby = %v, %v, want the first response", again, err)
	}
}
