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

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// named sets an application name by which the server can tell a test's
// connections.
func named(name string) pgtest.Option {
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["application_name"] = name }
}

// migrating returns a pool and a schema that does not exist, and checks at the
// end of the test that nothing but the pool's own connection is left.
func migrating(t *testing.T, options ...pgtest.Option) (*pgxpool.Pool, string) {
	t.Helper()
	schema := pgtest.Schema(t)
	t.Cleanup(func() { noConnections(t, schema) })
	return pgtest.Pool(t, append([]pgtest.Option{named(schema)}, options...)...), schema
}

// noConnections waits for the server to notice what was closed.
func noConnections(t *testing.T, application string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, pgtest.URL(t))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	var open int
	for range 100 {
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity, pg_sleep(0.02) WHERE application_name = $1`, application).Scan(&open)
		if err != nil {
			t.Error(err)
			return
		}
		if open == 0 {
			return
		}
	}
	t.Errorf("%d connections are still open", open)
}

// poolUntouched runs do and compares what the pool did meanwhile.
func poolUntouched(t *testing.T, pool *pgxpool.Pool, do func()) {
	t.Helper()
	type stat struct {
		Total, Idle, Acquired int32
		Acquires, New         int64
	}
	read := func() stat {
		s := pool.Stat()
		return stat{s.TotalConns(), s.IdleConns(), s.AcquiredConns(), s.AcquireCount(), s.NewConnsCount()}
	}
	before := read()
	do()
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("pool.Stat() changed (-before +after):\n%s", diff)
	}
}

func TestMigrateMakesWhatTheStoreNeeds(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	s := New(pool, WithSchema(schema))
	if err := s.CheckVersion(t.Context()); !isVersion(err, VersionError{Schema: schema, Have: 0, Want: tables.ThisBuild.Version}) {
		t.Fatalf("before: CheckVersion = %v", err)
	}
	poolUntouched(t, pool, func() {
		for range 2 { // the second one has nothing to do
			must(t, Migrate(t.Context(), pool, WithSchema(schema)))
		}
	})
	wantError(t, "CheckVersion", s.CheckVersion(t.Context()), nil)
	wantError(t, "CreateWorkspace", s.CreateWorkspace(t.Context(), storage.Workspace{ID: storage.ID{1}, PublicID: "w"}, 0), nil)
}

func isVersion(err error, want VersionError) bool {
	var got *VersionError
	return errors.As(err, &got) && *got == want && errors.Is(err, storage.ErrUnavailable)
}

// A process is killed in the middle of a migration. What golang-migrate has noted
// before and after is then wrong, and the next Migrate goes on from what the tables
// say themselves.
func TestMigrateGoesOnAfterAnInterruption(t *testing.T) {
	t.Parallel()
	for name, noted := range map[string]string{
		"while it ran":         `UPDATE formsvc.formsvc_migrations SET dirty = true`,
		"before it was noted":  `DELETE FROM formsvc.formsvc_migrations`,
		"by a tool of theirs":  `DROP TABLE formsvc.formsvc_migrations`,
		"noted by another one": `UPDATE formsvc.formsvc_migrations SET version = 7, dirty = true`,
	} {
		for _, committed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, committed %v", name, committed), func(t *testing.T) {
				t.Parallel()
				pool, schema := migrating(t)
				s := New(pool, WithSchema(schema))
				exec := func(text string) {
					t.Helper()
					run(t, pool, s.db.RewriteSQL(text), pgx.QueryExecModeSimpleProtocol)
				}
				must(t, Migrate(t.Context(), pool, WithSchema(schema)))
				exec(noted)
				w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", Name: "kept"}
				if committed {
					must(t, s.CreateWorkspace(t.Context(), w, 0))
				} else {
					exec("SET LOCAL search_path = " + schema + "; " + migrations(t, "down"))
				}
				// A second version, so that there is something to go on to.
				must(t, migrateTo(t.Context(), nextBuild(tables.ThisBuild.Version, ""), pool, WithSchema(schema)))
				check(t, s.checkVersion(t.Context(), nextBuild(tables.ThisBuild.Version, "")))
				if !committed {
					return
				}
				if got, err := s.Workspace(t.Context(), storage.AsHost(), w.ID); err != nil || got.Name != "kept" {
					t.Errorf("Workspace = %v, %v", got, err)
				}
			})
		}
	}
}

// What fails in golang-migrate itself, after it has taken a connection.
func TestAMigrationThatFails(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	s := New(pool, WithSchema(schema))
	// The empty table says that Migrate was here; the view is in the way of a table.
	if _, err := pool.Exec(t.Context(), s.db.RewriteSQL(`
		CREATE SCHEMA `+schema+`;
		CREATE TABLE formsvc.formsvc_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL);
		CREATE VIEW formsvc.workspaces AS SELECT 1 AS n`)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it fails for the same reason the next time
		var failed *MigrationError
		poolUntouched(t, pool, func() {
			err := Migrate(t.Context(), pool, WithSchema(schema))
			if !errors.As(err, &failed) || failed.Version != 1 || failed.Schema != schema || conn.SQLState(err) != "42P07" || len(err.Error()) > 300 {
				t.Errorf("Migrate = %v", err)
			}
		})
		if got := tablesOf(t, pool, schema); !cmp.Equal(got, []string{tables.MigrationsTable}) {
			t.Errorf("a migration that failed left %q", got)
		}
	}
	if err := s.CheckVersion(t.Context()); !isVersion(err, VersionError{Schema: schema, Want: tables.ThisBuild.Version}) {
		t.Errorf("CheckVersion = %v", err)
	}
	run(t, pool, s.db.RewriteSQL(`DROP VIEW formsvc.workspaces`))
	wantError(t, "Migrate without the cause", Migrate(t.Context(), pool, WithSchema(schema)), nil)
}

func TestMigrateAtOnceInManyProcesses(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() { check(t, Migrate(t.Context(), pool, WithSchema(schema))) })
	}
	group.Wait()
	check(t, New(pool, WithSchema(schema)).CheckVersion(t.Context()))
}

func TestMigrateWorksInEveryModeOfThePool(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool, schema := migrating(t, pgtest.Mode(mode))
			must(t, Migrate(t.Context(), pool, WithSchema(schema)))
			check(t, New(pool, WithSchema(schema)).CheckVersion(t.Context()))
		})
	}
}

func TestMigrateTakesTheBeforeConnectOfThePool(t *testing.T) {
	t.Parallel()
	var connects int
	wrongPassword := func(c *pgxpool.Config) {
		user := c.ConnConfig.User
		c.ConnConfig.User = "nobody_of_this_name"
		c.BeforeConnect = func(_ context.Context, config *pgx.ConnConfig) error {
			connects++
			config.User = user
			return nil
		}
	}
	pool, schema := migrating(t, wrongPassword)
	must(t, Migrate(t.Context(), pool, WithSchema(schema)))
	expect(t, connects == 2, "BeforeConnect ran for %d connections, want 2", connects)
}

func tablesOf(t *testing.T, pool *pgxpool.Pool, schema string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT tablename::text FROM pg_tables WHERE schemaname = $1 ORDER BY 1`, schema)
	must(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return names
}

