package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// drain sends what is pending and prints what that cost.
func drain(ctx context.Context, o options) (err error) {
	port, end, err := portOf(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if o.memory {
		return drainMemory(ctx, o, port)
	}
	db, err := newDatabase(ctx, o.connections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.drop(ctx)) }()
	if err := db.seed(ctx, urls(1, o.destinations, port, healthy), o.deliveries); err != nil {
		return err
	}
	stopProfile, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	seen := &counter{want: int64(o.deliveries), reached: make(chan struct{})}
	dispatcher, err := db.dispatcher(o.inFlight, seen)
	if err != nil {
		return err
	}
	server, err := db.server(ctx)
	if err != nil {
		return err
	}
	return drainPending(ctx, dispatcher, seen, server, o)
}

// drainMemory does the same on memory storage: what it costs is the dispatcher's own.
func drainMemory(ctx context.Context, o options, port string) (err error) {
	c := &company{store: memory.New(), ids: objectid.NewSource(), port: port, affected: affected{
		count: o.destinations, path: healthy, only: true,
	}, sent: map[storage.ID]sending{}}
	if err := c.found(ctx); err != nil {
		return err
	}
	config := reachable(nil)
	config.InFlight = o.inFlight
	seen := &counter{want: int64(o.deliveries), reached: make(chan struct{})}
	config.Observer = seen
	if c.dispatcher, c.startDispatch, err = webhooks.NewDispatcher(config, dispatch.Params{Store: c.store, Logger: logger()}); err != nil {
		return err
	}
	for i := range o.deliveries {
		if err := c.submit(ctx, c.others[i%len(c.others)], false); err != nil {
			return err
		}
	}
	stopProfile, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	return drainPending(ctx, c.dispatcher, seen, "", o)
}

// drainPending measures from the start of a dispatcher to its end, the writing of
// the last results included.
func drainPending(ctx context.Context, dispatcher *webhooks.Dispatcher, seen *counter, server cpu.Server, o options) error {
	before, started := worked(server, ""), time.Now()

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
	used := worked(server, "").since(before)
	n := float64(seen.sent.Load())
	perThousand := func(d time.Duration) float64 { return d.Seconds() * 1000 / n * 1000 }
	inFlight := cmp.Or(o.inFlight, webhooks.DefaultInFlight)
	fmt.Printf("formsvc, %d in flight: %.0f deliveries/s, CPU %.1f ms per 1,000 (own %.1f, PostgreSQL %.1f), %d failed\n", inFlight, n/took.Seconds(),
		perThousand(used.own+used.server), perThousand(used.own), perThousand(used.server), seen.failed.Load())
	return nil
}

// startProfile writes a profile of the processor time to a file, until stop is
// called. Without a file it does nothing.
func startProfile(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(name) //nolint:gosec // the file that the caller named
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// counter is an Observer that tells when a number of attempts is reached.
type counter struct {
	webhooks.NoObserver
	sent, failed atomic.Int64
	want         int64
	reached      chan struct{}
}

// AttemptFinished implements [webhooks.Observer].
func (c *counter) AttemptFinished(_ context.Context, a storage.Delivery) {
	if !a.Success {
		c.failed.Add(1)
	}
	if c.sent.Add(1) == c.want {
		close(c.reached)
	}
}
