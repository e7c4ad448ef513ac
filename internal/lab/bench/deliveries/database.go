package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

const databaseURL = "FORMSVC_TEST_DATABASE_URL"

// bodyBytes is about the size of an event's body.
const bodyBytes = 1100

// database is a schema of its own on the PostgreSQL server.
type database struct {
	pool   *pgxpool.Pool
	schema string
	store  *postgres.Store
}

// newDatabase makes a schema with empty tables.
func newDatabase(ctx context.Context, connections int) (*database, error) {
	config, err := pgxpool.ParseConfig(os.Getenv(databaseURL))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", databaseURL, err)
	}
	config.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	db := &database{pool: pool, schema: fmt.Sprintf("bench_deliveries_%d_%d", os.Getpid(), time.Now().UnixNano())}
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema(db.schema)); err != nil {
		_ = db.drop(ctx)
		return nil, err
	}
	db.store = postgres.New(pool, postgres.WithSchema(db.schema))
	return db, nil
}

// drop removes the schema and closes the connections, also when ctx has ended.
func (db *database) drop(ctx context.Context) error {
	defer db.pool.Close()
	_, err := db.pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+pgx.Identifier{db.schema}.Sanitize()+" CASCADE")
	return err
}

// table returns the name of a table, for a statement.
func (db *database) table(name string) string { return pgx.Identifier{db.schema, name}.Sanitize() }

// seed makes webhooks with these URLs and spreads pending deliveries over them.
// The store takes the webhooks in this order for their first turn.
func (db *database) seed(ctx context.Context, urls []string, pending int) error {
	err := pgseed.Fill(ctx, db.pool, db.schema, pgseed.Size{
		Forms: len(urls), AnswerBytes: bodyBytes, Webhooks: len(urls), Deliveries: pending,
	})
	if err != nil {
		return err
	}
	for i, url := range urls {
		id := pgseed.ID(pgseed.Webhook, i)
		// A stored secret begins with the number of its version: 0 is plain text.
		_, err := db.pool.Exec(ctx, "UPDATE "+db.table("webhooks")+" SET url = $2, secret = $3 WHERE id = $1",
			id[:], url, append([]byte{0}, "0123456789abcdef0123456789abcdef"...))
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"webhooks", "deliveries", "events"} {
		if _, err := db.pool.Exec(ctx, "VACUUM ANALYZE "+db.table(name)); err != nil {
			return err
		}
	}
	return nil
}

// dispatcher returns one that sends what the schema has pending.
func (db *database) dispatcher(inFlight int, observer webhooks.Observer) (*webhooks.Dispatcher, error) {
	config := reachable(observer)
	config.InFlight = inFlight
	d, _, err := webhooks.NewDispatcher(config, dispatch.Params{
		Store:  db.store,
		Logger: logger(),
		Sweep:  db.sweep,
	})
	return d, err
}

// sweep removes events that nothing refers to any more, as a service does.
func (db *database) sweep(ctx context.Context, now time.Time) error {
	const batch = 500
	for {
		swept, err := db.store.Sweep(ctx, storage.SweepParams{Now: now, Max: batch})
		if err != nil || swept.Events < batch {
			return err
		}
	}
}

// reachable is the default configuration but for permission to reach the receiver.
func reachable(observer webhooks.Observer) webhooks.Config {
	return webhooks.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Observer: observer}
}

// logger tells what a host would want to know.
func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
