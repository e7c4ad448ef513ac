// Command otel exports metrics of the webhook dispatcher to OpenTelemetry and prints them. At its start, it
// sends an event to its own receiver.
//
//	go run . -every 5s
//
// Read observer.go first; you can copy it. The command is a separate module, so that the library does not
// depend on OpenTelemetry.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on (port 0 picks a free port)")
	every := flag.Duration("every", 10*time.Second, "interval between printed metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr, *every, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "otel:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string, every time.Duration, out io.Writer) error {
	exporter, err := stdoutmetric.New(stdoutmetric.WithWriter(out)) // a real product takes the one of its collector
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter, metric.WithInterval(every))))
	observer, err := NewObserver(provider)
	if err != nil {
		return err
	}
	service, err := formsvc.New(
		formsvc.WithStorage(memory.New()),
		formsvc.WithWebhookConfig(webhooks.Config{
			Observer:        observer,
			AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // its own receiver is there
		}),
	)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if err := prepare(ctx, service, url+"/receive"); err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", service)
	mux.HandleFunc("POST /receive", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	fmt.Fprintf(os.Stderr, "API: %s/v1\n", url)

	// The end is in the order that examples/mount explains, but that the receiver is in this
	// process: the dispatcher ends first. The provider prints the last figures.
	delivering, stop := context.WithCancel(ctx)
	defer stop()
	dispatched := make(chan error, 1)
	go func() { dispatched <- service.Dispatcher().Run(delivering) }()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	stop()
	err = errors.Join(err, <-dispatched)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(grace), service.Close(grace), provider.Shutdown(grace))
}

// prepare makes a form whose webhook leads to receiver, and sends it an event.
func prepare(ctx context.Context, service *formsvc.Service, receiver string) error {
	ann := service.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		return err
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback"})
	if err != nil {
		return err
	}
	webhook, err := ann.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: receiver})
	if err != nil {
		return err
	}
	return service.SendTestEvent(ctx, webhook.ID)
}
