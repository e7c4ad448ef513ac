package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// nextBuild is the next version of this package, with one more migration that runs
// a statement and serves programs from the given version on.
func nextBuild(oldest int, statement string) tables.Build {
	files := filesBefore("9999")
	next := tables.Build{Version: tables.ThisBuild.Version + 1, Files: files}
	files[fmt.Sprintf("%04d_next.up.sql", next.Version)] = &fstest.MapFile{
		Data: fmt.Appendf(nil, "%s; UPDATE formsvc_version SET version = %d, oldest_program = %d;", statement, next.Version, oldest),
	}
	return next
}

// filesBefore returns the migrations before one that has this name.
func filesBefore(name string) fstest.MapFS {
	files := fstest.MapFS{}
	names, err := fs.Glob(tables.ThisBuild.Files, "*.sql")
	for _, earlier := range names {
		if earlier[:4] < name[:4] && err == nil {
			files[earlier] = &fstest.MapFile{}
			files[earlier].Data, err = fs.ReadFile(tables.ThisBuild.Files, earlier)
		}
	}
	if err != nil {
		panic(err) // they are in the program
	}
	return files
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
	wantError(t, "this version's Migrate", Migrate(t.Context(), pool, WithSchema(running.db.Schema)), nil)
	wantError(t, "this version's CheckVersion", again.CheckVersion(t.Context()), nil)
	wantError(t, "the next version's CheckVersion", again.checkVersion(t.Context(), next), nil)
}

// upgraded returns a store that has worked on tables of this version, so that its
// connections have statements prepared, after the next version has migrated them.
func upgraded(t *testing.T, pool *pgxpool.Pool, next tables.Build) *Store {
	t.Helper()
	schema := pgtest.Schema(t)
	must(t, Migrate(t.Context(), pool, WithSchema(schema)))
	s := New(pool, WithSchema(schema))
	form := seedForm(t, s)
	work := func() {
		t.Helper()
		must(t, errorOf(s.Form(t.Context(), storage.AsHost(), form)))
		name := "renamed"
		must(t, errorOf(s.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Name: &name})))
	}
	work()
	must(t, migrateTo(t.Context(), next, pool, WithSchema(schema)))
	work()
	return s
}

// seedForm makes a workspace with a form.
func seedForm(t *testing.T, s *Store) storage.ID {
	t.Helper()
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "w"}
	must(t, s.CreateWorkspace(t.Context(), w, 0))
	f := storage.Form{
		ID: storage.ID{3}, PublicID: "f", WorkspaceID: w.ID, Status: storage.StatusDraft,
		FormContent: noBlocks(),
	}
	must(t, s.CreateForm(t.Context(), storage.AsHost(), f))
	return f.ID
}

func TestTablesThatDoNotServeThisVersionAnyMore(t *testing.T) {
	t.Parallel()
	pool, schema := migrating(t)
	next := nextBuild(tables.ThisBuild.Version+1, `ALTER TABLE forms DROP COLUMN theme`)
	must(t, migrateTo(t.Context(), next, pool, WithSchema(schema)))
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
	run(t, owner, "CREATE ROLE "+name+" LOGIN")
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
	must(t, err)
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
			run(t, owner, statement)
		}
		var missing *SetupError
		err := New(pool, WithSchema(s.db.Schema)).CheckVersion(t.Context())
		if !errors.As(err, &missing) || !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "lacks the privilege") {
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
	check(t, New(pool, WithSchema(strings.Repeat("n", 63))).db.ConfigError)
}

