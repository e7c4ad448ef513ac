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
func Migrations() fs.FS { return tables.ThisBuild.Files }

// Migrate makes the schema and brings its tables to the version that this program
// needs. With nothing to do it changes nothing, and it may run in any number of
// processes at once: one works while the others wait.
//
// It takes nothing from the pool but its configuration: it opens two connections
// of its own, a third while it waits for a lock, and closes them before it returns. They have to reach the server
// itself or a pooler in session mode: one in transaction mode, such as PgBouncer's,
// is an error before anything is set or made. The user needs the right to create the schema, unless it
// exists already, and to create tables in it. Nothing outside the schema is touched.
//
// A lock that another session holds is waited for in attempts of three seconds, for a minute.
// Then Migrate fails and names the session. operations.md lists the locks of each migration.
//
// Each migration is one transaction. When ctx ends, one that has begun is still
// finished; those after it are not begun. One that fails changes nothing and is a
// [*MigrationError]: the next call tries it again. A newer schema that still serves
// this program is left as it is; one that does not is a [*VersionError]. A server that
// [Store.CheckVersion] refuses is refused before anything is made, and so are row-level security
// that applies to the role, and settings other than timeouts and formats.
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

// serves returns nil when the build can work with the tables.
func (s *Store) checkSupported(have tables.State, b tables.Build) error {
	if have.Version >= b.Version && have.OldestProgram <= b.Version {
		return nil
	}
	return &VersionError{Schema: s.db.Schema, Have: have.Version, Want: b.Version, Oldest: have.OldestProgram}
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
	return fmt.Sprintf("migration %d of the schema %s failed and changed nothing, fix the cause and call postgres.Migrate again: %v",
		e.Version, pgx.Identifier{e.Schema}.Sanitize(), e.Cause)
}

// Unwrap returns the cause.
func (e *MigrationError) Unwrap() error { return e.Cause }

// VersionError says that the tables are not ones that this program can work with. It
// is an [storage.ErrUnavailable]: nothing was changed.
type VersionError struct {
	Schema string
	// Have is the version of the tables, 0 without any.
	Have int
	// Want is the version that this program was built for.
	Want int
	// Oldest is the version that a program has to be built for at least, to work
	// with these tables. It is above Want when the tables are too new.
	Oldest int
}

// Error says what is wrong and what to do about it.
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

// SetupError says what keeps the service from working with tables of the right
// version. It is an [storage.ErrUnavailable]: nothing was changed.
type SetupError struct {
	Schema string
	// Faults are rights that the role does not have, such as "UPDATE on the table
	// forms", settings of the role that the pool's mode cannot read, or the one thing that
	// is wrong with the server.
	Problems []string
}

// Error lists the faults.
func (e *SetupError) Error() string {
	return fmt.Sprintf("postgres: the schema %s cannot be used: %s", pgx.Identifier{e.Schema}.Sanitize(), strings.Join(e.Problems, "; "))
}

// Is reports whether target is [storage.ErrUnavailable].
func (e *SetupError) Is(target error) bool { return target == storage.ErrUnavailable }

// CheckVersion reports whether this program can work with the tables. Call it when
// the program starts, if that does not call [Migrate].
//
// It returns a [*VersionError] when the tables are older than this program or do
// not serve it any more, and a [*SetupError] when the role has not the rights of the
// package's documentation, when row-level security can hide rows of a table from it, or when its
// sessions have one of the settings that the package's documentation excludes.
//
// A [*SetupError] is also a server older than PostgreSQL 15, one that speaks its protocol and
// is another (CockroachDB, YugabyteDB, Redshift, Aurora DSQL and the like), and any whose
// advisory locks do nothing. Versions after 18 pass untried.
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
