// Command river compares the delivery of webhooks with River
// (https://riverqueue.com) and a worker that does the same work, in one run, on
// one PostgreSQL and with one receiver:
//
//	go run ./internal/lab/pgtest/with -fsync -- go run -C internal/lab/bench ./river
//
// It is run in the folder of the module, where it builds the command deliveries for
// the other side. Deliveries go to 1, 20, 100 and 1,000 destinations. River runs with
// the settings of its own benchmark, a fetch cool-down of 2 ms, polls every 20 ms and
// 2,000 workers, and with fewer workers, which suit requests better; the dispatcher
// with its own number of requests in flight and with as many as River has workers
// then. Each job has the event in its arguments, is signed when it is sent, and counts
// when River recorded its end. River's worker keeps as many idle connections as the
// dispatcher; with -kept 400 it dials anew for most requests to 1,000 destinations.
//
// With -live n it compares instead how many responses a second are stored from n goroutines
// while they are sent: by the service with its dispatcher, and by a transaction with a row and
// a job of River's, whose workers run in the same process.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
)

const (
	databaseURL = "FORMSVC_TEST_DATABASE_URL"
	secret      = "0123456789abcdef0123456789abcdef"
)

// options are what the command line says.
type options struct {
	deliveries   int
	destinations numbers
	workers      numbers
	inFlight     numbers
	connections  int
	kept         int
	rounds       int
	delay        time.Duration
	live         int
	forms        int
}

// numbers are several values of a flag.
type numbers []int

func (n *numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*n)), " ", ","), "[]")
}

func (n *numbers) Set(text string) error {
	*n = nil
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(part)
		if err != nil {
			return err
		}
		*n = append(*n, number)
	}
	return nil
}

func main() {
	o := options{destinations: numbers{1, 20, 100, 1000}, workers: numbers{2000, 200}, inFlight: numbers{0, 200}}
	flag.IntVar(&o.deliveries, "deliveries", 20_000, "how many are pending at the start")
	flag.Var(&o.destinations, "destinations", "how many destinations they are spread over, at most 1,000: `numbers` with commas between them")
	flag.Var(&o.workers, "workers", "River's MaxWorkers: `numbers` with commas between them")
	flag.Var(&o.inFlight, "inflight", "the dispatcher's InFlight: `numbers` with commas between them, 0 for its default")
	flag.IntVar(&o.connections, "connections", 10, "connections to PostgreSQL, for each side")
	flag.IntVar(&o.kept, "kept", 4096, "idle connections to destinations that River's worker keeps")
	flag.IntVar(&o.rounds, "rounds", 3, "how often both are measured, in turns")
	flag.DurationVar(&o.delay, "delay", 0, "how long the receiver takes to answer")
	flag.IntVar(&o.live, "live", 0, "responses at one time")
	flag.IntVar(&o.forms, "forms", 50, "with -live: forms, each with a destination")
	flag.Parse()
	if err := compare(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

// compare measures both sides in turns.
func compare(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "deliveries")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./deliveries")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build deliveries: %w", err)
	}
	port, end, err := startReceiver(ctx, program, o.delay)
	if err != nil {
		return err
	}
	defer end()
	if o.live > 0 {
		for range o.rounds {
			if err := run(ctx, program, "-live", strconv.Itoa(o.live), "-forms", strconv.Itoa(o.forms), "-connections", strconv.Itoa(o.connections)); err != nil {
				return err
			}
			for _, workers := range o.workers {
				if err := measureLive(ctx, o, workers, port); err != nil {
					return fmt.Errorf("river: %w", err)
				}
			}
		}
		return nil
	}
	for _, destinations := range o.destinations {
		fmt.Printf("%d destinations\n", destinations)
		for range o.rounds {
			for _, inFlight := range o.inFlight {
				if err := run(ctx, program, "-port", port, "-deliveries", strconv.Itoa(o.deliveries),
					"-destinations", strconv.Itoa(destinations), "-connections", strconv.Itoa(o.connections), "-inflight", strconv.Itoa(inFlight)); err != nil {
					return err
				}
			}
			for _, workers := range o.workers {
				if err := measure(ctx, o, destinations, workers, port); err != nil {
					return fmt.Errorf("river: %w", err)
				}
			}
		}
	}
	return nil
}

// run has the dispatcher do the work.
func run(ctx context.Context, program string, args ...string) error {
	other := exec.CommandContext(ctx, program, args...)
	other.Stdout, other.Stderr = os.Stdout, os.Stderr
	if err := other.Run(); err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	return nil
}

// delivery is a job.
type delivery struct {
	URL  string `json:"url"`
	Body string `json:"body"`
}

// Kind implements [river.JobArgs].
func (delivery) Kind() string { return "delivery" }

// worker sends what deliveries say.
type worker struct {
	river.WorkerDefaults[delivery]

	client *http.Client
	sent   atomic.Int64
	want   int64
	all    chan struct{}
}