// poolWith returns a pool whose sessions have settings, as a role or a pooler gives them.
func poolWith(t *testing.T, base *pgxpool.Pool, mode pgx.QueryExecMode, settings map[string]string, set string) *pgxpool.Pool {
	t.Helper()
	config := base.Config()
	config.ConnConfig.DefaultQueryExecMode = mode
	config.ConnConfig.RuntimeParams = settings
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return errorOf(c.Exec(ctx, set)) }
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// Settings of the role either keep CheckVersion from passing, or the store works with them.
func TestSettingsThatTheStoreCannotLiveWith(t *testing.T) {
	t.Parallel()
	for setting, part := range map[string]string{
		"client_encoding=LATIN1":                        "client_encoding = LATIN1",
		"standard_conforming_strings=off":               "standard_conforming_strings = off",
		"session_replication_role=replica":              "foreign keys",
		"default_transaction_isolation=serializable":    "isolation level is serializable",
		"default_transaction_isolation=repeatable read": "isolation level is repeatable read",
		"default_transaction_read_only=on":              "nothing can be written",
		"statement_timeout=900":                         "statement_timeout = 900ms",
		"lock_timeout=5":                                "lock_timeout = 5ms",
		"idle_in_transaction_session_timeout=999":       "idle_in_transaction_session_timeout = 999ms",
		"statement_timeout=30s":                         "",
		"lock_timeout=1s":                               "",
		"TimeZone=Asia/Kathmandu":                       "",
		"IntervalStyle=sql_standard":                    "",
		"DateStyle=German":                              "", // in binary formats
		"bytea_output=escape":                           "",
		"extra_float_digits=-3":                         "",
		"row_security=off":                              "",
		"synchronous_commit=off":                        "",
		"jit=off":                                       "",
		"array_nulls=off":                               "",
		"transform_null_equals=on":                      "",
		"search_path=pg_temp":                           "",
		"lc_messages=C":                                 "",
		"plan_cache_mode=force_generic_plan":            "",
		"default_transaction_deferrable=on":             "",
		"backslash_quote=off":                           "",
		"lo_compat_privileges=on":                       "",
		"client_min_messages=error":                     "",
		"idle_session_timeout=60000":                    "",
		"simple DateStyle=German":                       "DateStyle",
		"simple bytea_output=escape":                    "bytea_output",
		"simple extra_float_digits=-3":                  "extra_float_digits",
		"simple TimeZone=Asia/Kathmandu":                "",
		"simple IntervalStyle=sql_standard":             "",
		"simple client_encoding=LATIN1":                 "client_encoding",
		"simple standard_conforming_strings=off":        "standard_conforming_strings",
		"simple backslash_quote=off":                    "",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			mode := pgx.QueryExecModeCacheStatement
			name, value, _ := strings.Cut(setting, "=")
			if rest, ok := strings.CutPrefix(name, "simple "); ok {
				mode, name = pgx.QueryExecModeSimpleProtocol, rest
			}
			plain, base := seeded(t)
			s := New(poolWith(t, base, mode, map[string]string{name: value}, ""), WithSchema(plain.db.Schema))
			err := s.CheckVersion(t.Context())
			var setup *SetupError
			if part != "" {
				if !errors.As(err, &setup) || !strings.Contains(err.Error(), part) {
					t.Errorf("CheckVersion: %v, want %q", err, part)
				}
				return
			}
			if err != nil {
				t.Fatalf("CheckVersion: %v", err)
			}
			n := response(1)
			n.Submission.CompletionTime, n.Submission.FormRevision, n.Submission.Revision = 0.1+12.2, 1, 1
			n.Submission.Answers = []byte(`[{"field":{"id":"a\\b","type":"short_text","label":"é"},"value":"日本 \\ ' ok"}]`)
			mustSubmit(t, s, n)
			finish(t, s, ended(claimAll(t, s)[0], 1))
			must(t, errorOf(s.Sweep(t.Context(), storage.SweepParams{Now: pgseed.Start(), Max: 100})))
			for _, read := range []*Store{s, plain} {
				got, err := read.Submission(t.Context(), storage.AsHost(), n.Submission.FormID, n.Submission.ID)
				if diff := cmp.Diff(n.Submission, got); err != nil || diff != "" {
					t.Errorf("%v, %s", err, diff)
				}
			}
			done, err := plain.Deliveries(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0), 10)
			expect(t, err == nil && len(done) == 1, "%d deliveries, %v", len(done), err)
		})
	}
}