func TestMigrateRefusesASchemaOfSomethingElse(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	run(t, pool, "CREATE SCHEMA "+schema)
	run(t, pool, "CREATE TABLE "+schema+".forms (name text)")
	poolUntouched(t, pool, func() {
		if err := Migrate(t.Context(), pool, WithSchema(schema)); err == nil || !strings.Contains(err.Error(), "not formsvc's") {
			t.Errorf("Migrate = %v", err)
		}
	})
	if got := tablesOf(t, pool, schema); !cmp.Equal(got, []string{"forms"}) {
		t.Errorf("the schema has %q", got)
	}
}

func TestMigrateWithoutTheRights(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	role := schema
	run(t, pool, "CREATE ROLE "+role+" LOGIN; CREATE SCHEMA "+schema+"; GRANT USAGE ON SCHEMA "+schema+" TO "+role)
	t.Cleanup(func() {
		_, err := pool.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		check(t, err)
	})
	as := pgtest.Pool(t, named(schema), func(c *pgxpool.Config) { c.ConnConfig.User = role })
	poolUntouched(t, as, func() {
		if err := Migrate(t.Context(), as, WithSchema(schema)); conn.SQLState(err) != "42501" {
			t.Errorf("Migrate = %v", err)
		}
	})
}

// A migration waits for the transactions of programs that run, and they for it: whatever table one
// has read, it can write all of them and end.
func TestAMigrationEndsInNoDeadlock(t *testing.T) {
	t.Parallel()
	if got := deadlockedReaders(t, fmt.Sprintf("%04d_next.up.sql", tables.ThisBuild.Version+1), `
		CREATE TABLE folders (form_id id REFERENCES forms (id)); ALTER TABLE forms ADD COLUMN folder text`); !cmp.Equal(got, []string{"forms"}) {
		t.Errorf("with a lock that becomes stronger, deadlocks after a read of %q", got)
	}
	if got := deadlockedReaders(t, fmt.Sprintf("%04d_next.up.sql", tables.ThisBuild.Version+1), `
		ALTER TABLE forms ADD COLUMN folder text; ALTER TABLE deliveries ADD COLUMN note text`); !cmp.Equal(got, []string{"deliveries"}) {
		t.Errorf("with two tables, deadlocks after a read of %q", got)
	}
	if got := deadlockedReaders(t, fmt.Sprintf("%04d_next.up.sql", tables.ThisBuild.Version+1), `
		ALTER TABLE forms ADD COLUMN folder text; CREATE TABLE folders (form_id id REFERENCES forms (id))`); got != nil {
		t.Errorf("with the strongest lock first, deadlocks after a read of %q", got)
	}
	names, err := fs.Glob(tables.ThisBuild.Files, "*.up.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("the migrations are %q (%v)", names, err)
	}
	for _, name := range names[1:] { // the first has no readers
		text, err := fs.ReadFile(tables.ThisBuild.Files, name)
		must(t, err)
		if got := deadlockedReaders(t, name, string(text)); got != nil {
			t.Errorf("%s deadlocks with who has read %q and writes", name, got)
		}
	}
}

