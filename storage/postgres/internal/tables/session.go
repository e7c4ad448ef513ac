package tables

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// policyAllowsAll is the condition that the policy p on the table c allows all rows for the command cmd. Only the
// constant true counts, because other expressions cannot be evaluated.
const policyAllowsAll = `
	CASE cmd.name
	WHEN 'INSERT' THEN pg_get_expr(COALESCE(p.polwithcheck, p.polqual), c.oid) = 'true'
	WHEN 'UPDATE' THEN pg_get_expr(p.polqual, c.oid) = 'true' AND pg_get_expr(COALESCE(p.polwithcheck, p.polqual), c.oid) = 'true'
	ELSE pg_get_expr(p.polqual, c.oid) = 'true'
	END`

const applicablePolicies = `
	SELECT FROM pg_policy p
	WHERE p.polrelid = c.oid AND p.polcmd::text IN ('*', cmd.code)
		AND EXISTS (SELECT FROM unnest(p.polroles) r WHERE r = 0 OR pg_has_role(r, 'USAGE'))`

// hiddenRows returns, for each table, the commands for which row-level security can hide rows from the role. It ignores
// policies on partitions, which do not apply.
const hiddenRows = `
SELECT c.relname, string_agg(cmd.name, ', ' ORDER BY cmd.place), bool_or(c.relname = '` + conn.VersionTable + `')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'], ARRAY['r', 'a', 'w', 'd']) WITH ORDINALITY cmd (name, code, place)
WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND row_security_active(c.oid)
	AND c.relname <> '` + MigrationsTable + `' AND (cmd.name = 'SELECT' OR c.relname <> '` + conn.VersionTable + `')
	AND (current_setting('row_security') = 'off'
		OR NOT EXISTS (` + applicablePolicies + ` AND p.polpermissive AND ` + policyAllowsAll + `)
		OR EXISTS (` + applicablePolicies + ` AND NOT p.polpermissive AND NOT COALESCE(` + policyAllowsAll + `, true)))
GROUP BY c.relname
ORDER BY c.relname`

func queryProblems(ctx context.Context, c *conn.Conn, query string, arg any, problem pgx.RowToFunc[string]) ([]string, error) {
	rows, err := c.DBFor(ctx).Query(ctx, query, arg)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]string(nil), rows, problem)
}

// hiddenRowProblems lists the tables in which row-level security can hide rows from the role. ofVersion reports whether
// they include the version table.
func hiddenRowProblems(ctx context.Context, c *conn.Conn) (problems []string, ofVersion bool, err error) {
	problems, err = queryProblems(ctx, c, hiddenRows, c.Schema, func(rows pgx.CollectableRow) (string, error) {
		var table, commands string
		var version bool
		err := rows.Scan(&table, &commands, &version)
		ofVersion = ofVersion || version
		return fmt.Sprintf("row-level security on the table %s can hide rows from the role (%s): disable it, or give the role BYPASSRLS or a policy USING (true) WITH CHECK (true)", table, commands), err
	})
	return problems, ofVersion, err
}

// minTimeout is the minimum for the server's timeouts in milliseconds. With shorter timeouts, a maintenance batch,
// which takes up to 0.2 s on a busy machine, could fail every time.
const minTimeout = 1000

// sessionSettings returns the session's unsupported settings, except for text settings.
const sessionSettings = `
SELECT s.name, s.setting || COALESCE(s.unit, '')
FROM pg_settings s
WHERE CASE s.name
	WHEN 'session_replication_role' THEN s.setting = 'replica'
	WHEN 'transaction_isolation' THEN s.setting <> 'read committed'
	WHEN 'transaction_read_only' THEN s.setting <> 'off'
	WHEN 'statement_timeout' THEN s.setting::bigint BETWEEN 1 AND $1::bigint - 1
	WHEN 'transaction_timeout' THEN s.setting::bigint BETWEEN 1 AND $1::bigint - 1
	WHEN 'lock_timeout' THEN s.setting::bigint BETWEEN 1 AND $1::bigint - 1
	WHEN 'idle_in_transaction_session_timeout' THEN s.setting::bigint BETWEEN 1 AND $1::bigint - 1
	ELSE false
END
ORDER BY s.name`

// sessionProblems returns unsupported settings. The parameter least is the minimum timeout in milliseconds. If it is 0,
// any timeout is allowed.
func sessionProblems(ctx context.Context, c *conn.Conn, least int64) (problems []string, err error) {
	return queryProblems(ctx, c, sessionSettings, least, func(rows pgx.CollectableRow) (string, error) {
		var name, value string
		err := rows.Scan(&name, &value)
		switch name {
		case "session_replication_role":
			return "the session has session_replication_role = replica, so foreign keys are not enforced: set it to origin", err
		case "transaction_isolation":
			return fmt.Sprintf("the isolation level is %s: set it to read committed", value), err
		case "transaction_read_only":
			return "nothing can be written because the server is a standby or the role has default_transaction_read_only = on", err
		}
		return fmt.Sprintf("the session has %s = %s: set it to 0 or at least %d ms, or maintenance cannot finish", name, value, least), err
	})
}

// checkMigrateSession returns an error if the role's session cannot migrate. Migrate sets its own timeouts.
func checkMigrateSession(ctx context.Context, c *conn.Conn) error {
	problems, err := sessionProblems(ctx, c, 0)
	if err != nil {
		return err
	}
	hidden, _, err := hiddenRowProblems(ctx, c)
	if err != nil {
		return err
	}
	if problems = append(problems, hidden...); len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return nil
}
