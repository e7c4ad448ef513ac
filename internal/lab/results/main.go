// Command results measures what owners do with many submissions, next to the same without a filter:
//
//	go run ./internal/lab/pgtest/with -fsync -- go run ./internal/lab/results [-rows n] [-rounds n] [-duration d] [-brief]
//
// It prints the costs of summaries with filters as ratios to the plain summary of the same round, because the speed of a
// shared machine changes. It then prints how long lists and stops take, how long other people's submissions take in the
// meantime, and what changes of submissions leave to vacuum. CPU is the processor time of this process, without
// PostgreSQL's.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/postgres"
)

func main() {
	rows := flag.Int("rows", 1_000_000, "submissions of the form")
	rounds := flag.Int("rounds", 3, "how often each filter is measured")
	duration := flag.Duration("duration", 8*time.Second, "of other people's submissions, each time")
	brief := flag.Bool("brief", false, "measure only what owners wait for: summaries and lists")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rows, *rounds, *duration, *brief); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// resultsForm has the questions of rows in resultsRows.
const resultsForm = `[{"id":"nps","type":"nps","label":"Would you recommend us?"},{"id":"age","type":"number","label":"How old are you?"},
	{"id":"one","type":"single_choice","label":"Which one?","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]},
	{"id":"yes","type":"yes_no","label":"Have you been here before?"},{"id":"day","type":"date","label":"When was that?"},
	{"id":"name","type":"short_text","label":"What is your name?"},{"id":"why","type":"long_text","label":"Why?"},
	{"id":"mail","type":"email","label":"How do we reach you?"},{"id":"rate","type":"rating","label":"How was it?"}]`

// resultsRows makes rows of nine answers in the last 100 days. Every thousandth mentions the delivery.
const resultsRows = `INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time, answers, metadata, hidden, form_revision, json_bytes)
	SELECT $1, decode(lpad(to_hex(n), 24, '0'), 'hex'), $3::timestamptz - n * (interval '100 days' / $2::bigint), 12.5, (a.list)::json, '{}', '{}', 1, length(a.list) + 4
	FROM generate_series(1, $2::bigint) AS n, LATERAL (SELECT
		'[{"field":{"id":"nps","type":"nps","label":"Would you recommend us?"},"value":' || n % 11 || '},{"field":{"id":"age","type":"number","label":"How old are you?"},"value":' || 18 + n % 60
		|| '},{"field":{"id":"one","type":"single_choice","label":"Which one?"},"value":{"id":"a","label":"Apple"}},{"field":{"id":"yes","type":"yes_no","label":"Have you been here before?"},"value":'
		|| (n % 3 = 0) || '},{"field":{"id":"day","type":"date","label":"When was that?"},"value":"2026-01-' || lpad((1 + n % 28)::text, 2, '0')
		|| '"},{"field":{"id":"name","type":"short_text","label":"What is your name?"},"value":"Ann Number ' || n || '"},{"field":{"id":"why","type":"long_text","label":"Why?"},"value":"'
		|| CASE WHEN n % 1000 = 0 THEN 'The Délivery was late' ELSE 'It was as good as I had hoped, thank you' END
		|| '"},{"field":{"id":"mail","type":"email","label":"How do we reach you?"},"value":"ann' || n || '@example.com"},{"field":{"id":"rate","type":"rating","label":"How was it?"},"value":' || 1 + n % 5 || '}]' AS list) a`

// results are the submissions of a form in a schema of its own.
type results struct {
	pool        *pgxpool.Pool
	schema      string
	service     *formsvc.Service
	form, other formsvc.ID // other gets the submissions of other people
}

