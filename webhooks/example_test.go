package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// A receiver reads the whole body, checks the signature and only then decodes.
func ExampleVerify() {
	const secret = "the signing secret of the webhook"
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		if err := webhooks.Verify(secret, body, r.Header.Get("Service-Signature")); err != nil {
			http.Error(w, "signature", http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})

	body := `{"id":"65f0c0ffee65f0c0ffee65f0","response":{}}`
	for _, signature := range []string{webhooks.Sign(secret, []byte(body)), "sha256=forged"} {
		r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
		r.Header.Set("Service-Signature", signature)
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 204
	// 401
}

// A receiver makes a row of each event, and knows by the event's id which it has. In place of
// the map it has a table with a unique column, and answers when the row is committed.
func Example_receiver() {
	const secret = "the signing secret of the webhook"
	type event struct {
		ID       string
		Response *struct { // nil: an event of another kind
			FormID, SubmissionID string                     // no SubmissionID: a test event
			Answers              map[string]json.RawMessage // by block id, in the shapes of package schema
			Hidden, Variables    map[string]any
			SubmittedAt          time.Time
			CompletionTime       float64 // seconds
		}
	}
	rows := map[string]event{}
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		if err := webhooks.Verify(secret, body, r.Header.Get("Service-Signature")); err != nil {
			http.Error(w, "signature", http.StatusUnauthorized)
			return
		}
		var e event
		if err := json.Unmarshal(body, &e); err != nil { // members that it does not know are passed over
			http.Error(w, "json", http.StatusBadRequest)
			return
		}
		if _, there := rows[e.ID]; !there && e.Response != nil {
			rows[e.ID] = e
		}
		w.WriteHeader(http.StatusNoContent) // also to what came before, and to what it does not know
	})

	for _, body := range []string{
		`{"id":"65a1f0c2d4e5b6a7980c1d06","response":{"formId":"65a1f0c2d4e5b6a7980c1d02","submissionId":"65a1f0c2d4e5b6a7980c1d03",
			"answers":{"stars":5,"found":{"id":"friend","label":"A friend"}},"hidden":{"customer":"C-1042"},"variables":{"score":5},
			"consents":{},"metadata":{"country":"PT"},"submittedAt":"2026-11-21T16:05:40Z","completionTime":41.5}}`,
		`{"id":"65a1f0c2d4e5b6a7980c1d06","response":{}}`, // it comes again
		`{"id":"65a1f0c2d4e5b6a7980c1d07","form":{}}`,     // of another kind
	} {
		r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
		r.Header.Set("Service-Signature", webhooks.Sign(secret, []byte(body)))
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		fmt.Println(w.Code, len(rows))
	}
	first := rows["65a1f0c2d4e5b6a7980c1d06"].Response
	fmt.Println(first.SubmissionID, string(first.Answers["stars"]), first.Hidden["customer"])
	// Output:
	// 204 1
	// 204 1
	// 204 1
	// 65a1f0c2d4e5b6a7980c1d03 5 C-1042
}

// A host fetches a URL that a stranger gave it.
func ExampleNewClient() {
	client := webhooks.NewClient(webhooks.ClientConfig{Timeout: 5 * time.Second})
	defer client.CloseIdleConnections()

	resp, err := client.Get("http://169.254.169.254/latest/meta-data/")
	if refused := (*webhooks.URLError)(nil); errors.As(err, &refused) {
		fmt.Println("refused:", refused.Reason)
		return
	}
	if err != nil {
		fmt.Println("failed")
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output:
	// refused: its host is not a public IP address
}

// A host checks a URL before it keeps it for something of its own, such as an address for
// exports. What is sent there goes through a client of [webhooks.NewClient].
func ExampleGuard() {
	guard := webhooks.NewGuard(webhooks.GuardConfig{
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}, // receivers on the premises
	})
	ctx := context.Background()
	for _, url := range []string{"https://10.20.0.7/in", "https://10.30.0.7/in", "https://192.0.2.1:22/", "ftp://example.com/"} {
		var refused *webhooks.URLError
		switch err := guard.CheckHost(ctx, url); {
		case errors.As(err, &refused):
			fmt.Println(url, "refused:", refused.Reason)
		case err != nil:
			fmt.Println(url, "cannot be checked now")
		default:
			fmt.Println(url, "is fine")
		}
	}
	// Output:
	// https://10.20.0.7/in is fine
	// https://10.30.0.7/in refused: its host is not a public IP address
	// https://192.0.2.1:22/ refused: its port is not allowed
	// ftp://example.com/ refused: its scheme must be http or https
}

// The URL field of a settings page is checked by the rules of the service's deliveries,
// without asking the network.
func ExampleDispatcher_Guard() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.Dispatcher().Guard().CheckURL("https://user:password@example.com/hook"))
	// Output: webhooks: URL rejected: it must not contain a user name or password
}

// Deliveries as a host's configuration wants them.
func ExampleConfig_Validate() {
	config := webhooks.Config{
		Timeout:      5 * time.Second,
		Retry:        webhooks.RetryPolicy{Delays: []time.Duration{time.Minute, time.Hour}, Jitter: 0.1},
		HeaderPrefix: "Acme", // Acme-Signature
		UserAgent:    "acme-forms/1.0",
	}
	fmt.Println(config.Validate()) // for formsvc.WithWebhookConfig
	config.Timeout = 2 * time.Hour
	fmt.Println(config.Validate() != nil)
	// Output:
	// <nil>
	// true
}

// The receivers of one customer are behind a gateway that wants a token. Only it gets that.
func ExampleConfig_headers() {
	config := webhooks.Config{
		Headers: func(_ context.Context, webhook storage.Webhook) http.Header {
			if !strings.HasPrefix(webhook.URL, "https://hooks.example.com/") {
				return nil
			}
			return http.Header{"X-Gateway-Token": {"the token of the gateway"}}
		},
	}
	_, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithWebhookConfig(config))
	fmt.Println(err)
	// Output: <nil>
}
