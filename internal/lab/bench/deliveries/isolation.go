package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

const (
	healthyCount = 50
	badCount     = 50
	// watchedFor is how long bad destinations are watched after the healthy ones
	// are done.
	watchedFor = webhooks.DefaultTimeout + 5*time.Second
	patience   = time.Minute
)

// isolate measures healthy destinations alone and beside bad ones.
func isolate(ctx context.Context, o options) error {
	fmt.Printf("%d healthy destinations with %d deliveries each, answers take %s\n", healthyCount, o.each, o.delay)
	alone, err := isolateBeside(ctx, o, 0)
	if err != nil {
		return err
	}
	fmt.Printf("and %d bad ones with as many, first in turn: %s\n", badCount, strings.Join(o.bad, ", "))
	beside, err := isolateBeside(ctx, o, badCount)
	if err != nil {
		return err
	}
	fmt.Printf("beside bad ones healthy ones take %.2f times as long\n", beside.Seconds()/alone.Seconds())
	return nil
}

// isolateBeside measures the healthy destinations beside so many bad ones, and
// prints what came of it. It returns how long the healthy ones took.
func isolateBeside(ctx context.Context, o options, bad int) (took time.Duration, err error) {
	db, err := newDatabase(ctx, o.connections)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.drop(ctx)) }()
	r, err := startReceiver(o.delay)
	if err != nil {
		return 0, err
	}
	took, err = isolateOn(ctx, db, o, r, bad)
	received, endErr := r.end()
	if err := errors.Join(err, endErr); err != nil {
		return 0, err
	}
	fmt.Printf("    at the receiver at most %d requests at once\n", received.AtOnce)
	for _, kind := range slices.Sorted(maps.Keys(received.Kinds)) {
		c := received.Kinds[kind]
		fmt.Printf("      %-11s %5d requests, at most %2d at once, %d to one destination\n", kind, c.Requests, c.AtOnce, c.ToOne)
	}
	return took, nil
}

func isolateOn(ctx context.Context, db *database, o options, r *receiver, bad int) (time.Duration, error) {
	destinations := append(urls(1, bad, r.port, o.bad...), urls(1+bad, healthyCount, r.port, healthy)...)
	if err := db.seed(ctx, destinations, len(destinations)*o.each); err != nil {
		return 0, err
	}
	seen := newOutcomes(bad, o.each)
	dispatcher, err := db.dispatcher(o.inFlight, seen)
	if err != nil {
		return 0, err
	}
	server, err := db.server(ctx)
	if err != nil {
		return 0, err
	}
	receiving := strconv.Itoa(r.command.Process.Pid)

	running, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	var m meter
	work.Go(func() { m.run(running) })
	idle, before, started := current(), worked(server, receiving), time.Now()
	seen.start(started)
	ended := make(chan error, 1)
	go func() { ended <- dispatcher.Run(running) }()
	stuck := seen.wait(ctx)
	used, busy := worked(server, receiving).since(before), m.peak()
	if bad > 0 && stuck == nil {
		sleep(ctx, watchedFor)
	}
	after := m.peak()
	stop()
	if err := errors.Join(<-ended, ctx.Err(), stuck); err != nil {
		return 0, err
	}

	took := seen.last.Sub(started)
	fmt.Printf("  the last healthy delivery finished after %.2f s, the longest pause between two was %.0f ms; %d timed out, %d failed otherwise\n",
		took.Seconds(), seen.pause.Seconds()*1000, seen.timedOut, seen.failed)
	fmt.Printf("    %s\n    %s before; at most %s meanwhile\n", used, idle, busy)
	if bad > 0 {
		fmt.Printf("    at most %s in the %s after; attempts at bad ones: %v\n", after, watchedFor, seen.bad)
	}
	return took, errors.Join(seen.fault(), db.nothingLeft(ctx, bad))
}

// nothingLeft checks that all deliveries to healthy destinations have left the
// queue.
func (db *database) nothingLeft(ctx context.Context, bad int) error {
	var left int
	first := pgseed.ID(pgseed.Webhook, bad)
	err := db.pool.QueryRow(ctx, "SELECT count(*) FROM "+db.table("deliveries")+" WHERE webhook_id >= $1", first[:]).Scan(&left)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d deliveries to healthy destinations are still in the queue", left)
	}
	return err
}

// outcomes is an Observer that tells healthy destinations from bad ones, which
// have the first numbers.
type outcomes struct {
	webhooks.NoObserver
	firstHealthy storage.ID
	done         chan struct{} // closed when all healthy deliveries are finished

	mu               sync.Mutex
	left             int // healthy deliveries that are not finished
	last             time.Time
	pause            time.Duration // the longest between two that finished
	timedOut, failed int           // attempts at healthy destinations
	bad              map[string]int
}

func newOutcomes(bad, each int) *outcomes {
	return &outcomes{
		firstHealthy: pgseed.ID(pgseed.Webhook, bad),
		done:         make(chan struct{}),
		left:         healthyCount * each,
		bad:          map[string]int{},
	}
}

// start tells when the first pause begins.
func (c *outcomes) start(now time.Time) { c.last = now }

// wait returns when all healthy deliveries are finished or ctx has ended, and with
// an error when none has finished for as long as patience.
func (c *outcomes) wait(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return nil
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			c.mu.Lock()
			left, idle := c.left, now.Sub(c.last)
			c.mu.Unlock()
			if idle > patience {
				return fmt.Errorf("no healthy delivery has finished for %s, %d are left", patience, left)
			}
		}
	}
}

// AttemptFinished implements [webhooks.Observer].
func (c *outcomes) AttemptFinished(_ context.Context, a storage.Delivery) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	class := a.Error
	if a.Success {
		class = "answered"
	}
	switch {
	case a.WebhookID.String() < c.firstHealthy.String():
		c.bad[class]++
		return
	case class == webhooks.ClassTimeout:
		c.timedOut++
	case !a.Success:
		c.failed++
	}
	if !a.NextAttemptAt.IsZero() {
		return
	}
	c.pause = max(c.pause, now.Sub(c.last))
	c.last = now
	if c.left--; c.left == 0 {
		close(c.done)
	}
}

// fault reports attempts at healthy destinations that failed.
func (c *outcomes) fault() error {
	if c.timedOut+c.failed > 0 {
		return errors.New("deliveries to healthy destinations failed")
	}
	return nil
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
