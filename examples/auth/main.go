// Command auth puts formsvc into a product that has users already: they have integer
// ids and sign in with a password, and a session in the product's own table stands
// behind a cookie. The API and the pages of forms' owners take that session; the API takes
// keys too, which a signed-in user makes, sees and revokes on a page of the product.
//
//	go run ./examples/auth -database-url postgres://localhost/product
//
// Read host.go first: it puts everything together. accounts.go is the product without
// formsvc. resolver.go is the bridge to formsvc. pages.go has the pages, and metrics.go
// the product's own middleware.
//
// # Cross-site requests
//
// A browser sends a cookie with every request to its site, whichever page caused
// it. An API that reads a cookie therefore needs a protection that one with keys in
// a header does not. Here it is three things: the cookie is SameSite=Lax, so that
// other sites' forms and scripts do not send it with a POST; net/http's
// CrossOriginProtection refuses writes that a browser says come from another
// origin; and the API takes no body but application/json, which a page of another
// origin cannot send without asking, and nobody answers that question (there is no
// CORS).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage/postgres"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	database := flag.String("database-url", os.Getenv("DATABASE_URL"), "PostgreSQL of the product")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr, *database)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "auth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, database string) error {
	if database == "" {
		return errors.New("-database-url is required")
	}
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	accounts := &accounts{pool: pool, now: time.Now, rounds: 600_000}
	if err := accounts.migrate(ctx); err != nil {
		return err
	}
	if err := accounts.register(ctx, "ann@example.com", "Ann", "correct horse"); err != nil && !errors.Is(err, errTaken) {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	h, err := newHost(accounts, postgres.New(pool), logger)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/  sign in as ann@example.com with \"correct horse\"\n", listener.Addr())
	return h.serve(ctx, listener, &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second})
}
