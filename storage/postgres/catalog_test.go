package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
)

// catalog runs a query on the catalog for the namespace $1 and returns its first
// column.
func catalog(t *testing.T, s *Store, text string) []string {
	t.Helper()
	rows, err := s.db.DB.Query(t.Context(), text, s.db.Schema)
	must(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return found
}

// Logical replication of all tables stops at a row of a table without a key.
func TestEveryTableHasAPrimaryKey(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	for _, table := range catalog(t, s, `
		SELECT c.relname::text FROM pg_class c
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p')
			AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p')`) {
		t.Errorf("%s has no primary key", table)
	}
}

func TestEveryTableAndColumnHasAComment(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	for _, missing := range catalog(t, s, `
		SELECT c.relname || COALESCE('.' || a.attname, '')
		FROM pg_class c
		LEFT JOIN LATERAL (
			SELECT a.attname, a.attnum FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			UNION ALL
			SELECT NULL, 0
		) a ON true
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p')
			AND NOT EXISTS (
				SELECT FROM pg_description d
				WHERE d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum AND d.description LIKE '%.')
		ORDER BY c.relname, a.attnum`) {
		t.Errorf("%s has no comment that is a sentence", missing)
	}
}

// What responses and deliveries write is not vacuumed by PostgreSQL's own threshold, a fifth
// of the rows.
func TestEveryTableThatGrowsSaysHowItIsVacuumed(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	got := catalog(t, s, `
		SELECT c.relname::text FROM pg_class c, pg_options_to_table(c.reloptions) o
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r'
			AND o.option_name = 'autovacuum_vacuum_scale_factor' AND o.option_value::float <= 0.02
		ORDER BY 1`)
	if want := []string{"arrivals", "attempts", "deliveries", "destinations", "events", "funnel_log", "partials", "submissions", "unique_answers"}; !slices.Equal(got, want) {
		t.Errorf("a threshold of their own have %q, want %q", got, want)
	}
}

// An id is of the domain id, or has a check of its own.
func TestEveryIDHasItsLength(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	ids := 0
	for _, column := range catalog(t, s, `
		SELECT c.relname || '.' || a.attname || CASE WHEN a.atttypid = format('%I.id', $1::text)::regtype OR EXISTS (
			SELECT FROM pg_constraint k
			WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
				AND pg_get_constraintdef(k.oid) = format('CHECK ((octet_length(%I) = 12))', a.attname)
		) THEN '' ELSE ' is unchecked' END
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p')
			AND a.atttypid IN ('bytea'::regtype, format('%I.id', $1::text)::regtype) AND (a.attname = 'id' OR a.attname LIKE '%\_id')`) {
		ids++
		if strings.HasSuffix(column, "unchecked") {
			t.Error(column)
		}
	}
	expect(t, ids >= 20, "%d ids were found", ids)
}

// badValues are what a constraint has to refuse: SET of one UPDATE or several, by the
// constraint's name. Those of ids are made from their definition.
var badValues = map[string]string{
	"formsvc_version_only_row_check":     "only_row = false",
	"formsvc_version_check":              "oldest_program = version + 1",
	"api_keys_hash_check":                `hash = '\x00'`,
	"forms_type_check":                   "type = 'single'",
	"forms_status_check":                 "status = ''",
	"forms_revision_check":               "revision = 0",
	"forms_response_limit_check":         "response_limit = -1",
	"workspaces_purged_check":            "purged = true, deleted_at = NULL",
	"forms_places_kept_check":            "places_kept = -1",
	"forms_unique_rules_check":           "unique_rules = -1",
	"forms_duplicates_covered_check":     "duplicates_covered = true, unique_block = ''",
	"unique_progress_entered_to_check":   `entered_to = '\x00'`,
	"forms_format_check":                 "format = -1",
	"forms_check":                        "purged_at = now(), trashed_at = NULL",
	"form_limits_counted_to_check":       `counted_to = '\x00'`,
	"form_limits_submission_count_check": "submission_count = -1",
	"funnel_minutes_minute_check":        "minute = minute + interval '1 second'",
	"webhooks_url_check":                 "url = ''",
	"webhooks_form_check":                `workspace_id = NULL; form_id = '\x000000000000000000000000'`,
	"destinations_failing_check":         "failing_since = now(); failed_at = now(); pause_reason = 'failures'; paused_until = now(), pause_reason = 'failures'",
	"form_lifetime_submissions_check":    "submissions = -1",
	"form_removals_removed_check":        "removed = 0",
	"form_lifetime_views_check":          "views = -1",
	"form_lifetime_starts_check":         "starts = -1",
	"funnel_minutes_views_check":         "views = -1",
	"funnel_minutes_starts_check":        "starts = -1",
	"funnel_minutes_submissions_check":   "submissions = -1",
	"funnel_days_views_check":            "views = -1",
	"funnel_days_starts_check":           "starts = -1",
	"funnel_days_submissions_check":      "submissions = -1",
	"partials_sent_check":                `submission_id = id, answers = '{}'; submission_id = id, answers = NULL, hidden = '{}'; submission_id = id, answers = NULL, hidden = NULL, metadata = '{}'`,
}

// badOfDomain are values that the domains have to refuse.
var badOfDomain = map[string]string{
	"id": `'\x00'`, "revision": "0", "seconds": "'NaN'", "byte_count": "-1", "counter": "-1", "attempt_number": "0", "copy_number": "-1", "urgency": "3",
	"small_counter": "-1", "pause_reason": "'x'",
	"http_status": "1000", "microseconds": "-1", "token_digest": `'\x00'`,
}

func refuses(t *testing.T, pool *pgxpool.Pool, table, set, constraint string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), fmt.Sprintf("UPDATE %s SET %s", table, set))
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "23514" || refused.ConstraintName != constraint {
		t.Errorf("UPDATE %s SET %s: %v, want a violation of %s", table, set, err, constraint)
	}
}

