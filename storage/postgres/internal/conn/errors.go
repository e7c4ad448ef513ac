package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formsvc/formsvc/storage"
)

// errorClass says whether a failed statement changed anything, and whether a retry can succeed.
type errorClass int

const (
	permanent      errorClass = iota // nothing changed, and a retry fails too
	invalidValue                     // a value cannot be stored
	temporary                        // nothing changed, and a retry can succeed
	unavailable                      // nothing changed, and a later call can succeed
	connectionLost                   // the change may have been made
)

// classifyError classifies errors by SQLSTATE. It uses error texts only for PgBouncer.
func classifyError(err error) errorClass {
	if errors.As(err, new(*pgconn.ConnectError)) || pgconn.SafeToRetry(err) {
		return temporary // nothing was sent
	}
	switch code := SQLState(err); {
	case code == "08P01" && poolerHasNoServer(err), errors.As(err, new(noConnectionError)):
		return unavailable
	case code != "":
		return classifyCode(code)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, new(net.Error)) ||
		errors.Is(err, context.Canceled) { // the context ended after the statement was sent
		return connectionLost
	}
	return permanent
}

// poolerHasNoServer reports whether PgBouncer had no server for a statement, so nothing was sent. PgBouncer uses the
// same SQLSTATE when it loses a server during a statement. Its texts are not translated.
func poolerHasNoServer(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (reported.Message == "query_wait_timeout" || strings.HasPrefix(reported.Message, "server login has been failing"))
}

func classifyCode(code string) errorClass {
	switch code {
	case "40001", // serialization_failure
		"40P01", // deadlock_detected
		// Outside of a commit, a server that shuts down returns this error. During a commit, it closes the connection.
		"57P01",  // admin_shutdown
		"57P03",  // cannot_connect_now
		"57P05",  // idle_session_timeout
		"25P03",  // idle_in_transaction_session_timeout: nothing is committed
		"53300",  // too_many_connections
		readOnly, // connected to a standby after a failover
		"26000",  // invalid_sql_statement_name: prepared on another connection
		"0A000":  // feature_not_supported: a prepared statement from before a migration
		return temporary
	case "57014", // query_canceled: the host's statement_timeout
		"55P03", // lock_not_available: the host's lock_timeout
		"3F000", // invalid_schema_name: not migrated yet
		"42P01", // undefined_table: not migrated yet
		"42703": // undefined_column: the schema has a different version
		return unavailable
	case "23514": // check_violation
		return invalidValue
	case "57P02": // crash_shutdown
		return connectionLost
	}
	switch code[:min(2, len(code))] {
	case "22": // data exception
		return invalidValue
	case "08": // connection exception; PgBouncer also uses it for a lost server
		return connectionLost
	case "53", "58": // out of memory or disk, system error
		return unavailable
	}
	return permanent
}

// IsPermanent reports whether err means that a statement changed nothing and would fail again.
func IsPermanent(err error) bool {
	v := classifyError(err)
	return err != nil && (v == invalidValue || v == permanent)
}

// isStatementResult reports whether err concerns the rows of a statement that succeeded.
func isStatementResult(err error) bool {
	return errors.Is(err, pgx.ErrNoRows) || SQLState(err) == "" && classifyError(err) == permanent
}

// hints says what the host should do, by SQLSTATE.
var hints = map[string]string{
	"3F000": "tables are missing: call postgres.Migrate, with the same WithSchema as New",
	"42P01": "tables are missing: call postgres.Migrate, with the same WithSchema as New",
	"42703": "tables have another version: call Service.Check",
	"42501": "privileges are missing: call Service.Check",
	"26000": "pooler does not support prepared statements: use pgx's exec mode",
	"42P05": "pooler does not support prepared statements: use pgx's exec mode",
}

// TranslateError wraps pgx errors in errors of package storage. It returns errors of package storage unchanged.
func (c *Conn) TranslateError(ctx context.Context, err error, writes bool) error {
	if err == nil {
		return nil
	}
	v := classifyError(err)
	if hint := hints[SQLState(err)]; hint != "" {
		err = fmt.Errorf("%s: %w", hint, err)
	}
	unsure := v == connectionLost && writes && !c.InTx
	if unsure {
		err = fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err)
	}
	switch ctxErr := ctx.Err(); {
	case ctxErr != nil && v != permanent:
		return fmt.Errorf("%w: %w", ctxErr, err)
	case unsure, v == permanent:
		return err
	case v == invalidValue:
		return fmt.Errorf("%w: %w", storage.ErrInvalidValue, err)
	}
	return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
}

// TranslateNoRow replaces [pgx.ErrNoRows] with the error instead, and returns other errors unchanged. It also replaces
// a foreign key violation, which means that a concurrent purge has removed the row that the statement found.
func TranslateNoRow(err, instead error) error {
	if errors.Is(err, pgx.ErrNoRows) || SQLState(err) == "23503" {
		return instead
	}
	return err
}

// SQLState returns the SQLSTATE if err is a server error, and an empty string otherwise.
func SQLState(err error) string {
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok {
		return reported.Code
	}
	return ""
}

// NotFoundError returns the error for a lookup by text that no record can contain.
func NotFoundError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return storage.ErrNotFound
}

// UniqueViolation is the SQLSTATE for a unique index violation.
const UniqueViolation = "23505"
