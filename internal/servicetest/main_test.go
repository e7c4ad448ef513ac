package servicetest_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dialguard.Guard(m)) }

// must returns a value that is there unless the test is broken.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check reports an error and lets the test continue.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// wantError reports an error that is not target; nil is the target of what succeeds.
func wantError(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v, want %v", what, err, target)
	}
}

// errorOf returns the error of a call whose value does not matter.
func errorOf[T any](_ T, err error) error { return err }

// expect reports what does not hold.
func expect(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// require ends a test at what does not hold.
func require(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// equal reports a value that is not the wanted one.
func equal[T comparable](t testing.TB, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf(what+": %v, want %v", append(args, got, want)...)
	}
}

// returns reports a call that fails, or whose value is not the wanted one.
func returns[T comparable](t testing.TB, want T, what string, args ...any) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf(what+": %v, %v, want %v", append(args, got, err, want)...)
		}
	}
}

// status reports a response that has not the wanted status.
func status(t testing.TB, w *httptest.ResponseRecorder, want int, what string, args ...any) {
	t.Helper()
	if w.Code != want {
		t.Errorf(what+": %d %s, want %d", append(args, w.Code, w.Body, want)...)
	}
}
