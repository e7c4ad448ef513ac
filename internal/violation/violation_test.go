package violation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// faultsOf returns "path CODE" for each violation, and fails when err is another
// error.
func faultsOf(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *schema.Error
	expect.Require(t, errors.As(err, &invalid), "got %v, want an *schema.Error", err)
	var list []string
	for _, v := range invalid.Violations {
		expect.That(t, v.Message != "", "%s %s has no message", v.Path, v.Code)
		list = append(list, v.Path+" "+v.Code)
	}
	return list
}

func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	diff := cmp.Diff(want, faultsOf(t, err))
	expect.That(t, diff == "", "violations (-want +got):\n%s\n%v", diff, err)
}

func TestErrorsAreSortedUniqueAndCapped(t *testing.T) {
	var all List
	for i := range 200 {
		at := fmt.Sprint("/x/", (i*7919)%200)
		all.Add(at, schema.CodeWrongType, "b")
		all.Add(at, schema.CodeTooLong, "a")
		all.Add(at, schema.CodeTooLong, "again")
	}
	expect.Require(t, !all.IsFull(), "200 places are too many")
	var err *schema.Error
	expect.Require(t, errors.As(all.Err(), &err), "no error")
	expect.Require(t, len(err.Violations) == schema.MaxViolations, "%d violations", len(err.Violations))
	sorted := slices.IsSortedFunc(err.Violations, func(a, b schema.Violation) int {
		return strings.Compare(a.Path+" "+a.Code, b.Path+" "+b.Code)
	})
	expect.That(t, sorted, "not sorted")
	expect.Same(t, schema.Violation{Path: "/x/0", Code: schema.CodeTooLong, Message: "a"}, err.Violations[0], "the first of all is lost")
	expect.Equal(t, err.Violations[2].Path, "/x/1", "repeated or lost")

	for range 10 * collectLimit {
		all.Add("/y", schema.CodeTooLong, "more")
	}
	expect.That(t, all.IsFull() && len(all.list) == collectLimit, "%d are held, want %d", len(all.list), collectLimit)
}

func TestJoin(t *testing.T) {
	at := func(paths ...string) *schema.Error {
		e := new(schema.Error)
		for _, path := range paths {
			e.Violations = append(e.Violations, schema.Violation{Path: path, Code: schema.CodeRequired, Message: "is required"})
		}
		return e
	}
	wantFaults(t, Join(at("/c", "/a"), nil, fmt.Errorf("wrapped: %w", at("/b", "/a"))), "/a REQUIRED", "/b REQUIRED", "/c REQUIRED")
	wantFaults(t, Join(at("/a")), "/a REQUIRED")
	expect.Error(t, "of nothing", Join(), nil)
	expect.Error(t, "of nils", Join(nil, nil), nil)
	other := errors.New("x")
	expect.Error(t, "another error does not win", Join(nil, at("/a"), other, errors.New("second")), other)

	many := new(schema.Error)
	for i := range schema.MaxViolations {
		many.Violations = append(many.Violations, at(fmt.Sprint("/m", i)).Violations...)
	}
	first := Join(many, at("/a"))
	if got := faultsOf(t, first); len(got) != schema.MaxViolations || got[0] != "/a REQUIRED" {
		t.Errorf("got %d, beginning with %s", len(got), got[0])
	}
	expect.That(t, len(many.Violations) == schema.MaxViolations && many.Violations[0].Path == "/m0" && many.Violations[2].Path == "/m2",
		"an argument was changed")
}
