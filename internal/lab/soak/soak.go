package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
)

// plan is what one soak does.
type plan struct {
	processes   int // that serve at once
	kills       int // of serving processes
	serverKills int // of the database server
	seed        uint64
	timeout     time.Duration // of an attempt
	lease       time.Duration // of a claim; zero: the dispatcher's own
	inFlight    int           // requests of a process at one time
	drain       time.Duration // the longest that the queue may stay as long as it is
	refused     float64       // of the requests to the receiver
	workers     int           // that submit at once; zero: defaultWorkers
	mutant      string        // for tests
}

const (
	defaultWorkers = 8
	destinations   = 4
	// defaultInFlight is small, so that few deliveries may be repeated: with it no
	// kill repeats more than a process with the usual 64 could have under way.
	defaultInFlight = 8
	// repeatable is how many deliveries a process may have sent and not recorded when
	// it is killed, in multiples of its webhooks.Config.InFlight.
	repeatable = 8

	killWithin    = 500 * time.Millisecond // of the first acknowledgement after a start
	restartWithin = 150 * time.Millisecond
	killBoth      = 0.25 // of the kills with several processes
	killAsWell    = 0.25 // of the kills of the server, a process while it is down
	drainPoll     = 50 * time.Millisecond
)

// killer is a database server that can be killed.
type killer interface {
	Kill() error
	Restart(ctx context.Context) error
}

// result is what came of a soak.
type result struct {
	plan        plan
	ledger      ledger.Ledger
	kills       int
	serverKills int
	cut         int // requests of the load generator that were not acknowledged
	away        int // and that nobody took
	most        int // requests to the receiver that were under way at one time
	load        time.Duration
	drained     time.Duration
	writes      map[string]int // acknowledged writes besides submissions, by kind
	lostSaves   int            // of partial submissions, within what a kill of the database server may lose
	findings    []ledger.Finding
	unexpected  []string
}

// ok reports whether nothing was found.
func (r result) ok() bool { return len(r.findings) == 0 && len(r.unexpected) == 0 }

func (r result) String() string {
	accepted := 0
	for _, got := range r.ledger.Received {
		if got.Accepted {
			accepted++
		}
	}
	acknowledged := map[string]bool{}
	for _, a := range r.ledger.Acknowledged {
		acknowledged[a.Key] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d processes, %d kills of a process, %d of the database server, %s of load, drained in %s\n",
		r.plan.seed, r.plan.processes, r.kills, r.serverKills, r.load.Round(time.Millisecond), r.drained.Round(time.Millisecond))
	fmt.Fprintf(&b, "submissions: %d acknowledged, %d stored; sent again: %d cut off or answered with 503, %d that no process took\n",
		len(acknowledged), len(r.ledger.Stored), r.cut, r.away)
	fmt.Fprintf(&b, "events: %d requests received, %d accepted, of %d; at most %d under way at once\n",
		len(r.ledger.Received), accepted, len(r.ledger.Stored)*r.ledger.Webhooks, r.most)
	fmt.Fprintf(&b, "duplicates: %d, at most %d are allowed, %d a kill\n", r.ledger.Duplicates(), r.ledger.MaxDuplicates, repeatable*r.plan.inFlight)
	fmt.Fprintf(&b, "writes: %v; %d saves of partial submissions lost within %s before a kill of the database server\n", r.writes, r.lostSaves, partialLoss)
	kinds := map[string]int{}
	for i, f := range r.findings {
		if kinds[f.Kind]++; i < 10 {
			fmt.Fprintf(&b, "FOUND %s\n", f)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "FOUND %d × %s\n", kinds[kind], kind)
	}
	for _, text := range r.unexpected[:min(10, len(r.unexpected))] {
		fmt.Fprintf(&b, "UNEXPECTED ANSWER %s\n", text)
	}
	if r.ok() {
		b.WriteString("nothing lost\n")
	}
	return b.String()
}

// soak runs a plan on a database with an empty schema. server is needed when the
// plan kills it. What the serving processes log goes to log.
func soak(ctx context.Context, p plan, url, schema string, server killer, log io.Writer) (result, error) {
	receiver, err := ledger.StartReceiver("127.0.0.1:0", p.seed, p.refused, nil)
	if err != nil {
		return result{}, err
	}
	pool, err := openPool(ctx, url)
	if err != nil {
		return result{}, errors.Join(err, receiver.Close())
	}
	defer pool.Close()
	urls := make([]string, destinations)
	for number := range urls {
		urls[number] = receiver.WebhookURL(number)
	}
	db, err := prepare(ctx, pool, schema, urls)
	if err != nil {
		return result{}, errors.Join(err, receiver.Close())
	}
	fleet := &fleet{
		config: serverConfig{
			Database: url, Schema: schema, Forms: db.forms,
			Timeout: p.timeout, Lease: p.lease, InFlight: p.inFlight, Mutant: p.mutant,
		},
		log: log,
	}
	r := result{plan: p}
	err = r.disturb(ctx, fleet, server, db.written)
	if err == nil {
		r.drained, err = drain(ctx, db, p.drain)
	}
	err = errors.Join(err, fleet.stop(), receiver.Close())
	if err != nil {
		return r, err
	}
	return r, r.compare(ctx, db, receiver)
}

