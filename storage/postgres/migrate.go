package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// Migrations returns the migrations as NNNN_name.up.sql and NNNN_name.down.sql, for hosts that use their own tool. Run
// each file in one transaction, after
//
//	CREATE SCHEMA IF NOT EXISTS formsvc; SET LOCAL search_path = formsvc;
//
// and before
//
//	SET LOCAL search_path = DEFAULT;
//
// because the tool writes to its own table in the same transaction. If a file fails, it changes nothing.
func Migrations() fs.FS { return tables.ThisBuild.Files }

// Migrate creates the schema and migrates its tables to the version of this program. If they are up to date, it changes
// nothing. Several processes can call it concurrently. One of them migrates while the others wait.
//
// It uses only the pool's configuration, and opens up to three connections of its own. These must reach the server
// directly or through a pooler in session mode. Behind a pooler in transaction mode, Migrate returns an error before it
// changes anything. The user must be allowed to create tables in the schema, and to create the schema unless it exists.
// Migrate changes nothing outside of the schema.
//
// If another session holds a lock, Migrate retries for a minute, in attempts of three seconds each. Then it returns an
// error that identifies the session. operations.md lists the locks of each migration. Each migration is one
// transaction. If ctx ends, Migrate completes the current migration and does not start another. If a migration fails,
// it changes nothing, and Migrate returns a [*MigrationError]. The next call tries the migration again. If the schema
// is newer, Migrate leaves it unchanged, and returns a [*VersionError] unless the schema supports this program. Before
// it changes anything, Migrate returns an error if [Store.CheckVersion] would reject the server, if row-level security
// applies to the role, or if a setting is not supported. It does not check timeouts and formats.
func Migrate(ctx context.Context, pool *pgxpool.Pool, opts ...Option) error {
	return migrateTo(ctx, tables.ThisBuild, pool, opts...)
}

func migrateTo(ctx context.Context, b tables.Build, pool *pgxpool.Pool, opts ...Option) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := New(pool, opts...)
	if err := s.db.Validate(); err != nil {
		return err
	}
	have, failed, err := b.Migrate(ctx, pool, &s.db)
	switch {
	case failed > 0:
		err = &MigrationError{Schema: s.db.Schema, Version: failed, Cause: err}
	case err == nil:
		err = s.checkSupported(have, b)
	}
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	return nil
}

// checkSupported returns a [*VersionError] if the build cannot use the tables.
func (s *Store) checkSupported(have tables.State, b tables.Build) error {
	if have.Version >= b.Version && have.OldestProgram <= b.Version {
		return nil
	}
	return &VersionError{Schema: s.db.Schema, Have: have.Version, Want: b.Version, Oldest: have.OldestProgram}
}

// MigrationError reports that a migration failed and changed nothing. It usually wraps a *pgconn.PgError.
type MigrationError struct {
	Schema  string
	Version int // version of the migration
	Cause   error
}

func (e *MigrationError) Error() string {
	return fmt.Sprintf("migration %d of the schema %s failed and changed nothing, fix the cause and call postgres.Migrate again: %v",
		e.Version, pgx.Identifier{e.Schema}.Sanitize(), e.Cause)
}

func (e *MigrationError) Unwrap() error { return e.Cause }

// VersionError reports that this program cannot use the tables, and that nothing was changed. It matches
// [storage.ErrUnavailable].
type VersionError struct {
	Schema string
	Have   int // version of the tables, or 0 if there are none
	Want   int // version that this program needs
	// Oldest is the oldest program version that the tables support. If Oldest is above Want, the tables are too new.
	Oldest int
}

func (e *VersionError) Error() string {
	schema := pgx.Identifier{e.Schema}.Sanitize()
	if e.Have > e.Want {
		return fmt.Sprintf("postgres: the schema %s has version %d, which needs programs for version %d or newer, but this program is for version %d: use a newer program",
			schema, e.Have, e.Oldest, e.Want)
	}
	return fmt.Sprintf("postgres: the schema %s has version %d, but this program needs version %d: call postgres.Migrate",
		schema, e.Have, e.Want)
}

// Is reports whether target is [storage.ErrUnavailable].
func (e *VersionError) Is(target error) bool { return target == storage.ErrUnavailable }

// SetupError reports that the service cannot use tables of the correct version, and that nothing was changed. It
// matches [storage.ErrUnavailable].
type SetupError struct {
	Schema string
	// Problems lists missing privileges such as "UPDATE on the table forms", role settings that the pool's query mode
	// cannot handle, or a problem with the server.
	Problems []string
}

func (e *SetupError) Error() string {
	return fmt.Sprintf("postgres: the schema %s cannot be used: %s", pgx.Identifier{e.Schema}.Sanitize(), strings.Join(e.Problems, "; "))
}

// Is reports whether target is [storage.ErrUnavailable].
func (e *SetupError) Is(target error) bool { return target == storage.ErrUnavailable }

// CheckVersion returns an error if this program cannot use the tables. Call it at the start of a program that does not
// call [Migrate]. It returns a [*VersionError] if the tables are too old or too new. It returns a [*SetupError] if the
// role lacks privileges that the package documentation requires, if row-level security can hide rows from the role, or
// if the role's sessions have unsupported settings.
//
// It also returns a [*SetupError] for servers older than PostgreSQL 15, for other databases with the same protocol
// (CockroachDB, YugabyteDB, Redshift, Aurora DSQL and others), and for servers whose advisory locks have no effect. It
// accepts versions after 18, which are not tested.
func (s *Store) CheckVersion(ctx context.Context) error {
	return s.checkVersion(ctx, tables.ThisBuild)
}

func (s *Store) checkVersion(ctx context.Context, b tables.Build) error {
	return s.db.Read(ctx, func(ctx context.Context) error {
		have, known, problems, err := b.Check(ctx, &s.db)
		if err == nil && known {
			err = s.checkSupported(have, b)
		}
		if err == nil && len(problems) > 0 {
			err = &SetupError{Schema: s.db.Schema, Problems: problems}
		}
		return err
	})
}
