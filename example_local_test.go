package formsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// A handler in the host's own program receives every submission, with retries.
func ExampleService_LocalWebhooks() {
	ctx, stop := context.WithCancel(context.Background())
	received := make(chan string)
	notify := func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			ID       formsvc.ID // the same if the event arrives again
			Response struct {
				Answers map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest) // sent again later
			return
		}
		received <- fmt.Sprint(event.Response.Answers["name"])
	}
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithWebhookConfig(webhooks.Config{
		Local: map[string]http.Handler{"notify": http.HandlerFunc(notify)},
	}))
	if err != nil {
		log.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- svc.Dispatcher().Run(ctx) }()

	// Once, for example in a setup command: a webhook for all forms, including future ones.
	if _, err := svc.LocalWebhooks().CreateWebhook(ctx, formsvc.WebhookCreate{URL: "local:notify"}); err != nil {
		log.Fatal(err)
	}
	form := publishForm(ctx, svc)
	answers := map[string]json.RawMessage{"name": json.RawMessage(`"Ann"`)}
	if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: answers}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("received:", <-received)
	stop()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// received: Ann
	// stopped: <nil>
}

func publishForm(ctx context.Context, svc *formsvc.Service) formsvc.ID {
	workspace, err := svc.CreateWorkspace(ctx, formsvc.UserIDFrom("ann"), "Ann's forms")
	if err != nil {
		log.Fatal(err)
	}
	form, err := svc.AsHost().CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Contact", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"name","type":"short_text","label":"Your name"}]`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := svc.AsHost().PublishForm(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	return form.ID
}
