package tables

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// supportedServer matches the result of version() in PostgreSQL 15 or later, even if a distribution appends its name.
// Other databases start with their own name (CockroachDB, CrateDB), report an older version (Redshift, Materialize) or
// append their name to the number (YugabyteDB, RisingWave).
var supportedServer = regexp.MustCompile(`^PostgreSQL (1[5-9]|[2-9]\d)[.\w]*(-\d\S*)?( |$)`)

// lockProbe takes a free lock and checks whether the server really holds it, because a lock function that has no effect
// would also report success. lockProbe is one statement, so that a pooler cannot split it.
const lockProbe = `WITH taken AS MATERIALIZED (SELECT pg_try_advisory_xact_lock_shared($1::bigint) AS it)
SELECT $1::bigint IN (SELECT l.classid::bigint << 32 | l.objid::bigint FROM pg_locks l WHERE taken.it AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.pid = pg_backend_pid()) FROM taken`

// serverProblem says why this package cannot use the server and what to do about it. An empty problem means none.
func serverProblem(ctx context.Context, c *conn.Conn) (problem string, err error) {
	// Use exec mode, because pgx itself rejects some of these settings in simple mode.
	rows, err := c.DBFor(ctx).Query(ctx, `SELECT version()`, pgx.QueryExecModeExec)
	if err != nil {
		return "", err
	}
	var version string
	if err := conn.FirstRow(rows, func(rows pgx.Rows) error {
		problem = textProblem(rows.Conn().PgConn().ParameterStatus)
		return rows.Scan(&version)
	}); err != nil {
		return "", err
	}
	if !supportedServer.MatchString(version) {
		return fmt.Sprintf("the server version is %.100q: use PostgreSQL 15 or newer, not another database with the same protocol", version), nil
	}
	if problem != "" {
		return problem, nil
	}
	var held bool
	err = c.DBFor(ctx).QueryRow(ctx, lockProbe, c.LockSalt("probe")).Scan(&held)
	if state := conn.SQLState(err); state == "0A000" || state == "42883" || err == nil && !held { // not supported, no such function
		return "advisory locks have no effect on this server, but submissions and form changes need them: use PostgreSQL itself", nil
	}
	return "", err
}

// textProblem describes the session setting that would alter text. It returns an empty string if there is none.
func textProblem(setting func(name string) string) string {
	if encoding := setting("server_encoding"); encoding != "UTF8" && encoding != "" {
		return fmt.Sprintf("the database has the encoding %s, which cannot hold all text: create it with ENCODING 'UTF8'", encoding)
	}
	if encoding := setting("client_encoding"); encoding != "UTF8" && encoding != "" {
		return fmt.Sprintf("the session has client_encoding = %s, which changes text in transit: set it to UTF8 in the role or pooler", encoding)
	}
	if setting("standard_conforming_strings") == "off" {
		return "the session has standard_conforming_strings = off, which changes constants in statements: set it to on"
	}
	return ""
}
