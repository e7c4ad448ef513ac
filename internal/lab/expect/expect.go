// Package expect has the checks that tests of several packages share.
package expect

import (
	"errors"

	"github.com/google/go-cmp/cmp"
)

// Test is what the checks need of a *testing.T, *testing.B or *rapid.T.
type Test interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// That reports what does not hold.
func That(t Test, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Require ends a test at what does not hold.
func Require(t Test, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// Equal reports a value that is not the wanted one.
func Equal[T comparable](t Test, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf(what+": %v, want %v", append(args, got, want)...)
	}
}

// Returns reports a call that fails, or whose value is not the wanted one.
func Returns[T comparable](t Test, want T, what string, args ...any) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf(what+": %v, %v, want %v", append(args, got, err, want)...)
		}
	}
}

// NoError ends a test at an error.
func NoError(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Nil reports an error.
func Nil(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%v", err)
	}
}

// Error reports an error that is not target. The target of what succeeds is nil.
func Error(t Test, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v, want %v", what, err, target)
	}
}

// ErrorOf returns the error of a call whose value does not matter.
func ErrorOf[T any](_ T, err error) error { return err }

// Must returns a value that is there unless the test is broken.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Same reports how a value differs from the wanted one.
func Same[T any](t Test, want, got T, what string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(what+" (-want +got):\n%s", append(args, diff)...)
	}
}
