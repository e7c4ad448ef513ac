// Command exports measures Client.Export and Client.Summary over the responses to one
// form on PostgreSQL: how long they take, and the heap at ten places on the way:
//
//	go run ./internal/lab/pgtest/with -- go run -C internal/lab/bench ./exports
//
// Beside the summary it times what PostgreSQL takes for the least that a summary in SQL
// would have to do: to count the different values of each field.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

const blocks = `[
	{"id":"recommend","type":"nps","label":"Would you recommend us?"},
	{"id":"rating","type":"rating","label":"How was the service?"},
	{"id":"amount","type":"number","label":"How much did you spend?"},
	{"id":"again","type":"yes_no","label":"Would you come again?"},
	{"id":"found","type":"single_choice","label":"How did you find us?","choices":[{"id":"a","label":"A friend"},{"id":"b","label":"The web"}]},
	{"id":"liked","type":"multiple_choice","label":"What did you like?","choices":[{"id":"a","label":"Food"},{"id":"b","label":"Music"},{"id":"c","label":"Staff"}]},
	{"id":"day","type":"date","label":"When were you here?"},
	{"id":"email","type":"email","label":"Your address"},
	{"id":"why","type":"long_text","label":"Why?"}]`

// responses are made by the server: $1 form, $2 how many, one a second, the last ones
// with a block that is not in the form. An id rises with its number.
const responses = `
INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time, answers, metadata, hidden, form_revision, json_bytes)
SELECT $1, decode(lpad(to_hex(n), 24, '0'), 'hex'), '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 second', 12.5, format(
	'[{"field":{"id":"recommend","type":"nps","label":"Would you recommend us?"},"value":%s},'
	'{"field":{"id":"rating","type":"rating","label":"How was the service?"},"value":%s},'
	'{"field":{"id":"amount","type":"number","label":"How much did you spend?"},"value":%s.%s},'
	'{"field":{"id":"again","type":"yes_no","label":"Would you come again?"},"value":%s},'
	'{"field":{"id":"found","type":"single_choice","label":"How did you find us?"},"value":{"id":"a","label":"A friend"}},'
	'{"field":{"id":"liked","type":"multiple_choice","label":"What did you like?"},"value":[{"id":"a","label":"Food"},{"id":"c","label":"Staff"}]},'
	'{"field":{"id":"day","type":"date","label":"When were you here?"},"value":"2026-%s-1%s"},'
	'{"field":{"id":"email","type":"email","label":"Your address"},"value":"person-%s@example.com"},'
	'{"field":{"id":"%s","type":"long_text","label":"Why?"},"value":"=because of %s"}]',
	n % 11, 1 + n % 5, n % 1000, n % 100, CASE WHEN n % 3 = 0 THEN 'true' ELSE 'false' END, lpad((1 + n % 12)::text, 2, '0'), n % 10,
	n, CASE WHEN n < $2 / 10 THEN 'gone' ELSE 'why' END, repeat(md5(n::text), 4))::json, '{"country":"NL"}', '{}', 1, 1100
FROM generate_series(0, $2 - 1) n`

const inSQL = `
SELECT count(*) FROM (
	SELECT a->'field'->>'id', a->>'value', count(*)
	FROM formsvc.submissions s, json_array_elements(s.answers) a
	WHERE s.form_id = $1 AND a->'field'->>'type' NOT IN ('long_text', 'email')
	GROUP BY 1, 2) counts`

func main() {
	n := flag.Int("n", 1_000_000, "responses")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *n); err != nil {
		fmt.Fprintln(os.Stderr, "exports:", err)
		os.Exit(1)
	}
}

// sampled is a storage that notes the heap at ten of the pages that are read.
type sampled struct {
	storage.Storage
	every, read int
	heap        []uint64 // in use after a collection
}

func (s *sampled) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	more, err := s.Storage.Submissions(ctx, who, form, q, func(sub *storage.Submission) error {
		s.read++
		return each(sub)
	})
	if s.read >= s.every {
		s.read -= s.every
		runtime.GC() // what is left is in use
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.heap = append(s.heap, m.HeapAlloc)
	}
	return more, err
}

type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

func run(ctx context.Context, n int) error {
	pool, err := pgxpool.New(ctx, os.Getenv("FORMSVC_TEST_DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	schema := pgx.Identifier{postgres.DefaultSchema}.Sanitize()
	var taken bool
	if err := pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", postgres.DefaultSchema).Scan(&taken); err != nil || taken {
		return fmt.Errorf("the schema %s is there already (%w)", schema, err)
	}
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	defer func() { _, _ = pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+schema+" CASCADE") }()

	store := &sampled{Storage: postgres.New(pool)}
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		return err
	}
	c := svc.As(formsvc.UserIDFrom("ann"))
	w, err := c.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "W"})
	if err != nil {
		return err
	}
	f, err := c.CreateForm(ctx, formsvc.FormCreate{Workspace: w.ID, Name: "F", Definition: formsvc.Definition{Blocks: json.RawMessage(blocks)}})
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, responses, f.ID[:], n); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, "VACUUM ANALYZE "+schema+".submissions", pgx.QueryExecModeExec); err != nil {
		return err
	}
	for _, m := range []struct {
		name   string
		passes int
		do     func(io.Writer) error
	}{
		{"NDJSON", 1, func(w io.Writer) error { return c.Export(ctx, w, f.ID, formsvc.Export{Format: formsvc.NDJSON}) }},
		{"CSV", 2, func(w io.Writer) error { return c.Export(ctx, w, f.ID, formsvc.Export{}) }},
		{"summary", 1, func(io.Writer) error {
			_, err := c.Summary(ctx, f.ID, formsvc.SubmissionQuery{})
			return err
		}},
	} {
		store.every, store.read, store.heap = m.passes*n/10, 0, nil
		var out counter
		began := time.Now()
		if err := m.do(&out); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("%s of %d responses: %.1f s, %.0f MB; heap in MB", m.name, n, time.Since(began).Seconds(), float64(out.bytes)/1e6)
		for _, h := range store.heap {
			fmt.Printf(" %.1f", float64(h)/1e6)
		}
		fmt.Println()
	}
	began := time.Now()
	var values int
	if err := pool.QueryRow(ctx, inSQL, f.ID[:]).Scan(&values); err != nil {
		return err
	}
	fmt.Printf("counting the %d different values in SQL: %.1f s\n", values, time.Since(began).Seconds())
	return nil
}
