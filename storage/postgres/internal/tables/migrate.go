// Package tables creates the tables and migrates them to the version that the service needs. It does not
// depend on forms; package postgres documents the tables.
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

var migrations, _ = fs.Sub(embedded, "migrations") // the name is a valid one

// Build is what one build of the library knows of its tables: the version that it works
// with, and how to get there.
type Build struct {
	Version int   // of the last migration
	Files   fs.FS // NNNN_name.up.sql and NNNN_name.down.sql
	// LockWait is how long Migrate tries to get a lock that another session holds. Zero means a
	// minute.
	LockWait time.Duration
}

const (
	// lockTimeout bounds one attempt, since everything else waits behind a strong lock that
	// waits. It is longer than deadlock_timeout: only after that does autovacuum give way.
	lockTimeout = `SET statement_timeout = 0; SET lock_timeout = '3s'`
	// attemptInterval is for what has waited behind an attempt.
	attemptInterval = time.Second
)

// ThisBuild is the build's own. Tests make others.
var ThisBuild = Build{Version: 1, Files: migrations}

// MigrationsTable is where golang-migrate keeps its state. It is in our schema
// and has a name of our own, so that it meets no other user of that library.
const MigrationsTable = "formsvc_migrations"

// Migrate brings the schema of c to the version of the build. It opens two connections of
// its own, as pool does, and returns the state that it found or made. When a migration
// failed, failed is the migration's version and err is the server's error.
func (b Build) Migrate(ctx context.Context, pool *pgxpool.Pool, c *conn.Conn) (have State, failed int, err error) {
	poolConfig := pool.Config() // a copy
	m := migration{build: b, conn: c, config: poolConfig.ConnConfig, beforeConnect: poolConfig.BeforeConnect}
	// What is sent is the same whatever mode the host has chosen.
	m.config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol

	own, err := m.openSession(ctx)
	if err != nil {
		return State{}, 0, err
	}
	defer m.unlock(context.WithoutCancel(ctx), own)
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
		if !conn.LockHeld(err) {
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

// waitForNextAttempt waits between two attempts. It reports whether ctx lasted.
func waitForNextAttempt(ctx context.Context) bool {
	select {
	case <-time.After(attemptInterval):
		return true
	case <-ctx.Done():
		return false
	}
}

// waiting notes the server process of a connection that may wait for a lock: one more, or as
// the first of an attempt.
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

// watch looks again and again, on a connection of its own, which sessions hold what the
// migration waits for. blockers returns the last that were seen.
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

// serverError takes the server's error out of golang-migrate's, which hides it from
// errors.As and repeats the whole migration in its text.
func serverError(err error) error {
	if byPointer, ok := errors.AsType[*database.Error](err); ok && byPointer.OrigErr != nil {
		return byPointer.OrigErr
	}
	if byValue, ok := errors.AsType[database.Error](err); ok && byValue.OrigErr != nil {
		return byValue.OrigErr
	}
	return err
}

// lockKind names the lock that lets one Migrate work while others wait.
const lockKind = "migrations"

type migration struct {
	build         Build
	conn          *conn.Conn // for its schema, texts and locks
	config        *pgx.ConnConfig
	beforeConnect func(context.Context, *pgx.ConnConfig) error

	mu   sync.Mutex
	pids []int64 // server processes that may wait for a lock
}

// connect opens a connection of our own, as pool does.
func (m *migration) connect(ctx context.Context) (*pgx.Conn, error) {
	config := m.config.Copy()
	if m.beforeConnect != nil {
		if err := m.beforeConnect(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}

// begin connects to a server that will do. What it returns takes the lock of our own, too:
// golang-migrate waits for its lock without a context.
func (m *migration) openSession(ctx context.Context) (*pgx.Conn, error) {
	c, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	of := m.conn.On(c)
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

// checkSession refuses a pooler in transaction mode before anything is set: the locks and the
// search_path of a migration would stay in sessions that the pooler gives to others. A server
// tells its process to whoever connects, a pooler tells a number of its own. Behind a pooler two
// connections have two processes, and keep them, in session mode only.
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
	defer func() { _ = second.Close(context.WithoutCancel(ctx)) }() // it has only read

	for range 10 { // a busy pooler may give each its process of before, but hardly ten times
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

// unlock gives the lock back before it closes the connection, which a pooler may
// keep.
func (m *migration) unlock(ctx context.Context, c *pgx.Conn) {
	_, _ = c.Exec(ctx, `SELECT pg_advisory_unlock($1::bigint)`, m.conn.LockSalt(lockKind))
	_ = c.Close(ctx)
}

// run brings the schema up to date. c holds the lock.
func (m *migration) run(ctx context.Context, c *pgx.Conn) (have State, failed int, err error) {
	of := m.conn.On(c)
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
		// A process that was killed may have left its migration to the server, which
		// has finished it meanwhile.
		if reached.Version < m.build.Version {
			return reached, reached.Version + 1, serverError(err)
		}
	}
	return State{Version: m.build.Version}, 0, ctx.Err()
}

// createSchema refuses a schema with tables of somebody else: a table with one of our
// names would be taken for ours.
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
		return nil // and the user may have no right to create one
	}
	create := `CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{m.conn.Schema}.Sanitize()
	_, err = c.Exec(ctx, create)
	if conn.SQLState(err) == conn.UniqueViolation { // somebody else made it in the same moment
		_, err = c.Exec(ctx, create)
	}
	return err
}

// up runs golang-migrate from a version on, on connections of its own, and leaves
// none of them open, also where that library does.
func (m *migration) runMigrations(ctx context.Context, of *conn.Conn, from int) (err error) {
	var opened []*pgx.Conn
	// Statements, not parameters of the connection, because PgBouncer refuses those.
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
			_ = c.PgConn().Conn().Close() // does nothing to one that is closed
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
		default: // told already
		}
	})
	defer stop()

	if err := setMigrateVersion(runner, driver, from); err != nil {
		return err
	}
	if err := runner.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		// The failed migration has changed nothing, so golang-migrate's note of it is wrong.
		if reached, readErr := ReadState(context.WithoutCancel(ctx), of); readErr == nil {
			_ = setMigrateVersion(runner, driver, reached.Version)
		}
		return err
	}
	return nil
}

// note makes golang-migrate believe the version of the tables. That library notes a
// version before and after a migration, in transactions of their own. So its note is wrong
// when a migration failed, when its process ended, and when the host's own tool came this
// far.
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
