// Command deliverybench measures the delivery of webhooks on PostgreSQL.
//
//	go run ./internal/pgtest/with -fsync -- go run ./internal/deliverybench
//
// sends 20,000 pending deliveries to 100 destinations and prints one line:
// deliveries a second, and the milliseconds of processor time that 1,000 of them
// took in this process and in PostgreSQL. The receiver is a process of its own
// and does not count.
//
// With -duration it keeps the queue busy at -rate events a second for that long
// instead, and prints every -report how long events wait from the call that
// queues them to their request, the sizes of the tables and what is dead in them.
// With -rate 50 the wait is that of a process with little to do.
//
// With -listen it is only the receiver: it prints its port and answers until its
// standard input ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

const databaseURL = "FORMSVC_TEST_DATABASE_URL"

// options are what the command line says.
type options struct {
	deliveries   int
	destinations int
	inFlight     int
	connections  int
	port         string
	delay        time.Duration
	duration     time.Duration
	rate         int
	report       time.Duration
	profile      string
}

func main() {
	var o options
	flag.IntVar(&o.deliveries, "deliveries", 20_000, "how many are pending at the start")
	flag.IntVar(&o.destinations, "destinations", 100, "how many webhooks they are spread over, at most 200")
	flag.IntVar(&o.inFlight, "inflight", 0, "requests at one time; 0: the default of package webhooks")
	flag.IntVar(&o.connections, "connections", 10, "connections to PostgreSQL")
	flag.StringVar(&o.port, "port", "", "the port of a receiver that runs already")
	flag.DurationVar(&o.delay, "delay", 0, "how long the receiver takes to answer")
	flag.DurationVar(&o.duration, "duration", 0, "keep the queue busy for so long")
	flag.IntVar(&o.rate, "rate", 500, "with -duration: events a second")
	flag.DurationVar(&o.report, "report", time.Minute, "with -duration: time between two lines")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a profile of the processor time to this `file`")
	listen := flag.Bool("listen", false, "be the receiver")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := func() error { return measure(ctx, o) }
	if *listen {
		run = func() error { return receive(os.Stdin, os.Stdout, o.delay) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "deliverybench:", err)
		os.Exit(1)
	}
}

// measure prepares a schema and a receiver, and runs a dispatcher over them.
func measure(ctx context.Context, o options) (err error) {
	if o.destinations < 1 || o.destinations > 200 {
		return errors.New("-destinations is not 1 to 200")
	}
	if o.port == "" {
		port, end, err := startReceiver(ctx, o.delay)
		if err != nil {
			return err
		}
		defer end()
		o.port = port
	}
	config, err := pgxpool.ParseConfig(os.Getenv(databaseURL))
	if err != nil {
		return fmt.Errorf("%s: %w", databaseURL, err)
	}
	config.MaxConns = int32(o.connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, end, err := seed(ctx, pool, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	seen := &counter{want: int64(o.deliveries), reached: make(chan struct{})}
	dispatcher, err := webhooks.New(webhooks.Params{
		Store: store,
		Config: webhooks.Config{
			InFlight: o.inFlight, AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Observer: seen,
		},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	if o.duration > 0 {
		return endure(ctx, o, pool, store, dispatcher, seen)
	}
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return drain(ctx, pool, dispatcher, seen)
}

// drain sends what is pending and prints what that cost, the writing of the last
// results included.
func drain(ctx context.Context, pool *pgxpool.Pool, dispatcher *webhooks.Dispatcher, seen *counter) error {
	var backend int
	if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return err
	}
	own, _ := cpuOf("self")
	server := serverOf(backend)
	before, started := serverCPU(server), time.Now()

	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- dispatcher.Run(running) }()
	select {
	case <-seen.reached:
	case <-ctx.Done():
	}
	stop()
	if err := errors.Join(<-ended, ctx.Err()); err != nil {
		return err
	}

	took := time.Since(started)
	ownAfter, _ := cpuOf("self")
	ownUsed, serverUsed := ownAfter-own, serverCPU(server)-before
	n := float64(seen.sent.Load())
	perThousand := func(d time.Duration) float64 { return d.Seconds() * 1000 / n * 1000 }
	fmt.Printf("formsvc: %.0f deliveries/s, CPU %.1f ms per 1,000 (own %.1f, PostgreSQL %.1f), %d failed\n", n/took.Seconds(),
		perThousand(ownUsed+serverUsed), perThousand(ownUsed), perThousand(serverUsed), seen.failed.Load())
	return nil
}

// counter is an Observer that tells when a number of attempts is reached.
type counter struct {
	sent, failed atomic.Int64
	want         int64
	reached      chan struct{}

	mu     sync.Mutex
	queued map[storage.ID]time.Time // with -duration: when queueing began
	waits  []time.Duration          // from then to the request
}

// queue notes that an event is about to be queued.
func (c *counter) queue(event storage.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued == nil {
		c.queued = map[storage.ID]time.Time{}
	}
	c.queued[event] = time.Now()
}

// wait returns a percentile of the times between queueing and request.
func (c *counter) wait(percent int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waits) == 0 {
		return 0
	}
	slices.Sort(c.waits)
	return c.waits[len(c.waits)*percent/100]
}

// AttemptFinished implements [webhooks.Observer].
func (c *counter) AttemptFinished(a storage.Attempt) {
	if !a.Success {
		c.failed.Add(1)
	}
	c.mu.Lock()
	if at, ok := c.queued[a.EventID]; ok {
		delete(c.queued, a.EventID)
		c.waits = append(c.waits, time.Since(at)-a.Duration)
	}
	c.mu.Unlock()
	if c.sent.Add(1) == c.want {
		close(c.reached)
	}
}

// QueueObserved implements [webhooks.Observer].
func (*counter) QueueObserved(storage.QueueStats) {}

// startReceiver runs the receiver in a process of its own.
func startReceiver(ctx context.Context, delay time.Duration) (port string, end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	command := exec.CommandContext(ctx, self, "-listen", "-delay", delay.String()) //nolint:gosec // this program
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
