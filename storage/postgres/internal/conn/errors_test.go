package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formsvc/formsvc/storage"
)

func reportedBy(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }

// bouncerSays is an error of PgBouncer, which has one code for all of them.
func bouncerSays(text string) error { return &pgconn.PgError{Code: "08P01", Message: text} }

// nothing is a DB that no statement is run on.
type nothing struct{ DB }

// notSentError is an error that says so, as pgconn's do.
type notSentError struct{}

func (notSentError) Error() string     { return "not sent" }
func (notSentError) SafeToRetry() bool { return true }

func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	other := errors.New("scanning failed")
	type expected struct {
		read, write, inside   error // what is wrapped; nil: nothing of package storage
		readTries, writeTries int
	}
	var (
		unavailable, unknown = storage.ErrUnavailable, storage.ErrOutcomeUnknown

		repeated = expected{unavailable, unavailable, unavailable, maxAttempts, maxAttempts}
		unsure   = expected{unavailable, unknown, unavailable, maxAttempts, 1}
		later    = expected{unavailable, unavailable, unavailable, 1, 1}
		invalid  = expected{storage.ErrInvalidValue, storage.ErrInvalidValue, storage.ErrInvalidValue, 1, 1}
		asItIs   = expected{nil, nil, nil, 1, 1}
		notFound = expected{storage.ErrNotFound, storage.ErrNotFound, storage.ErrNotFound, 1, 1}
	)
	for name, c := range map[string]struct {
		err error
		expected
	}{
		"a serialization failure":       {reportedBy("40001"), repeated},
		"a deadlock":                    {reportedBy("40P01"), repeated},
		"a shutdown":                    {reportedBy("57P01"), repeated},
		"a server that starts":          {reportedBy("57P03"), repeated},
		"a transaction that was idle":   {reportedBy("25P03"), repeated},
		"a server that is full":         {reportedBy("53300"), repeated},
		"a standby":                     {reportedBy("25006"), repeated},
		"an outdated statement":         {reportedBy("0A000"), repeated},
		"a connection that is refused":  {&pgconn.ConnectError{Config: &pgconn.Config{}}, repeated},
		"nothing was sent":              {notSentError{}, repeated},
		"a crash":                       {reportedBy("57P02"), unsure},
		"a lost server of a pooler":     {bouncerSays("server conn crashed?"), unsure},
		"a pooler that has no server":   {bouncerSays("server login has been failing, try again later (server_login_retry)"), later},
		"a pooler whose server is full": {bouncerSays("query_wait_timeout"), later},
		"a pool that is closed":         {noConnectionError{errors.New("closed pool")}, later},
		"a connection that ends":        {io.ErrUnexpectedEOF, unsure},
		"a connection that is reset":    {reset, unsure},
		"no connection in time":         {noConnectionError{context.DeadlineExceeded}, later},
		"a server that is not there":    {noConnectionError{&pgconn.ConnectError{Config: &pgconn.Config{}}}, repeated},
		"no answer in time":             {context.DeadlineExceeded, unsure},
		"a caller who leaves":           {context.Canceled, unsure},
		"a time limit of the host":      {reportedBy("57014"), later},
		"a full disk":                   {reportedBy("53100"), later},
		"no tables":                     {reportedBy("42P01"), later},
		"no schema":                     {reportedBy("3F000"), later},
		"text that is no UTF-8":         {reportedBy("22021"), invalid},
		"a number that is out of range": {reportedBy("22003"), invalid},
		"no rights":                     {reportedBy("42501"), asItIs},
		"an unknown code":               {reportedBy(""), asItIs},
		"any other error":               {other, asItIs},
		"an error of the contract":      {storage.ErrNotFound, notFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, call := range []struct {
				name  string
				store *Conn
				run   func(*Conn, context.Context, func(context.Context) error) error
				want  error
				tries int
			}{
				{"read", &Conn{DB: nothing{}}, (*Conn).Read, c.read, c.readTries},
				{"write", &Conn{DB: nothing{}}, (*Conn).Write, c.write, c.writeTries},
				{"read in the host's transaction", &Conn{DB: nothing{}, InTx: true}, (*Conn).Read, c.inside, 1},
				{"write in the host's transaction", &Conn{DB: nothing{}, InTx: true}, (*Conn).Write, c.inside, 1},
			} {
				tries := 0
				err := call.run(call.store, t.Context(), func(context.Context) error {
					tries++
					return c.err
				})
				if tries != call.tries {
					t.Errorf("%s: %d tries, want %d", call.name, tries, call.tries)
				}
				if told := strings.Contains(err.Error(), "call postgres.Migrate"); told != (name == "no tables" || name == "no schema") {
					t.Errorf("%s: %v", call.name, err)
				}
				if !errors.Is(err, c.err) {
					t.Errorf("%s: %v does not wrap its cause", call.name, err)
				}
				for _, sentinel := range []error{
					storage.ErrUnavailable, storage.ErrOutcomeUnknown, storage.ErrInvalidValue, storage.ErrNotFound,
				} {
					want := sentinel == call.want //nolint:errorlint // the very one
					if is := errors.Is(err, sentinel); is != want {
						t.Errorf("%s: errors.Is(%v, %v) = %v", call.name, err, sentinel, is)
					}
				}
			}
		})
	}
}

func TestAnAnswerDoesNotHideAFailedCommit(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"no row": pgx.ErrNoRows, "a refusal": storage.ErrConflict} {
		if !isStatementResult(answer) {
			t.Errorf("%s is not taken for an answer", name)
		}
	}
	for name, failure := range map[string]error{"a deadlock": reportedBy("40P01"), "a lost connection": io.EOF, "no rights": reportedBy("42501")} {
		if isStatementResult(failure) {
			t.Errorf("%s is taken for an answer", name)
		}
	}
}

// The host reads what it can do, once, and finds PostgreSQL's own error behind it.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for code, says := range map[string]string{
		"42P01": "call postgres.Migrate", "3F000": "call postgres.Migrate", "42703": "call Service.Check", "42501": "call Service.Check",
		"26000": "use pgx's exec mode", "42P05": "use pgx's exec mode", "40001": "",
	} {
		err := new(Conn).TranslateError(t.Context(), reportedBy(code), true)
		if SQLState(err) != code || !strings.Contains(err.Error(), says) || (says == "") != (hints[code] == "") {
			t.Errorf("%s: %v, want %q", code, err, says)
		}
	}
}