// deadlockedReaders are the tables a reader of which comes into a deadlock with a migration, named as its
// file, on the tables of the one before it.
func deadlockedReaders(t *testing.T, name, migration string) (of []string) {
	t.Helper()
	pool, schema := migrating(t)
	before := filesBefore(name)
	must(t, migrateTo(t.Context(), tables.Build{Version: len(before) / 2, Files: before}, pool, WithSchema(schema)))
	migrator, err := pool.Acquire(t.Context())
	must(t, err)
	defer migrator.Release()
	all := tablesOf(t, pool, schema)
	for _, table := range all {
		program := begin(t, pool)
		exec := func(text string) error { return errorOf(program.Exec(t.Context(), text)) }
		must(t, exec("SET LOCAL search_path = "+schema+"; SELECT FROM "+table+" LIMIT 0"))
		ended := make(chan error, 1)
		go func() {
			_, err := migrator.Exec(t.Context(), "BEGIN; SET LOCAL search_path = "+schema+";"+migration, pgx.QueryExecModeSimpleProtocol)
			_, rollback := migrator.Exec(t.Context(), "ROLLBACK")
			ended <- errors.Join(err, rollback)
		}()
		for waits := false; !waits && len(ended) == 0; {
			err := program.QueryRow(t.Context(), `SELECT cardinality(pg_blocking_pids($1)) > 0 FROM pg_sleep(0.005)`, migrator.Conn().PgConn().PID()).Scan(&waits)
			must(t, err)
		}
		err = exec("LOCK TABLE " + strings.Join(all, ", ") + " IN ROW EXCLUSIVE MODE")
		err = errors.Join(err, program.Rollback(t.Context()), <-ended)
		switch state := conn.SQLState(err); {
		case state == "40P01":
			of = append(of, table)
		case err != nil:
			t.Fatalf("%s beside a reader of %s: %v", name, table, err)
		}
	}
	return of
}

func TestMigrateStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	s := New(pool, WithSchema(schema))
	holder, err := pool.Acquire(t.Context())
	must(t, err)
	defer holder.Release()
	run(t, holder, `SELECT pg_advisory_lock($1::bigint)`, s.db.LockSalt("migrations"))
	defer func() { _, _ = holder.Exec(context.WithoutCancel(t.Context()), `SELECT pg_advisory_unlock_all()`) }()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- Migrate(ctx, pool, WithSchema(schema)) }()
	for waits := false; !waits; {
		err := holder.QueryRow(t.Context(), `
			SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'advisory') FROM pg_sleep(0.01)`,
			schema).Scan(&waits)
		must(t, err)
	}
	cancel()
	select {
	case err := <-ended:
		expect(t, errors.Is(err, context.Canceled), "Migrate = %v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("Migrate still waits")
	}
	wantError(t, "Migrate with a context that has ended", Migrate(ctx, pool, WithSchema(schema)), context.Canceled)
}

func TestMigrateCannotConnect(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t, func(c *pgxpool.Config) { c.ConnConfig.Database = "no_database_of_this_name" })
	poolUntouched(t, pool, func() {
		if err := Migrate(t.Context(), pool, WithSchema(schema)); conn.SQLState(err) != "3D000" {
			t.Errorf("Migrate = %v", err)
		}
	})
}

