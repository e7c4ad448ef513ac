package postgres

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// partitionKeys are all tables whose statements name rows so that partitions do no harm, and
// by what each is partitioned. partitions.sql has the four that grow with responses.
var partitionKeys = map[string]string{
	"submissions": "form_id", "unique_answers": "form_id", "funnel_log": "form_id", "funnel_minutes": "form_id", "funnel_days": "form_id",
	"destinations": "webhook_id", "deliveries": "webhook_id", "attempts": "webhook_id", "events": "id", "arrivals": "id",
}

// partitionsSQL is the file that hosts run, for a schema.
func partitionsSQL(t testing.TB, schema string) string {
	t.Helper()
	text, err := os.ReadFile("partitions.sql")
	must(t, err)
	return replaced(t, string(text), "search_path = formsvc;", "search_path = "+schema+";")
}

// inPartitions are the migrations, and then what partitions.sql does in its transaction, for
// createTablesFrom.
func inPartitions(t *testing.T) string {
	t.Helper()
	_, text, _ := strings.Cut(partitionsSQL(t, "s"), "search_path = s;")
	return migrations(t, "up") + replaced(t, text, "COMMIT;", "")
}

// inAllPartitions does that with every table that can be partitioned.
func inAllPartitions(t *testing.T) string {
	t.Helper()
	var rows []string
	for table, key := range partitionKeys {
		rows = append(rows, fmt.Sprintf("('%s', '%s')", table, key))
	}
	text := inPartitions(t)
	list := regexp.MustCompile(`(?s)\(VALUES\n.*?\) AS p `).FindString(text)
	text = replaced(t, text, list, "(VALUES "+strings.Join(rows, ", ")+") AS p ")
	return replaced(t, text, "integer := 8;", "integer := 4;")
}

// replaced is text with one part in place of another, which is there once.
func replaced(t testing.TB, text, part, by string) string {
	t.Helper()
	if part == "" || strings.Count(text, part) != 1 {
		t.Fatalf("%q is there %d times, want once", part, strings.Count(text, part))
	}
	return strings.ReplaceAll(text, part, by)
}

// What a host gets from the file: the suite passes on it, behind a pooler too. With two partitions
// it takes a third of the time that it takes with eight.
func TestPartitionsSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	inTwo := func(t *testing.T) string { return replaced(t, inPartitions(t), "integer := 8;", "integer := 2;") }
	setup{name: "PgBouncer, exec mode", mode: pgx.QueryExecModeExec, bouncer: true, tables: inTwo}.run(t)
}

// described is what the catalog says of tables and columns, the same for whole and
// partitioned ones. Migrations find all of it by name.
const described = `
SELECT format('%s: %s', c.relname, obj_description(c.oid, 'pg_class'))
	FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
UNION ALL
SELECT format('%s.%s %s %s %s %s: %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text || a.attgenerated::text,
		replace(pg_get_expr(d.adbin, d.adrelid), $1, ''), col_description(c.oid, a.attnum))
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
UNION ALL
SELECT format('%s %s', k.conname, pg_get_constraintdef(k.oid))
	FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE k.connamespace = $1::text::regnamespace AND NOT c.relispartition
UNION ALL
SELECT replace(replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), $1, '')
	FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = $1::text::regnamespace AND NOT c.relispartition
ORDER BY 1`

func TestPartitionedTablesHaveAllThatWholeOnesHave(t *testing.T) {
	t.Parallel()
	whole, pool := testStore(t)
	want := strings.ReplaceAll(strings.Join(catalog(t, whole, described), "\n"), whole.db.Schema, "")
	parted := New(pool, WithSchema(pgtest.Schema(t)))
	must(t, Migrate(t.Context(), pool, WithSchema(parted.db.Schema)))
	settings := `SELECT c.relname || ' ' || COALESCE(c.reloptions::text, '') FROM pg_class c
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r' AND c.relname IN ('submissions', 'deliveries', 'attempts', 'events')`
	wantSettings := strings.Join(catalog(t, parted, settings), "\n")

	partition := func() error {
		connection, err := pool.Acquire(t.Context())
		must(t, err)
		defer connection.Release()
		_, err = connection.Exec(t.Context(), partitionsSQL(t, parted.db.Schema), pgx.QueryExecModeSimpleProtocol)
		if err != nil { // as psql does
			_, _ = connection.Exec(t.Context(), "ROLLBACK")
		}
		return err
	}
	id := storage.ID{1}
	run(t, pool, parted.db.RewriteSQL(`INSERT INTO formsvc.events VALUES ($1, $1, NULL, 'x', '', 1)`), id[:])
	if err := partition(); err == nil || !strings.Contains(err.Error(), "events has rows") {
		t.Fatalf("partitions of a table with rows: %v", err)
	}
	run(t, pool, parted.db.RewriteSQL(`DELETE FROM formsvc.events`))
	must(t, partition())
	if err := partition(); err == nil || !strings.Contains(err.Error(), "partitioned already") {
		t.Errorf("partitions of partitions: %v", err)
	}

	got := strings.ReplaceAll(strings.Join(catalog(t, parted, described), "\n"), parted.db.Schema, "")
	if diff := cmp.Diff(strings.Split(want, "\n"), withoutNotes(got)); diff != "" {
		t.Errorf("partitioned tables differ (-whole +partitioned):\n%s", diff)
	}
	for line := range strings.SplitSeq(wantSettings, "\n") {
		table, options, _ := strings.Cut(line, " ")
		of := catalog(t, parted, fmt.Sprintf(`SELECT COALESCE(c.reloptions::text, '') FROM pg_class c JOIN pg_inherits h ON h.inhrelid = c.oid
			WHERE c.relnamespace = $1::text::regnamespace AND h.inhparent = (SELECT p.oid FROM pg_class p WHERE p.relnamespace = c.relnamespace AND p.relname = '%s')`, table))
		if want := slices.Repeat([]string{options}, 8); !slices.Equal(of, want) {
			t.Errorf("the partitions of %s have the settings %q, want %q", table, of, want)
		}
	}

	// The next version's migration runs on them, and so does a program that checks.
	check(t, migrateTo(t.Context(), nextBuild(tables.ThisBuild.Version, nextStep), pool, WithSchema(parted.db.Schema)))
	check(t, parted.CheckVersion(t.Context()))
}

// withoutNotes leaves out golang-migrate's table, which only Migrate makes.
func withoutNotes(described string) (lines []string) {
	for line := range strings.SplitSeq(described, "\n") {
		if !strings.Contains(line, tables.MigrationsTable) {
			lines = append(lines, line)
		}
	}
	return lines
}

// The plans of claims and results are made for the size of the queue, which is that of its
// partitions.
func TestTheSizeOfPartitionsIsKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filledFrom(t, pool, inAllPartitions(t), pgseed.Size{Forms: 16, AnswerBytes: 100, Webhooks: 16, Deliveries: 640})))
	claimAll(t, s)
	expect(t, leaseOfWebhooks.text(s) != leaseOfWebhooks[0], "the plans are those of an empty queue")
}
