package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	pgxmigrate "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

//go:embed migrations/*.sql
var embedded embed.FS

// build is what one build of this package knows of its tables: the version that it
// works with, and how to get there.
type build struct {
	version int   // of the last migration
	files   fs.FS // migrations/*.sql
}

// thisBuild is the build's own. Tests make others.
var thisBuild = build{version: schemaVersion, files: embedded}

// migrationsTable is where golang-migrate keeps its state. It is in our schema
// and has a name of our own, so that it meets no other user of that library.
const migrationsTable = "formsvc_migrations"

// Migrations returns the migrations, for a host with a tool of its own:
// NNNN_name.up.sql and NNNN_name.down.sql. Each is to be run in one transaction, after
//
//	CREATE SCHEMA IF NOT EXISTS formsvc; SET LOCAL search_path = formsvc;
//
// and before
//
//	SET LOCAL search_path = DEFAULT;
//
// because the tool writes a table of its own in the same transaction. A file that failed
// has then changed nothing and can be run again.
func Migrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the name is a valid one
	}
	return files
}

// Migrate makes the schema and brings its tables to the version that this program
// needs. With nothing to do it changes nothing, and it may run in any number of
// processes at once: one works while the others wait.
//
// It takes nothing from the pool but its configuration: it opens two connections
// of its own and closes them before it returns. They have to reach the server
// itself or a pooler in session mode; PgBouncer in transaction mode strands its
// lock. The user needs the right to create the schema, unless it exists already,
// and to create tables in it. Nothing outside the schema is touched.
//
// Each migration is one transaction. When ctx ends, one that has begun is still
// finished; those after it are not begun. One that fails changes nothing and is a
// [*MigrationError]: the next call tries it again. A newer schema that still serves
// this program is left as it is; one that does not is a [*VersionError].
func Migrate(ctx context.Context, pool *pgxpool.Pool, opts ...Option) error {
	return thisBuild.migrate(ctx, pool, opts...)
}

func (b build) migrate(ctx context.Context, pool *pgxpool.Pool, opts ...Option) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	poolConfig := pool.Config() // a copy
	m := migration{
		build:         b,
		store:         New(pool, opts...),
		config:        poolConfig.ConnConfig,
		beforeConnect: poolConfig.BeforeConnect,
	}
	if err := m.store.fault; err != nil {
		return err
	}
	// What is sent is the same whatever mode the host has chosen.
	m.config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol

	conn, err := m.lock(ctx)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	defer m.unlock(context.WithoutCancel(ctx), conn)

	if err := m.run(ctx, conn); err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	return nil
}

// MigrationError says which migration failed. It has changed nothing. errors.As
// finds its cause, most often a *pgconn.PgError.
type MigrationError struct {
	Schema  string
	Version int // of the migration
	Cause   error
}

// Error says what failed and what to do about it.
func (e *MigrationError) Error() string {
	return fmt.Sprintf("migration %d of the schema %s failed and has changed nothing; remove the cause and call postgres.Migrate again: %v",
		e.Version, pgx.Identifier{e.Schema}.Sanitize(), e.Cause)
}

// Unwrap returns the cause.
func (e *MigrationError) Unwrap() error { return e.Cause }

// reported takes the server's error out of golang-migrate's, which hides it from
// errors.As and repeats the whole migration in its text.
func reported(err error) error {
	var byPointer *database.Error
	if errors.As(err, &byPointer) && byPointer.OrigErr != nil {
		return byPointer.OrigErr
	}
	var byValue database.Error
	if errors.As(err, &byValue) && byValue.OrigErr != nil {
		return byValue.OrigErr
	}
	return err
}

type migration struct {
	build         build
	store         *Store // for its schema, texts and keys
	config        *pgx.ConnConfig
	beforeConnect func(context.Context, *pgx.ConnConfig) error
}

