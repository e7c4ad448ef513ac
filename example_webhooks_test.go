package formsvc_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// exampleWebhook makes a service whose form has a webhook to a receiver on this machine.
func exampleWebhook(url string, config webhooks.Config) (*formsvc.Service, formsvc.Webhook) {
	config.AllowedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithWebhookConfig(config))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback"})
	if err != nil {
		log.Fatal(err)
	}
	webhook, err := ann.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: url, SigningSecret: "a secret of the receiver"})
	if err != nil {
		log.Fatal(err)
	}
	return svc, webhook
}

// An owner's page lists the webhooks, and removes one.
func ExampleClient_Webhooks() {
	svc, webhook := exampleWebhook("http://127.0.0.1:8080/hook", webhooks.Config{})
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	for w, err := range ann.Webhooks(ctx, formsvc.Query{Limit: 20}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(w.URL, w.Enabled, w.HasSecret)
	}
	fmt.Println(ann.DeleteWebhook(ctx, webhook.ID))
	// Output:
	// http://127.0.0.1:8080/hook true true
	// <nil>
}

// The receiver moves and gets a new secret. For a day, deliveries are signed with the
// old one as well.
func ExampleClient_UpdateWebhook() {
	svc, webhook := exampleWebhook("http://127.0.0.1:8080/hook", webhooks.Config{})
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	url, secret := "http://127.0.0.1:9090/hook", "another secret of the receiver"
	if _, err := ann.UpdateWebhook(ctx, webhook.ID, formsvc.WebhookUpdate{URL: &url, SigningSecret: &secret}); err != nil {
		log.Fatal(err)
	}
	moved, err := ann.Webhook(ctx, webhook.ID)
	fmt.Println(moved.URL, moved.HasSecret, err)
	// Output: http://127.0.0.1:9090/hook true <nil>
}

// finished tells of each attempt that is over.
type finished struct {
	webhooks.NoObserver
	attempts chan storage.Delivery
}

func (f finished) AttemptFinished(_ context.Context, a storage.Delivery) { f.attempts <- a }

// The owner's page shows why a delivery failed, and sends it again when the receiver is
// repaired.
func ExampleService_Redeliver() {
	var repaired atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !repaired.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
		}
	}))
	defer receiver.Close()
	done := finished{attempts: make(chan storage.Delivery)}
	svc, webhook := exampleWebhook(receiver.URL, webhooks.Config{
		Retry:    webhooks.RetryPolicy{Delays: []time.Duration{}}, // one attempt
		Observer: done,
	})
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	deliverOne := func() { // a host runs the dispatcher as long as its process
		running, stop := context.WithCancel(ctx)
		stopped := make(chan error)
		go func() { stopped <- svc.Dispatcher().Run(running) }()
		<-done.attempts
		stop()
		<-stopped
	}

	if err := svc.SendTestEvent(ctx, webhook.ID); err != nil {
		log.Fatal(err)
	}
	deliverOne()
	deliveries, err := ann.Deliveries(ctx, webhook.ID)
	if err != nil {
		log.Fatal(err)
	}
	repaired.Store(true)
	if err := svc.Redeliver(ctx, webhook.ID, deliveries[0].ID); err != nil {
		log.Fatal(err)
	}
	deliverOne()
	deliveries, err = ann.Deliveries(ctx, webhook.ID)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range deliveries {
		fmt.Printf("%s: %d %q\n", d.EventType, d.Status, d.Error)
	}
	fmt.Println(deliveries[0].EventID == deliveries[1].EventID)
	// Output:
	// form.response.completed: 200 ""
	// form.response.completed: 500 "status"
	// true
}

// Operators look at what does not get through: here nothing.
func ExampleClient_PausedWebhooks() {
	svc, _ := exampleWebhook("http://127.0.0.1:8080/hook", webhooks.Config{})
	paused := 0
	for p, err := range svc.AsHost().PausedWebhooks(context.Background(), formsvc.Query{Limit: 100}) {
		if err != nil {
			log.Fatal(err)
		}
		paused++
		if p.Reason == formsvc.PauseFailures {
			fmt.Println(p.URL, "fails since", p.FailingSince, "and is tried again at", p.PausedUntil)
		}
	}
	fmt.Println(paused, "webhooks are paused")
	// Output: 0 webhooks are paused
}
