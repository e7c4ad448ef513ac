package pgrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

func TestTheNewestPackagedServerIsFound(t *testing.T) {
	t.Parallel()
	root, finder := machine(t,
		"usr/lib/postgresql/9.6/bin/postgres", "usr/lib/postgresql/9.6/bin/initdb",
		"usr/lib/postgresql/10/bin/postgres", "usr/lib/postgresql/10/bin/initdb",
		"usr/lib/postgresql/17/bin/psql", // the clients of a newer one
	)
	got, err := finder.Postgres(t.Context())
	if want := filepath.Join(root, "usr/lib/postgresql/10/bin"); err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
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

func TestPgConfigComesFirstWhenTheServerIsThere(t *testing.T) {
	t.Parallel()
	root, finder := machine(t, "bin/pg_config",
		"usr/lib/postgresql/15/bin/postgres", "usr/lib/postgresql/15/bin/initdb",
		"opt/pg/bin/postgres", "opt/pg/bin/initdb",
	)
	dir := filepath.Join(root, "opt/pg/bin")
	finder.Bindir = func(context.Context, string) (string, error) { return dir, nil }
	if got, err := finder.Postgres(t.Context()); err != nil || got != dir {
		t.Errorf("got %s, %v; want %s", got, err, dir)
	}
	// The development files alone: pg_config names a directory without a server.
	finder.Bindir = func(context.Context, string) (string, error) { return filepath.Join(root, "nowhere"), nil }
	if got, err := finder.Postgres(t.Context()); err != nil || got != filepath.Join(root, "usr/lib/postgresql/15/bin") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestABouncerIsFoundOutsideOfPath(t *testing.T) {
	t.Parallel()
	root, finder := machine(t, "usr/sbin/pgbouncer")
	if got, err := finder.PgBouncer(); err != nil || got != filepath.Join(root, "usr/sbin/pgbouncer") {
		t.Errorf("got %s, %v", got, err)
	}
	place(t, filepath.Join(root, "bin/pgbouncer"), 0o755)
	if got, err := finder.PgBouncer(); err != nil || got != filepath.Join(root, "bin/pgbouncer") {
		t.Errorf("got %s, %v; PATH comes first", got, err)
	}
}

func TestWhatIsMissingIsNotFound(t *testing.T) {
	t.Parallel()
	root, finder := machine(t, "usr/lib/postgresql/15/bin/initdb")
	place(t, filepath.Join(root, "usr/lib/postgresql/15/bin/postgres"), 0o644) // not a program
	place(t, filepath.Join(root, "usr/sbin/pgbouncer/a file"), 0o755)          // a directory
	if got, err := finder.Postgres(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Errorf("Postgres: %s, %v", got, err)
	}
	if got, err := finder.PgBouncer(); !errors.Is(err, ErrNotFound) {
		t.Errorf("PgBouncer: %s, %v", got, err)
	}
}
