package postgres

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// pretending are functions that stand before PostgreSQL's own, so that a server looks like
// another one, with what is then said of it. (pg_catalog comes first only when search_path does not name it.)
var pretending = map[string]struct{ sql, fault string }{
	"an old PostgreSQL": {`CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ SELECT 'PostgreSQL 14.9 on x86_64' $$`, `"PostgreSQL 14.9 on x86_64": use PostgreSQL 15 or newer`},
	"another database":  {`CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ SELECT 'CockroachDB CCL v24.1.0' $$`, "CockroachDB"},
	"locks that do nothing": {
		`CREATE FUNCTION pg_try_advisory_xact_lock_shared(bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$`,
		"advisory locks do nothing",
	},
	"another lock than the one that was asked for": {
		`CREATE FUNCTION pg_try_advisory_xact_lock_shared(bigint) RETURNS boolean LANGUAGE sql
			AS $$ SELECT pg_catalog.pg_try_advisory_xact_lock_shared($1 # 1) $$`,
		"advisory locks do nothing",
	},
	"no lock functions": {
		`CREATE FUNCTION pg_try_advisory_xact_lock_shared(bigint) RETURNS boolean LANGUAGE plpgsql
			AS $$ BEGIN RAISE feature_not_supported USING MESSAGE = 'function pg_try_advisory_xact_lock_shared not supported'; END $$`,
		"advisory locks do nothing",
	},
}

// pretend makes the functions and is an option of a pool on which they are in force.
func pretend(t *testing.T, owner *pgxpool.Pool, functions string) pgtest.Option {
	t.Helper()
	fake := pgtest.Schema(t)
	if _, err := owner.Exec(t.Context(), "CREATE SCHEMA "+fake+"; SET LOCAL search_path = "+fake+";"+functions, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = fake + ", pg_catalog" }
}

func TestServersThatCannotServeAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(pretending)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, owner := testStore(t)
			pretends, schema := pretend(t, owner, pretending[name].sql), s.db.Schema
			for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol} {
				pool := pgtest.Pool(t, pretends, pgtest.Mode(mode))
				for call, err := range map[string]error{
					"CheckVersion": New(pool, WithSchema(schema)).CheckVersion(t.Context()),
					"Migrate":      Migrate(t.Context(), pool, WithSchema(schema)),
				} {
					var setup *SetupError
					if call == "CheckVersion" && (!errors.As(err, &setup) || !errors.Is(err, storage.ErrUnavailable)) {
						t.Errorf("%s = %v, want a SetupError", call, err)
					}
					if err == nil || !strings.Contains(err.Error(), pretending[name].fault) || !strings.Contains(err.Error(), "use PostgreSQL") {
						t.Errorf("%s = %v, want an error with %q", call, err, pretending[name].fault)
					}
				}
			}
		})
	}
}

// Many processes start at once, also behind a pooler and in a host's transaction, and the lock
// that each tries is not in the way of the others.
func TestTheServerIsCheckedByManyAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	pool := pgtest.PoolAt(t, pgtest.PgBouncer(t, pgtest.URL(t)), pgtest.Mode(pgx.QueryExecModeExec), pgtest.MaxConns(8))
	held, err := pool.Begin(t.Context())
	must(t, err)
	defer func() { _ = held.Rollback(t.Context()) }()
	behind := New(pool, WithSchema(s.db.Schema))
	if err := behind.On(held).CheckVersion(t.Context()); err != nil {
		t.Errorf("in a transaction: %v", err)
	}
	done := make(chan error)
	for range 8 {
		go func() { done <- behind.CheckVersion(t.Context()) }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
