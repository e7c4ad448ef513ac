package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// One client's transactions run on whichever server connection is free, and what
// it SET stays with the connection that it was on.
func TestABouncerPoolsTransactions(t *testing.T) {
	t.Parallel()
	address := PgBouncer(t, URL(t))
	first, second := client(t, address), client(t, address)

	was := backend(t, first)
	must(first.Exec(t.Context(), "SET work_mem = '4321kB'"))

	tx := must(second.Begin(t.Context()))
	if got := backend(t, tx); got != was {
		t.Fatalf("the other client got the connection %d, while %d was free", got, was)
	}
	if got := setting(t, tx); got != "4321kB" {
		t.Errorf("the other client's work_mem is %s: it does not share the connection", got)
	}
	if is := backend(t, first); is == was {
		t.Error("two clients are on one connection at the same time")
	}
	if got := setting(t, first); got == "4321kB" {
		t.Error("SET sticks to the client")
	}
	if _, err := tx.Exec(t.Context(), "RESET work_mem"); err != nil {
		t.Error(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

// client connects in a mode that every version of PgBouncer understands.
func client(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	config := must(pgx.ParseConfig(address))
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	connection := must(pgx.ConnectConfig(t.Context(), config))
	t.Cleanup(func() { _ = connection.Close(context.WithoutCancel(t.Context())) })
	return connection
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func backend(t *testing.T, q querier) (pid uint32) {
	t.Helper()
	// Without transaction pooling a client waits for the others' end.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	noError(t, q.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid))
	return pid
}

func setting(t *testing.T, q querier) (workMem string) {
	t.Helper()
	noError(t, q.QueryRow(t.Context(), "SELECT current_setting('work_mem')").Scan(&workMem))
	return workMem
}
