package pgtest

import (
	"strings"
	"testing"
)

// Not parallel: they change the environment.

func TestWithoutADatabaseATestIsSkipped(t *testing.T) {
	t.Setenv(databaseURL, "")
	t.Setenv(requireDatabase, "")
	r := record(t, "a test", func(t TB) { URL(t) })
	if !strings.Contains(r.skipped, databaseURL) || r.fatal != "" {
		t.Errorf("skipped %q, fatal %q", r.skipped, r.fatal)
	}
}

func TestWhereADatabaseIsRequiredNothingIsSkipped(t *testing.T) {
	t.Setenv(databaseURL, "")
	t.Setenv(requireDatabase, "1")
	for name, test := range map[string]func(TB){
		"the shared server": func(t TB) { URL(t) },
		"a schema":          func(t TB) { Schema(t) },
		"a pool":            func(t TB) { Pool(t) },
		"a missing program": func(t TB) { missing(t, "no program") },
	} {
		if r := record(t, name, test); r.fatal == "" || r.skipped != "" {
			t.Errorf("%s: fatal %q, skipped %q", name, r.fatal, r.skipped)
		}
	}
}

func TestTheSharedServerIsTheOneInTheEnvironment(t *testing.T) {
	t.Setenv(databaseURL, "postgres://example/db")
	if got := URL(t); got != "postgres://example/db" {
		t.Errorf("URL = %q", got)
	}
}