// lock connects and waits for its turn. golang-migrate has a lock too, but waits
// for it without a context.
func (m *migration) lock(ctx context.Context) (*pgx.Conn, error) {
	config := m.config.Copy()
	if m.beforeConnect != nil {
		if err := m.beforeConnect(ctx, config); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	// Waiting for another process may take longer than one of the host's queries.
	_, err = conn.Exec(ctx, `SET statement_timeout = 0; SET lock_timeout = 0`)
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1::bigint)`, m.store.lockSalt(lockMigrations))
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// unlock gives the lock back before it closes the connection, which a pooler may
// keep.
func (m *migration) unlock(ctx context.Context, conn *pgx.Conn) {
	_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock($1::bigint)`, m.store.lockSalt(lockMigrations))
	_ = conn.Close(ctx)
}

// run brings the schema up to date. conn holds the lock.
func (m *migration) run(ctx context.Context, conn *pgx.Conn) error {
	have, err := readVersion(ctx, conn, m.store)
	if err != nil {
		return err
	}
	if have.version >= m.build.version {
		return have.failure(m.store.schema, m.build.version)
	}
	if have.version == 0 && !have.noted {
		if err := m.createSchema(ctx, conn); err != nil {
			return err
		}
	}
	if err := m.up(ctx, have.version); err != nil {
		reached, readErr := readVersion(context.WithoutCancel(ctx), conn, m.store)
		if readErr != nil {
			return errors.Join(reported(err), readErr)
		}
		// A process that was killed may have left its migration to the server, which
		// has finished it meanwhile.
		if reached.version < m.build.version {
			return &MigrationError{Schema: m.store.schema, Version: reached.version + 1, Cause: reported(err)}
		}
	}
	return ctx.Err()
}

// createSchema refuses a schema that something else lives in: a table of the same
// name would be taken for ours.
func (m *migration) createSchema(ctx context.Context, conn *pgx.Conn) error {
	var exists, used bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1::text),
			EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text)`,
		m.store.schema).Scan(&exists, &used)
	if err != nil {
		return err
	}
	if used {
		return fmt.Errorf("the schema %q contains tables that are not formsvc's; choose another with WithSchema", m.store.schema)
	}
	if exists {
		return nil // and the user may have no right to create one
	}
	create := `CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{m.store.schema}.Sanitize()
	_, err = conn.Exec(ctx, create)
	if sqlState(err) == "23505" { // somebody else made it in the same moment
		_, err = conn.Exec(ctx, create)
	}
	return err
}

// up runs golang-migrate from a version on, on connections of its own, and leaves
// none of them open, also where that library does.
func (m *migration) up(ctx context.Context, from int) (err error) {
	var opened []*pgx.Conn
	// Statements, not parameters of the connection, because PgBouncer refuses those.
	settings := `SET statement_timeout = 0; SET search_path = ` + pgx.Identifier{m.store.schema}.Sanitize()
	options := []stdlib.OptionOpenDB{stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		opened = append(opened, conn)
		_, err := conn.Exec(ctx, settings)
		return err
	})}
	if m.beforeConnect != nil {
		options = append(options, stdlib.OptionBeforeConnect(m.beforeConnect))
	}
	db := stdlib.OpenDB(*m.config.Copy(), options...)
	defer func() {
		_ = db.Close()
		for _, conn := range opened {
			_ = conn.PgConn().Conn().Close() // does nothing to one that is closed
		}
	}()

	driver, err := pgxmigrate.WithInstance(db, &pgxmigrate.Config{
		SchemaName:      m.store.schema,
		MigrationsTable: migrationsTable,
	})
	if err != nil {
		return err
	}
	source, err := iofs.New(m.build.files, "migrations")
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

	if err := note(runner, driver, from); err != nil {
		return err
	}
	if err := runner.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return err
	}
	return nil
}

// note makes golang-migrate believe the version of the tables. It notes a version
// before and after a migration, in transactions of their own, so what it has noted
// is wrong when a migration failed or its process ended, and when the host's own
// tool came this far.
func note(runner *migrate.Migrate, driver database.Driver, version int) error {
	if version == 0 {
		version = database.NilVersion
	}
	noted, dirty, err := driver.Version()
	if err != nil || noted == version && !dirty {
		return err
	}
	return runner.Force(version)
}
