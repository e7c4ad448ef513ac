package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// nextBuild is the next version of this package, with one more migration that runs
// a statement and serves programs from the given version on.
func nextBuild(oldest int, statement string) tables.Build {
	files := fstest.MapFS{}
	names, err := fs.Glob(tables.ThisBuild.Files, "*.sql")
	if err != nil {
		panic(err) // the pattern is a valid one
	}
	for _, name := range names {
		text, err := fs.ReadFile(tables.ThisBuild.Files, name)
		if err != nil {
			panic(err) // the file is tables.ThisBuild.Files
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	next := tables.Build{Version: tables.ThisBuild.Version + 1, Files: files}
	files[fmt.Sprintf("%04d_next.up.sql", next.Version)] = &fstest.MapFile{
		Data: fmt.Appendf(nil, "%s; UPDATE formsvc_version SET version = %d, oldest_program = %d;", statement, next.Version, oldest),
	}
	return next
}

// nextStep adds to the tables, as a later version may.
const nextStep = `
	ALTER TABLE forms ADD COLUMN folder text;
	ALTER TABLE submissions ADD COLUMN score integer NOT NULL DEFAULT 0;
	CREATE TABLE folders (id bytea PRIMARY KEY)`

// nextTables are the tables of the next version, as migrations.
func nextTables(t *testing.T) string {
	t.Helper()
	return migrationsOf(t, nextBuild(tables.ThisBuild.Version, nextStep).Files, "up")
}

// A rolling upgrade and its rollback: the next version migrates while processes of
// this one run, and more of this one start. TestStorage runs the suite on the newer tables.
func TestThisVersionRunsOnTheNextOnesTables(t *testing.T) {
	t.Parallel()
	next := nextBuild(tables.ThisBuild.Version, nextStep)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	running := upgraded(t, pool, next)

	// A process of this version starts again.
	again := New(pool, WithSchema(running.db.Schema))
	if err := Migrate(t.Context(), pool, WithSchema(running.db.Schema)); err != nil {
		t.Errorf("this version's Migrate = %v", err)
	}
	if err := again.CheckVersion(t.Context()); err != nil {
		t.Errorf("this version's CheckVersion = %v", err)
	}
	if err := again.checkVersion(t.Context(), next); err != nil {
		t.Errorf("the next version's CheckVersion = %v", err)
	}
}

// upgraded returns a store that has worked on tables of this version, so that its
// connections have statements prepared, after the next version has migrated them.
func upgraded(t *testing.T, pool *pgxpool.Pool, next tables.Build) *Store {
	t.Helper()
	schema := pgtest.Schema(t)
	if err := Migrate(t.Context(), pool, WithSchema(schema)); err != nil {
		t.Fatal(err)
	}
	s := New(pool, WithSchema(schema))
	form := seedForm(t, s)
	work := func() {
		t.Helper()
		if _, err := s.Form(t.Context(), storage.AsHost(), form); err != nil {
			t.Fatal(err)
		}
		name := "renamed"
		if _, err := s.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Name: &name}); err != nil {
			t.Fatal(err)
		}
	}
	work()
	if err := migrateTo(t.Context(), next, pool, WithSchema(schema)); err != nil {
		t.Fatal(err)
	}
	work()
	return s
}

// seedForm makes a workspace with a form.
func seedForm(t *testing.T, s *Store) storage.ID {
	t.Helper()
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "w"}
	if err := s.CreateWorkspace(t.Context(), w, 0); err != nil {
		t.Fatal(err)
	}
	f := storage.Form{
		ID: storage.ID{3}, PublicID: "f", WorkspaceID: w.ID, Status: storage.StatusDraft,
		FormContent: storage.FormContent{Name: "f", Type: "SINGLE", Definition: storage.Definition{
			Blocks: []byte(`[]`), Settings: []byte(`{}`), Theme: []byte(`{}`), Variables: []byte(`{}`), HiddenFields: []byte(`[]`),
		}},
	}
	if err := s.CreateForm(t.Context(), storage.AsHost(), f); err != nil {
		t.Fatal(err)
	}
	return f.ID
}

