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

// migrationsTable is where golang-migrate keeps its state. It is in our schema
// and has a name of our own, so that it meets no other user of that library.
const migrationsTable = "formsvc_migrations"

// Migrations returns the migrations, for a host with a tool of its own:
// NNNN_name.up.sql and NNNN_name.down.sql. Each is to be run in one transaction,
// with the schema of the tables first in search_path; the schema has to exist.
// Every file can be run again.
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
// itself or a pooler in session mode. The user needs the right to create the
// schema, unless it exists already, and to create tables in it. Nothing outside
// the schema is touched.
//
// When ctx ends, a migration that has begun is still finished; those after it are
// not begun. A schema that is newer than this program, or in which a migration
// failed half-way, is left as it is and reported as a [*VersionError].
func Migrate(ctx context.Context, pool *pgxpool.Pool, opts ...Option) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := newConfig(opts)
	poolConfig := pool.Config() // a copy
	m := migration{
		store:         New(pool, opts...),
		schema:        c.schema,
		config:        poolConfig.ConnConfig,
		beforeConnect: poolConfig.BeforeConnect,
	}
	// What is sent is the same whatever mode the host has chosen.
	m.config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	// Waiting for another process may take longer than one of the host's queries.
	m.config.RuntimeParams["statement_timeout"] = "0"

	conn, err := m.lock(ctx)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // gives the lock back

	if err := m.run(ctx, conn); err != nil {
		return fmt.Errorf("postgres: migrate: %w", reported(err))
	}
	return nil
}

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
	store         *Store // for its texts and keys
	schema        string
	config        *pgx.ConnConfig
	beforeConnect func(context.Context, *pgx.ConnConfig) error
}

// lock connects and waits for its turn. golang-migrate has a lock too, but waits
// for it without a context.
func (m *migration) lock(ctx context.Context) (*pgx.Conn, error) {
	config := m.config.Copy()
	config.RuntimeParams["lock_timeout"] = "0"
	if m.beforeConnect != nil {
		if err := m.beforeConnect(ctx, config); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1::bigint)`, m.store.lockSalt(lockMigrations)); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// run brings the schema up to date. conn holds the lock.
func (m *migration) run(ctx context.Context, conn *pgx.Conn) error {
	have, err := readVersion(ctx, conn, m.store)
	if err != nil {
		return err
	}
	switch {
	case have.dirty || have.version > schemaVersion:
		return have.failure(m.schema)
	case have.version == schemaVersion:
		return nil
	case have.version == 0 && !have.migrated:
		if err := m.createSchema(ctx, conn); err != nil {
			return err
		}
	}
	if err := m.up(ctx, have); err != nil {
		if dirty := (migrate.ErrDirty{}); errors.As(err, &dirty) {
			return versionState{version: dirty.Version, dirty: true}.failure(m.schema)
		}
		return err
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
		m.schema).Scan(&exists, &used)
	if err != nil {
		return err
	}
	if used {
		return fmt.Errorf("the schema %q has tables of something else; choose another with WithSchema", m.schema)
	}
	if exists {
		return nil // and the user may have no right to create one
	}
	create := `CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{m.schema}.Sanitize()
	_, err = conn.Exec(ctx, create)
	if sqlState(err) == "23505" { // somebody else made it in the same moment
		_, err = conn.Exec(ctx, create)
	}
	return err
}

// up runs golang-migrate on connections of its own and leaves none of them open,
// also where that library does.
func (m *migration) up(ctx context.Context, have versionState) (err error) {
	config := m.config.Copy()
	config.RuntimeParams["search_path"] = pgx.Identifier{m.schema}.Sanitize()

	var opened []*pgx.Conn
	options := []stdlib.OptionOpenDB{stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		opened = append(opened, conn)
		return nil
	})}
	if m.beforeConnect != nil {
		options = append(options, stdlib.OptionBeforeConnect(m.beforeConnect))
	}
	db := stdlib.OpenDB(*config, options...)
	defer func() {
		_ = db.Close()
		for _, conn := range opened {
			_ = conn.PgConn().Conn().Close() // does nothing to one that is closed
		}
	}()

	driver, err := pgxmigrate.WithInstance(db, &pgxmigrate.Config{
		SchemaName:      m.schema,
		MigrationsTable: migrationsTable,
	})
	if err != nil {
		return err
	}
	source, err := iofs.New(embedded, "migrations")
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

	if have.version > 0 && !have.migrated {
		// The host's own tool came this far.
		if err := runner.Force(have.version); err != nil {
			return err
		}
	}
	if err := runner.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return err
	}
	return nil
}
