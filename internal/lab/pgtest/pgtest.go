// Package pgtest gives tests PostgreSQL: a schema of their own on the server
// that all tests share, a server of their own to kill, and a PgBouncer.
//
// The shared server is named by FORMSVC_TEST_DATABASE_URL; the command
// internal/lab/pgtest/with brings one. Without it a test that needs a database is
// skipped, and so is a test whose programs are missing; with
// FORMSVC_TEST_REQUIRE_DATABASE=1 the test fails instead. With FORMSVC_TEST_NO_DATABASE=1
// every test that needs a database is skipped. FORMSVC_TEST_POSTGRES_BIN is the directory of
// the programs of the servers that are started, in place of the machine's own.
//
// What a test gets is its own, so tests may run in parallel, and is removed when
// the test ends. What cannot be removed, because the test still holds on to it,
// fails the test.
package pgtest

import (
	"context"
	"os"
	"time"
)

// TB is the part of testing.TB that this package uses; *testing.T, *testing.B
// and *testing.F have it. All functions here are to be called from the test's
// own goroutine.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(f func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// The variables of the environment that this package reads.
const (
	databaseURL     = "FORMSVC_TEST_DATABASE_URL"
	requireDatabase = "FORMSVC_TEST_REQUIRE_DATABASE"
	noDatabase      = "FORMSVC_TEST_NO_DATABASE"
)

// patience is how long starting and removing may take.
const patience = time.Minute

// URL returns the connection string of the server that all tests share.
func URL(t TB) string {
	t.Helper()
	unlessUnwanted(t)
	url := os.Getenv(databaseURL)
	if url == "" {
		missing(t, "%s is not set: run the tests with make test", databaseURL)
	}
	return url
}

// unlessUnwanted skips the test where a database is not wanted, as in make quick.
func unlessUnwanted(t TB) {
	t.Helper()
	if os.Getenv(noDatabase) == "1" {
		t.Skipf("%s is set", noDatabase)
	}
}

// missing skips the test, or fails it where nothing may be skipped.
func missing(t TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(requireDatabase) == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// afterwards is a context for a cleanup: the test's own is canceled by then.
func afterwards(t TB, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
}
