package servicetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/webhooks"
)

// Dispatch runs the dispatcher of a service until the test ends.
func Dispatch(t testing.TB, svc *formsvc.Service) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background()) // t.Context() ends before the cleanups
	ended := make(chan error, 1)
	go func() { ended <- svc.Dispatcher().Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Received is a request as a [Receiver] saw it.
type Received struct {
	Header http.Header
	Body   string
}

// Receiver is a real HTTP server that passes on the requests that it gets. It ends with the test.
func Receiver(t testing.TB) (url string, requests <-chan Received) {
	t.Helper()
	ch := make(chan Received, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ch <- Received{r.Header.Clone(), ReadAll(t, r.Body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, ch
}

// Loopback is the option of a service that delivers to this machine.
func Loopback() formsvc.Option {
	return formsvc.WithWebhookConfig(webhooks.Config{
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	})
}

// Dispatch runs the dispatcher of the bundle's service until the test ends.
func (b *Bundle) Dispatch() { Dispatch(b.T, b.Service) }

// Webhook makes a webhook of a form.
func (b *Bundle) Webhook(form formsvc.ID, url, secret string) formsvc.ID {
	b.T.Helper()
	var made struct{ ID formsvc.ID }
	body := `{"form_id":"` + form.String() + `","url":"` + url + `","signing_secret":"` + secret + `"}`
	if w := b.Do(http.MethodPost, "/webhooks", body, &made); w.Code != http.StatusCreated {
		b.T.Fatalf("creating a webhook: %d %s", w.Code, w.Body)
	}
	return made.ID
}

// Secret is a signing secret of a webhook.
const Secret = "a secret of sixteen or more"

// A Delivery is one item of the API's list of deliveries.
type Delivery struct {
	ID            formsvc.ID
	EventID       formsvc.ID  `json:"event_id"`
	SubmissionID  *formsvc.ID `json:"submission_id"`
	Attempt       int
	Status        int
	Success       bool
	Error         *string
	NextAttemptAt *string `json:"next_attempt_at"`
}

// Deliveries waits until the webhook has n deliveries: a delivery is recorded shortly after the
// receiver has it. Deliveries asks as often as it can, so it needs a service without a rate limit.
func (b *Bundle) Deliveries(hook formsvc.ID, n int) []Delivery {
	b.T.Helper()
	for b.T.Context().Err() == nil {
		var list struct{ Items []Delivery }
		b.Do(http.MethodGet, "/webhooks/"+hook.String()+"/deliveries", "", &list)
		if len(list.Items) >= n {
			return list.Items
		}
	}
	b.T.Fatalf("the webhook %s never had %d deliveries", hook, n)
	return nil
}
