package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage/postgres"
)

// bodyBytes is about the size of an event's body.
const bodyBytes = 1100

// seed fills a schema of its own, which end drops.
func seed(ctx context.Context, pool *pgxpool.Pool, o options) (store *postgres.Store, end func() error, err error) {
	schema := fmt.Sprintf("deliverybench_%d_%d", os.Getpid(), time.Now().UnixNano())
	name := pgx.Identifier{schema}.Sanitize()
	end = func() error {
		// Also when ctx ended.
		_, err := pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+name+" CASCADE")
		return err
	}
	defer func() {
		if err != nil {
			_ = end()
		}
	}()
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema(schema)); err != nil {
		return nil, nil, err
	}
	pending := o.deliveries
	if o.duration > 0 {
		pending = 0
	}
	err = pgseed.Fill(ctx, pool, schema, pgseed.Size{
		Forms: o.destinations, AnswerBytes: bodyBytes, Webhooks: o.destinations, Deliveries: pending,
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range o.destinations {
		id := pgseed.ID(pgseed.Webhook, i)
		// A stored secret begins with the number of its version: 0 is plain text.
		_, err := pool.Exec(ctx, "UPDATE "+name+".webhooks SET url = $2, secret = $3 WHERE id = $1",
			id[:], destination(i, o.port), append([]byte{0}, "0123456789abcdef0123456789abcdef"...))
		if err != nil {
			return nil, nil, err
		}
	}
	for _, table := range []string{"webhooks", "deliveries", "events"} {
		if _, err := pool.Exec(ctx, "VACUUM ANALYZE "+name+"."+table); err != nil {
			return nil, nil, err
		}
	}
	return postgres.New(pool, postgres.WithSchema(schema)), end, nil
}

// destination is a host of its own, so that destinations share no connections.
func destination(i int, port string) string {
	return fmt.Sprintf("http://127.0.0.%d:%s/hook", i+1, port)
}
