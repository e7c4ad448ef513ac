package postgres

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
	run(t, pool, parted.db.SQL(`INSERT INTO formsvc.events VALUES ($1, $1, NULL, 'x', '', 1)`), id[:])
	if err := partition(); err == nil || !strings.Contains(err.Error(), "events has rows") {
		t.Fatalf("partitions of a table with rows: %v", err)
	}
	run(t, pool, parted.db.SQL(`DELETE FROM formsvc.events`))
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

// filledPartitions returns a store on partitioned tables. The forms 0 to 15 have a webhook
// with the same number, and as many rows of each kind as the others, written in turn: so
// rows of several partitions have the same ctid.
func filledPartitions(t *testing.T) (*Store, *pgxpool.Pool) {
	t.Helper()
	const forms, each = 16, 40
	pool, schema := pgtest.Pool(t), pgtest.Schema(t)
	createTablesFrom(t, pool, schema, inAllPartitions(t))
	if err := pgseed.Fill(t.Context(), pool, schema, pgseed.Size{
		Forms: forms, AnswerBytes: 100, Webhooks: forms, Deliveries: forms * each, Attempts: forms * each * 4, Minutes: forms * each,
	}); err != nil {
		t.Fatal(err)
	}
	s := New(pool, WithSchema(schema))
	for _, text := range []string{
		`DELETE FROM formsvc.funnel_minutes`,
		`DELETE FROM formsvc.funnel_days`,
		`INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time, answers, metadata, hidden, form_revision, json_bytes, event_id)
			SELECT e.form_id, e.submission_id, now(), 1, '[]', '{}', '{}', 1, 6, e.id FROM formsvc.events e ORDER BY e.id`,
		`INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
			SELECT e.form_id, e.submission_id, 'b', 1, 0, e.submission_id FROM formsvc.events e ORDER BY e.id`,
		`INSERT INTO formsvc.funnel_minutes (form_id, minute, views, starts, submissions)
			SELECT f.id, date_trunc('minute', now(), 'UTC') - i * interval '1 day', 1, 1, 1 FROM generate_series(0, 39) i, formsvc.forms f ORDER BY i, f.id`,
		`INSERT INTO formsvc.funnel_days (form_id, day, views, starts, submissions)
			SELECT f.id, current_date - i, 1, 1, 1 FROM generate_series(0, 39) i, formsvc.forms f ORDER BY i, f.id`,
		`INSERT INTO formsvc.events (id, form_id, type, body, refs)
			SELECT a.event_id, w.form_id, a.event_type, '{}', 1 FROM formsvc.attempts a JOIN formsvc.webhooks w ON w.id = a.webhook_id ORDER BY a.created_at`,
	} {
		if _, err := pool.Exec(t.Context(), s.db.SQL(text), pgx.QueryExecModeExec); err != nil {
			t.Fatal(text, err)
		}
	}
	referencesAreCounted(t, pool, s)
	return s, pool
}