// A database that is not UTF-8, and sessions that Migrate cannot use, are refused before
// anything is made.
func TestMigrateRefusesWhatTheStoreCannotLiveWith(t *testing.T) {
	t.Parallel()
	base := pgtest.Pool(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		name := pgtest.Schema(t) + strings.ToLower(encoding)
		name = name[max(0, len(name)-60):]
		run(t, base, fmt.Sprintf(`CREATE DATABASE %q ENCODING %s TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`, name, encoding))
		t.Cleanup(func() {
			_, _ = base.Exec(context.WithoutCancel(t.Context()), fmt.Sprintf("DROP DATABASE %q WITH (FORCE)", name))
		})
		config := base.Config()
		config.ConnConfig.Database = name
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		must(t, err)
		t.Cleanup(pool.Close)
		if err := Migrate(t.Context(), pool); err == nil || !strings.Contains(err.Error(), "the encoding "+encoding) {
			t.Errorf("Migrate: %v", err)
		}
		if err := New(pool).CheckVersion(t.Context()); err == nil || !strings.Contains(err.Error(), "the encoding "+encoding) {
			t.Errorf("CheckVersion: %v", err)
		}
	}
	for setting, part := range map[string]string{
		"client_encoding=LATIN1": "client_encoding", "default_transaction_read_only=on": "written", "session_replication_role=replica": "foreign keys",
		"default_transaction_isolation=serializable": "isolation", "standard_conforming_strings=off": "standard_conforming_strings", "statement_timeout=1000": "",
	} {
		name, value, _ := strings.Cut(setting, "=")
		schema := pgtest.Schema(t)[20:] + name[:8]
		err := Migrate(t.Context(), poolWith(t, base, pgx.QueryExecModeCacheStatement, map[string]string{name: value}, ""), WithSchema(schema))
		if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
			t.Errorf("Migrate with %s: %v", setting, err)
		}
		var made bool
		if err := base.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&made); err != nil || made != (part == "") {
			t.Errorf("with %s a schema was made: %t, %v", setting, made, err)
		}
		_, _ = base.Exec(t.Context(), `DROP SCHEMA IF EXISTS "`+schema+`" CASCADE`)
	}
}

// CheckVersion names the tables whose rows the role cannot see or write.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	super, base := testStore(t)
	schema := super.db.Schema
	role := "r" + schema[max(0, len(schema)-50):]
	run := func(text string) {
		t.Helper()
		text = strings.NewReplacer("ROLE_", `"`+role+`"`, "SCHEMA_", `"`+schema+`"`).Replace(text)
		if _, err := base.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run(`CREATE ROLE ROLE_; GRANT USAGE ON SCHEMA SCHEMA_ TO ROLE_; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA SCHEMA_ TO ROLE_;
		GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA SCHEMA_ TO ROLE_`)
	t.Cleanup(func() {
		_, _ = base.Exec(context.WithoutCancel(t.Context()), `DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`, pgx.QueryExecModeSimpleProtocol)
	})
	s := New(poolWith(t, base, pgx.QueryExecModeCacheStatement, nil, `SET ROLE "`+role+`"`), WithSchema(schema))
	const api = `SCHEMA_.api_keys`
	off := `ALTER TABLE ` + api + ` DISABLE ROW LEVEL SECURITY; ALTER TABLE ` + api + ` NO FORCE ROW LEVEL SECURITY; DROP POLICY IF EXISTS p ON ` + api + `; DROP POLICY IF EXISTS q ON ` + api
	const on = `ALTER TABLE ` + api + ` ENABLE ROW LEVEL SECURITY;`
	for _, c := range []struct{ name, make, undo, want string }{
		{"no row-level security", "", "", ""},
		{"on, without a policy", on, "", "the table api_keys can hide rows from the role (SELECT, INSERT, UPDATE, DELETE)"},
		{"BYPASSRLS", on + `ALTER ROLE ROLE_ BYPASSRLS`, `ALTER ROLE ROLE_ NOBYPASSRLS`, ""},
		{"a policy that lets everything pass", on + `CREATE POLICY p ON ` + api + ` USING (true)`, "", ""},
		{"for another role", on + `CREATE POLICY p ON ` + api + ` TO pg_monitor USING (true)`, "", "(SELECT, INSERT, UPDATE, DELETE)"},
		{"for the role itself", on + `CREATE POLICY p ON ` + api + ` TO ROLE_ USING (true) WITH CHECK (true)`, "", ""},
		{"reads alone", on + `CREATE POLICY p ON ` + api + ` FOR SELECT USING (true)`, "", "(INSERT, UPDATE, DELETE)"},
		{"a check on writes", on + `CREATE POLICY p ON ` + api + ` USING (true) WITH CHECK (user_id IS NULL)`, "", "(INSERT, UPDATE)"},
		{"tenants", on + `CREATE POLICY p ON ` + api + ` USING (name = current_setting('app.tenant', true))`, "", "(SELECT, INSERT, UPDATE, DELETE)"},
		{"a restrictive policy", on + `CREATE POLICY p ON ` + api + ` USING (true); CREATE POLICY q ON ` + api + ` AS RESTRICTIVE FOR DELETE USING (name <> 'x')`, "", "(DELETE)"},
		{"a restrictive policy of true", on + `CREATE POLICY p ON ` + api + ` USING (true); CREATE POLICY q ON ` + api + ` AS RESTRICTIVE USING (true)`, "", ""},
		{"on the version", `ALTER TABLE SCHEMA_.formsvc_version ENABLE ROW LEVEL SECURITY`, `ALTER TABLE SCHEMA_.formsvc_version DISABLE ROW LEVEL SECURITY`, "the table formsvc_version can hide rows from the role (SELECT)"},
		{"the owner", `GRANT CREATE ON SCHEMA SCHEMA_ TO ROLE_; ALTER TABLE ` + api + ` OWNER TO ROLE_;` + on, "", ""},
		{"the owner, forced", on + `ALTER TABLE ` + api + ` FORCE ROW LEVEL SECURITY`, `ALTER TABLE ` + api + ` OWNER TO CURRENT_USER; GRANT ALL ON ` + api + ` TO ROLE_`, "(SELECT, INSERT, UPDATE, DELETE)"},
		{"a missing right", `REVOKE UPDATE ON ` + api + ` FROM ROLE_`, `GRANT UPDATE ON ` + api + ` TO ROLE_`, "UPDATE on the table api_keys"},
	} {
		if c.make != "" {
			run(c.make)
		}
		err := s.CheckVersion(t.Context())
		var setup *SetupError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &setup) || len(setup.Problems) != 1 || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		run(off)
		if c.undo != "" {
			run(c.undo)
		}
	}
	// Each table is looked at.
	rows, err := base.Query(t.Context(), `SELECT relname::text FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`, `"`+schema+`"`)
	must(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		run(`ALTER TABLE SCHEMA_.` + name + ` ENABLE ROW LEVEL SECURITY`)
		if err := s.CheckVersion(t.Context()); err == nil || !strings.Contains(err.Error(), "table "+name+" ") {
			t.Errorf("%s: %v", name, err)
		}
		run(`ALTER TABLE SCHEMA_.` + name + ` DISABLE ROW LEVEL SECURITY`)
	}
}