var idCheck = regexp.MustCompile(`^CHECK \(\(octet_length\((\w+)\) = 12\)\)$`)

// Every constraint refuses a row that it is there for.
func TestTheTablesRefuseBadRows(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	schema := filled(t, pool, pgseed.Size{Forms: 1, Submissions: 1, AnswerBytes: 1, Webhooks: 1, Deliveries: 1, Attempts: 1, Partials: 1, Minutes: 1})
	s := New(pool, WithSchema(schema))
	// What pgseed has no rows of.
	must(t, s.SetLifetimeCounters(t.Context(), pgseed.ID(pgseed.Form, 0), storage.Counters{Views: 1}))
	must(t, errorOf(pool.Exec(t.Context(), fmt.Sprintf("INSERT INTO %[1]s.form_removals SELECT id, 1 FROM %[1]s.forms", schema))))
	must(t, errorOf(pool.Exec(t.Context(), fmt.Sprintf(`INSERT INTO %[1]s.submission_history
		SELECT form_id, id, revision, form_revision, answers, hidden, submitted_at, NULL FROM %[1]s.submissions`, schema))))
	one := int64(1)
	change := storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: one, Unique: storage.UniqueField{Block: "q"}}}
	must(t, errorOf(s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), change)))

	bad := maps.Clone(badValues)
	for _, constraint := range catalog(t, s, `
		SELECT k.conname || ' ' || k.conrelid::regclass || ' ' || pg_get_constraintdef(k.oid)
		FROM pg_constraint k
		WHERE k.connamespace = $1::text::regnamespace AND k.contype = 'c' AND k.conrelid <> 0
		ORDER BY 1`) {
		name, rest, _ := strings.Cut(constraint, " ")
		table, definition, _ := strings.Cut(rest, " ")
		set := bad[name]
		if id := idCheck.FindStringSubmatch(definition); id != nil {
			set = cmp.Or(set, id[1]+` = '\x00'`)
		}
		if set == "" {
			t.Errorf("no bad value is known for %s %s", name, definition)
			continue
		}
		delete(bad, name)
		for set := range strings.SplitSeq(set, "; ") {
			refuses(t, pool, table, set, name)
		}
	}
	for _, column := range catalog(t, s, `
		SELECT c.oid::regclass || ' ' || a.attname || ' ' || d.typname
		FROM pg_type d JOIN pg_attribute a ON a.atttypid = d.oid JOIN pg_class c ON c.oid = a.attrelid
		WHERE d.typnamespace = $1::text::regnamespace AND d.typtype = 'd' AND c.relkind = 'r'`) {
		var table, name, domain string
		must(t, errorOf(fmt.Sscan(column, &table, &name, &domain)))
		if badOfDomain[domain] == "" {
			t.Errorf("no bad value is known for the domain %s", domain)
			continue
		}
		refuses(t, pool, table, name+" = "+badOfDomain[domain], domain+"_check")
	}
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		t.Errorf("there is no constraint %s", name)
	}
}

