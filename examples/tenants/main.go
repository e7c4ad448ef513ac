// Command tenants serves several customers of a product, its tenants, with one process and one pool. Each
// tenant has its own users, and users of two tenants can have the same ID. Their data and rate limits must
// still be separate.
//
//	go run ./examples/tenants -database-url postgres://localhost/product
//	go run ./examples/tenants -database-url postgres://localhost/product -together
//
// Read tenants.go first: it shows both variants, one schema per tenant and one schema for all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on (port 0 picks a free port)")
	database := flag.String("database-url", os.Getenv("DATABASE_URL"), "URL of the PostgreSQL database of all tenants (if empty, data is kept in memory)")
	together := flag.Bool("together", false, "store all tenants in one schema")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr, *database, *together)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, database string, together bool) error {
	var open opener = func(context.Context, string) (storage.Storage, error) { return memory.New(), nil }
	if database != "" {
		pool, err := pgxpool.New(ctx, database)
		if err != nil {
			return err
		}
		defer pool.Close()
		open = inSchemas(pool)
	}
	// One store of limits for all tenants. Several processes share one in Redis.
	limit, err := memorystore.New(&memorystore.Config{Tokens: ratelimit.DefaultTokens, Interval: ratelimit.DefaultPer})
	if err != nil {
		return err
	}
	defer limit.Close(context.WithoutCancel(ctx)) // memory has nothing to lose
	// The product has its own way to know who sends a token. Here Ann works at both.
	signedIn := sessions{"acme-1": {Tenant: "acme", Sub: "1"}, "globex-1": {Tenant: "globex", Sub: "1"}}
	names := []string{"acme", "globex"}
	way := oneEach
	if together {
		way = allInOne
	}
	h, err := way(ctx, names, signedIn, open, limit)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	for token, s := range signedIn {
		fmt.Printf("curl -sS http://%s%s/v1/me -H 'X-API-Key: %s'\n", listener.Addr(), h.prefix(s.Tenant), token)
	}
	for _, tenant := range names {
		fmt.Printf("http://%s%s/f/contact-%s\n", listener.Addr(), h.prefix(tenant), tenant)
	}
	return h.serve(ctx, listener, &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second})
}

// inSchemas opens a storage in a schema of the pool's database. A pool serves any number of
// schemas: statements name theirs, and no connection is bound to one.
func inSchemas(pool *pgxpool.Pool) opener {
	return func(ctx context.Context, schema string) (storage.Storage, error) {
		if err := postgres.Migrate(ctx, pool, postgres.WithSchema(schema)); err != nil {
			return nil, err
		}
		return postgres.New(pool, postgres.WithSchema(schema)), nil
	}
}

// serve runs until ctx ends, as examples/mount explains.
func (h *host) serve(ctx context.Context, listener net.Listener, server *http.Server) error {
	server.Handler = h.routes
	delivering, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	dispatched := make(chan error, len(h.services))
	for _, service := range h.services {
		go func() { dispatched <- service.Dispatcher().Run(delivering) }()
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(grace))
	stop()
	for _, service := range h.services {
		err = errors.Join(err, <-dispatched, service.Close(grace))
	}
	return err
}
