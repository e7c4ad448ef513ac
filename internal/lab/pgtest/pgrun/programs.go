package pgrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotFound is matched by the errors of Finder.Postgres and Finder.PgBouncer.
var ErrNotFound = errors.New("program not found")

// Finder looks for programs on a machine. The zero value looks on this one.
type Finder struct {
	// Root is put before the absolute paths that are looked at. Empty: nothing.
	Root string
	// Path is the list of directories to search. Empty: the environment's PATH.
	Path string
	// Bindir asks pg_config, at the given path, for the directory of the
	// server's programs. Nil: it is run.
	Bindir func(ctx context.Context, pgConfig string) (string, error)
}

// postgresBin names the directory of the server's programs, in place of the machine's own.
const postgresBin = "FORMSVC_TEST_POSTGRES_BIN"

// Postgres returns the directory that holds both initdb and postgres. On this machine
// that is the one that FORMSVC_TEST_POSTGRES_BIN names, and no other. Without it it asks
// pg_config first, which is there with development files only and then names a
// directory that may lack the server; then it takes the newest version where
// Debian's and Red Hat's packages put theirs, then PATH.
func (f Finder) Postgres(ctx context.Context) (string, error) {
	dirs := f.candidates(ctx)
	if dir := os.Getenv(postgresBin); dir != "" && f.Root == "" {
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		if executable(filepath.Join(dir, "postgres")) && executable(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: PostgreSQL's postgres and initdb", ErrNotFound)
}

// PgBouncer returns the path of the pgbouncer program. Debian puts it where an
// unprivileged user's PATH does not reach.
func (f Finder) PgBouncer() (string, error) {
	if path := f.inPath("pgbouncer"); path != "" {
		return path, nil
	}
	if path := filepath.Join(f.root(), "usr/sbin/pgbouncer"); executable(path) {
		return path, nil
	}
	return "", fmt.Errorf("%w: pgbouncer", ErrNotFound)
}

func (f Finder) candidates(ctx context.Context) []string {
	var dirs []string
	if config := f.inPath("pg_config"); config != "" {
		bindir := f.Bindir
		if bindir == nil {
			bindir = runPgConfig
		}
		if dir, err := bindir(ctx, config); err == nil {
			dirs = append(dirs, dir)
		}
	}
	dirs = append(dirs, newestFirst(filepath.Join(f.root(), "usr/lib/postgresql/*/bin"))...)
	dirs = append(dirs, newestFirst(filepath.Join(f.root(), "usr/pgsql-*/bin"))...)
	if postgres := f.inPath("postgres"); postgres != "" {
		// A link in PATH: the other programs are beside what it points to.
		if real, err := filepath.EvalSymlinks(postgres); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	return dirs
}

func (f Finder) root() string {
	if f.Root == "" {
		return "/"
	}
	return f.Root
}

func (f Finder) inPath(program string) string {
	path := f.Path
	if path == "" {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		if full := filepath.Join(dir, program); filepath.IsAbs(full) && executable(full) {
			return full
		}
	}
	return ""
}

func runPgConfig(ctx context.Context, pgConfig string) (string, error) {
	out, err := exec.CommandContext(ctx, pgConfig, "--bindir").Output()
	return strings.TrimSpace(string(out)), err
}

// newestFirst returns what the pattern matches, the highest version first. The
// version is the number in the path: 9 comes after 15, and 9.6 after 10.
func newestFirst(pattern string) []string {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	slices.SortFunc(dirs, func(a, b string) int {
		va, vb := version(a), version(b)
		switch {
		case va > vb:
			return -1
		case va < vb:
			return 1
		default:
			return 0
		}
	})
	return dirs
}

// version reads the number out of …/15/bin and …/pgsql-15/bin.
func version(bindir string) float64 {
	name := filepath.Base(filepath.Dir(bindir))
	number, err := strconv.ParseFloat(strings.TrimPrefix(name, "pgsql-"), 64)
	if err != nil {
		return 0
	}
	return number
}

func executable(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // PATH names it, and it is only looked at
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
