package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
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

// A process is killed in the middle of a migration while a process of the version before stores
// submissions. Nothing is lost, no submission fails, and the next Migrate continues, whether
// the server finishes the killed process's work or not.
func TestMigrateIsKilledWhileSubmissionsAreStored(t *testing.T) {
	t.Parallel()
	next := nextBuild(tables.ThisBuild.Version, `ALTER TABLE forms ADD COLUMN folder text; CREATE TABLE folders (form_id id REFERENCES forms (id)); SELECT pg_sleep(2)`)
	if schema := os.Getenv(killedSchema); schema != "" {
		_ = migrateTo(t.Context(), next, pgtest.Pool(t, named(schema)), WithSchema(schema))
		t.Fatal("the process is not killed")
	}
	for _, finished := range []bool{true, false} {
		t.Run(fmt.Sprintf("finished by the server %v", finished), func(t *testing.T) {
			t.Parallel()
			pool, schema := pgtest.Pool(t), pgtest.Schema(t)
			if err := Migrate(t.Context(), pool, WithSchema(schema)); err != nil {
				t.Fatal(err)
			}
			if err := pgseed.Fill(t.Context(), pool, schema, pgseed.Size{Forms: 1}); err != nil {
				t.Fatal(err)
			}
			s := New(pool, WithSchema(schema))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var callers sync.WaitGroup
			var number atomic.Int64
			for range 4 {
				callers.Go(func() {
					for ctx.Err() == nil {
						if _, _, err := s.Submit(t.Context(), response(int(number.Add(1)))); err != nil {
							t.Errorf("Submit = %v", err)
							return
						}
					}
				})
			}
			killed := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMigrateIsKilledWhileSubmissionsAreStored$")
			killed.Env = append(os.Environ(), killedSchema+"="+schema)
			if err := killed.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			for pid == 0 { // it sleeps in the middle, with all its locks
				err := pool.QueryRow(t.Context(), `SELECT COALESCE(max(pid), 0) FROM pg_stat_activity, pg_sleep(0.01) WHERE application_name = $1 AND wait_event = 'PgSleep'`, schema).Scan(&pid)
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = killed.Wait()
			if !finished {
				if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, pid); err != nil {
					t.Fatal(err)
				}
			}
			if err := migrateTo(t.Context(), next, pool, WithSchema(schema)); err != nil {
				t.Errorf("Migrate afterwards = %v", err)
			}
			stop()
			callers.Wait()
			if err := s.CheckVersion(t.Context()); err != nil {
				t.Error(err)
			}
			var stored int64
			if err := pool.QueryRow(t.Context(), s.db.SQL(`SELECT count(*) FROM formsvc.submissions`)).Scan(&stored); err != nil || stored != number.Load() {
				t.Errorf("%d submissions are stored (%v), want %d", stored, err, number.Load())
			}
		})
	}
}

const killedSchema = "FORMSVC_TEST_KILLED_MIGRATION"