func TestMigrateLeavesTheHostsSearchPath(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t, pgtest.MaxConns(1))
	read := func() (path string) {
		must(t, pool.QueryRow(t.Context(), "SHOW search_path").Scan(&path))
		return path
	}
	before := read()
	must(t, Migrate(t.Context(), pool, WithSchema(schema)))
	must(t, errorOf(New(pool, WithSchema(schema)).Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1})))
	if after := read(); after != before {
		t.Errorf("search_path was %q and is %q", before, after)
	}
}

func TestAHostsOwnToolRunsTheMigrations(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	up, down := migrations(t, "up"), migrations(t, "down")
	run := func(text string) {
		t.Helper()
		// As the documentation of Migrations says. Before and after it the tool is in its
		// own search_path.
		tx, err := db.BeginTx(t.Context(), nil)
		must(t, err)
		defer tx.Rollback()
		var before, after string
		must(t, tx.QueryRowContext(t.Context(), "SHOW search_path").Scan(&before))
		around := []string{"CREATE SCHEMA IF NOT EXISTS " + schema + "; SET LOCAL search_path = " + schema + ";\n", "\nSET LOCAL search_path = DEFAULT;"}
		must(t, errorOf(tx.ExecContext(t.Context(), around[0]+text+around[1])))
		if err := tx.QueryRowContext(t.Context(), "SHOW search_path").Scan(&after); err != nil || after != before {
			t.Fatalf("search_path is %q and then %q, %v", before, after, err)
		}
		must(t, tx.Commit())
	}
	s := New(pool, WithSchema(schema))
	run(up)
	wantError(t, "CheckVersion", s.CheckVersion(t.Context()), nil)
	wantError(t, "Migrate", Migrate(t.Context(), pool, WithSchema(schema)), nil)
	for range 2 {
		run(down)
	}
	var left int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1`, schema).Scan(&left)
	expect(t, err == nil && left == 0, "%d relations are left (%v)", left, err)
}

func TestTheLastMigrationIsTheVersion(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(Migrations(), "*.up.sql")
	if err != nil || len(names) != tables.ThisBuild.Version {
		t.Errorf("the migrations are %q (%v), the version is %d", names, err, tables.ThisBuild.Version)
	}
	for i, name := range names {
		text, err := fs.ReadFile(Migrations(), name)
		must(t, err)
		if !strings.HasPrefix(name, fmt.Sprintf("%04d_", i+1)) || !strings.Contains(string(text), conn.VersionTable) || !strings.Contains(string(text), "oldest_program") {
			t.Errorf("migration %d is %s and has to set both columns of %s", i+1, name, conn.VersionTable)
		}
	}
}

func TestMigrateThroughPgBouncerInSessionMode(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	bouncer := pgtest.SessionPgBouncer(t, pgtest.URL(t))
	pool := pgtest.PoolAt(t, bouncer, pgtest.Mode(pgx.QueryExecModeExec), pgtest.MaxConns(1))
	for range 2 {
		must(t, Migrate(t.Context(), pool, WithSchema(schema)))
	}
	s := New(pool, WithSchema(schema))
	check(t, s.CheckVersion(t.Context()))
	var locks int
	err := pool.QueryRow(t.Context(), `
		SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = $1::bigint`,
		s.db.LockSalt("migrations")).Scan(&locks)
	expect(t, err == nil && locks == 0, "%d locks are left, %v", locks, err)
}

// In transaction mode Migrate would leave its lock and its search_path to others. It sets
// nothing and makes nothing, whether others use the pooler's sessions meanwhile or not, and
// whichever session the pooler takes next.
func TestMigrateThroughPgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	for _, roundRobin := range []string{"0", "1"} {
		for _, others := range []int{0, 4} {
			t.Run(fmt.Sprintf("round robin %s, %d others", roundRobin, others), func(t *testing.T) {
				t.Parallel()
				schema := pgtest.Schema(t)
				direct := pgtest.Pool(t, pgtest.MaxConns(1))
				pool := pgtest.PoolAt(t, pgtest.PgBouncer(t, pgtest.URL(t), "server_round_robin = "+roundRobin), pgtest.Mode(pgx.QueryExecModeExec))
				ctx, stop := context.WithCancel(t.Context())
				var busy sync.WaitGroup
				for range others {
					busy.Go(func() {
						for ctx.Err() == nil {
							var path string
							err := pool.QueryRow(ctx, `SELECT current_setting('search_path') || current_setting('statement_timeout') FROM pg_sleep(random() / 500)`).Scan(&path)
							if ctx.Err() == nil && (err != nil || path != `"$user", public0`) {
								t.Errorf("somebody else's statement runs with %q, %v", path, err)
							}
						}
					})
				}
				for range 5 {
					err := Migrate(t.Context(), pool, WithSchema(schema))
					if err == nil || !strings.Contains(err.Error(), "transaction mode") {
						t.Errorf("Migrate = %v", err)
					}
				}
				stop()
				busy.Wait()
				var locks, schemas int
				err := direct.QueryRow(t.Context(), `
					SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = $1::bigint),
						(SELECT count(*) FROM pg_namespace WHERE nspname = $2)`, New(direct, WithSchema(schema)).db.LockSalt("migrations"), schema).Scan(&locks, &schemas)
				if err != nil || locks != 0 || schemas != 0 {
					t.Errorf("%d locks and %d schemas are left, %v", locks, schemas, err)
				}
				check(t, Migrate(t.Context(), direct, WithSchema(schema)))
				check(t, New(pool, WithSchema(schema)).CheckVersion(t.Context()))
			})
		}
	}
}

func TestASchemaNameIsQuoted(t *testing.T) {
	t.Parallel()
	base := pgtest.Schema(t)
	pool := pgtest.Pool(t)
	name := strings.ToUpper(base[:40]) + ` "a".b; -- formsvc.`
	t.Cleanup(func() {
		if _, err := pool.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	must(t, Migrate(t.Context(), pool, WithSchema(name)))
	s := New(pool, WithSchema(name))
	check(t, s.CheckVersion(t.Context()))
	check(t, s.CreateWorkspace(t.Context(), storage.Workspace{ID: storage.ID{1}, PublicID: "w"}, 0))
}

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
			must(t, Migrate(t.Context(), pool, WithSchema(schema)))
			next := tables.ThisBuild
			next.Version++
			next.LockWait = 4 * time.Second // two attempts
			text := fmt.Sprintf("ALTER TABLE forms ADD COLUMN next bigint; UPDATE formsvc_version SET version = %d", next.Version)
			files := filesBefore("9999")
			files[fmt.Sprintf("%04d_next.up.sql", next.Version)] = &fstest.MapFile{Data: []byte(text)}
			next.Files = files
			tx := begin(t, pool)
			if strings.Contains(holds, "%d") {
				holds = fmt.Sprintf(holds, s.db.LockSalt("migrations"))
			}
			run(t, tx, s.db.RewriteSQL(holds))
			if strings.Contains(name, "end") {
				next.LockWait = time.Minute
				ended := make(chan struct{})
				time.AfterFunc(4*time.Second, func() { // during the second attempt
					defer close(ended)
					_ = tx.Rollback(context.Background())
				})
				defer func() { <-ended }()
				wantError(t, "Migrate", migrateTo(t.Context(), next, pool, WithSchema(schema)), nil)
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
			must(t, tx.Rollback(t.Context()))
			isClean(t, pool, s)
			wantError(t, "Migrate when nothing is held", migrateTo(t.Context(), next, pool, WithSchema(schema)), nil)
			isClean(t, pool, s)
		})
	}
}

// isClean holds golang-migrate to a version that is not dirty.
func isClean(t *testing.T, pool *pgxpool.Pool, s *Store) {
	t.Helper()
	var dirty bool
	if err := pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT bool_or(dirty) FROM formsvc.formsvc_migrations`)).Scan(&dirty); err != nil || dirty {
		t.Errorf("golang-migrate's note is dirty (%v)", err)
	}
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
			must(t, Migrate(t.Context(), pool, WithSchema(schema)))
			must(t, pgseed.Fill(t.Context(), pool, schema, pgseed.Size{Forms: 1}))
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
			must(t, killed.Start())
			var pid int
			for pid == 0 { // it sleeps in the middle, with all its locks
				err := pool.QueryRow(t.Context(), `SELECT COALESCE(max(pid), 0) FROM pg_stat_activity, pg_sleep(0.01) WHERE application_name = $1 AND wait_event = 'PgSleep'`, schema).Scan(&pid)
				must(t, err)
			}
			must(t, killed.Process.Kill())
			_ = killed.Wait()
			if !finished {
				run(t, pool, `SELECT pg_terminate_backend($1)`, pid)
			}
			wantError(t, "Migrate afterwards", migrateTo(t.Context(), next, pool, WithSchema(schema)), nil)
			stop()
			callers.Wait()
			check(t, s.CheckVersion(t.Context()))
			var stored int64
			if err := pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(*) FROM formsvc.submissions`)).Scan(&stored); err != nil || stored != number.Load() {
				t.Errorf("%d submissions are stored (%v), want %d", stored, err, number.Load())
			}
		})
	}
}

const killedSchema = "FORMSVC_TEST_KILLED_MIGRATION"
