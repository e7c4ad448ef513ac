package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// State is the version information stored in the schema.
type State struct {
	Version        int  // 0 if there are no tables
	OldestProgram  int  // the oldest release that the tables support
	notedByMigrate bool // whether golang-migrate's table exists
}

// Check returns the tables' state, and any problems with the server or with the role's privileges and settings. If
// known is false, problems says why the state cannot be read.
func (b Build) Check(ctx context.Context, c *conn.Conn) (have State, known bool, problems []string, err error) {
	if problem, err := serverProblem(ctx, c); problem != "" || err != nil {
		return State{}, false, []string{problem}, err
	}
	problems, err = sessionProblems(ctx, c, minTimeout)
	if err != nil {
		return State{}, false, nil, err
	}
	unreadable, err := formatProblems(ctx, c)
	if err != nil {
		return State{}, false, nil, err
	}
	problems = append(problems, unreadable...)
	var usage bool
	if err := c.DBFor(ctx).QueryRow(ctx, schemaUsage, c.Schema).Scan(&usage); err != nil {
		return State{}, false, nil, err
	}
	if !usage { // nothing else can be read
		return State{}, false, append(problems, "the role lacks the privilege USAGE on the schema"), nil
	}
	missing, readable, err := missingPrivilegeProblems(ctx, c)
	if err != nil || !readable {
		return State{}, false, append(problems, missing...), err
	}
	hidden, ofVersion, err := hiddenRowProblems(ctx, c)
	missing = append(missing, hidden...)
	if err != nil || ofVersion {
		return State{}, false, append(problems, missing...), err
	}
	have, err = ReadState(ctx, c)
	// This release knows only which privileges its own version of the tables requires.
	if have.Version == b.Version {
		problems = append(problems, missing...)
	}
	return have, true, problems, err
}

// schemaUsage treats a missing schema as usable, because CheckVersion reports it as version 0.
const schemaUsage = `
SELECT COALESCE((SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace n WHERE n.nspname = $1::text), true)`

// The service only reads the version table, and does not use golang-migrate's table.
const missingPrivileges = `
SELECT r.name || ' on the ' || CASE c.relkind WHEN 'S' THEN 'sequence ' ELSE 'table ' END || c.relname,
	c.relname = '` + conn.VersionTable + `'
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE']) WITH ORDINALITY r (name, place)
WHERE n.nspname = $1::text AND c.relname <> '` + MigrationsTable + `' AND CASE
	WHEN c.relkind = 'S' THEN r.name IN ('SELECT', 'USAGE') AND NOT has_sequence_privilege(c.oid, r.name)
	WHEN c.relkind NOT IN ('r', 'p') OR r.name = 'USAGE' THEN false
	WHEN c.relname = '` + conn.VersionTable + `' THEN r.name = 'SELECT' AND NOT has_table_privilege(c.oid, r.name)
	ELSE NOT has_table_privilege(c.oid, r.name)
END
ORDER BY c.relname, r.place`

// missingPrivilegeProblems lists the privileges that the role lacks. readable reports whether it can read the version.
func missingPrivilegeProblems(ctx context.Context, c *conn.Conn) (missing []string, readable bool, err error) {
	readable = true
	missing, err = queryProblems(ctx, c, missingPrivileges, c.Schema, func(rows pgx.CollectableRow) (string, error) {
		var right string
		var ofVersion bool
		err := rows.Scan(&right, &ofVersion)
		readable = readable && !ofVersion
		return "the role lacks the privilege " + right, err
	})
	return missing, readable, err
}

// formatProbe selects a value of each type whose text format depends on a setting. It avoids backslashes, whose meaning
// also depends on a setting.
const formatProbe = `
SELECT decode('00ff', 'hex'), 'epoch'::timestamptz, 0.1::float8 + 0.2::float8,
	current_setting('bytea_output'), current_setting('DateStyle'), current_setting('extra_float_digits')`

// formatProblems returns format settings whose output this package cannot parse. Most pgx modes use binary formats, for
// which these settings do not matter.
func formatProblems(ctx context.Context, c *conn.Conn) (problems []string, err error) {
	rows, err := c.DBFor(ctx).Query(ctx, formatProbe)
	if err != nil {
		return nil, err
	}
	err = conn.FirstRow(rows, func(rows pgx.Rows) error {
		var output, style, digits string
		if err := rows.Scan(nil, nil, nil, &output, &style, &digits); err != nil {
			return err
		}
		var float float64
		fields, values := rows.FieldDescriptions(), rows.RawValues()
		for i, target := range []any{new([]byte), new(time.Time), &float} { // rows.Scan would close the rows after an error
			if rows.Conn().TypeMap().Scan(fields[i].DataTypeOID, fields[i].Format, values[i], target) != nil {
				problems = append(problems, fmt.Sprintf("the pool's mode cannot read values with bytea_output = %s and DateStyle = %s: set them to hex and ISO for the role", output, style))
				break
			}
		}
		if a, b := 0.1, 0.2; len(problems) == 0 && float != a+b {
			problems = append(problems, fmt.Sprintf("the pool's mode reads rounded numbers with extra_float_digits = %s: set it to 1 for the role", digits))
		}
		return nil
	})
	return problems, err
}

// A query on a missing table would end a host's transaction, so versionTables first checks which tables exist.
const (
	versionTables = `SELECT to_regclass($1::text) IS NOT NULL, to_regclass($2::text) IS NOT NULL`
	tablesVersion = `
SELECT COALESCE(max(v.version), 0), COALESCE(max(v.oldest_program), 0) FROM formsvc.` + conn.VersionTable + ` v`
)

// ReadState reads the state of the schema.
func ReadState(ctx context.Context, c *conn.Conn) (v State, err error) {
	name := func(table string) string { return pgx.Identifier{c.Schema, table}.Sanitize() }
	var made bool
	if err := c.DBFor(ctx).QueryRow(ctx, versionTables, name(conn.VersionTable), name(MigrationsTable)).Scan(&made, &v.notedByMigrate); err != nil || !made {
		return v, err
	}
	err = c.DBFor(ctx).QueryRow(ctx, c.RewriteSQL(tablesVersion)).Scan(&v.Version, &v.OldestProgram)
	return v, err
}