// ofOthers returns the rows of partitioned tables that do not belong to the first form or
// its webhook.
func ofOthers(t *testing.T, s *Store, pool *pgxpool.Pool) map[string]bool {
	t.Helper()
	form, hook := pgseed.ID(pgseed.Form, 0), pgseed.ID(pgseed.Webhook, 0)
	found := map[string]bool{}
	for _, table := range slices.Sorted(maps.Keys(partitionKeys)) {
		owner, id := "form_id", form
		if key := partitionKeys[table]; key == "webhook_id" || table == "arrivals" {
			owner, id = "webhook_id", hook
		}
		rows, err := pool.Query(t.Context(), s.db.SQL(fmt.Sprintf(`SELECT t::text FROM formsvc.%s t WHERE t.%s <> $1`, table, owner)), id[:])
		must(t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		if len(texts) == 0 {
			t.Fatalf("others have no rows in %s", table)
		}
		for _, text := range texts {
			found[table+" "+text] = true
		}
	}
	return found
}

// A statement that named rows by ctid would remove and change those of other partitions
// that have the same one.
func TestNothingTouchesTheRowsOfOtherPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	form, hook := pgseed.ID(pgseed.Form, 0), pgseed.ID(pgseed.Webhook, 0)
	named := strings.NewReplacer("FORM", fmt.Sprintf(`'\x%x'`, form[:]), "HOOK", fmt.Sprintf(`'\x%x'`, hook[:]))
	now := pgseed.Start()
	claim := func(t *testing.T, s *Store) []storage.ClaimedDelivery {
		got, _, err := s.ClaimDeliveries(t.Context(), everything())
		if err != nil || len(got) == 0 {
			t.Fatalf("%d deliveries are claimed: %v", len(got), err)
		}
		return got
	}
	for name, test := range map[string]struct {
		before []string // for the first webhook alone to have something to do
		do     func(t *testing.T, s *Store)
		left   string // rows of the first form or webhook then
		want   int
	}{
		"a purge": {nil, func(t *testing.T, s *Store) {
			must(t, s.TrashForm(t.Context(), storage.AsHost(), form, storage.TrashParams{At: now}))
			must(t, s.PurgeForm(t.Context(), form))
			for more := true; more; {
				swept, err := s.Sweep(t.Context(), storage.SweepParams{Now: now, Removals: true, Max: 7})
				must(t, err)
				more = swept.More
			}
		}, "submissions WHERE form_id = FORM", 0},
		"a sweep of events": {[]string{
			`UPDATE formsvc.events SET refs = 0 WHERE form_id = FORM`,
			`DELETE FROM formsvc.deliveries WHERE webhook_id = HOOK`, `DELETE FROM formsvc.attempts WHERE webhook_id = HOOK`,
		}, func(t *testing.T, s *Store) {
			var swept storage.Swept
			if _, err := s.purgeEvents(t.Context(), storage.SweepParams{Max: 1000}, &swept); err != nil || swept.Events != 200 {
				t.Fatalf("%d events are swept: %v", swept.Events, err)
			}
		}, "events WHERE form_id = FORM", 0},
		"a claim of what arrived": {[]string{
			`UPDATE formsvc.arrivals SET at = 'infinity' WHERE webhook_id <> HOOK`,
		}, func(t *testing.T, s *Store) { claim(t, s) }, "arrivals WHERE webhook_id = HOOK", 0},
		"a claim of what is due": {[]string{
			`UPDATE formsvc.arrivals SET at = 'infinity'`,
			`UPDATE formsvc.deliveries SET due_at = CASE WHEN webhook_id = HOOK THEN '-infinity' ELSE 'infinity' END::timestamptz`,
		}, func(t *testing.T, s *Store) { claim(t, s) }, "deliveries WHERE webhook_id = HOOK AND leased_until IS NULL", 0},
		"results": {[]string{
			`UPDATE formsvc.arrivals SET at = 'infinity' WHERE webhook_id <> HOOK`,
		}, func(t *testing.T, s *Store) {
			got := claim(t, s)
			results := make([]storage.Result, 0, len(got))
			for i, d := range got {
				r := ended(d, 10_000+i)
				switch i % 3 {
				case 1:
					r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
				case 2:
					r = storage.Result{Lease: d.Lease}
				}
				results = append(results, r)
			}
			finish(t, s, results...)
		}, "deliveries WHERE webhook_id = HOOK", 26},
		"a cut of the history": {nil, func(t *testing.T, s *Store) {
			must(t, s.cutHistories(t.Context(), hook))
		}, "attempts WHERE webhook_id = HOOK", storage.HistoryKept},
		"the end of deliveries without their event": {[]string{
			`DELETE FROM formsvc.events e USING formsvc.deliveries d WHERE e.id = d.event_id AND d.webhook_id = HOOK`,
		}, func(t *testing.T, s *Store) {
			lost := make([]storage.ClaimedDelivery, 40)
			for i := range lost {
				lost[i].Lease = storage.Lease{WebhookID: hook, EventID: pgseed.ID(pgseed.Event, i*16)}
			}
			must(t, s.endWithoutEvent(t.Context(), lost))
		}, "deliveries WHERE webhook_id = HOOK", 0},
		"the end of what is tried again": {[]string{
			`UPDATE formsvc.events e SET refs = refs - 1 FROM formsvc.attempts a WHERE a.webhook_id = HOOK AND e.id = a.event_id`,
			`UPDATE formsvc.attempts a SET next_attempt_at = now(), event_id = d.event_id
				FROM (SELECT d.event_id, row_number() OVER (ORDER BY d.event_id) AS n FROM formsvc.deliveries d WHERE d.webhook_id = HOOK) d,
					(SELECT a.id, row_number() OVER (ORDER BY a.id) AS n FROM formsvc.attempts a WHERE a.webhook_id = HOOK) b
				WHERE a.webhook_id = HOOK AND a.id = b.id AND b.n = d.n`,
			`UPDATE formsvc.attempts a SET next_attempt_at = now() WHERE webhook_id <> HOOK`,
		}, func(t *testing.T, s *Store) {
			must(t, s.TrashForm(t.Context(), storage.AsHost(), form, storage.TrashParams{At: now}))
		}, "attempts WHERE webhook_id = HOOK AND next_attempt_at IS NULL", 160},
		"a summary of what expired": {[]string{
			`UPDATE formsvc.destinations SET failures = 1, failing_since = now() - interval '2 hours', failed_at = now() WHERE webhook_id = HOOK`,
			`UPDATE formsvc.attempts SET error = '` + storage.DeliveryExpired + `'`,
		}, func(t *testing.T, s *Store) {
			p := expireParams()
			p.Max = 40
			done, err := s.ExpireDeliveries(t.Context(), p)
			if err != nil || done.Deliveries != 40 || len(done.Summaries) != 1 {
				t.Fatalf("%d expired: %v", done.Deliveries, err)
			}
		}, "attempts WHERE webhook_id = HOOK", storage.ExpiredKept},
		"folding": {nil, func(t *testing.T, s *Store) {
			if n, err := s.foldForm(t.Context(), form); err != nil || n != 40 {
				t.Fatalf("%d are folded: %v", n, err)
			}
		}, "funnel_log WHERE form_id = FORM", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := filledPartitions(t)
			for _, text := range test.before {
				if _, err := pool.Exec(t.Context(), s.db.SQL(named.Replace(text)), pgx.QueryExecModeExec); err != nil {
					t.Fatal(text, err)
				}
			}
			before := ofOthers(t, s, pool)
			test.do(t, s)
			after := ofOthers(t, s, pool)
			lost, sample := 0, ""
			for row := range before {
				if !after[row] {
					lost, sample = lost+1, row
				}
			}
			if lost > 0 || len(after) != len(before) {
				t.Errorf("%d of %d rows of others are changed or removed, such as %s; %d are there", lost, len(before), sample, len(after))
			}
			wantRows(t, pool, s, test.want, named.Replace(test.left))
		})
	}
}

// The plans of claims and results are made for the size of the queue, which is that of its
// partitions.
func TestTheSizeOfPartitionsIsKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	s, _ := filledPartitions(t)
	claimAll(t, s)
	expect(t, lease.now(s) != lease[0], "the plans are those of an empty queue")
}
