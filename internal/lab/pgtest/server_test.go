package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestAKilledServerRestartsWithWhatWasCommitted(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Config{})
	pool := PoolAt(t, server.URL())
	must(pool.Exec(t.Context(), "CREATE SCHEMA kept; CREATE TABLE kept.rows (id int PRIMARY KEY); INSERT INTO kept.rows VALUES (1)"))
	var fsync string
	if err := pool.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync); err != nil || fsync != "on" {
		t.Errorf("fsync = %q, %v", fsync, err)
	}

	// A connection of its own: its backend has to go with the server.
	open := must(pgx.Connect(t.Context(), server.URL()))
	defer func() { _ = open.Close(t.Context()) }()
	tx := must(open.Begin(t.Context()))
	must(tx.Exec(t.Context(), "INSERT INTO kept.rows VALUES (2)"))

	server.Kill()
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("a transaction was committed on a killed server")
	}
	if connection, err := pgx.Connect(t.Context(), server.URL()); err == nil {
		t.Error("a killed server accepts connections")
		_ = connection.Close(t.Context())
	}
	server.Kill() // nothing is left to kill

	server.Restart()
	pool = PoolAt(t, server.URL())
	var ids []int
	noError(t, pool.QueryRow(t.Context(), "SELECT array_agg(id) FROM kept.rows").Scan(&ids))
	if len(ids) != 1 || ids[0] != 1 {
		t.Errorf("rows = %v, want the committed one", ids)
	}
}
