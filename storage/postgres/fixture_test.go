package postgres

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check reports an error and lets the test continue.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// wantError reports an error that is not target; nil is the target of what succeeds.
func wantError(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v, want %v", what, err, target)
	}
}

// errorOf returns the error of a call whose value does not matter.
func errorOf[T any](_ T, err error) error { return err }

// lastError does the same for a call with two values.
func lastError[T, U any](_ T, _ U, err error) error { return err }

// expect reports what does not hold.
func expect(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// execute runs a statement in the store's schema.
func execute(t testing.TB, on DB, s *Store, text string, args ...any) {
	t.Helper()
	_, err := on.Exec(t.Context(), s.db.RewriteSQL(text), args...)
	must(t, err)
}

// run executes a statement that names its schema.
func run(t testing.TB, on DB, text string, args ...any) {
	t.Helper()
	_, err := on.Exec(t.Context(), text, args...)
	must(t, err)
}

// begin returns a transaction that is rolled back when the test ends, unless it is committed.
func begin(t testing.TB, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

// mustSubmit stores a response.
func mustSubmit(t testing.TB, s *Store, n storage.NewSubmission) {
	t.Helper()
	_, _, err := s.Submit(t.Context(), n)
	must(t, err)
}

// finish records results, all of which count.
func finish(t testing.TB, s *Store, done ...storage.Result) {
	t.Helper()
	fenced, err := s.FinishDeliveries(t.Context(), done)
	if err != nil || len(fenced) > 0 {
		t.Fatalf("fenced %v, %v", fenced, err)
	}
}

// wantRows compares the number of rows of tables, each of which may come with a condition.
func wantRows(t *testing.T, pool *pgxpool.Pool, s *Store, want int, tables ...string) {
	t.Helper()
	for _, table := range tables {
		if n := count(t, pool, s, table); n != want {
			t.Errorf("%d rows of %s, want %d", n, table, want)
		}
	}
}

// noBlocks is the content of a form without blocks.
func noBlocks() storage.FormContent {
	return storage.FormContent{Type: "SINGLE", Definition: storage.Definition{
		Blocks: []byte(`[]`), Settings: []byte(`{}`), Theme: []byte(`{}`), Variables: []byte(`{}`), HiddenFields: []byte(`[]`), Format: 1,
	}}
}

// testStore returns a store on a migrated schema of the test's own, and its pool.
func testStore(t *testing.T, options ...pgtest.Option) (*Store, *pgxpool.Pool) {
	t.Helper()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, options...)
	createTables(t, pool, schema)
	return New(pool, WithSchema(schema)), pool
}

// createTables does what Migrate does, in one round trip and without its state.
func createTables(t testing.TB, pool *pgxpool.Pool, schema string) {
	t.Helper()
	createTablesFrom(t, pool, schema, migrations(t, "up"))
}

// migrations returns all of a direction, up or down, as one text in the order in which
// they run.
func migrations(t testing.TB, direction string) string {
	t.Helper()
	return migrationsOf(t, Migrations(), direction)
}

func migrationsOf(t testing.TB, files fs.FS, direction string) string {
	t.Helper()
	names, err := fs.Glob(files, "*."+direction+".sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("the migrations %s are %q (%v)", direction, names, err)
	}
	if direction == "down" {
		slices.Reverse(names)
	}
	var text strings.Builder
	for _, name := range names {
		one, err := fs.ReadFile(files, name)
		must(t, err)
		text.Write(one)
		text.WriteString(";\n")
	}
	return text.String()
}

func createTablesFrom(t testing.TB, pool *pgxpool.Pool, schema, up string) {
	t.Helper()
	name := pgx.Identifier{schema}.Sanitize()
	text := "CREATE SCHEMA " + name + "; SET LOCAL search_path = " + name + ";" + up
	if _, err := pool.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("create the tables of %s: %v", schema, err)
	}
}

// schemas are lent to one test at a time and emptied in between: much cheaper
// than new ones.
type schemas struct {
	owner *testing.T // of all of them
	pool  *pgxpool.Pool
	up    string // the migrations

	mu   sync.Mutex
	free []string
	wipe string // of all tables, with formsvc. before each name
}

func newSchemas(t *testing.T) *schemas {
	t.Helper()
	return schemasFrom(t, migrations(t, "up"))
}

func schemasFrom(t *testing.T, up string) *schemas {
	t.Helper()
	pool := pgtest.Pool(t)
	schema := pgtest.Schema(t)
	createTablesFrom(t, pool, schema, up)
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname NOT IN ('formsvc_version', 'upkeep')
		ORDER BY c.oid DESC`, schema)
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	wipe := "UPDATE formsvc.upkeep SET since = DEFAULT, done_at = NULL;" // what was created last refers to what was created first
	for _, table := range tables {
		wipe += "DELETE FROM formsvc." + table + ";"
	}
	return &schemas{owner: t, pool: pool, up: up, free: []string{schema}, wipe: wipe}
}

// lend returns an empty schema until the test ends.
func (s *schemas) lend(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	var schema string
	if n := len(s.free); n > 0 {
		schema, s.free = s.free[n-1], s.free[:n-1]
	} else {
		schema = pgtest.Schema(s.owner)
		createTablesFrom(t, s.pool, schema, s.up)
	}
	s.mu.Unlock()
	t.Cleanup(func() {
		referencesAreCounted(t, s.pool, New(s.pool, WithSchema(schema)))
		text := strings.ReplaceAll(s.wipe, "formsvc.", pgx.Identifier{schema}.Sanitize()+".")
		if _, err := s.pool.Exec(context.WithoutCancel(t.Context()), text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Errorf("empty the schema %s: %v", schema, err)
			return
		}
		s.mu.Lock()
		s.free = append(s.free, schema)
		s.mu.Unlock()
	})
	return schema
}

// sweepAll sweeps until there is nothing more to do and adds up what was reported.
func sweepAll(t *testing.T, s *Store, p storage.SweepParams) storage.SweepResult {
	t.Helper()
	var sum storage.SweepResult
	for range 10_000 {
		swept, err := s.Sweep(t.Context(), p)
		must(t, err)
		sum.Forms += swept.Forms
		sum.Keys += swept.Keys
		sum.Events += swept.Events
		sum.Rescheduled += swept.Rescheduled
		if !swept.More {
			return sum
		}
	}
	t.Fatal("sweeps find more and more to do")
	return sum
}

func TestMain(m *testing.M) { os.Exit(dialguard.Guard(m).Run()) }
