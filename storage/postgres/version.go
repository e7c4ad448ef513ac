package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// schemaVersion is the version of the tables that this package works with: that
// of the last migration.
const schemaVersion = 1

// versionTable holds the version of the tables. Its name is like no other, as it
// also tells which schemas are of this library.
const versionTable = "formsvc_version"

// VersionError says that the tables are not the ones that this program needs. It
// is an [storage.ErrUnavailable]: nothing was changed.
type VersionError struct {
	Schema string
	// Have is the version of the tables, 0 without any. When Dirty, it is the
	// version of the migration that failed.
	Have int
	// Want is the version that this program needs.
	Want int
	// Dirty: a migration failed half-way, and somebody has to look at it.
	Dirty bool
}

// Error tells what is wrong and what to do about it.
func (e *VersionError) Error() string {
	schema := pgx.Identifier{e.Schema}.Sanitize()
	switch {
	case e.Dirty:
		reset := fmt.Sprintf("UPDATE %s.%s SET version = %d, dirty = false", schema, migrationsTable, e.Have-1)
		if e.Have <= 1 {
			reset = fmt.Sprintf("DELETE FROM %s.%s", schema, migrationsTable)
		}
		return fmt.Sprintf("postgres: migration %d of the schema %s failed; remove its cause, run %q, and call postgres.Migrate again",
			e.Have, schema, reset)
	case e.Have > e.Want:
		return fmt.Sprintf("postgres: the schema %s is at version %d and newer than this program, which needs version %d; use a newer program",
			schema, e.Have, e.Want)
	}
	return fmt.Sprintf("postgres: the schema %s is at version %d and older than this program, which needs version %d; call postgres.Migrate",
		schema, e.Have, e.Want)
}

// Is reports whether target is [storage.ErrUnavailable].
func (e *VersionError) Is(target error) bool { return target == storage.ErrUnavailable }

// CheckVersion returns a [*VersionError] when the tables are older or newer than
// this program, and nil when they fit. Call it when the program starts, if that
// does not call [Migrate].
func (s *Store) CheckVersion(ctx context.Context) error {
	return s.read(ctx, func(ctx context.Context) error {
		have, err := readVersion(ctx, s.db, s)
		if err != nil {
			return err
		}
		return have.failure(s.schema)
	})
}

// versionState is what the schema says about itself.
type versionState struct {
	version  int
	dirty    bool
	migrated bool // by Migrate, not by the host's own tool
}

// failure is nil when this program can work with the schema.
func (v versionState) failure(schema string) error {
	if !v.dirty && v.version == schemaVersion {
		return nil
	}
	return &VersionError{Schema: schema, Have: v.version, Want: schemaVersion, Dirty: v.dirty}
}

type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Asking for a table that does not exist would end a host's transaction, so it is
// first asked which of them do.
const (
	versionTables = `SELECT to_regclass($1::text) IS NOT NULL, to_regclass($2::text) IS NOT NULL`
	tablesVersion = `SELECT COALESCE(max(v.version), 0) FROM formsvc.` + versionTable + ` v`
	dirtyVersion  = `SELECT COALESCE(max(m.version), 0), COALESCE(bool_or(m.dirty), false) FROM formsvc.` + migrationsTable + ` m`
)

// readVersion asks db for the version of s's schema.
func readVersion(ctx context.Context, db rowQuerier, s *Store) (v versionState, err error) {
	name := func(table string) string { return pgx.Identifier{s.schema, table}.Sanitize() }
	var made bool
	if err := db.QueryRow(ctx, versionTables, name(versionTable), name(migrationsTable)).Scan(&made, &v.migrated); err != nil {
		return v, err
	}
	if made {
		if err := db.QueryRow(ctx, s.sql(tablesVersion)).Scan(&v.version); err != nil {
			return v, err
		}
	}
	if v.migrated {
		var failed int
		if err := db.QueryRow(ctx, s.sql(dirtyVersion)).Scan(&failed, &v.dirty); err != nil {
			return v, err
		}
		if v.dirty {
			v.version = failed
		}
	}
	return v, nil
}
