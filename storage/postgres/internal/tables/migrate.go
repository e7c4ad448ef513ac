// Package tables creates the tables and migrates them to the version that the service needs.
package tables

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	pgxmigrate "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

//go:embed migrations/*.sql
var embedded embed.FS

var migrations, _ = fs.Sub(embedded, "migrations") // the name is valid

// Build describes the tables of one build of the library: their version and the migrations.
type Build struct {
	Version int   // version of the last migration
	Files   fs.FS // NNNN_name.up.sql and NNNN_name.down.sql
	// LockWait is how long Migrate retries while another session holds a lock. Defaults to one minute.
	LockWait time.Duration
}

const (
	// lockTimeout limits one attempt, because other sessions queue up while an attempt waits for a strong lock. It is
	// longer than deadlock_timeout, after which autovacuum yields.
	lockTimeout = `SET statement_timeout = 0; SET lock_timeout = '3s'`
	// attemptInterval is the time between attempts, in which the sessions that an attempt blocked can continue.
	attemptInterval = time.Second
)

// ThisBuild is the current build. Tests use other builds.
var ThisBuild = Build{Version: 1, Files: migrations}

// MigrationsTable contains golang-migrate's state. Its schema and name differ from the defaults, so that other uses of
// golang-migrate are not affected.
const MigrationsTable = "formsvc_migrations"

// Migrate migrates the schema of c to the version of the build. Of the pool, it uses only the configuration. It returns
// the state that it found or reached. If a migration fails, failed is its version and err is the server's error.
func (b Build) Migrate(ctx context.Context, pool *pgxpool.Pool, c *conn.Conn) (have State, failed int, err error) {
	poolConfig := pool.Config() // a copy
	m := migration{build: b, conn: c, config: poolConfig.ConnConfig, beforeConnect: poolConfig.BeforeConnect}
	// In this mode, statements do not depend on the host's settings.
	m.config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol

	own, err := m.openSession(ctx)
	if err != nil {
		return State{}, 0, err
	}
	defer m.unlockAndClose(context.WithoutCancel(ctx), own)
	until := time.Now().Add(cmp.Or(b.LockWait, time.Minute))
	var blockers func() string
	for locked := false; ; {
		if err = m.addPID(ctx, own, true); err != nil {
			return have, failed, err
		}
		if !locked {
			_, err = own.Exec(ctx, `SELECT pg_advisory_lock($1::bigint)`, m.conn.LockSalt(lockKind))
			locked = err == nil
		}
		if locked {
			have, failed, err = m.run(ctx, own)
		}
		if !conn.IsLockHeld(err) {
			return have, failed, err
		}
		if blockers == nil {
			see, stop, watchErr := m.watchBlockers(ctx)
			if watchErr != nil {
				return have, failed, errors.Join(err, watchErr)
			}
			defer stop()
			blockers = see
		}
		if time.Now().After(until) || !waitForNextAttempt(ctx) {
			return have, failed, fmt.Errorf("%s, end its transaction or wait until it ends: %w", blockers(), cmp.Or(ctx.Err(), err))
		}
	}
}

func waitForNextAttempt(ctx context.Context) bool {
	select {
	case <-time.After(attemptInterval):
		return true
	case <-ctx.Done():
		return false
	}
}

// addPID records the server process for a connection that may wait for a lock. If first is true, it discards the
// processes from earlier attempts.
func (m *migration) addPID(ctx context.Context, c *pgx.Conn, first bool) error {
	var pid int64
	if err := c.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first {
		m.pids = nil
	}
	m.pids = append(m.pids, pid)
	return nil
}

const blockersOf = `
SELECT string_agg(DISTINCT CASE WHEN b.pid = 0 THEN 'a prepared transaction' ELSE
	format('process %s (%s)', b.pid, concat_ws(', ', a.backend_type, a.state, 'application ' || quote_literal(NULLIF(a.application_name, '')))) END, ', ')
FROM unnest($1::bigint[]) AS w (pid) CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid::integer)) AS b (pid)
LEFT JOIN pg_stat_activity a ON a.pid = b.pid
WHERE b.pid <> ALL ($1::bigint[])`

