package postgres

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
)

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
	is["log of a response without a webhook"] = logged(func() { submitMany(t, s, bytesForms, n) })
	is["response, its table"], is["response, its indexes"] = size("pg_table_size", "submissions"), size("pg_indexes_size", "submissions")
	if _, err := pool.Exec(t.Context(), `ANALYZE`); err != nil { // the server does it by itself after a minute
		t.Fatal(err)
	}
	is["log of a response with a webhook"] = logged(func() { submitMany(t, s, 0, n) })
	is["event, once for all webhooks"] = size("pg_total_relation_size", "events")
	is["delivery that waits"] = size("pg_total_relation_size", "deliveries")
	is["log of sending a delivery"] = logged(func() { sendAll(t, s, n) })
	is["attempt"] = size("pg_total_relation_size", "attempts")
	is["log of a partial submission"] = logged(func() { saveMany(t, s, n, true) })
	is["partial submission"] = size("pg_total_relation_size", "partials")
	is["log of another save of it"] = logged(func() { saveMany(t, s, n, false) })
	return is
}

// submitMany stores n responses to a hundred forms as they come from many callers.
func submitMany(t *testing.T, s *Store, first, n int) {
	t.Helper()
	ids := objectid.NewSource()
	var next atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				now := time.Now().UTC().Truncate(time.Second)
				if _, _, err := s.Submit(t.Context(), storage.NewSubmission{
					Submission: storage.Submission{
						ID: ids.New(now), FormID: pgseed.ID(pgseed.Form, first+i%bytesForms), SubmittedAt: now, CompletionTime: 12.5,
						Answers: pgseed.Answers(300), Metadata: []byte(`{"country":"DE","device":"desktop"}`), Hidden: []byte(`{}`),
					},
					FormRevision: 1, IdempotencyKey: objectid.Random(22),
					Event: storage.Event{ID: ids.New(now), Type: "form.response.completed", Body: pgseed.Answers(600)},
				}); err != nil {
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
	var group sync.WaitGroup
	for first := range 16 {
		group.Go(func() {
			for i := first; i < n; i += 16 {
				now := time.Now().UTC()
				if _, err := s.SavePartial(t.Context(), storage.SavePartialParams{New: fresh, Token: sha256.Sum256(fmt.Append(nil, i)), Partial: storage.Partial{
					ID: ids.New(now), FormID: pgseed.ID(pgseed.Form, i%bytesForms), SavedAt: now, EndsAt: now.Truncate(24*time.Hour).AddDate(0, 0, 31),
					Answers: pgseed.Answers(300), Metadata: []byte(`{"country":"DE","device":"desktop"}`), Hidden: []byte(`{}`), Block: "question-02", Seconds: 12.5,
				}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// sendAll ends n deliveries as a busy process does.
func sendAll(t *testing.T, s *Store, n int) {
	t.Helper()
	for sent := 0; sent < n; {
		claimed, _, err := s.ClaimDeliveries(t.Context(), everything())
		must(t, err)
		for len(claimed) > 0 {
			done := make([]storage.Result, min(len(claimed), storage.FinishMax))
			for i := range done {
				sent++
				done[i] = ended(claimed[i], sent)
				done[i].Standing.Succeeded = true
			}
			finish(t, s, done...)
			claimed = claimed[len(done):]
		}
	}
}
