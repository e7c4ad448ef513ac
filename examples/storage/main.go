// Command storage runs the service on a storage of its own: one SQLite file. README.md
// tells in which order such a storage is written and what proves it.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/formsvc/formsvc"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "formsvc.sqlite", *addr); err != nil {
		log.Fatal(err)
	}
}

// run serves the API until the context ends.
func run(ctx context.Context, file, address string) error {
	store, err := Open(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	service, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: service, ReadHeaderTimeout: 5 * time.Second}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dispatched := make(chan error, 1)
	go func() { dispatched <- service.Dispatcher().Run(ctx) }()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	log.Printf("the API is at http://%s/v1", listener.Addr())
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	stop() // the dispatcher ends the deliveries that it is at, and the store closes last
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(grace), <-dispatched, service.Close(grace))
}
