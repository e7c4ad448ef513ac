package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// concurrency of the benchmarks.
const concurrency = 16

// Each benchmark runs the bare alternative first, on the same server, and tells
// the ratio of the two rates. Those that write want a server with fsync on:
//
//	go run ./internal/lab/pgtest/with -fsync go test ./storage/postgres -run - -bench .

// benchStore returns a store on a schema of its own that is filled, and its pool.
func benchStore(b *testing.B, size pgseed.Size) (*Store, *pgxpool.Pool, string) {
	b.Helper()
	pool := pgtest.Pool(b, pgtest.MaxConns(concurrency))
	schema := filled(b, pool, size)
	return New(pool, WithSchema(schema)), pool, schema
}

// rate calls f from as many goroutines as there are connections until d has
// passed, and returns the calls a second.
func rate(b *testing.B, d time.Duration, f func(ctx context.Context) error) float64 {
	b.Helper()
	var calls atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range concurrency {
		wg.Go(func() {
			for time.Since(start) < d {
				if err := f(b.Context()); err != nil {
					b.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(calls.Load()) / time.Since(start).Seconds()
}

// beside runs f in parallel and tells how its rate compares to that of the bare
// alternative.
func beside(b *testing.B, bare float64, f func(ctx context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	b.SetParallelism((concurrency + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := f(b.Context()); err != nil {
				b.Error(err)
				return
			}
		}
	})
	own := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(own, "ops/s")
	b.ReportMetric(own/bare, "x-bare")
}

const bareTime = 3 * time.Second

// One popular form, and the forms of many customers, each with one webhook, beside two rows in
// one statement.
func BenchmarkSubmit(b *testing.B) {
	const most = 50 // forms
	s, pool, schema := benchStore(b, pgseed.Size{Forms: most, AnswerBytes: 1000, Webhooks: most})
	needFsync(b, pool)
	bare := bareSubmits(b, pool, schema, bareTime)
	answers := pgseed.Answers(1000)
	var number atomic.Int64
	for _, forms := range []int{1, most} {
		b.Run(fmt.Sprintf("%d forms with one webhook each", forms), func(b *testing.B) {
			beside(b, bare, func(ctx context.Context) error {
				i := int(number.Add(1))
				now := time.Now()
				_, _, err := s.Submit(ctx, storage.NewSubmission{
					Submission: storage.Submission{
						ID: pgseed.ID(pgseed.Submission, i), FormID: pgseed.ID(pgseed.Form, i%forms), SubmittedAt: now, CompletionTime: 12.5,
						Answers: answers, Metadata: json.RawMessage(`{"country":"NL"}`), Hidden: json.RawMessage(`{}`),
					},
					FormRevision: 1,
					Event:        storage.Event{ID: pgseed.ID(pgseed.Event, i), Type: "form.response.completed", Body: answers},
				})
				return err
			})
		})
	}
}

// needFsync skips the benchmark where fsync is off: a commit would cost nothing.
func needFsync(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	var fsync string
	if err := pool.QueryRow(b.Context(), "SHOW fsync").Scan(&fsync); err != nil {
		b.Fatal(err)
	}
	if fsync != "on" {
		b.Skip("the server runs without fsync")
	}
}

const bareTables = `
CREATE TABLE formsvc.bare_submissions (id bytea PRIMARY KEY, form_id bytea NOT NULL, submitted_at timestamptz NOT NULL, answers json NOT NULL);
CREATE TABLE formsvc.bare_outbox (id bytea PRIMARY KEY, submission_id bytea NOT NULL, due_at timestamptz NOT NULL, body bytea NOT NULL)`

const bareInsert = `WITH s AS (
	INSERT INTO formsvc.bare_submissions VALUES (decode(substr(md5(random()::text), 1, 24), 'hex'), '\x01', clock_timestamp(), 'ANSWERS') RETURNING id
) INSERT INTO formsvc.bare_outbox SELECT decode(substr(md5(random()::text), 1, 24), 'hex'), id, clock_timestamp(), 'ANSWERS'::text::bytea FROM s`

// bareSubmits returns how many two-row inserts a second pgbench makes, or pgx
// where there is no pgbench.
func bareSubmits(b *testing.B, pool *pgxpool.Pool, schema string, d time.Duration) float64 {
	b.Helper()
	name := pgx.Identifier{schema}.Sanitize() + "."
	if _, err := pool.Exec(b.Context(), strings.ReplaceAll(bareTables, "formsvc.", name), pgx.QueryExecModeSimpleProtocol); err != nil {
		b.Fatal(err)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(bareInsert, "formsvc.", name), "ANSWERS", string(pgseed.Answers(1000)))
	program, err := pgbench()
	if err != nil {
		b.Logf("the bare alternative is pgx: %v", err)
		return rate(b, d, func(ctx context.Context) error {
			_, err := pool.Exec(ctx, text)
			return err
		})
	}
	script := filepath.Join(b.TempDir(), "insert.sql")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(text, "\n", " ")+";\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	out, err := exec.CommandContext(b.Context(), program, "-n", "-c", strconv.Itoa(concurrency), "-j", "2",
		"-T", fmt.Sprintf("%.0f", d.Seconds()), "-f", script, pgtest.URL(b)).CombinedOutput()
	if err != nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	m := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		b.Fatalf("pgbench tells no rate:\n%s", out)
	}
	tps, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("pgbench: %.0f a second", tps)
	return tps
}

func pgbench() (string, error) {
	if program, err := exec.LookPath("pgbench"); err == nil {
		return program, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("there is no pgbench: %w", exec.ErrNotFound)
	}
	return found[len(found)-1], nil
}

// What a start costs when the tables are there already.
func BenchmarkMigrateNothing(b *testing.B) {
	pool := pgtest.Pool(b)
	schema := pgtest.Schema(b)
	for range 3 {
		if err := Migrate(b.Context(), pool, WithSchema(schema)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := Migrate(b.Context(), pool, WithSchema(schema)); err != nil {
			b.Fatal(err)
		}
	}
}

// A form of 4.8 kB, beside the same bytes by their primary key.
func BenchmarkForm(b *testing.B) {
	s, pool, schema := benchStore(b, pgseed.Size{Forms: 1000, Others: 1000, AnswerBytes: 100})
	form := benchForm(b, s)
	body := slices.Concat(form.Definition.Blocks, form.Definition.Settings, form.Definition.Theme)
	name := pgx.Identifier{schema}.Sanitize()
	if _, err := pool.Exec(b.Context(), "CREATE TABLE "+name+".bare_forms (id bytea PRIMARY KEY, body bytea NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		id := pgseed.ID(pgseed.Form, i)
		if _, err := pool.Exec(b.Context(), "INSERT INTO "+name+".bare_forms VALUES ($1, $2)", id[:], body); err != nil {
			b.Fatal(err)
		}
	}
	text := "SELECT body FROM " + name + ".bare_forms WHERE id = $1"
	id := pgseed.ID(pgseed.Form, 500)
	read := func(ctx context.Context) error {
		var got []byte
		return pool.QueryRow(ctx, text, id[:]).Scan(&got)
	}
	user, hash := storage.As(pgseed.ID(pgseed.User, 0)), pgseed.KeyHash(0)

	bare := rate(b, bareTime, read)
	b.Run("Form", func(b *testing.B) {
		beside(b, bare, func(ctx context.Context) error {
			_, err := s.Form(ctx, user, form.ID)
			return err
		})
	})
	b.Run("FormForKey", func(b *testing.B) {
		beside(b, bare, func(ctx context.Context) error {
			got, err := s.FormForKey(ctx, storage.FormForKeyParams{Hash: hash, Form: form.ID, Scope: storage.ScopeFormsRead})
			if err == nil && got.Form == nil {
				err = storage.ErrNotFound
			}
			return err
		})
	})
}

// benchForm adds a form of 4.8 kB to the seeded workspace.
func benchForm(b *testing.B, s *Store) storage.Form {
	b.Helper()
	now := pgseed.Start()
	f := storage.Form{
		ID: storage.ID{1}, PublicID: "bench", WorkspaceID: pgseed.ID(pgseed.Workspace, 0),
		Type: "SINGLE", Status: storage.StatusPublished, Revision: 1, CreatedAt: now, UpdatedAt: now,
		FormContent: storage.FormContent{Name: "Form", Definition: storage.Definition{
			Blocks: pgseed.Answers(4000), Settings: json.RawMessage(`{"branding":true}`), Theme: json.RawMessage(`{"font":"Inter"}`),
			Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`), Format: 1,
		}},
	}
	if err := s.CreateForm(b.Context(), storage.AsHost(), f); err != nil {
		b.Fatal(err)
	}
	return f
}

// The newest 100 of 10,000 submissions, beside a select of the same columns.
func BenchmarkSubmissions(b *testing.B) {
	s, pool, schema := benchStore(b, pgseed.Size{Forms: 1, Submissions: 10_000, AnswerBytes: 1000})
	form := pgseed.ID(pgseed.Form, 0)
	text := "SELECT id, submitted_at, completion_time, answers, metadata, hidden FROM " + pgx.Identifier{schema}.Sanitize() +
		".submissions WHERE form_id = $1 ORDER BY submitted_at DESC, id DESC LIMIT 100"
	bare := rate(b, bareTime, func(ctx context.Context) error {
		rows, err := pool.Query(ctx, text, form[:])
		if err != nil {
			return err
		}
		defer rows.Close()
		page := make([]byte, 0, 256<<10)
		for rows.Next() {
			for _, v := range rows.RawValues() {
				page = append(page, v...)
			}
		}
		if rows.Err() == nil && len(page) < 100*1000 {
			return io.ErrUnexpectedEOF
		}
		return rows.Err()
	})
	user := storage.As(pgseed.ID(pgseed.User, 0))
	b.Run("a page of 100", func(b *testing.B) {
		beside(b, bare, func(ctx context.Context) error {
			page, err := storage.ListSubmissions(ctx, s, user, form, storage.SubmissionsParams{Page: storage.Page{Limit: 100}})
			if err == nil && len(page.Submissions) != 100 {
				err = storage.ErrNotFound
			}
			return err
		})
	})
}