// A value that a constraint refuses is the caller's fault, not the server's.
func TestARefusedRowIsAnInvalidValue(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	form := seedForm(t, s)
	status := "closed"
	_, err := s.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Status: &status})
	expect(t, errors.Is(err, storage.ErrInvalidValue), "UpdateForm = %v, want ErrInvalidValue", err)
}

// Every query of the cookbook runs.
func TestTheCookbookRuns(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(1))
	schema := filled(t, pool, pgseed.Size{Forms: 3, Submissions: 3, AnswerBytes: 1, Webhooks: 1, Deliveries: 1, Attempts: 1, Partials: 1, Minutes: 3})
	text, err := os.ReadFile("cookbook.sql")
	must(t, err)
	book := strings.NewReplacer(
		"search_path = formsvc", "search_path = "+schema,
		":'form'", "'"+pgseed.ID(pgseed.Form, 0).String()+"'",
		":'webhook'", "'"+pgseed.ID(pgseed.Webhook, 0).String()+"'",
		":'user'", "'"+pgseed.ID(pgseed.User, 0).String()+"'",
		":'workspace'", "'"+pgseed.ID(pgseed.Workspace, 0).String()+"'",
	).Replace(string(text))
	empty := map[string]bool{"5": true, "7": true, "9": true, // days long past, no trash, no failures
		"13": true, "14": true, "18": true} // nobody else is there, no slots, no standbys
	queries := regexp.MustCompile(`(?m)^-- (\d+)\. `).FindAllStringSubmatchIndex(book, -1)
	if len(queries) < 20 {
		t.Fatalf("%d queries", len(queries))
	}
	run(t, pool, book[:queries[0][0]])
	for i, at := range queries {
		end := len(book)
		if i+1 < len(queries) {
			end = queries[i+1][0]
		}
		number := book[at[2]:at[3]]
		rows, err := pool.Query(t.Context(), book[at[0]:end])
		must(t, err)
		found := 0
		for rows.Next() {
			found++
		}
		if rows.Close(); rows.Err() != nil || found == 0 && !empty[number] {
			t.Errorf("query %s: %d rows, %v", number, found, rows.Err())
		}
	}
}

