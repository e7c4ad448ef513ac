package pgtest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestSchemasOfParallelTestsDifferAndLeaveNothing(t *testing.T) {
	t.Parallel()
	pool := Pool(t)
	var mu sync.Mutex
	var names []string
	var tests sync.WaitGroup
	for range 8 {
		tests.Go(func() {
			record(t, "TestOf/the same name", func(r TB) {
				name := Schema(r)
				fill(r.Context(), t, Pool(r), name)
				if !exists(t, pool, name) {
					t.Errorf("schema %s is not there while its test runs", name)
				}
				mu.Lock()
				defer mu.Unlock()
				names = append(names, name)
			}).passed(t)
		})
	}
	tests.Wait()
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			t.Errorf("two tests got the schema %s", name)
		}
		seen[name] = true
		if exists(t, pool, name) {
			t.Errorf("schema %s is left behind", name)
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d schemas", len(seen))
	}
}

func TestASchemaThatATransactionHoldsFailsItsTest(t *testing.T) {
	t.Parallel()
	pool := Pool(t)
	url := URL(t)
	var name string
	var left pgx.Tx
	r := record(t, "a test", func(r TB) {
		name = schema(r, url, 50*time.Millisecond)
		fill(r.Context(), t, pool, name)
		var err error
		if left, err = pool.Begin(t.Context()); err != nil {
			t.Error(err)
			return
		}
		if _, err := left.Exec(t.Context(), "INSERT INTO "+name+".rows VALUES (2)"); err != nil {
			t.Error(err)
		}
	})
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], name) {
		t.Errorf("errors = %q", r.errors)
	}
	if err := left.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if err := drop(t.Context(), url, name, time.Second); err != nil {
		t.Error(err)
	}
}

// fill makes the schema and a table with one row in it.
func fill(ctx context.Context, t *testing.T, pool *pgxpool.Pool, schema string) {
	t.Helper()
	for _, statement := range []string{
		"CREATE SCHEMA " + schema,
		"CREATE TABLE " + schema + ".rows (id int PRIMARY KEY)",
		"INSERT INTO " + schema + ".rows VALUES (1)",
	} {
		if _, err := pool.Exec(ctx, statement); err != nil {
			t.Error(err)
		}
	}
}

func exists(t *testing.T, pool *pgxpool.Pool, schema string) bool {
	t.Helper()
	var exists bool
	err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&exists)
	if err != nil {
		t.Error(err)
	}
	return exists
}
