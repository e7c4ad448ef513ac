// Command storage runs the service with a custom storage: a decorator that logs removals. README.md explains
// how to write and test one.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on (port 0 picks a free port)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

// run serves the API until the context ends.
func run(ctx context.Context, address string) error {
	store := Audited{memory.New(), slog.Default()} // a real product uses storage/postgres
	service, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: service, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	log.Printf("the API is at http://%s/v1", listener.Addr())
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(grace), service.Close(grace))
}