// pretending are functions that stand before PostgreSQL's own, so that a server looks like
// another one, with what is then said of it. (pg_catalog comes first only when search_path does not name it.)
var pretending = map[string]struct{ sql, fault string }{
	"an old PostgreSQL": {`CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ SELECT 'PostgreSQL 14.9 on x86_64' $$`, `"PostgreSQL 14.9 on x86_64": use PostgreSQL 15 or newer`},
	"another database":  {`CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ SELECT 'CockroachDB CCL v24.1.0' $$`, "CockroachDB"},
	"locks that do nothing": {
		`CREATE FUNCTION pg_try_advisory_xact_lock_shared(bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$`,
		"advisory locks have no effect",
	},
	"another lock than the one that was asked for": {
		`CREATE FUNCTION pg_try_advisory_xact_lock_shared(bigint) RETURNS boolean LANGUAGE sql
			AS $$ SELECT pg_catalog.pg_try_advisory_xact_lock_shared($1 # 1) $$`,
		"advisory locks have no effect",
	},
	"no lock functions": {
		`CREATE FUNCTION pg_try_advisory_xact_lock_shared(bigint) RETURNS boolean LANGUAGE plpgsql
			AS $$ BEGIN RAISE feature_not_supported USING MESSAGE = 'function pg_try_advisory_xact_lock_shared not supported'; END $$`,
		"advisory locks have no effect",
	},
}

// pretend makes the functions and is an option of a pool on which they are in force.
func pretend(t *testing.T, owner *pgxpool.Pool, functions string) pgtest.Option {
	t.Helper()
	fake := pgtest.Schema(t)
	run(t, owner, "CREATE SCHEMA "+fake+"; SET LOCAL search_path = "+fake+";"+functions, pgx.QueryExecModeSimpleProtocol)
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = fake + ", pg_catalog" }
}

func TestServersThatCannotServeAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(pretending)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, owner := testStore(t)
			pretends, schema := pretend(t, owner, pretending[name].sql), s.db.Schema
			for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol} {
				pool := pgtest.Pool(t, pretends, pgtest.Mode(mode))
				for call, err := range map[string]error{
					"CheckVersion": New(pool, WithSchema(schema)).CheckVersion(t.Context()),
					"Migrate":      Migrate(t.Context(), pool, WithSchema(schema)),
				} {
					var setup *SetupError
					if call == "CheckVersion" && (!errors.As(err, &setup) || !errors.Is(err, storage.ErrUnavailable)) {
						t.Errorf("%s = %v, want a SetupError", call, err)
					}
					if err == nil || !strings.Contains(err.Error(), pretending[name].fault) || !strings.Contains(err.Error(), "use PostgreSQL") {
						t.Errorf("%s = %v, want an error with %q", call, err, pretending[name].fault)
					}
				}
			}
		})
	}
}

// Many processes start at once, also behind a pooler and in a host's transaction, and the lock
// that each tries is not in the way of the others.
func TestTheServerIsCheckedByManyAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	pool := pgtest.PoolAt(t, pgtest.PgBouncer(t, pgtest.URL(t)), pgtest.Mode(pgx.QueryExecModeExec), pgtest.MaxConns(8))
	held := begin(t, pool)
	behind := New(pool, WithSchema(s.db.Schema))
	wantError(t, "in a transaction", behind.On(held).CheckVersion(t.Context()), nil)
	done := make(chan error)
	for range 8 {
		go func() { done <- behind.CheckVersion(t.Context()) }()
	}
	for range 8 {
		check(t, <-done)
	}
}

// After a failover the connections of a pool are left on a server that only reads. Each way
// of writing finds a server that writes within one call, and none of these connections stays.
func TestReadOnlyConnectionsLeaveThePool(t *testing.T) {
	t.Parallel()
	const most = 8
	id := pgseed.ID(pgseed.Form, 0)
	for name, write := range map[string]func(*testing.T, *Store) error{
		"a batch": func(t *testing.T, s *Store) error {
			_, err := s.UpdateForm(t.Context(), storage.AsHost(), id, storage.FormChange{Name: ptr("n"), At: pgseed.Start()})
			return err
		},
		"a response":           func(t *testing.T, s *Store) error { return lastError(s.Submit(t.Context(), response(5))) },
		"a partial submission": func(t *testing.T, s *Store) error { return errorOf(s.SavePartial(t.Context(), half(0, 1))) },
		"the dispatcher":       func(t *testing.T, s *Store) error { return lastError(s.ClaimDeliveries(t.Context(), everything())) },
		"a sweep": func(t *testing.T, s *Store) error {
			_, err := s.correctFutureTimes(t.Context(), storage.SweepParams{Max: 10}, new(storage.SweepResult))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t, pgtest.MaxConns(most))
			schema := filled(t, pool, pgseed.Size{Forms: 1, Webhooks: 1, Deliveries: 1})
			var all []*pgxpool.Conn
			for range most {
				c, err := pool.Acquire(t.Context())
				must(t, err)
				run(t, c, `SET default_transaction_read_only = on`)
				all = append(all, c)
			}
			for _, c := range all {
				c.Release()
			}
			s := New(pool, WithSchema(schema))
			wantError(t, "the first call", write(t, s), nil)
			eventually(t, "no read-only connection is left", func() bool {
				for _, c := range pool.AcquireAllIdle(t.Context()) {
					var on string
					err := c.QueryRow(t.Context(), `SHOW default_transaction_read_only`).Scan(&on)
					c.Release()
					if err != nil || on == "on" {
						return false
					}
				}
				return true
			})
		})
	}
}

// In a host's transaction the connection is the host's.
func TestAReadOnlyTransactionOfAHostStaysOpen(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	must(t, err)
	_, _, err = s.On(tx).Submit(t.Context(), response(1))
	expect(t, errors.Is(err, storage.ErrUnavailable), "Submit = %v", err)
	expect(t, !tx.Conn().IsClosed(), "the host's connection is closed")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(fmt.Errorf("rollback: %w", err))
	}
}
