package postgres

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// operations returns the statements of the blocks of SQL in a chapter of operations.md.
func operations(t *testing.T, chapter string) []string {
	t.Helper()
	text, err := os.ReadFile("operations.md")
	must(t, err)
	_, rest, found := strings.Cut(string(text), "\n## "+chapter+"\n")
	if !found {
		t.Fatalf("there is no chapter %q", chapter)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var statements []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		for statement := range strings.SplitSeq(block[1], ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				statements = append(statements, statement)
			}
		}
	}
	return statements
}

// What operations.md says of logical replication: the tables move to another server, there
// into partitions, while responses are stored, and the queue goes on.
func TestTablesMoveByLogicalReplication(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	say := operations(t, "Upgrades of PostgreSQL")
	if len(say) != 7 {
		t.Fatalf("%d statements: %q", len(say), say)
	}
	publish, empty, subscribe, copied, caughtUp, sequences, end := say[0], say[1], say[2], say[3], say[4], say[5], say[6]
	from := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{"wal_level": "logical"}})
	to := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{
		"max_sync_workers_per_subscription": "8", "max_logical_replication_workers": "12", "max_worker_processes": "20", "wal_retrieve_retry_interval": "50ms",
	}})
	before, after := pgtest.PoolAt(t, from.URL()), pgtest.PoolAt(t, to.URL())
	for _, pool := range []*pgxpool.Pool{before, after} {
		must(t, Migrate(t.Context(), pool))
	}
	run := func(pool *pgxpool.Pool, text string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err, text)
		}
	}
	run(after, partitionsSQL(t, DefaultSchema))
	must(t, pgseed.Fill(t.Context(), before, DefaultSchema, pgseed.Size{Forms: 3, Submissions: 100, AnswerBytes: 100, Webhooks: 1}))
	old := New(before)
	deliver(t, old, 1000, 3)
	submit := func(number int) {
		t.Helper()
		mustSubmit(t, old, response(number))
	}
	submit(2000)

	run(before, publish)
	run(after, empty)
	config := before.Config().ConnConfig
	run(after, strings.ReplaceAll(subscribe, "host=old dbname=app", fmt.Sprintf("host=%s port=%d user=%s dbname=%s", config.Host, config.Port, config.User, config.Database)))
	until := func(pool *pgxpool.Pool, text string) {
		t.Helper()
		for done := false; !done; {
			must(t, pool.QueryRow(t.Context(), text).Scan(&done))
		}
	}
	until(after, copied)
	submit(2001) // is not copied, but replicated
	// Here the processes stop.
	until(before, caughtUp)
	rows, err := before.Query(t.Context(), sequences)
	must(t, err)
	set, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(set) == 0 {
		t.Fatal(set, err)
	}
	run(after, strings.Join(set, "\n"))
	run(after, end)

	tables := catalog(t, old, `SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r'`)
	if !slices.Contains(tables, "formsvc_migrations") || len(tables) < 20 {
		t.Errorf("the tables are %q", tables)
	}
	for _, table := range tables {
		of := fmt.Sprintf(`SELECT COALESCE(md5(string_agg(t::text, E'\n' ORDER BY t::text)), '') FROM formsvc.%s t`, table)
		var was, is string
		must(t, before.QueryRow(t.Context(), of).Scan(&was))
		if err := after.QueryRow(t.Context(), of).Scan(&is); err != nil || is != was {
			t.Errorf("%s is another one: %v", table, err)
		}
	}
	s := New(after)
	if err := s.CheckVersion(t.Context()); err != nil {
		t.Error(err)
	}
	var last int64
	must(t, before.QueryRow(t.Context(), `SELECT last_value FROM formsvc.delivery_tokens`).Scan(&last))
	claimed := claimAll(t, s)
	if len(claimed) != 2 {
		t.Errorf("%d deliveries go on, want 2", len(claimed))
	}
	for _, d := range claimed {
		if d.Lease.Token <= last {
			t.Errorf("the token %d is given twice", d.Lease.Token)
		}
	}
	if _, again, err := s.Submit(t.Context(), response(3000)); err != nil || again {
		t.Errorf("Submit = %v, %v", again, err)
	}
}
