// Command auth adds formsvc to a product with its own users. They have integer IDs and sign in with a
// password; a cookie identifies their session in the product's table. The API and the builder accept this
// session. The API also accepts keys, which signed-in users can create, list and revoke in the product.
//
//	go run ./examples/auth -database-url postgres://localhost/product
//
// Read host.go first: it combines all parts. accounts.go is the product without formsvc. resolver.go connects its
// sessions with formsvc. directory.go offers its customers as choices in forms, and mail.go sends email about responses.
// pages.go contains the product's pages, and metrics.go its middleware.
//
// # Cross-site requests
//
// A browser sends a cookie with every request to its site, even if a page of another site causes the request. An
// API that accepts cookies therefore needs protection, unlike an API that accepts only keys in a header. This
// example has three protections:
//
//   - The cookie is SameSite=Lax, so forms and scripts of other sites cannot send it with a POST.
//   - CrossOriginProtection of net/http rejects writes from other origins.
//   - The API accepts only bodies of the type application/json. A page of another origin cannot send this type
//     without a CORS preflight, which the service does not allow.
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
	"github.com/wneessen/go-mail"

	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on (port 0 picks a free port)")
	mailHost := flag.String("smtp-host", "127.0.0.1", "host of the SMTP server for mails about responses")
	mailPort := flag.Int("smtp-port", 25, "port of the SMTP server")
	database := flag.String("database-url", os.Getenv("DATABASE_URL"), "URL of the product's PostgreSQL database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr, *database, *mailHost, *mailPort)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "auth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, database, mailHost string, mailPort int) error {
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
	if err := errors.Join(accounts.migrate(ctx), directory{pool}.migrate(ctx)); err != nil {
		return err
	}
	if err := accounts.register(ctx, "ann@example.com", "Ann", "correct horse"); err != nil && !errors.Is(err, errTaken) {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// A server on another machine also needs WithSMTPAuth, and TLSMandatory, which is the default.
	client, err := mail.NewClient(mailHost, mail.WithPort(mailPort), mail.WithTLSPolicy(mail.TLSOpportunistic))
	if err != nil {
		return err
	}
	m := &mailer{client: client, from: "forms@example.com", accounts: accounts}
	h, err := newHost(accounts, postgres.New(pool), m, webhooks.Config{}, logger)
	if err != nil {
		return err
	}
	if err := m.register(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/  sign in as ann@example.com with \"correct horse\"\n", listener.Addr())
	return h.serve(ctx, listener, &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second})
}
