package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
)

// Both sides are counted for liveFor, after warmUp.
const (
	liveFor = 10 * time.Second
	warmUp  = 2 * time.Second
)

// measureLive stores responses from goroutines, each in a transaction with its job, while
// River's workers send them, and prints how many a second.
func measureLive(ctx context.Context, o options, maxWorkers int, port string) (err error) {
	w := &worker{want: -1}
	r, err := newRiver(ctx, o, w, maxWorkers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.drop(ctx)) }()
	table := r.schema + ".submissions"
	if _, err := r.pool.Exec(ctx, "CREATE TABLE "+table+" (id bytea PRIMARY KEY, form_id integer NOT NULL, submitted_at timestamptz NOT NULL, answers json NOT NULL)"); err != nil {
		return err
	}
	if err := r.client.Start(ctx); err != nil {
		return err
	}
	insert := "INSERT INTO " + table + " VALUES ($1, $2, $3, $4)"
	answers := answersOf(1100)
	store := func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
			id := make([]byte, 12)
			_, _ = rand.Read(id) // never fails
			form := mathrand.IntN(o.forms)
			if _, err := tx.Exec(ctx, insert, id, form, time.Now(), answers); err != nil {
				return err
			}
			_, err := r.client.InsertTx(ctx, tx, delivery{URL: destination(form, port), Body: answers}, nil)
			return err
		})
	}
	fromAll := func(d time.Duration) (int64, error) {
		var stored atomic.Int64
		var group sync.WaitGroup
		errs := make([]error, o.live)
		until := time.Now().Add(d)
		for i := range errs {
			group.Go(func() {
				for errs[i] == nil && time.Now().Before(until) {
					if errs[i] = store(ctx); errs[i] == nil {
						stored.Add(1)
					}
				}
			})
		}
		group.Wait()
		return stored.Load(), errors.Join(errs...)
	}
	if _, err := fromAll(warmUp); err != nil {
		return err
	}
	var backend int
	if err := r.pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return err
	}
	server := cpu.ServerOf(backend)
	own, before, sent, started := cpu.Own(), server.Used(), w.sent.Load(), time.Now()
	stored, err := fromAll(liveFor)
	if err != nil {
		return err
	}
	took := time.Since(started)
	micro := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(stored) }
	fmt.Printf("river, %d workers: %d at once, %d forms: %.0f responses a second (%.0f sent), µs a response: own %.0f, PostgreSQL %.0f\n", maxWorkers, o.live, o.forms,
		float64(stored)/took.Seconds(), float64(w.sent.Load()-sent)/took.Seconds(), micro(cpu.Own()-own), micro(server.Used()-before))
	return r.client.StopAndCancel(ctx)
}