// watchBlockers polls, on a separate connection, which sessions block the migration. blockers returns the latest
// result.
func (m *migration) watchBlockers(ctx context.Context) (blockers func() string, stop func(), err error) {
	c, err := m.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var last atomic.Value
	last.Store("another session")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(attemptInterval / 5); ; {
			m.mu.Lock()
			pids := slices.Clone(m.pids)
			m.mu.Unlock()
			var seen *string
			if err := c.QueryRow(ctx, blockersOf, pids).Scan(&seen); err == nil && seen != nil {
				last.Store(*seen)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	}()
	return func() string { return last.Load().(string) + " holds a lock that the migration needs" }, func() {
		cancel()
		<-ended
		_ = c.Close(context.WithoutCancel(ctx))
	}, nil
}

// serverError extracts the server's error from golang-migrate's error, which hides the server's error from errors.As
// and contains the text of the whole migration.
func serverError(err error) error {
	if byPointer, ok := errors.AsType[*database.Error](err); ok && byPointer.OrigErr != nil {
		return byPointer.OrigErr
	}
	if byValue, ok := errors.AsType[database.Error](err); ok && byValue.OrigErr != nil {
		return byValue.OrigErr
	}
	return err
}

// lockKind is the kind of the lock that serializes calls of Migrate.
const lockKind = "migrations"

type migration struct {
	build         Build
	conn          *conn.Conn // provides the schema, statements and locks
	config        *pgx.ConnConfig
	beforeConnect func(context.Context, *pgx.ConnConfig) error

	mu   sync.Mutex
	pids []int64 // server processes that may wait for a lock
}

func (m *migration) connect(ctx context.Context) (*pgx.Conn, error) {
	config := m.config.Copy()
	if m.beforeConnect != nil {
		if err := m.beforeConnect(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}

// openSession connects, checks the server, and takes our own lock, because golang-migrate waits for its lock without a
// context.
func (m *migration) openSession(ctx context.Context) (*pgx.Conn, error) {
	c, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	of := m.conn.WithDB(c)
	problem, err := serverProblem(ctx, &of)
	if problem != "" {
		err = errors.New(problem)
	}
	if err == nil {
		err = m.checkSession(ctx, c)
	}
	if err == nil {
		err = checkMigrateSession(ctx, &of)
	}
	if err == nil {
		_, err = c.Exec(ctx, lockTimeout)
	}
	if err != nil {
		_ = c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return c, nil
}

// checkSession rejects a pooler in transaction mode, which would give other clients sessions that have a migration's
// locks and search_path. Behind any pooler, the process ID that a client receives differs from pg_backend_pid. In that
// case, two connections keep their server processes only in session mode.
func (m *migration) checkSession(ctx context.Context, c *pgx.Conn) error {
	process := func(c *pgx.Conn) (pid uint32, err error) {
		err = c.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
		return pid, err
	}
	first, err := process(c)
	if err != nil || first == c.PgConn().PID() {
		return err
	}
	second, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close(context.WithoutCancel(ctx)) }() // the second connection only reads

	for range 10 { // a busy pooler may return the same processes by chance, but not ten times
		other, err := process(second)
		if err != nil {
			return err
		}
		again, err := process(c)
		if err != nil {
			return err
		}
		if other == first || again != first {
			return errors.New("the connection uses a pooler in transaction mode: migrate with a direct connection or a pooler in session mode")
		}
	}
	return nil
}

// unlockAndClose releases the lock before it closes the connection, because a pooler may retain the session.
func (m *migration) unlockAndClose(ctx context.Context, c *pgx.Conn) {
	_, _ = c.Exec(ctx, `SELECT pg_advisory_unlock($1::bigint)`, m.conn.LockSalt(lockKind))
	_ = c.Close(ctx)
}

func (m *migration) run(ctx context.Context, c *pgx.Conn) (have State, failed int, err error) {
	of := m.conn.WithDB(c)
	have, err = ReadState(ctx, &of)
	if err != nil || have.Version >= m.build.Version {
		return have, 0, err
	}
	if have.Version == 0 && !have.notedByMigrate {
		if err := m.createSchema(ctx, c); err != nil {
			return have, 0, err
		}
	}
	if err := m.runMigrations(ctx, &of, have.Version); err != nil {
		reached, readErr := ReadState(context.WithoutCancel(ctx), &of)
		if readErr != nil {
			return have, 0, errors.Join(serverError(err), readErr)
		}
		// In the meantime, the server may have completed the migration of a killed process.
		if reached.Version < m.build.Version {
			return reached, reached.Version + 1, serverError(err)
		}
	}
	return State{Version: m.build.Version}, 0, ctx.Err()
}

// createSchema rejects an existing schema that contains other tables, because a table with one of our names would be
// treated as ours.
func (m *migration) createSchema(ctx context.Context, c *pgx.Conn) error {
	var exists, used bool
	err := c.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1::text),
			EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text)`,
		m.conn.Schema).Scan(&exists, &used)
	if err != nil {
		return err
	}
	if used {
		return fmt.Errorf("the schema %q contains tables that are not formsvc's: choose another schema with WithSchema", m.conn.Schema)
	}
	if exists {
		return nil // the user may lack the privilege to create a schema
	}
	create := `CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{m.conn.Schema}.Sanitize()
	_, err = c.Exec(ctx, create)
	if conn.SQLState(err) == conn.UniqueViolation { // another session created the schema at the same moment
		_, err = c.Exec(ctx, create)
	}
	return err
}

// runMigrations runs golang-migrate on separate connections, starting after the version in from. It closes all these
// connections, even if the library leaves some open.
func (m *migration) runMigrations(ctx context.Context, of *conn.Conn, from int) (err error) {
	var opened []*pgx.Conn
	// Set these with statements, because PgBouncer rejects them as connection parameters.
	settings := lockTimeout + `; SET search_path = ` + pgx.Identifier{m.conn.Schema}.Sanitize()
	options := []stdlib.OptionOpenDB{stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		opened = append(opened, c)
		if _, err := c.Exec(ctx, settings); err != nil {
			return err
		}
		return m.addPID(ctx, c, false)
	})}
	if m.beforeConnect != nil {
		options = append(options, stdlib.OptionBeforeConnect(m.beforeConnect))
	}
	db := stdlib.OpenDB(*m.config.Copy(), options...)
	defer func() {
		_ = db.Close()
		for _, c := range opened {
			_ = c.PgConn().Conn().Close() // has no effect on a closed connection
		}
	}()

	driver, err := pgxmigrate.WithInstance(db, &pgxmigrate.Config{
		SchemaName:      m.conn.Schema,
		MigrationsTable: MigrationsTable,
	})
	if err != nil {
		return err
	}
	source, err := iofs.New(m.build.Files, ".")
	if err != nil {
		return errors.Join(err, driver.Close())
	}
	runner, err := migrate.NewWithInstance("iofs", source, "pgx5", driver)
	if err != nil {
		return errors.Join(err, source.Close(), driver.Close())
	}
	defer func() {
		sourceErr, driverErr := runner.Close()
		err = errors.Join(err, sourceErr, driverErr)
	}()
	stop := context.AfterFunc(ctx, func() {
		select {
		case runner.GracefulStop <- true:
		default: // the stop was already requested
		}
	})
	defer stop()

	if err := setMigrateVersion(runner, driver, from); err != nil {
		return err
	}
	if err := runner.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		// The failed migration changed nothing, but golang-migrate has recorded its version.
		if reached, readErr := ReadState(context.WithoutCancel(ctx), of); readErr == nil {
			_ = setMigrateVersion(runner, driver, reached.Version)
		}
		return err
	}
	return nil
}

// setMigrateVersion sets golang-migrate's version to the version of the tables. golang-migrate writes its version
// before and after a migration, in separate transactions. Its version is therefore wrong if a migration failed, its
// process ended, or the host used its own tool.
func setMigrateVersion(runner *migrate.Migrate, driver database.Driver, version int) error {
	if version == 0 {
		version = database.NilVersion
	}
	noted, dirty, err := driver.Version()
	if err != nil || noted == version && !dirty {
		return err
	}
	return runner.Force(version)
}
