package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// feeders is how many calls queue events at one time.
const feeders = 4

// sizes are of the tables that deliveries pass through, of the newest schema.
const sizes = `
SELECT c.relname, pg_table_size(c.oid) / 1024, pg_indexes_size(c.oid) / 1024, COALESCE(s.n_live_tup, 0), COALESCE(s.n_dead_tup, 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE n.nspname LIKE 'deliverybench%' AND c.relkind = 'r' AND c.relname IN ('deliveries', 'events', 'attempts', 'webhooks')
ORDER BY c.relname`

// endure keeps the queue busy and prints the sizes of the tables.
func endure(
	ctx context.Context, o options, pool *pgxpool.Pool, store *postgres.Store, dispatcher *webhooks.Dispatcher, seen *counter,
) error {
	if o.rate < 1 {
		return errors.New("-rate is below 1")
	}
	running, stop := context.WithTimeout(ctx, o.duration)
	defer stop()
	var work sync.WaitGroup
	defer work.Wait()
	faults := make(chan error, feeders+1)
	work.Go(func() { faults <- dispatcher.Run(running) })
	ids, body := objectid.NewSource(), pgseed.Answers(bodyBytes)
	for f := range feeders {
		work.Go(func() {
			tick := time.NewTicker(time.Second * feeders / time.Duration(o.rate))
			defer tick.Stop()
			for i := f; ; i += feeders {
				select {
				case <-running.Done():
					return
				case now := <-tick.C:
					event := storage.Event{ID: ids.New(now), Type: "form.response.completed", Body: body}
					seen.queue(event.ID)
					err := store.Enqueue(running, pgseed.ID(pgseed.Webhook, i%o.destinations), event, now.UTC())
					if err != nil && running.Err() == nil {
						faults <- err
						stop()
						return
					}
					dispatcher.Wake()
				}
			}
		})
	}

	started := time.Now()
	report := time.NewTicker(o.report)
	defer report.Stop()
	for {
		select {
		case err := <-faults:
			return err
		case <-running.Done():
			return ctx.Err()
		case <-report.C:
			if err := print(running, pool, seen, started); err != nil && running.Err() == nil {
				return err
			}
		}
	}
}

func print(ctx context.Context, pool *pgxpool.Pool, seen *counter, started time.Time) error {
	rows, err := pool.Query(ctx, sizes)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Printf("%s: %d sent, %d failed, wait p50 %.2f ms, p99 %.2f ms\n", time.Since(started).Round(time.Second),
		seen.sent.Load(), seen.failed.Load(), seen.wait(50).Seconds()*1000, seen.wait(99).Seconds()*1000)
	for rows.Next() {
		var name string
		var table, indexes, live, dead int64
		if err := rows.Scan(&name, &table, &indexes, &live, &dead); err != nil {
			return err
		}
		fmt.Printf("  %-10s %6d kB, indexes %6d kB, %7d rows, %6d dead\n", name, table, indexes, live, dead)
	}
	return rows.Err()
}
