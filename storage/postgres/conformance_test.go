package postgres

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// The suite in each mode in which queries go to the server. What the two modes that are left out by
// default have, the others have together: FORMSVC_TEST_MODES=all runs all five.
func TestStorage(t *testing.T) {
	t.Parallel()
	schemas := newSchemas(t)
	server := pgtest.URL(t)
	for _, c := range []struct {
		name    string
		mode    pgx.QueryExecMode
		bouncer bool
		long    bool
	}{
		{name: "default mode", mode: pgx.QueryExecModeCacheStatement},
		{name: "exec mode", mode: pgx.QueryExecModeExec, long: true},
		{name: "simple protocol", mode: pgx.QueryExecModeSimpleProtocol},
		{name: "PgBouncer, exec mode", mode: pgx.QueryExecModeExec, bouncer: true},
		{name: "PgBouncer, simple protocol", mode: pgx.QueryExecModeSimpleProtocol, bouncer: true, long: true},
	} {
		if c.long && os.Getenv("FORMSVC_TEST_MODES") != "all" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := server
			if c.bouncer {
				url = pgtest.PgBouncer(t, server)
			}
			pool := pgtest.PoolAt(t, url, pgtest.Mode(c.mode), pgtest.MaxConns(8))
			storagetest.Run(t, func(t *testing.T) storage.Storage {
				return New(pool, WithSchema(schemas.lend(t)))
			}, storagetest.SecondHandle(func(_ *testing.T, first storage.Storage) storage.Storage {
				return New(pool, WithSchema(first.(*Store).db.Schema))
			}))
		})
	}
}