// disturb kills under load.
func (r *result) disturb(ctx context.Context, f *fleet, server killer, written map[string]formsvc.ID) error {
	p := r.plan
	for range p.processes {
		if err := f.start(); err != nil {
			return err
		}
	}
	load := newLoad(f.urls)
	stopped, stop := context.WithCancel(ctx)
	hard, abandon := context.WithCancel(ctx)
	defer abandon()
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		load.run(hard, stopped, cmp.Or(p.workers, defaultWorkers), p.seed, written)
	}()
	err := r.kill(ctx, f, server, load)
	stop()
	// What is under way now ends with an acknowledgement, or is a finding.
	patience := time.AfterFunc(2*requestTimeout, abandon)
	<-done
	patience.Stop()
	r.load = time.Since(began)
	r.ledger.Acknowledged, r.ledger.Unanswered = load.acknowledged, load.unanswered
	r.cut, r.away, r.unexpected = load.cut, load.away, load.unexpected
	r.writes, r.lostSaves, r.findings = load.writes, load.lostSaves, load.found
	return err
}

// kill kills what the plan says, each time at a random moment after the first
// acknowledgement since the one before.
func (r *result) kill(ctx context.Context, f *fleet, server killer, load *load) error {
	random := rand.New(rand.NewPCG(r.plan.seed, 2)) //nolint:gosec // repeatable
	moment := func() error {
		select { // one from before the restart does not count
		case <-load.progress:
		default:
		}
		select {
		case <-load.progress:
		case <-time.After(2 * requestTimeout):
			return errors.New("nothing is acknowledged any more")
		case <-ctx.Done():
		}
		pause(ctx, time.Duration(random.Int64N(int64(killWithin))))
		return ctx.Err()
	}
	for r.kills < r.plan.kills {
		if err := moment(); err != nil {
			return err
		}
		victims := []int{random.IntN(r.plan.processes)}
		if r.plan.processes > 1 && random.Float64() < killBoth {
			victims = []int{0, 1}
		}
		if err := f.kill(victims); err != nil {
			return err
		}
		r.kills += len(victims)
		pause(ctx, time.Duration(random.Int64N(int64(restartWithin))))
		for range victims {
			if err := f.start(); err != nil {
				return err
			}
		}
	}
	for r.serverKills < r.plan.serverKills {
		if err := moment(); err != nil {
			return err
		}
		load.serverKilled()
		if err := server.Kill(); err != nil {
			return err
		}
		load.serverKilled()
		r.serverKills++
		pause(ctx, time.Duration(random.Int64N(int64(restartWithin))))
		asWell := random.Float64() < killAsWell
		if asWell {
			if err := f.kill([]int{random.IntN(r.plan.processes)}); err != nil {
				return err
			}
			r.kills++
		}
		if err := server.Restart(ctx); err != nil {
			return err
		}
		if asWell {
			if err := f.start(); err != nil {
				return err
			}
		}
	}
	return moment()
}

// drain waits until the queue is empty, or until it has not got shorter for as long as
// that may take: what is left is found by the comparison.
func drain(ctx context.Context, db *database, patience time.Duration) (time.Duration, error) {
	began := time.Now()
	for least, since := -1, began; ; {
		n, err := db.pending(ctx)
		if err != nil {
			return 0, err
		}
		if least < 0 || n < least {
			least, since = n, time.Now()
		}
		if n == 0 || time.Since(since) > patience {
			return time.Since(began), nil
		}
		pause(ctx, drainPoll)
	}
}

// compare completes the ledger and checks it. Nothing runs any more.
func (r *result) compare(ctx context.Context, db *database, receiver *ledger.Receiver) error {
	var err error
	l := &r.ledger
	if l.Stored, err = db.submissions(ctx); err != nil {
		return err
	}
	if l.Left, err = db.left(ctx); err != nil {
		return err
	}
	if l.Counted, err = db.counted(ctx); err != nil {
		return err
	}
	l.Received, r.most = receiver.Log()
	l.Webhooks = destinations
	// A kill of the server cuts off all processes at once.
	l.MaxDuplicates = (r.kills + r.serverKills*r.plan.processes) * repeatable * r.plan.inFlight
	r.findings = append(r.findings, l.Check()...)
	return nil
}

// fleet is the serving processes. Those who ask for the URLs may be many; the
// rest is for one goroutine.
type fleet struct {
	config    serverConfig
	log       io.Writer
	processes []*process

	mu   sync.Mutex
	last []string // never empty once a process was started
}

// urls returns where to send. The killed ones stay until others run.
func (f *fleet) urls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *fleet) start() error {
	p, err := startProcess(f.config, f.log)
	if err != nil {
		return err
	}
	f.processes = append(f.processes, p)
	urls := make([]string, len(f.processes))
	for i, p := range f.processes {
		urls[i] = p.url
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = urls
	return nil
}

// kill kills the processes with these numbers, as nearly at once as it can.
func (f *fleet) kill(numbers []int) error {
	var left []*process
	errs := make(chan error, len(numbers))
	for number, p := range f.processes {
		if !slices.Contains(numbers, number) {
			left = append(left, p)
			continue
		}
		go func() { errs <- p.kill() }()
	}
	f.processes = left
	var err error
	for range numbers {
		err = errors.Join(err, <-errs)
	}
	return err
}

// stop lets all processes end by themselves.
func (f *fleet) stop() (err error) {
	for _, p := range f.processes {
		err = errors.Join(err, p.stop())
	}
	f.processes = nil
	return err
}