func TestTablesThatDoNotServeThisVersionAnyMore(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	next := nextBuild(tables.ThisBuild.Version+1, `ALTER TABLE forms DROP COLUMN theme`)
	if err := migrateTo(t.Context(), next, pool, WithSchema(schema)); err != nil {
		t.Fatal(err)
	}
	want := VersionError{Schema: schema, Have: tables.ThisBuild.Version + 1, Want: tables.ThisBuild.Version, Oldest: tables.ThisBuild.Version + 1}
	poolUntouched(t, pool, func() {
		if err := Migrate(t.Context(), pool, WithSchema(schema)); !isVersion(err, want) {
			t.Errorf("Migrate = %v", err)
		}
	})
	err := New(pool, WithSchema(schema)).CheckVersion(t.Context())
	if !isVersion(err, want) || !strings.Contains(err.Error(), "use a newer program") {
		t.Errorf("CheckVersion = %v", err)
	}
}

func TestANewProgramNeedsTheMigrationFirst(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	err := s.checkVersion(t.Context(), nextBuild(tables.ThisBuild.Version, ""))
	if !isVersion(err, VersionError{Schema: s.db.Schema, Have: tables.ThisBuild.Version, Want: tables.ThisBuild.Version + 1, Oldest: 1}) {
		t.Errorf("CheckVersion = %v", err)
	}
}

// role makes a role that may log in, and a pool of it.
func role(t *testing.T, owner *pgxpool.Pool, name string) *pgxpool.Pool {
	t.Helper()
	return pgtest.Pool(t, asRole(t, owner, name))
}

// asRole makes the role and is an option of a pool that works as it.
func asRole(t *testing.T, owner *pgxpool.Pool, name string) pgtest.Option {
	t.Helper()
	if _, err := owner.Exec(t.Context(), "CREATE ROLE "+name+" LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, err := owner.Exec(ctx, "DROP OWNED BY "+name+"; DROP ROLE "+name, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Error(err)
		}
	})
	return func(c *pgxpool.Config) { c.ConnConfig.User = name }
}

// grants are the statements of the package's documentation for a role and a schema.
func grants(t *testing.T, role, schema string) []string {
	t.Helper()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(source), "//\tGRANT")
	text, _, end := strings.Cut(text, "\n//\n")
	if !found || !end {
		t.Fatal("the documentation has no GRANT")
	}
	text = strings.ReplaceAll(text, "\n//\t", "\n")
	text = strings.NewReplacer("SCHEMA formsvc", "SCHEMA "+schema, " app;", " "+role+";").Replace("GRANT" + text)
	statements := strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";")
	for _, s := range statements {
		if !strings.Contains(s, schema) || !strings.HasSuffix(s, " "+role) {
			t.Fatalf("the statement %q", s)
		}
	}
	return statements
}

// Without any one statement of the documentation the check says what is missing.
func TestCheckVersionNamesMissingRights(t *testing.T) {
	t.Parallel()
	s, owner := testStore(t)
	name := pgtest.Schema(t)
	pool := role(t, owner, name)
	all := grants(t, name, s.db.Schema)
	now := all[:0:0]
	for _, statement := range all { // those for tables to come change nothing now
		if !strings.HasPrefix(strings.TrimSpace(statement), "ALTER DEFAULT") {
			now = append(now, statement)
		}
	}
	if len(now) < 3 {
		t.Fatalf("the documentation has %q", all)
	}
	for i, left := range now {
		for j, statement := range now {
			if i == j {
				statement = strings.NewReplacer("GRANT ", "REVOKE ", " TO ", " FROM ").Replace(statement)
			}
			if _, err := owner.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		var missing *SetupError
		err := New(pool, WithSchema(s.db.Schema)).CheckVersion(t.Context())
		if !errors.As(err, &missing) || !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "has not the right") {
			t.Errorf("without %q: CheckVersion = %v", left, err)
			continue
		}
		t.Log(err)
	}
}

// The server would cut a longer name and meet another schema.
func TestASchemaNameThatIsTooLong(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, name := range []string{strings.Repeat("n", 64), strings.Repeat("ü", 32), "a\x00b", "\xff"} {
		s := New(pool, WithSchema(name))
		_, read := s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1})
		for call, err := range map[string]error{
			"Migrate":         Migrate(t.Context(), pool, WithSchema(name)),
			"CheckVersion":    s.CheckVersion(t.Context()),
			"Workspaces":      read,
			"CreateWorkspace": s.CreateWorkspace(t.Context(), storage.Workspace{}, 0),
		} {
			if err == nil || !strings.Contains(err.Error(), "63 bytes") {
				t.Errorf("%s with the schema name %q: %v", call, name, err)
			}
		}
	}
	if err := New(pool, WithSchema(strings.Repeat("n", 63))).db.Fault; err != nil {
		t.Error(err)
	}
}
