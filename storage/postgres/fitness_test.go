package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// poolWith returns a pool whose sessions have settings, as a role or a pooler gives them.
func poolWith(t *testing.T, base *pgxpool.Pool, mode pgx.QueryExecMode, settings map[string]string, set string) *pgxpool.Pool {
	t.Helper()
	config := base.Config()
	config.ConnConfig.DefaultQueryExecMode = mode
	config.ConnConfig.RuntimeParams = settings
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, set)
		return err
	}
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
			n.Submission.CompletionTime, n.Submission.FormRevision = 0.1+12.2, 1
			n.Submission.Answers = []byte(`[{"field":{"id":"a\\b","type":"short_text","label":"é"},"value":"日本 \\ ' ok"}]`)
			mustSubmit(t, s, n)
			finish(t, s, ended(claimAll(t, s)[0], 1))
			if _, err := s.Sweep(t.Context(), storage.SweepParams{Now: pgseed.Start(), Max: 100}); err != nil {
				t.Fatal(err)
			}
			for _, read := range []*Store{s, plain} {
				got, err := read.Submission(t.Context(), storage.AsHost(), n.Submission.FormID, n.Submission.ID)
				if diff := cmp.Diff(n.Submission, got); err != nil || diff != "" {
					t.Errorf("%v, %s", err, diff)
				}
			}
			done, err := plain.Deliveries(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0), 10)
			if err != nil || len(done) != 1 {
				t.Errorf("%d deliveries, %v", len(done), err)
			}
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
		if _, err := base.Exec(t.Context(), fmt.Sprintf(`CREATE DATABASE %q ENCODING %s TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`, name, encoding)); err != nil {
			t.Fatal(err)
		}
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
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &setup) || len(setup.Faults) != 1 || !strings.Contains(err.Error(), c.want)) {
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