// What operations.md says a response and a delivery take of the disk and of the log. With
// FORMSVC_TEST_AT_SIZE it is 30,000 responses of each kind, in partitions too.
func TestBytesAreThoseOfTheDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	text, err := os.ReadFile("operations.md")
	must(t, err)
	said := map[string]float64{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \| [\d,]+ \| ([\d,]+) \|$`).FindAllStringSubmatch(string(text), -1) {
		if said[row[1]], err = strconv.ParseFloat(strings.ReplaceAll(row[2], ",", ""), 64); err != nil {
			t.Fatal(err)
		}
	}
	n, tables := 4000, []func(*testing.T) string{func(t *testing.T) string { return migrations(t, "up") }}
	if os.Getenv("FORMSVC_TEST_AT_SIZE") != "" {
		n, tables = 30_000, append(tables, inPartitions)
	}
	for _, up := range tables {
		for what, is := range measuredBytes(t, up(t), n) {
			if share := is / said[what]; math.Abs(share-1) > 0.15 { // nor when nothing is said
				t.Errorf("%s: %.0f bytes, the documentation says %.0f", what, is, said[what])
			}
			t.Logf("%s: %.0f", what, is)
		}
	}
}

const bytesForms = 100 // with a webhook, and as many without

// measuredBytes stores n responses to forms without a webhook and n to forms with one, and
// sends the deliveries.
func measuredBytes(t *testing.T, up string, n int) map[string]float64 {
	t.Helper()
	server := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{"autovacuum": "off", "max_wal_size": "20GB"}})
	pool := pgtest.PoolAt(t, server.URL(), pgtest.MaxConns(16))
	createTablesFrom(t, pool, DefaultSchema, up)
	must(t, pgseed.Fill(t.Context(), pool, DefaultSchema, pgseed.Size{Forms: 2 * bytesForms, AnswerBytes: 100, Webhooks: bytesForms}))
	s := New(pool)
	number := func(text string) (n float64) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), text).Scan(&n); err != nil {
			t.Fatal(err, text)
		}
		return n
	}
	logged := func(do func()) float64 {
		t.Helper()
		before := number(`SELECT (pg_current_wal_insert_lsn() - '0/0')::float8`)
		do()
		return (number(`SELECT (pg_current_wal_insert_lsn() - '0/0')::float8`) - before) / float64(n)
	}
	size := func(function, table string) float64 {
		t.Helper()
		return number(fmt.Sprintf(`SELECT sum(%s(c.oid))::float8 / (SELECT count(*) FROM formsvc.%[2]s)
			FROM pg_class c LEFT JOIN pg_inherits h ON h.inhrelid = c.oid
			WHERE c.relkind = 'r' AND COALESCE(h.inhparent, c.oid) = 'formsvc.%[2]s'::regclass`, function, table))
	}
	is := map[string]float64{}
	is["WAL of a submission without a webhook"] = logged(func() { submitMany(t, s, bytesForms, n) })
	is["submission, table"], is["submission, indexes"] = size("pg_table_size", "submissions"), size("pg_indexes_size", "submissions")
	must(t, errorOf(pool.Exec(t.Context(), `ANALYZE`))) // the server does it by itself after a minute
	is["WAL of a submission with a webhook"] = logged(func() { submitMany(t, s, 0, n) })
	is["event, once for all webhooks"] = size("pg_total_relation_size", "events")
	is["pending delivery"] = size("pg_total_relation_size", "deliveries")
	is["WAL of sending a delivery"] = logged(func() { sendAll(t, s, n) })
	is["attempt"] = size("pg_total_relation_size", "attempts")
	is["WAL of a partial submission"] = logged(func() { saveMany(t, s, n, true) })
	is["partial submission"] = size("pg_total_relation_size", "partials")
	is["WAL of another save"] = logged(func() { saveMany(t, s, n, false) })
	return is
}

// submitMany stores n responses to a hundred forms as they come from many callers.
func submitMany(t *testing.T, s *Store, first, n int) {
	t.Helper()
	ids := objectid.NewSource()
	many(t, n, func(i int) error {
		now := time.Now().UTC().Truncate(time.Second)
		_, _, err := s.Submit(t.Context(), storage.NewSubmission{
			Submission: storage.Submission{
				ID: ids.New(now), FormID: pgseed.ID(pgseed.Form, first+i%bytesForms), SubmittedAt: now, CompletionTime: 12.5,
				Answers: pgseed.Answers(300), Metadata: []byte(`{"country":"DE","device":"desktop"}`), Hidden: []byte(`{}`),
			},
			FormRevision: 1, IdempotencyKey: objectid.RandomText(22),
			Event: storage.Event{ID: ids.New(now), Type: "form.response.completed", Body: pgseed.Answers(600)},
		})
		return err
	})
}

// many makes n calls as they come from many callers.
func many(t *testing.T, n int, call func(i int) error) {
	t.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := call(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// saveMany makes or changes n partial submissions of a hundred forms.
func saveMany(t *testing.T, s *Store, n int, fresh bool) {
	t.Helper()
	ids := objectid.NewSource()
	many(t, n, func(i int) error {
		now := time.Now().UTC()
		_, err := s.SavePartial(t.Context(), storage.SavePartialParams{New: fresh, Token: sha256.Sum256(fmt.Append(nil, i)), Partial: storage.Partial{
			ID: ids.New(now), FormID: pgseed.ID(pgseed.Form, i%bytesForms), SavedAt: now, EndsAt: now.Truncate(24*time.Hour).AddDate(0, 0, 31),
			Answers: pgseed.Answers(300), Metadata: []byte(`{"country":"DE","device":"desktop"}`), Hidden: []byte(`{}`), Block: "question-02", Seconds: 12.5,
		}})
		return err
	})
}

// sendAll ends n deliveries as a busy process does.
func sendAll(t *testing.T, s *Store, n int) {
	t.Helper()
	for sent := 0; sent < n; {
		claimed, _, err := s.ClaimDeliveries(t.Context(), everything())
		must(t, err)
		for len(claimed) > 0 {
			done := make([]storage.Result, min(len(claimed), storage.MaxFinishedResults))
			for i := range done {
				sent++
				done[i] = ended(claimed[i], sent)
				done[i].Health.Succeeded = true
			}
			finish(t, s, done...)
			claimed = claimed[len(done):]
		}
	}
}

// A poll writes nothing but once a minute, whatever number of processes polls, and waits for
// nobody who holds the note.
func TestWorkIsNotedRarely(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	claim := func(s *Store) {
		t.Helper()
		must(t, lastError(s.ClaimDeliveries(t.Context(), storage.ClaimParams{})))
	}
	version := func() (xmin string) {
		t.Helper()
		must(t, pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT xmin::text FROM formsvc.upkeep WHERE work = 'dispatched'`)).Scan(&xmin))
		return xmin
	}
	another := func() *Store { return New(pool, WithSchema(s.db.Schema)) }
	made := version()
	claim(s)
	first := version()
	expect(t, first != made, "the first claim was not noted")
	claim(another())
	expect(t, version() == first, "another process noted again within a minute")
	execute(t, pool, s, `UPDATE formsvc.upkeep SET done_at = done_at - interval '61 seconds'`)
	old := version()
	claim(s)
	expect(t, version() == old, "the same process noted again within a minute")
	claim(another())
	again := version()
	expect(t, again != old, "another process did not note after a minute")
	execute(t, pool, s, `UPDATE formsvc.upkeep SET done_at = done_at + interval '1 day'`)
	ahead := version()
	claim(another())
	expect(t, version() != ahead, "a note from the time before the clock was set back stays")

	execute(t, pool, s, `UPDATE formsvc.upkeep SET done_at = NULL`)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), s.db.RewriteSQL(`SELECT FROM formsvc.upkeep FOR UPDATE`)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, _, err := another().ClaimDeliveries(ctx, storage.ClaimParams{})
		return errors.Join(err, ctx.Err()) // the note fails silently when it waits until then
	})
	expect(t, err == nil, "a claim while somebody holds the note: %v", err)
}

// A host that empties all tables is not told that nobody works.
func TestUpkeepWithoutRows(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	execute(t, pool, s, `DELETE FROM formsvc.upkeep`)
	u, err := s.MaintenanceStatus(t.Context())
	if err != nil || u.Since != u.Now || !u.LastDispatch.IsZero() || !u.LastMaintenance.IsZero() {
		t.Errorf("Upkeep = %+v, %v", u, err)
	}
}
