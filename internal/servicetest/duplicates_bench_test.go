package servicetest_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// BenchmarkEnteringOldResponses sets settings.duplicateField for a form that has
// FORMSVC_BENCH_RESPONSES responses (default 20,000) and calls Maintain until it is
// covered, while somebody goes on submitting to the form.
func BenchmarkEnteringOldResponses(bench *testing.B) {
	n := 20_000
	if set := os.Getenv("FORMSVC_BENCH_RESPONSES"); set != "" {
		n, _ = strconv.Atoi(set)
	}
	schema, pool := pgtest.Schema(bench), pgtest.Pool(bench, pgtest.MaxConns(8))
	if err := postgres.Migrate(bench.Context(), pool, postgres.WithSchema(schema)); err != nil {
		bench.Fatal(err)
	}
	b := servicetest.SetupOn(bench, postgres.New(pool, postgres.WithSchema(schema)), formsvc.WithoutRateLimit())
	for range bench.N {
		form := b.Form(servicetest.MailBlocks, `{}`)
		if _, err := pool.Exec(bench.Context(), fmt.Sprintf(`
			INSERT INTO %s.submissions (form_id, id, submitted_at, completion_time, answers, metadata, hidden, form_revision, json_bytes)
			SELECT $1::bytea, '\x01020304'::bytea || int8send(i), now(), 1,
				format('[{"field":{"id":"mail","type":"email","label":"Your e-mail address"},"value":"Somebody.%%s@Example.com"},'
					|| '{"field":{"id":"name","type":"short_text","label":"Your name"},"value":"Somebody with an ordinary name"}]', i)::json,
				'{"country":"NL"}', '{}', 2, 300
			FROM generate_series(1, $2::integer) i`, pgx.Identifier{schema}.Sanitize()), pgx.QueryExecModeExec, form[:], n); err != nil {
			bench.Fatal(err)
		}
		if _, err := pool.Exec(bench.Context(), "ANALYZE "+pgx.Identifier{schema, "submissions"}.Sanitize()); err != nil {
			bench.Fatal(err)
		}
		b.Settings(form, `{"duplicateField":"mail"}`)
		stop := make(chan struct{})
		var waits []time.Duration
		var others sync.WaitGroup
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				begun := time.Now()
				if _, err := b.Answer(form, "mail", fmt.Sprintf(`"new.%d@example.com"`, i)); err != nil && !errors.Is(err, formsvc.ErrDuplicate) {
					bench.Error(err)
				}
				waits = append(waits, time.Since(begun))
			}
		})
		begun := time.Now()
		for covered := false; !covered; {
			if err := b.Maintain(bench.Context()); err != nil {
				bench.Fatal(err)
			}
			f, err := b.AsHost().Form(bench.Context(), form)
			if err != nil {
				bench.Fatal(err)
			}
			covered = f.DuplicatesCovered
		}
		took := time.Since(begun)
		close(stop)
		others.Wait()
		slices.Sort(waits)
		bench.ReportMetric(float64(n)/took.Seconds(), "rows/s")
		bench.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "median-submit-ms")
		bench.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1000, "longest-submit-ms")
	}
}

// BenchmarkSubmitUnique submits from 16 goroutines to one form, without and with a
// duplicateField.
func BenchmarkSubmitUnique(bench *testing.B) {
	for name, settings := range map[string]string{"without": `{}`, "with": `{"duplicateField":"mail"}`} {
		bench.Run(name, func(bench *testing.B) {
			schema, pool := pgtest.Schema(bench), pgtest.Pool(bench, pgtest.MaxConns(8))
			if err := postgres.Migrate(bench.Context(), pool, postgres.WithSchema(schema)); err != nil {
				bench.Fatal(err)
			}
			b := servicetest.SetupOn(bench, postgres.New(pool, postgres.WithSchema(schema)), formsvc.WithoutRateLimit())
			form := b.Form(servicetest.MailBlocks, settings)
			var mu sync.Mutex
			next := 0
			bench.SetParallelism(8)
			bench.ResetTimer()
			bench.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mu.Lock()
					next++
					mail := fmt.Sprintf(`"somebody.%d@example.com"`, next)
					mu.Unlock()
					if _, err := b.Answer(form, "mail", mail); err != nil {
						bench.Error(err)
					}
				}
			})
		})
	}
}
