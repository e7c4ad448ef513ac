// Command mount adds formsvc to a product that already has an http.ServeMux, a logger and
// a graceful shutdown.
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

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on (port 0 picks a free port)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	err := run(ctx, &http.Server{Addr: *addr, ReadHeaderTimeout: 5 * time.Second}, logger)
	stop()
	if err != nil {
		logger.Error("stopped", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server *http.Server, logger *slog.Logger) error {
	service, err := formsvc.New(
		formsvc.WithStorage(memory.New()), // a real product takes storage/postgres and its own pool
		formsvc.WithBaseURL("/api"),       // the service lives below /api, and links must say so
		formsvc.WithLogger(logger.With("component", "formsvc")),
	)
	if err != nil {
		return err
	}
	server.Handler = routes(service, logger)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", server.Addr)
	if err != nil {
		return err
	}

	delivering, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx: see below
	defer stop()
	dispatched := make(chan error, 1)
	go func() { dispatched <- service.Dispatcher().Run(delivering) }()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	logger.InfoContext(ctx, "serving", "addr", listener.Addr().String())
	select {
	case <-ctx.Done():
	case err = <-served:
	}

	// First the server takes no more requests, then deliveries under way end, then the
	// service closes. What is left in the queue is delivered by the next process.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(grace))
	stop()
	return errors.Join(err, <-dispatched, service.Close(grace))
}

// routes are the product's routes, with the service next to them.
func routes(service http.Handler, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", service)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the product") })
	return logged(mux, logger)
}

// logged is the product's own middleware; the service sits behind it like any route.
func logged(next http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		logger.InfoContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
			"request_id", w.Header().Get("X-Request-ID"))
	})
}
