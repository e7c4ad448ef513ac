package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// liveFor is how long each half of live takes by default.
const liveFor = 10 * time.Second

// live submits from so many goroutines as fast as the service takes it, first without a
// dispatcher and then, on an empty store, with one, and prints both rates.
func live(ctx context.Context, o options) (err error) {
	port, end, err := portOf(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if o.duration == 0 {
		o.duration = liveFor
	}
	var rates [2]float64
	for i, dispatching := range []bool{false, true} {
		if rates[i], err = liveHalf(ctx, o, "http://127.0.0.1:"+port+"/"+healthy, dispatching); err != nil {
			return err
		}
	}
	fmt.Printf("%d at once: %.0f responses a second without a dispatcher, %.0f with one: %.2f\n", o.atOnce, rates[0], rates[1], rates[1]/rates[0])
	return nil
}

func liveHalf(ctx context.Context, o options, url string, dispatching bool) (rate float64, err error) {
	var store storage.Storage = memory.New()
	if !o.memory {
		db, err := newDatabase(ctx, o.connections)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, db.drop(ctx)) }()
		store = db.store
	}
	svc, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(reachable(nil)), formsvc.WithLogger(logger()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	form, err := publish(ctx, svc, url)
	if err != nil {
		return 0, err
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
				if _, err := svc.Submit(ctx, formsvc.Response{FormID: form, Answers: answers, CompletionTime: 12.5}); err != nil {
					return err
				}
				stored.Add(1)
			}
			return nil
		})
		return stored.Load(), err
	}
	if _, err := submitFrom(ctx, warmUp); err != nil {
		return 0, err
	}
	began := time.Now()
	stored, err := submitFrom(ctx, o.duration)
	rate = float64(stored) / time.Since(began).Seconds()
	stop()
	if dispatching {
		err = errors.Join(err, <-faults)
	}
	return rate, err
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
