package pgrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// machine makes a root directory that holds these programs, and a Finder on it
// whose PATH is bin.
func machine(t *testing.T, programs ...string) (root string, finder Finder) {
	t.Helper()
	root = t.TempDir()
	for _, program := range programs {
		place(t, filepath.Join(root, program), 0o755)
	}
	return root, Finder{
		Root:   root,
		Path:   filepath.Join(root, "bin"),
		Bindir: func(context.Context, string) (string, error) { return "", errors.New("not expected") },
	}
}

func place(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
}

func TestTheServerIsFound(t *testing.T) {
	t.Parallel()
	server := func(dir string) []string { return []string{dir + "/postgres", dir + "/initdb"} }
	const packaged, own = "usr/lib/postgresql/15/bin", "opt/pg/bin"
	clients := "usr/lib/postgresql/17/bin/psql" // of a newer one
	for name, c := range map[string]struct {
		programs []string
		bindir   string // that pg_config names
		want     string
	}{
		"the newest package":         {slices.Concat(server("usr/lib/postgresql/9.6/bin"), server(packaged), []string{clients}), "", packaged},
		"that of pg_config":          {slices.Concat([]string{"bin/pg_config"}, server(packaged), server(own)), own, own},
		"the development files only": {slices.Concat([]string{"bin/pg_config"}, server(packaged)), "nowhere", packaged},
		"none":                       {[]string{packaged + "/initdb"}, "", ""},
	} {
		root, finder := machine(t, c.programs...)
		if c.bindir != "" {
			finder.Bindir = func(context.Context, string) (string, error) { return filepath.Join(root, c.bindir), nil }
		}
		if c.want == "" {
			place(t, filepath.Join(root, packaged, "postgres"), 0o644) // not a program
		}
		got, err := finder.Postgres(t.Context())
		if c.want == "" && !errors.Is(err, ErrNotFound) || c.want != "" && (err != nil || got != filepath.Join(root, c.want)) {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, c.want)
		}
	}
}

// Tests of one version must not pass on another. Not parallel: it changes the environment.
func TestTheEnvironmentNamesTheServer(t *testing.T) {
	root, finder := machine(t,
		"opt/pg/bin/postgres", "opt/pg/bin/initdb",
		"bin/postgres", "bin/initdb",
	)
	finder.Root = ""
	dir := filepath.Join(root, "opt/pg/bin")
	t.Setenv(postgresBin, dir)
	if got, err := finder.Postgres(t.Context()); err != nil || got != dir {
		t.Errorf("got %s, %v; want %s", got, err, dir)
	}
	t.Setenv(postgresBin, filepath.Join(root, "nowhere"))
	if got, err := finder.Postgres(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %s, %v, although the directory that is named has no server", got, err)
	}
}

func TestABouncerIsFoundOutsideOfPath(t *testing.T) {
	t.Parallel()
	_, finder := machine(t, "usr/sbin/pgbouncer/a file")
	if got, err := finder.PgBouncer(); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %s, %v, although there is only a directory", got, err)
	}
	root, finder := machine(t, "usr/sbin/pgbouncer")
	if got, err := finder.PgBouncer(); err != nil || got != filepath.Join(root, "usr/sbin/pgbouncer") {
		t.Errorf("got %s, %v", got, err)
	}
	place(t, filepath.Join(root, "bin/pgbouncer"), 0o755)
	if got, err := finder.PgBouncer(); err != nil || got != filepath.Join(root, "bin/pgbouncer") {
		t.Errorf("got %s, %v; PATH comes first", got, err)
	}
}
