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
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// From a public form to a stored response, as a page for respondents does it.
func ExampleService_PublicForm() {
	svc, id := exampleForm()
	ctx := context.Background()
	stored, err := svc.AsHost().Form(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	form, err := svc.PublicForm(ctx, stored.PublicID) // out of the page's address
	if err != nil {
		log.Fatal(err)
	}
	if err := svc.RecordView(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	for _, block := range form.Blocks { // what the page asks, and the respondent answers
		if block.Required {
			answers[block.ID] = json.RawMessage(`8`)
		}
	}
	submission, err := svc.Submit(ctx, formsvc.Response{FormID: form.ID, Answers: answers, IdempotencyKey: "from the page"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(form.Name, form.Closed, submission.FormRevision)
	// Output: Feedback false 2
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

// gcm is a cipher for signing secrets. Its key comes from the host's own secrets.
func gcm(key string) cipher.AEAD {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		log.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		log.Fatal(err)
	}
	return aead
}

// Signing secrets are sealed in the storage. To change the cipher's key, the old one
// stays as a previous one until everything is sealed anew.
func ExampleWithSecretCipher() {
	ctx, store := context.Background(), memory.New()
	local := formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
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
	sealed, err := rotated.ResealSecrets(ctx)
	fmt.Println(hook.HasSecret, sealed, err) // the first cipher may go now
	// Output: true 1 <nil>
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
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // the receiver is on this machine
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
