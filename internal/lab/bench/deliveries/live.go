package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// liveFor is how long each half of live takes by default.
const liveFor = 10 * time.Second

// live submits to so many forms from so many goroutines as fast as the service takes it, first without a
// dispatcher and then, on an empty store, with one, and prints both rates.
func live(ctx context.Context, o options) (err error) {
	r, err := startReceiver(o.delay)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	if o.duration == 0 {
		o.duration = liveFor
	}
	var rates [2]float64
	for i, dispatching := range []bool{false, true} {
		var took processors
		if rates[i], took, err = liveHalf(ctx, o, r, dispatching); err != nil {
			return err
		}
		fmt.Printf("dispatcher %v: µs a response: own %.0f, PostgreSQL %.0f, receiver %.0f\n", dispatching,
			float64(took.own.Nanoseconds())/1000, float64(took.server.Nanoseconds())/1000, float64(took.receiver.Nanoseconds())/1000)
	}
	fmt.Printf("%d at once, %d forms: %.0f responses a second without a dispatcher, %.0f with one: %.2f\n", o.atOnce, o.forms, rates[0], rates[1], rates[1]/rates[0])
	return nil
}

// liveHalf returns the rate, and what each side worked for a response.
func liveHalf(ctx context.Context, o options, r *receiver, dispatching bool) (rate float64, each processors, err error) {
	var store storage.Storage = memory.New()
	var server cpu.Server
	if !o.memory {
		db, err := newDatabase(ctx, o.connections)
		if err != nil {
			return 0, each, err
		}
		defer func() { err = errors.Join(err, db.drop(ctx)) }()
		store = db.store
		if server, err = db.server(ctx); err != nil {
			return 0, each, err
		}
	}
	svc, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(reachable(nil)), formsvc.WithLogger(logger()))
	if err != nil {
		return 0, each, err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	forms := make([]formsvc.ID, o.forms)
	for i, url := range urls(1, o.forms, r.port, healthy) {
		if forms[i], err = publish(ctx, svc, url); err != nil {
			return 0, each, err
		}
	}
	running, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	faults := make(chan error, 1)
	if dispatching {
		work.Go(func() { faults <- svc.Dispatcher().Run(running) })
	}
	answers := make(map[string]json.RawMessage, questions)
	for i := range questions {
		answers[question(i)] = json.RawMessage(`"An answer of some length"`)
	}
	submitFrom := func(ctx context.Context, d time.Duration) (int64, error) {
		var stored atomic.Int64
		until := time.Now().Add(d)
		err := inParallelBy(o.atOnce, func() error {
			for time.Now().Before(until) && ctx.Err() == nil {
				if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: forms[rand.IntN(len(forms))], Answers: answers, CompletionTime: 12.5}); err != nil {
					return err
				}
				stored.Add(1)
			}
			return nil
		})
		return stored.Load(), err
	}
	if _, err := submitFrom(ctx, warmUp); err != nil {
		return 0, each, err
	}
	receiver := strconv.Itoa(r.command.Process.Pid)
	began, before := time.Now(), worked(server, receiver)
	stored, err := submitFrom(ctx, o.duration)
	rate = float64(stored) / time.Since(began).Seconds()
	used, n := worked(server, receiver).since(before), max(1, time.Duration(stored))
	each = processors{used.own / n, used.server / n, used.receiver / n}
	stop()
	if dispatching {
		err = errors.Join(err, <-faults)
	}
	return rate, each, err
}

// inParallelBy calls f in n goroutines.
func inParallelBy(n int, f func() error) error {
	var work sync.WaitGroup
	errs := make([]error, n)
	for i := range errs {
		work.Go(func() { errs[i] = f() })
	}
	work.Wait()
	return errors.Join(errs...)
}

// bury makes so many webhooks on host names of their own to which nobody listens, each
// with a delivery that is pending.
func bury(ctx context.Context, store storage.Storage, n int) error {
	c := &company{store: store, ids: objectid.NewSource(), port: "9", affected: affected{count: n, path: healthy, only: true}, sent: map[storage.ID]sending{}}
	if err := c.found(ctx); err != nil {
		return err
	}
	return inParallel(n, func(i int) error {
		_, _, err := c.store.Submit(ctx, c.response(c.others[i]))
		return err
	})
}
