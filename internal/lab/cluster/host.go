//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// What a host has under way at one time. The numbers are small, so that few deliveries may
// come twice after a kill: see repeatable.
const (
	inFlight     = 8
	inFlightSlow = 32
	// repeatable is how many deliveries a process that is killed may repeat: see
	// webhooks.Config.
	repeatable = 8*inFlight + inFlightSlow
)

// attemptTimeout is that of a delivery. What a killed process had under way is sent by another
// one after twice as long and half a minute.
const attemptTimeout = 5 * time.Second

// pageSecret is the same in all processes.
const pageSecret = "the secret of a cluster's pages"

// host is a process that embeds the service, as any of several.
type host struct {
	service *formsvc.Service
	store   *postgres.Store
	pool    *pgxpool.Pool
}

// runHost serves on a socket until it is killed: the driver reaches it whatever happens to the
// network.
func runHost(args []string) error {
	flags := flag.NewFlagSet("host", flag.ContinueOnError)
	socket := flags.String("socket", "", "path to listen on")
	database := flags.String("database", "", "URL of PostgreSQL")
	pooled := flags.Bool("pooled", false, "whether the URL is that of a PgBouncer")
	limits := flags.String("redis", "", "address of Redis")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	pool, err := openPool(ctx, *database, *pooled)
	if err != nil {
		return err
	}
	store := postgres.New(pool, postgres.WithTimeout(storeTimeout), postgres.WithLogger(logger))
	service, err := formsvc.New(
		formsvc.WithStorage(store),
		formsvc.WithLimiter(newRedisLimiter(redis.NewClient(&redis.Options{Addr: *limits}), 1_000_000, time.Minute, redisTimeout)),
		formsvc.WithLogger(logger),
		formsvc.WithWebhookConfig(deliveries()),
	)
	if err != nil {
		return err
	}
	pages, err := formpage.New(service, formpage.Config{Secret: []byte(pageSecret), MinFillTime: -1, Logger: logger})
	if err != nil {
		return err
	}
	h := &host{service, store, pool}
	mux := http.NewServeMux()
	mux.Handle("/v1/", service)
	mux.Handle("/f/", pages)
	mux.Handle("/exports/", service.ExportHandler())
	mux.HandleFunc("POST /responses", h.answer(h.response))
	mux.HandleFunc("POST /orders", h.answer(h.order))
	if err := os.Remove(*socket); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", *socket)
	if err != nil {
		return err
	}
	go func() { logger.Error("the dispatcher ended", "error", service.Dispatcher().Run(ctx)) }()
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}).Serve(listener)
}

// deliveries are how webhooks are sent: to the driver's address, and again soon, since nobody
// waits for hours here.
func deliveries() webhooks.Config {
	return webhooks.Config{
		Timeout: attemptTimeout, InFlight: inFlight, InFlightSlow: inFlightSlow,
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix(ours + "/32")},
		Retry:           webhooks.RetryPolicy{Delays: slices.Repeat([]time.Duration{2 * time.Second}, 60)},
	}
}

// asked is a response that the host stores in Go.
type asked struct {
	Form formsvc.ID
	Key  string // the answer, and the name of the attempt
}

func (a asked) response() formsvc.SubmitParams {
	answer, err := json.Marshal(a.Key)
	if err != nil {
		panic(err) // a string
	}
	return formsvc.SubmitParams{FormID: a.Form, Answers: map[string]json.RawMessage{ledger.Block: answer}, IdempotencyKey: a.Key}
}

// answer makes a handler of what stores a response. Who gets 503 asks again.
func (h *host) answer(do func(context.Context, asked) (formsvc.ID, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var a asked
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id, err := do(r.Context(), a)
		switch {
		case err == nil:
			_, _ = w.Write([]byte(id.String())) // a client that is gone asks again
		case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// response stores a response.
func (h *host) response(ctx context.Context, a asked) (formsvc.ID, error) {
	stored, err := h.service.Submit(ctx, a.response())
	return stored.ID, err
}

// order stores a response and a row of the host's own in one transaction. Its time is for the
// host to bound, and every failure of it may have come after the commit.
func (h *host) order(ctx context.Context, a asked) (id formsvc.ID, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		stored, err := h.service.WithStorage(h.store.On(tx)).Submit(ctx, a.response())
		if err != nil {
			return err
		}
		id = stored.ID
		_, err = tx.Exec(ctx, `INSERT INTO orders (key) VALUES ($1) ON CONFLICT DO NOTHING`, a.Key)
		return err
	})
	if err != nil {
		return id, errors.Join(storage.ErrUnavailable, err)
	}
	h.service.Dispatcher().Wake()
	return id, nil
}
