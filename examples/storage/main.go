// Command storage runs the service on a storage of its own: one SQLite file. README.md
// tells in which order such a storage is written and what proves it.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/formsvc/formsvc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "formsvc.sqlite", "127.0.0.1:8080"); err != nil {
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
	server := &http.Server{Addr: address, Handler: service, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 2)
	go func() { ended <- service.Dispatcher().Run(ctx) }()
	go func() { ended <- server.ListenAndServe() }()

	log.Printf("the API is at http://%s/v1", address)
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if shut := server.Shutdown(grace); err == nil {
		err = shut
	}
	if closed := service.Close(grace); err == nil {
		err = closed
	}
	return err
}