func run(ctx context.Context, rows, rounds int, duration time.Duration, brief bool) (err error) {
	pool, err := pgxpool.New(ctx, os.Getenv("FORMSVC_TEST_DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	r := &results{pool: pool, schema: fmt.Sprintf("results_%d", os.Getpid())}
	defer func() {
		_, dropped := pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+pgx.Identifier{r.schema}.Sanitize()+" CASCADE")
		err = errors.Join(err, dropped)
	}()
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema(r.schema)); err != nil {
		return err
	}
	if r.service, err = r.newService(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.service.Close(context.WithoutCancel(ctx))) }()
	if err := r.fill(ctx, rows); err != nil {
		return err
	}
	measures := []func() error{
		func() error { return r.ratios(ctx, rounds) }, func() error { return r.again(ctx, rounds) }, func() error { return r.search(ctx) },
		func() error { return r.stops(ctx) }, func() error { return r.others(ctx, rounds, duration) },
		func() error { return r.changes(ctx, rows) },
	}
	if brief {
		measures = measures[:3]
	}
	for _, measure := range measures {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// newService returns a service that has cached nothing.
func (r *results) newService() (*formsvc.Service, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return formsvc.New(formsvc.WithStorage(postgres.New(r.pool, postgres.WithSchema(r.schema))), formsvc.WithoutRateLimit(), formsvc.WithLogger(log))
}

// fill stores the rows of one of two forms.
func (r *results) fill(ctx context.Context, rows int) error {
	w, err := r.service.CreateWorkspace(ctx, formsvc.UserIDFrom("ann"), "Workspace")
	for _, form := range []*formsvc.ID{&r.form, &r.other} {
		var f formsvc.Form
		if err == nil {
			f, err = r.service.AsHost().CreateForm(ctx, formsvc.FormCreate{Workspace: w.ID, Name: "Form", Definition: formsvc.Definition{Blocks: []byte(resultsForm)}})
		}
		if err == nil {
			_, err = r.service.AsHost().PublishForm(ctx, f.ID)
		}
		*form = f.ID
	}
	if err == nil {
		_, err = r.pool.Exec(ctx, r.inSchema(resultsRows), r.form[:], rows, time.Now().Add(-time.Hour))
	}
	if err == nil {
		_, err = r.pool.Exec(ctx, r.inSchema(`VACUUM ANALYZE formsvc.submissions`))
	}
	return err
}

func (r *results) inSchema(sql string) string {
	return strings.ReplaceAll(sql, "formsvc.", pgx.Identifier{r.schema}.Sanitize()+".")
}

// used returns the processor time of this process.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for another process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func medianOf(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// filters of summaries; the second selects all rows, so it counts as much as the summary without a filter.
var filters = []struct {
	name string
	q    formsvc.SubmissionQuery
}{
	{"no filter", formsvc.SubmissionQuery{}},
	{"condition on all rows", formsvc.SubmissionQuery{Where: schema.When("nps").AtLeast(0)}},
	{"detractors", formsvc.SubmissionQuery{Where: schema.When("nps").Below(7)}},
	{"text", formsvc.SubmissionQuery{Text: "delivery"}},
	{"detractors with text", formsvc.SubmissionQuery{Where: schema.When("nps").Below(7), Text: "delivery"}},
}

// ratios prints the costs of each filter, as ratios to the summary without a filter in the same round.
func (r *results) ratios(ctx context.Context, rounds int) error {
	wall, cpu := make([][]float64, len(filters)), make([][]float64, len(filters))
	read := make([]formsvc.Summary, len(filters))
	for range rounds {
		for i, f := range filters {
			service, err := r.newService()
			if err != nil {
				return err
			}
			began, before := time.Now(), used()
			read[i], err = service.AsHost().Summary(ctx, r.form, f.q)
			wall[i] = append(wall[i], time.Since(began).Seconds())
			cpu[i] = append(cpu[i], (used() - before).Seconds())
			if err = errors.Join(err, service.Close(ctx)); err != nil {
				return err
			}
		}
	}
	fmt.Printf("summaries, medians of %d rounds\n  %-24s %9s %9s %8s %8s %8s %8s\n", rounds, "", "read", "selected", "s", "ratio", "CPU s", "ratio")
	for i, f := range filters {
		ratio := func(of [][]float64) float64 {
			list := make([]float64, rounds)
			for round := range list {
				list[round] = of[i][round] / of[0][round]
			}
			return medianOf(list)
		}
		fmt.Printf("  %-24s %9d %9d %8.2f %8.2f %8.2f %8.2f\n", f.name, read[i].Read, read[i].Submissions, medianOf(wall[i]), ratio(wall), medianOf(cpu[i]), ratio(cpu))
	}
	return nil
}

// again prints how long a summary takes when the service has counted the days before, and how long the first rows of
// a filtered list take.
func (r *results) again(ctx context.Context, rounds int) error {
	if _, err := r.service.AsHost().Summary(ctx, r.form, formsvc.SubmissionQuery{}); err != nil {
		return err
	}
	var cached, newest []float64
	for range rounds {
		start := time.Now()
		if _, err := r.service.AsHost().Summary(ctx, r.form, formsvc.SubmissionQuery{}); err != nil {
			return err
		}
		cached = append(cached, time.Since(start).Seconds())
		q, start := formsvc.SubmissionQuery{Where: filters[2].q.Where, Limit: 50}, time.Now()
		if _, err := r.service.AsHost().SubmissionPage(ctx, r.form, q, 150*time.Millisecond); err != nil {
			return err
		}
		newest = append(newest, time.Since(start).Seconds())
	}
	fmt.Printf("summary whose days are counted: %.3f s; first 50 rows of detractors: %.3f s (medians)\n", medianOf(cached), medianOf(newest))
	return nil
}

// search reads the pages of a list as the builder does, and prints how long a page takes.
func (r *results) search(ctx context.Context) error {
	for _, f := range filters[2:] {
		q, began := f.q, time.Now()
		q.Limit = 1 << 20
		found, times := 0, []float64(nil)
		for more := true; more; {
			start := time.Now()
			page, err := r.service.AsHost().SubmissionPage(ctx, r.form, q, 150*time.Millisecond)
			if err != nil {
				return err
			}
			found, times, q.After, more = found+len(page.Submissions), append(times, time.Since(start).Seconds()), page.Next, page.Next != nil
		}
		fmt.Printf("list of %s: %d found in %.1f s, %d pages of at most %.3f s\n", f.name, found, time.Since(began).Seconds(), len(times), slices.Max(times))
	}
	return nil
}

// stops prints how long a read takes to return after its context has ended.
func (r *results) stops(ctx context.Context) error {
	q := filters[4].q
	for name, read := range map[string]func(context.Context) error{
		"a summary": func(ctx context.Context) error {
			service, err := r.newService()
			if err == nil {
				_, err = service.AsHost().Summary(ctx, r.form, q)
			}
			return errors.Join(err, service.Close(context.WithoutCancel(ctx)))
		},
		"a list": func(ctx context.Context) error {
			_, err := r.service.AsHost().SubmissionPage(ctx, r.form, formsvc.SubmissionQuery{Text: "nobody wrote this"}, time.Hour)
			return err
		},
		"an export": func(ctx context.Context) error {
			return r.service.AsHost().Export(ctx, io.Discard, r.form, formsvc.Export{Format: formsvc.CSV, Where: q.Where, Text: q.Text})
		},
	} {
		var times []float64
		for i := range 10 {
			ctx, cancel := context.WithCancel(ctx)
			var stopped time.Time
			stop := time.AfterFunc(time.Duration(100+30*i)*time.Millisecond, func() { stopped = time.Now(); cancel() })
			if err := read(ctx); !errors.Is(err, context.Canceled) {
				return errors.Join(fmt.Errorf("%s was not stopped: use more rows", name), err)
			}
			times = append(times, time.Since(stopped).Seconds())
			stop.Stop()
			cancel()
		}
		fmt.Printf("stopping %s: %.3f s, at most %.3f s\n", name, medianOf(times), slices.Max(times))
	}
	return nil
}

// others prints the times of other people's submissions, a hundred a second, in turns without and with a summary that
// has a filter.
func (r *results) others(ctx context.Context, rounds int, duration time.Duration) error {
	var alone, busy, ratios []float64
	for range rounds {
		control, err := r.submissions(ctx, duration)
		if err != nil {
			return err
		}
		counting, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			for {
				service, err := r.newService()
				if err == nil {
					_, err = service.AsHost().Summary(counting, r.form, filters[4].q)
					err = errors.Join(err, service.Close(ctx))
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
		during, err := r.submissions(ctx, duration)
		stop()
		if counted := <-ended; !errors.Is(counted, context.Canceled) {
			err = errors.Join(err, counted)
		}
		if err != nil {
			return err
		}
		alone, busy, ratios = append(alone, control), append(busy, during), append(ratios, during/control)
	}
	fmt.Printf("other people's submissions: %.2f ms alone, %.2f ms during a summary, ratio %.2f (medians)\n", medianOf(alone)*1000, medianOf(busy)*1000, medianOf(ratios))
	return nil
}

// submissions returns the median time of a submission in seconds.
func (r *results) submissions(ctx context.Context, duration time.Duration) (float64, error) {
	var times []float64
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < duration; {
		<-tick.C
		start := time.Now()
		_, err := r.service.Submit(ctx, formsvc.SubmitParams{FormID: r.other, Answers: map[string]json.RawMessage{"name": []byte(`"Ann"`), "nps": []byte("9"), "why": []byte(`"It was good"`)}})
		if err != nil {
			return 0, err
		}
		times = append(times, time.Since(start).Seconds())
	}
	return medianOf(times), nil
}

// changes prints what changes of a tenth of the submissions cost and leave, and the same for another tenth after the
// vacuum of the first.
func (r *results) changes(ctx context.Context, rows int) error {
	const sizes = `SELECT pg_table_size('formsvc.submissions') / 1e6, pg_indexes_size('formsvc.submissions') / 1e6,
		pg_total_relation_size('formsvc.submission_history') / 1e6, pg_stat_get_tuples_hot_updated('formsvc.submissions'::regclass)`
	var table, indexes, history [3]float64
	var hot [3]int64
	measure := func(i int) error {
		for _, c := range r.pool.AcquireAllIdle(ctx) {
			_, _ = c.Exec(ctx, "SELECT pg_stat_force_next_flush()") // of the connection's own counters
			c.Release()
		}
		return r.pool.QueryRow(ctx, r.inSchema(sizes)).Scan(&table[i], &indexes[i], &history[i], &hot[i])
	}
	if err := measure(0); err != nil {
		return err
	}
	for i := 1; i <= 2; i++ {
		var times []float64
		for n := i; n <= rows; n += 10 {
			id, err := formsvc.ParseID(fmt.Sprintf("%024x", n))
			start := time.Now()
			if err == nil {
				_, err = r.service.AsHost().UpdateSubmission(ctx, r.form, id, formsvc.SubmissionChange{Answers: map[string]json.RawMessage{"why": []byte(`"It was even better than I had hoped, thank you"`)}})
			}
			if err != nil {
				return err
			}
			times = append(times, time.Since(start).Seconds())
		}
		if err := measure(i); err != nil {
			return err
		}
		start := time.Now()
		if _, err := r.pool.Exec(ctx, r.inSchema(`VACUUM formsvc.submissions`)); err != nil {
			return err
		}
		fmt.Printf("changes %d: %d submissions, %.2f ms each, table %+.0f to %.0f MB, indexes %+.0f to %.0f MB, history %.0f MB, %d HOT, vacuum %.2f s\n",
			i, len(times), medianOf(times)*1000, table[i]-table[i-1], table[i], indexes[i]-indexes[i-1], indexes[i], history[i], hot[i]-hot[i-1], time.Since(start).Seconds())
	}
	return nil
}
