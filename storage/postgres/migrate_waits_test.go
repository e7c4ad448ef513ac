package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// If a session holds a lock that a migration needs, Migrate gives up after its time, names the session,
// and leaves nothing behind. When the session ends, Migrate ends as well.
func TestMigrateWaitsForALockForAWhile(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	for name, holds := range map[string]string{
		"a reader":                 `SELECT FROM formsvc.forms`,
		"a dump":                   `LOCK TABLE formsvc.forms, formsvc.formsvc_migrations, formsvc.formsvc_version IN ACCESS SHARE MODE`,
		"a vacuum by hand":         `LOCK TABLE formsvc.forms IN SHARE UPDATE EXCLUSIVE MODE`,
		"a change of the version":  `LOCK TABLE formsvc.formsvc_version IN ACCESS EXCLUSIVE MODE`,
		"another Migrate":          `SELECT pg_advisory_xact_lock(%d)`,
		"one that ends":            `SELECT FROM formsvc.forms`,
		"another Migrate that end": `SELECT pg_advisory_xact_lock(%d)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, pool := pgtest.Schema(t), pgtest.Pool(t)
			s := New(pool, WithSchema(schema))
			if err := Migrate(t.Context(), pool, WithSchema(schema)); err != nil {
				t.Fatal(err)
			}
			next := tables.ThisBuild
			next.Version++
			next.WaitFor = 4 * time.Second // two attempts
			text := fmt.Sprintf("ALTER TABLE forms ADD COLUMN next bigint; UPDATE formsvc_version SET version = %d", next.Version)
			next.Files = merged(t, fmt.Sprintf("%04d_next.up.sql", next.Version), text)
			tx := begin(t, pool)
			if strings.Contains(holds, "%d") {
				holds = fmt.Sprintf(holds, s.db.Salt("migrations"))
			}
			if _, err := tx.Exec(t.Context(), s.db.SQL(holds)); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "end") {
				next.WaitFor = time.Minute
				ended := make(chan struct{})
				time.AfterFunc(4*time.Second, func() { // during the second attempt
					defer close(ended)
					_ = tx.Rollback(context.Background())
				})
				defer func() { <-ended }()
				if err := migrateTo(t.Context(), next, pool, WithSchema(schema)); err != nil {
					t.Errorf("Migrate = %v", err)
				}
				return
			}
			began := time.Now()
			err := migrateTo(t.Context(), next, pool, WithSchema(schema))
			if pid := fmt.Sprintf("process %d (client backend, idle in transaction", tx.Conn().PgConn().PID()); err == nil || !strings.Contains(err.Error(), pid) {
				t.Errorf("Migrate = %v, want an error with %q", err, pid)
			}
			t.Log(err)
			if failed := new(*MigrationError); strings.Contains(name, "reader") && !errors.As(err, failed) {
				t.Errorf("%T, want a *MigrationError", err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			isClean(t, pool, s)
			if err := migrateTo(t.Context(), next, pool, WithSchema(schema)); err != nil {
				t.Errorf("Migrate when nothing is held = %v", err)
			}
			isClean(t, pool, s)
		})
	}
}

// isClean holds golang-migrate to a version that is not dirty.
func isClean(t *testing.T, pool *pgxpool.Pool, s *Store) {
	t.Helper()
	var dirty bool
	if err := pool.QueryRow(t.Context(), s.db.SQL(`SELECT bool_or(dirty) FROM formsvc.formsvc_migrations`)).Scan(&dirty); err != nil || dirty {
		t.Errorf("golang-migrate's note is dirty (%v)", err)
	}
}

// merged is the build's migrations and one more.
func merged(t *testing.T, name, text string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{name: {Data: []byte(text)}}
	names, err := fs.Glob(tables.ThisBuild.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(tables.ThisBuild.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}
