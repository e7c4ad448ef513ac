package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an *schema.Error", err)
	}
	var list []string
	for _, v := range invalid.Violations {
		if v.Message == "" {
			t.Errorf("%s %s has no message", v.Path, v.Code)
		}
		list = append(list, v.Path+" "+v.Code)
	}
	return list
}

func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, faultsOf(t, err)); diff != "" {
		t.Errorf("violations (-want +got):\n%s\n%v", diff, err)
	}
}

func TestErrorsAreSortedUniqueAndCapped(t *testing.T) {
	var all List
	for i := range 200 {
		at := fmt.Sprint("/x/", (i*7919)%200)
		all.Add(at, schema.CodeWrongType, "b")
		all.Add(at, schema.CodeTooLong, "a")
		all.Add(at, schema.CodeTooLong, "again")
	}
	if all.Full() {
		t.Fatal("200 places are too many")
	}
	var err *schema.Error
	if !errors.As(all.Err(), &err) {
		t.Fatal("no error")
	}
	if len(err.Violations) != schema.MaxViolations {
		t.Fatalf("%d violations", len(err.Violations))
	}
	sorted := slices.IsSortedFunc(err.Violations, func(a, b schema.Violation) int {
		return strings.Compare(a.Path+" "+a.Code, b.Path+" "+b.Code)
	})
	if !sorted {
		t.Error("not sorted")
	}
	if diff := cmp.Diff(schema.Violation{Path: "/x/0", Code: schema.CodeTooLong, Message: "a"}, err.Violations[0]); diff != "" {
		t.Errorf("the first of all is lost (-want +got):\n%s", diff)
	}
	if v := err.Violations[2]; v.Path != "/x/1" {
		t.Errorf("repeated or lost: %+v", v)
	}

	for range 10 * collectLimit {
		all.Add("/y", schema.CodeTooLong, "more")
	}
	if !all.Full() || len(all.list) != collectLimit {
		t.Errorf("%d are held, want %d", len(all.list), collectLimit)
	}
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
	if err := Join(); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("of nils: %v", err)
	}
	other := errors.New("x")
	if err := Join(nil, at("/a"), other, errors.New("second")); !errors.Is(err, other) {
		t.Errorf("another error does not win: %v", err)
	}

	many := new(schema.Error)
	for i := range schema.MaxViolations {
		many.Violations = append(many.Violations, at(fmt.Sprint("/m", i)).Violations...)
	}
	first := Join(many, at("/a"))
	if got := faultsOf(t, first); len(got) != schema.MaxViolations || got[0] != "/a REQUIRED" {
		t.Errorf("got %d, beginning with %s", len(got), got[0])
	}
	if len(many.Violations) != schema.MaxViolations || many.Violations[0].Path != "/m0" || many.Violations[2].Path != "/m2" {
		t.Error("an argument was changed")
	}
}