// Work implements [river.Worker].
func (w *worker) Work(ctx context.Context, job *river.Job[delivery]) error {
	body := []byte(job.Args.Body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, job.Args.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Service-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))
	}
	if w.sent.Add(1) == w.want {
		close(w.all)
	}
	return nil
}

// riverIn is River in a schema of its own.
type riverIn struct {
	pool   *pgxpool.Pool
	schema string // quoted
	client *river.Client[pgx.Tx]
	worker *worker
}

func newRiver(ctx context.Context, o options, w *worker, maxWorkers int) (*riverIn, error) {
	config, err := pgxpool.ParseConfig(os.Getenv(databaseURL))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", databaseURL, err)
	}
	config.MaxConns = int32(o.connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	schema := fmt.Sprintf("bench_river_%d_%d", os.Getpid(), time.Now().UnixNano())
	r := &riverIn{pool: pool, schema: pgx.Identifier{schema}.Sanitize(), worker: w}
	if _, err := pool.Exec(ctx, "CREATE SCHEMA "+r.schema); err != nil {
		pool.Close()
		return nil, err
	}
	if r.client, err = r.start(ctx, schema, o, maxWorkers); err != nil {
		return nil, errors.Join(err, r.drop(ctx))
	}
	return r, nil
}

func (r *riverIn) start(ctx context.Context, schema string, o options, maxWorkers int) (*river.Client[pgx.Tx], error) {
	driver := riverpgxv5.New(r.pool)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: schema, Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	r.worker.client = &http.Client{
		Timeout:   15 * time.Second,
		Transport: &http.Transport{MaxIdleConns: o.kept, MaxIdleConnsPerHost: max(64, maxWorkers), DisableCompression: true},
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, r.worker)
	return river.NewClient(driver, &river.Config{
		Schema:            schema,
		Logger:            quiet,
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		Workers:           workers,
	})
}

// drop removes all of it, also when ctx has ended.
func (r *riverIn) drop(ctx context.Context) error {
	defer r.pool.Close()
	if r.worker.client != nil {
		r.worker.client.CloseIdleConnections()
	}
	_, err := r.pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+r.schema+" CASCADE")
	return err
}

// measure has River send the deliveries and prints what that cost, the recording
// of the last ones included.
func measure(ctx context.Context, o options, destinations, maxWorkers int, port string) (err error) {
	w := &worker{want: int64(o.deliveries), all: make(chan struct{})}
	r, err := newRiver(ctx, o, w, maxWorkers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.drop(ctx)) }()
	client, pool := r.client, r.pool
	if err := insert(ctx, client, o.deliveries, destinations, port); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, "VACUUM ANALYZE "+r.schema+".river_job"); err != nil {
		return err
	}

	var backend int
	if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return err
	}
	server := cpu.ServerOf(backend)
	own, before, started := cpu.Own(), server.Used(), time.Now()
	if err := client.Start(ctx); err != nil {
		return err
	}
	<-w.all
	if err := client.Stop(ctx); err != nil {
		return err
	}
	took := time.Since(started)
	ownUsed, serverUsed := cpu.Own()-own, server.Used()-before

	var done int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM "+r.schema+".river_job WHERE state = 'completed'").Scan(&done); err != nil {
		return err
	}
	if done != o.deliveries {
		return fmt.Errorf("%d jobs are completed, want %d", done, o.deliveries)
	}
	n := float64(o.deliveries)
	perThousand := func(d time.Duration) float64 { return d.Seconds() * 1000 / n * 1000 }
	fmt.Printf("river, %d workers: %.0f deliveries/s, CPU %.1f ms per 1,000 (own %.1f, PostgreSQL %.1f)\n", maxWorkers, n/took.Seconds(),
		perThousand(ownUsed+serverUsed), perThousand(ownUsed), perThousand(serverUsed))
	return nil
}

// answersOf is about so many bytes of JSON.
func answersOf(size int) string { return `[` + strings.Repeat(`{"a":"an answer"},`, size/18) + `null]` }

func destination(n int, port string) string {
	return fmt.Sprintf("http://127.0.%d.%d:%s/hook", n/200, 1+n%200, port)
}

// insert queues the jobs.
func insert(ctx context.Context, client *river.Client[pgx.Tx], deliveries, destinations int, port string) error {
	body := answersOf(1100)
	jobs := make([]river.InsertManyParams, deliveries)
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: delivery{URL: destination(i%destinations, port), Body: body}}
	}
	_, err := client.InsertManyFast(ctx, jobs)
	return err
}

// startReceiver runs the command deliveries as a receiver.
func startReceiver(ctx context.Context, program string, delay time.Duration) (port string, end func(), err error) {
	command := exec.CommandContext(ctx, program, "-listen", "-delay", delay.String())
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	end = func() {
		_ = input.Close() // it ends with its input
		_, _ = io.Copy(io.Discard, output)
		_ = command.Wait()
	}
	port, err = bufio.NewReader(output).ReadString('\n')
	if err != nil {
		end()
		return "", nil, fmt.Errorf("the receiver does not start: %w", err)
	}
	return strings.TrimSpace(port), end, nil
}
