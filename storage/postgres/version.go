package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// schemaVersion is the version of the tables that this package works with: that
// of the last migration.
const schemaVersion = 1

// versionTable holds the version of the tables. Its name is like no other, as it
// also tells which schemas are of this library.
const versionTable = "formsvc_version"

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
		return fmt.Sprintf("postgres: the schema %s is at version %d, which serves programs for version %d and newer; this one is for version %d: use a newer program",
			schema, e.Have, e.Oldest, e.Want)
	}
	return fmt.Sprintf("postgres: the schema %s is at version %d and older than this program, which needs version %d; call postgres.Migrate",
		schema, e.Have, e.Want)
}

// Is reports whether target is [storage.ErrUnavailable].
func (e *VersionError) Is(target error) bool { return target == storage.ErrUnavailable }

// SetupError says what keeps the service from working with tables of the right
// version. It is an [storage.ErrUnavailable]: nothing was changed.
type SetupError struct {
	Schema string
	// Faults are rights that the role does not have, such as "UPDATE on the table
	// forms", and settings of the role that the pool's mode cannot read.
	Faults []string
}

// Error lists the faults.
func (e *SetupError) Error() string {
	return fmt.Sprintf("postgres: the schema %s cannot be used: %s", pgx.Identifier{e.Schema}.Sanitize(), strings.Join(e.Faults, "; "))
}

// Is reports whether target is [storage.ErrUnavailable].
func (e *SetupError) Is(target error) bool { return target == storage.ErrUnavailable }

// CheckVersion reports whether this program can work with the tables. Call it when
// the program starts, if that does not call [Migrate].
//
// It returns a [*VersionError] when the tables are older than this program or do
// not serve it any more, and a [*SetupError] when the role has not the rights of
// the package's documentation, has an isolation level other than read committed, or a DateStyle or
// bytea_output that the pool's mode cannot read.
func (s *Store) CheckVersion(ctx context.Context) error {
	return s.checkVersion(ctx, thisBuild)
}

func (s *Store) checkVersion(ctx context.Context, b build) error {
	return s.read(ctx, func(ctx context.Context) error {
		faults, err := s.settingFaults(ctx)
		if err != nil {
			return err
		}
		var usage bool
		if err := s.db.QueryRow(ctx, schemaUsage, s.schema).Scan(&usage); err != nil {
			return err
		}
		if !usage { // then nothing more can be known
			return &SetupError{Schema: s.schema, Faults: append(faults, "the role has not the right USAGE on the schema")}
		}
		missing, readable, err := s.missingRights(ctx)
		if err != nil {
			return err
		}
		if !readable {
			return &SetupError{Schema: s.schema, Faults: append(faults, missing...)}
		}
		have, err := readVersion(ctx, s.db, s)
		if err != nil {
			return err
		}
		if err := have.failure(s.schema, b.version); err != nil {
			return err
		}
		// Newer tables may have parts that this program needs no rights for.
		if have.version == b.version {
			faults = append(faults, missing...)
		}
		if len(faults) > 0 {
			return &SetupError{Schema: s.schema, Faults: faults}
		}
		return nil
	})
}

// A schema that does not exist is a matter of its version.
const schemaUsage = `
SELECT COALESCE((SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace n WHERE n.nspname = $1::text), true)`

// Of the version the service reads its row, and of golang-migrate's table nothing.
const missingRights = `
SELECT r.name || ' on the ' || CASE c.relkind WHEN 'S' THEN 'sequence ' ELSE 'table ' END || c.relname,
	c.relname = '` + versionTable + `'
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE']) WITH ORDINALITY r (name, place)
WHERE n.nspname = $1::text AND c.relname <> '` + migrationsTable + `' AND CASE
	WHEN c.relkind = 'S' THEN r.name IN ('SELECT', 'USAGE') AND NOT has_sequence_privilege(c.oid, r.name)
	WHEN c.relkind NOT IN ('r', 'p') OR r.name = 'USAGE' THEN false
	WHEN c.relname = '` + versionTable + `' THEN r.name = 'SELECT' AND NOT has_table_privilege(c.oid, r.name)
	ELSE NOT has_table_privilege(c.oid, r.name)
END
ORDER BY c.relname, r.place`

// missingRights names the rights that the role does not have. readable: the version
// can be read.
func (s *Store) missingRights(ctx context.Context) (missing []string, readable bool, err error) {
	rows, err := s.db.Query(ctx, missingRights, s.schema)
	if err != nil {
		return nil, false, err
	}
	readable = true
	missing, err = collectRows(rows, func(rows pgx.Rows) (string, error) {
		var right string
		var ofVersion bool
		err := rows.Scan(&right, &ofVersion)
		readable = readable && !ofVersion
		return "the role has not the right " + right, err
	})
	return missing, readable, err
}

// settingsProbe has a value of each type whose text depends on a setting.
const settingsProbe = `
SELECT '\x00ff'::bytea, 'epoch'::timestamptz,
	current_setting('bytea_output'), current_setting('DateStyle'), current_setting('transaction_isolation')`

// settingFaults finds settings that this package cannot work with. In most modes of
// pgx values come in a binary format, and the first two do not matter.
func (s *Store) settingFaults(ctx context.Context) (faults []string, err error) {
	rows, err := s.db.Query(ctx, settingsProbe)
	if err != nil {
		return nil, err
	}
	err = firstRow(rows, func(rows pgx.Rows) error {
		var output, style, isolation string
		if err := rows.Scan(nil, nil, &output, &style, &isolation); err != nil {
			return err
		}
		fields, values := rows.FieldDescriptions(), rows.RawValues()
		for i, target := range []any{new([]byte), new(time.Time)} { // rows.Scan would end the rows with its error
			if rows.Conn().TypeMap().Scan(fields[i].DataTypeOID, fields[i].Format, values[i], target) != nil {
				faults = append(faults, fmt.Sprintf("the pool's mode cannot read values with bytea_output = %s and DateStyle = %s: the role needs hex and ISO", output, style))
				break
			}
		}
		if isolation != "read committed" {
			faults = append(faults, fmt.Sprintf("the isolation level is %s, and has to be read committed", isolation))
		}
		return nil
	})
	return faults, err
}

// versionState is what the schema says about itself.
type versionState struct {
	version int
	oldest  int  // the program that it still serves
	noted   bool // by golang-migrate, too
}

// failure is nil when a program for the version want can work with the schema.
func (v versionState) failure(schema string, want int) error {
	if v.version >= want && v.oldest <= want {
		return nil
	}
	return &VersionError{Schema: schema, Have: v.version, Want: want, Oldest: v.oldest}
}

type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Asking for a table that does not exist would end a host's transaction, so it is
// first asked which of them do.
const (
	versionTables = `SELECT to_regclass($1::text) IS NOT NULL, to_regclass($2::text) IS NOT NULL`
	tablesVersion = `
SELECT COALESCE(max(v.version), 0), COALESCE(max(v.oldest_program), 0) FROM formsvc.` + versionTable + ` v`
)

// readVersion asks db for the version of s's schema.
func readVersion(ctx context.Context, db rowQuerier, s *Store) (v versionState, err error) {
	name := func(table string) string { return pgx.Identifier{s.schema, table}.Sanitize() }
	var made bool
	if err := db.QueryRow(ctx, versionTables, name(versionTable), name(migrationsTable)).Scan(&made, &v.noted); err != nil || !made {
		return v, err
	}
	err = db.QueryRow(ctx, s.sql(tablesVersion)).Scan(&v.version, &v.oldest)
	return v, err
}
