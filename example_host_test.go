package formsvc_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// keyFor makes an API key.
func keyFor(svc *formsvc.Service, user string, scopes ...formsvc.Scope) string {
	issued, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom(user)}, Name: "example", Scopes: scopes})
	if err != nil {
		log.Fatal(err)
	}
	return issued.Secret
}

// Each customer has an address of its own. The host looks it up rather than trusting the
// request.
func ExampleWithBaseURLFunc() {
	customers := map[string]string{"forms.acme.example": "https://forms.acme.example", "forms.corp.example": "https://forms.corp.example"}
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBaseURLFunc(func(r *http.Request) string {
		return customers[r.Host] // "" is a path without a host
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	key := keyFor(svc, "ann", formsvc.ScopeWorkspacesWrite)
	for _, host := range []string{"forms.acme.example", "evil.example"} {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+"/v1/workspaces", strings.NewReader(`{"name":"Customers"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimRight(w.Header().Get("Location"), "0123456789abcdef")) // without the id
	}
	// Output:
	// 201 https://forms.acme.example/v1/workspaces/
	// 201 /v1/workspaces/
}

// The form is in the host's source code, as the file that the builder downloads, usually with go:embed.
func ExampleClient_EnsureForm() {
	const contact = `{"name": "Contact", "definition": {"blocks": [
		{"id": "email", "type": "email", "label": "Your email"},
		{"id": "message", "type": "long_text", "label": "%s"}]}}`

	ctx := context.Background()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
	workspace, err := svc.CreateWorkspace(ctx, formsvc.UserIDFrom("team"), "Website")
	if err != nil {
		log.Fatal(err)
	}
	ensure := func(label string, options ...formsvc.EnsureOption) { // in every process that starts
		form, err := svc.ParseForm(fmt.Appendf(nil, contact, label))
		if err != nil {
			log.Fatal(err) // lists all violations
		}
		form.Workspace, form.PublicID = workspace.ID, "contact" // its page is /f/contact
		ensured, err := svc.AsHost().EnsureForm(ctx, form, options...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ensured.Status, ensured.Name, ensured.Revision, ensured.Edited)
	}
	ensure("Message")
	ensure("Message")
	ensure("Your message")

	form, err := svc.PublicForm(ctx, "contact")
	if err != nil {
		log.Fatal(err)
	}
	name := "Write to us"
	if _, err := svc.As(formsvc.UserIDFrom("team")).UpdateForm(ctx, form.ID, formsvc.FormUpdate{Name: &name}); err != nil {
		log.Fatal(err)
	}
	ensure("Your question")
	ensure("Your question", formsvc.Overwrite())
	// Output:
	// published Contact 1 false
	// published Contact 1 false
	// published Contact 2 false
	// published Write to us 3 true
	// published Contact 4 false
}

// A test of the host's own moves the clock.
func ExampleWithClock() {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	svc, err := formsvc.New(formsvc.WithStorage(memory.New(memory.WithClock(clock))), formsvc.WithClock(clock))
	if err != nil {
		log.Fatal(err)
	}
	ctx, tomorrow := context.Background(), now.Add(24*time.Hour)
	key, err := svc.CreateKey(ctx, formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "for a day", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}, ExpiresAt: &tomorrow,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = svc.ResolveKey(ctx, key.Secret)
	fmt.Println(err)
	now = tomorrow.Add(time.Second)
	_, err = svc.ResolveKey(ctx, key.Secret)
	fmt.Println(errors.Is(err, formsvc.ErrInvalidKey))
	// Output:
	// <nil>
	// true
}

// Bounds of dates are days of the zone in which the product's owners live.
func ExampleWithTimeZone() {
	zone := time.FixedZone("Amsterdam", 3600) // or time.LoadLocation("Europe/Amsterdam")
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithTimeZone(zone))
	if err != nil {
		log.Fatal(err)
	}
	lastDay := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC) // of a block's beforeDate
	fmt.Println(lastDay.In(svc.TimeZone()).Format(time.DateOnly))
	// Output: 2026-12-01
}

// The service logs with what the host logs with.
func ExampleWithLogger() {
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("component", "forms")
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLogger(logger))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
}

// Each key may make two calls an hour.
func ExampleWithRateLimit() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithRateLimit(2, time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	key := keyFor(svc, "ann", formsvc.ScopeFormsRead)
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/v1/forms", nil)
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// A gateway in front of the service limits calls already.
func ExampleWithoutRateLimit() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithoutRateLimit())
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
	r.Header.Set("X-API-Key", keyFor(svc, "ann", formsvc.ScopeFormsRead))
	w := httptest.NewRecorder()
	svc.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("RateLimit-Policy") == "")
	// Output: 200 true
}

// The host's own upload handler takes files as large as answers may name.
func ExampleService_Limits() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLimits(formsvc.Limits{FileSize: 1 << 20}))
	if err != nil {
		log.Fatal(err)
	}
	upload := http.MaxBytesHandler(http.NotFoundHandler(), svc.Limits().FileSize)
	_ = upload // mux.Handle("POST /uploads", upload)
	fmt.Println(svc.Limits().FileSize, svc.Limits().Webhooks)
	// Output: 1048576 20
}

// Replicas share one limit when they share its store.
func ExampleWithLimiter() {
	store, err := memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour}) // or one on Redis
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(context.Background())
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLimiter(store))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	key, err := svc.CreateKey(context.Background(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "k", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
		r.Header.Set("X-API-Key", key.Secret)
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "key";q=2
	// 200 "key";q=2
	// 429 "key";q=2
}

// Two services of one product share the store of their limits, not the budgets, even
// though both have the default base path and are told apart by the host's name alone.
func ExampleWithLimiterName() {
	store, err := memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(context.Background())
	for _, name := range []string{"surveys", "registration"} {
		svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithKeyResolver(everybody{}),
			formsvc.WithLimiter(store), formsvc.WithLimiterName(name))
		if err != nil {
			log.Fatal(err)
		}
		for range 2 {
			r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
			r.Header.Set("X-API-Key", "ann")
			w := httptest.NewRecorder()
			svc.ServeHTTP(w, r)
			fmt.Println(name, w.Code)
		}
	}
	// Output:
	// surveys 200
	// surveys 429
	// registration 200
	// registration 429
}

// everybody is a resolver that takes a name for a key.
type everybody struct{}

func (everybody) ResolveKey(_ context.Context, key string) (formsvc.Principal, error) {
	return formsvc.Principal{KeyID: key, UserID: formsvc.UserIDFrom(key)}, nil
}

// Signing secrets are sealed in the storage. To change the cipher's key, the old one
// stays as a previous one until everything is sealed anew.
func ExampleWithSecretCipher() {
	gcm := func(key string) cipher.AEAD {
		block, err := aes.NewCipher([]byte(key)) // 32 bytes from the host's own secrets
		if err != nil {
			log.Fatal(err)
		}
		aead, err := cipher.NewGCM(block) // the service makes the nonces
		if err != nil {
			log.Fatal(err)
		}
		return aead
	}
	ctx, store := context.Background(), memory.New()
	local := formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	first := gcm("0123456789abcdef0123456789abcdef")
	svc, err := formsvc.New(formsvc.WithStorage(store), local, formsvc.WithSecretCipher(first))
	if err != nil {
		log.Fatal(err)
	}
	ann := svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "W"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "F"})
	if err != nil {
		log.Fatal(err)
	}
	hook, err := ann.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: "http://127.0.0.1:8080/", SigningSecret: "a secret of the receiver"})
	if err != nil {
		log.Fatal(err)
	}
	rotated, err := formsvc.New(formsvc.WithStorage(store), local, formsvc.WithSecretCipher(gcm("fedcba9876543210fedcba9876543210"), first))
	if err != nil {
		log.Fatal(err)
	}
	sealed, err := rotated.ReencryptSecrets(ctx)
	fmt.Println(hook.HasSecret, sealed, err) // the first cipher may go now, and what is not sealed
	_, err = formsvc.New(formsvc.WithStorage(store), local, formsvc.WithoutPlainSecrets(),
		formsvc.WithSecretCipher(gcm("fedcba9876543210fedcba9876543210")))
	fmt.Println(err)
	// Output:
	// true 1 <nil>
	// <nil>
}

// The dispatcher lives as long as its context: it sends what is due, and when the
// context ends it lets running requests end and returns.
func ExampleService_Dispatcher() {
	const secret = "a secret of the receiver"
	received := make(chan error)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		received <- errors.Join(err, webhooks.Verify(secret, body, r.Header.Get("Service-Signature")))
	}))
	defer receiver.Close()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithWebhookConfig(webhooks.Config{
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, // the receiver is on this machine
	}))
	if err != nil {
		log.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- svc.Dispatcher().Run(running) }()

	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "W"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "F"})
	if err != nil {
		log.Fatal(err)
	}
	hook, err := ann.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: receiver.URL, SigningSecret: secret})
	if err != nil {
		log.Fatal(err)
	}
	if err := svc.SendTestEvent(ctx, hook.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println("received:", <-received)
	stop()
	fmt.Println("stopped:", <-stopped)
	fmt.Println("closed:", svc.Close(ctx))
	// Output:
	// received: <nil>
	// stopped: <nil>
	// closed: <nil>
}

// A deployment without a dispatcher calls Maintain now and then.
func ExampleService_Maintain() {
	svc, _ := exampleForm()
	every := time.NewTicker(time.Millisecond) // in production a minute
	defer every.Stop()
	for range 2 {
		<-every.C
		if err := svc.Maintain(context.Background()); err != nil {
			log.Println(err) // the next call goes on
		}
	}
	fmt.Println("maintained")
	// Output: maintained
}

// A host shows which release it runs. In a test that is none.
func ExampleVersion() {
	fmt.Println("forms by formsvc", formsvc.Version())
	// Output: forms by formsvc (devel)
}

// A program says when it starts what its deployment lacks, and a health check asks again.
func ExampleService_Check() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	health := func(svc *formsvc.Service) string {
		switch err := svc.Check(context.Background()); {
		case err == nil:
			return "nothing is missing"
		case errors.Is(err, formsvc.ErrUnavailable):
			return "this process cannot work: " + err.Error() // 503
		case errors.Is(err, formsvc.ErrNoDispatcher), errors.Is(err, formsvc.ErrNoMaintenance):
			return "nobody does the work beside: " + err.Error() // tell an operator
		default:
			return err.Error()
		}
	}
	fmt.Println(health(svc))
	// Output: nothing is missing
}

// The API lives where the host wants it.
func ExampleWithBasePath() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBasePath("/forms/api"), formsvc.WithBaseURL("https://example.com"))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	mux := http.NewServeMux()
	mux.Handle("/forms/api/", svc)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/forms/api/openapi.json", nil))
	var description struct{ Servers []struct{ URL string } }
	if err := json.Unmarshal(w.Body.Bytes(), &description); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Code, description.Servers[0].URL)
	// Output: 200 https://example.com
}

// Sizes that do not fit a product are changed; the others keep their defaults.
func ExampleWithLimits() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLimits(formsvc.Limits{Workspaces: 1}))
	if err != nil {
		log.Fatal(err)
	}
	ann := svc.As(formsvc.UserIDFrom("ann"))
	for range 2 {
		_, err = ann.CreateWorkspace(context.Background(), formsvc.WorkspaceCreate{Name: "W"})
	}
	fmt.Println(errors.Is(err, formsvc.ErrLimitReached))
	// Output: true
}

// A webhook goes to public addresses only.
func ExampleClient_CreateWebhook() {
	svc, form := exampleForm()
	_, err := svc.AsHost().CreateWebhook(context.Background(), formsvc.WebhookCreate{Form: form, URL: "http://169.254.169.254/latest/meta-data/"})
	var refused *formsvc.RejectedURLError
	fmt.Println(errors.As(err, &refused))
	// Output: true
}

// A handler of the host's own answers a refused URL as the API does.
func ExampleRejectedURLError() {
	svc, form := exampleForm()
	_, err := svc.AsHost().CreateWebhook(context.Background(), formsvc.WebhookCreate{Form: form, URL: "ftp://example.com/"})
	var refused *formsvc.RejectedURLError
	if errors.As(err, &refused) {
		v := refused.Violation()
		fmt.Println(v.Path, v.Code, v.Message)
	}
	// Output: /url NOT_ALLOWED its scheme must be http or https
}

// exampleWebhook makes a service whose form has a webhook to a receiver on this machine.
func exampleWebhook(url string, config webhooks.Config) (*formsvc.Service, formsvc.Webhook) {
	config.AllowedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
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
	fmt.Println(len(must(ann.FormWebhooks(ctx, webhook.FormID))), "of its form")
	fmt.Println(ann.DeleteWebhook(ctx, webhook.ID))
	// Output:
	// http://127.0.0.1:8080/hook true true
	// 1 of its form
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

// The receiver was out of order for an hour. What was given up meanwhile is sent again.
func ExampleService_RedeliverFailed() {
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
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- svc.Dispatcher().Run(ctx) }()

	outage := time.Now().Add(-time.Hour)
	if _, err := svc.AsHost().PublishForm(ctx, webhook.FormID); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: webhook.FormID}); err != nil {
			log.Fatal(err)
		}
		<-done.attempts
	}
	stop() // the last results are recorded when Run has returned
	<-stopped

	repaired.Store(true)
	ctx = context.Background()
	n, err := svc.RedeliverFailed(ctx, webhook.ID, outage)
	fmt.Println(n, err)
	n, err = svc.RedeliverFailed(ctx, webhook.ID, outage) // they are waiting
	fmt.Println(n, err)
	// Output:
	// 3 <nil>
	// 0 <nil>
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

// A middleware of the host's groups requests by the operation, which stands in the request
// after the call.
func ExampleService_ServeHTTP() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(context.Background())
	mux := http.NewServeMux()
	mux.Handle("/v1/", svc)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r)
		fmt.Println(r.Method, r.Pattern)
	})
	for _, path := range []string{"/v1/forms/65a1f0c2d4e5b6a7980c1d02", "/v1/nothing", "/elsewhere"} {
		counted.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	// Output:
	// GET /v1/forms/{formId}
	// GET /v1/
	// GET
}

// The API for a page of the product, behind its own sign-in.
func ExampleClient_ServeHTTP() {
	service, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	signedIn := func(*http.Request) (formsvc.ID, error) { return formsvc.UserIDFrom("42"), nil } // of the product
	mux := http.NewServeMux()
	mux.Handle("/app/api/", http.StripPrefix("/app/api", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := signedIn(r)
		if err != nil {
			http.Error(w, "Please sign in.", http.StatusUnauthorized)
			return
		}
		service.As(user).ServeHTTP(w, r)
	})))
	foreign := http.NewCrossOriginProtection() // pages of others would come with the user's cookies

	r := httptest.NewRequest(http.MethodPost, "/app/api/workspaces", strings.NewReader(`{"name":"Lumen"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	foreign.Handler(mux).ServeHTTP(w, r)
	fmt.Println(w.Code, strings.HasPrefix(w.Header().Get("Location"), "/app/api/workspaces/"))
	// Output: 201 true
}

// An editor of the host's own shows what somebody types, before it is saved.
func ExampleClient_EditorForm() {
	service, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := service.As(formsvc.UserIDFrom("42"))
	workspace, err := client.CreateWorkspace(context.Background(), formsvc.WorkspaceCreate{Name: "Lumen"})
	if err != nil {
		fmt.Println(err)
		return
	}
	form, err := client.CreateForm(context.Background(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Pets"})
	if err != nil {
		fmt.Println(err)
		return
	}
	typed := formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"pet","type":"yes_no","label":"Do you have a c"}]`)}}
	shown, err := client.EditorForm(context.Background(), form.ID, typed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shown.Name, shown.Blocks[0].Label) // for formpage.Handler.Canvas
	// Output: Pets Do you have a c
}

// A product sells forms of at most three questions. Its users get an error that they can read.
func ExampleService_WithFormCheck() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	small := svc.WithFormCheck(func(_, after formsvc.FormContent) error {
		blocks, err := schema.DecodeBlocks(after.Blocks)
		if err == nil && len(blocks) > 3 {
			err = &formsvc.Error{Violations: []schema.Violation{{Path: "/definition/blocks", Code: schema.CodeTooMany, Message: "your plan has three questions per form"}}}
		}
		return err
	})
	ctx, ann := context.Background(), formsvc.UserIDFrom("ann")
	workspace, err := svc.CreateWorkspace(ctx, ann, "Forms")
	if err != nil {
		log.Fatal(err)
	}
	blocks := json.RawMessage(`[{"id":"a","type":"short_text"},{"id":"b","type":"short_text"},{"id":"c","type":"short_text"},{"id":"d","type":"short_text"}]`)
	_, err = small.As(ann).CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Survey", Definition: formsvc.Definition{Blocks: blocks}})
	broken, _ := errors.AsType[*formsvc.Error](err)
	fmt.Println(broken.Violations[0].Message)
	// Output: your plan has three questions per form
}
