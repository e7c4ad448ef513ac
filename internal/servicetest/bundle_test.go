package servicetest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// A Bundle is a service with one user, a key of the user with all scopes, and a workspace of the user.
type Bundle struct {
	*formsvc.Service
	T         testing.TB
	Store     storage.Storage
	User      formsvc.User
	Key       string
	Workspace formsvc.ID
}

// Setup makes a service on a storage in memory. The service is closed with the test.
func Setup(t testing.TB, opts ...formsvc.Option) *Bundle {
	t.Helper()
	return SetupOn(t, memory.New(), opts...)
}

// SetupOn makes a service on the given storage. The service is closed with the test.
func SetupOn(t testing.TB, store storage.Storage, opts ...formsvc.Option) *Bundle {
	t.Helper()
	user := formsvc.User{ID: formsvc.UserIDFrom("ann"), Name: "Ann", Email: "ann@example.com"}
	b := &Bundle{Service: New(t, store, opts...), T: t, Store: store, User: user}
	issued, err := b.CreateKey(t.Context(), formsvc.KeyRequest{User: b.User, Name: "all", Scopes: storage.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	b.Key = issued.Secret
	w, err := b.CreateWorkspace(t.Context(), b.User.ID, "Workspace")
	if err != nil {
		t.Fatal(err)
	}
	b.Workspace = w.ID
	return b
}

// New makes a service without a user. The service is closed with the test. A benchmark has its
// storage as it is; a test fails when the service changes a value that the storage gave out.
func New(t testing.TB, store storage.Storage, opts ...formsvc.Option) *formsvc.Service {
	t.Helper()
	if _, measures := t.(*testing.B); !measures {
		store = storagetest.ReadOnly(t, store)
	}
	svc, err := formsvc.New(append([]formsvc.Option{formsvc.WithStorage(store)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil { // t.Context() has ended by now
			t.Error(err)
		}
	})
	return svc
}

// Do calls the API with the bundle's key, without a network. It decodes the answer into into,
// unless into is nil.
func (b *Bundle) Do(method, path, body string, into any) *httptest.ResponseRecorder {
	b.T.Helper()
	w := b.DoAs(b.Key, method, path, body)
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			b.T.Fatalf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
		}
	}
	return w
}

// DoAs calls the API with the given key, without a network.
func (b *Bundle) DoAs(key, method, path, body string) *httptest.ResponseRecorder {
	r := b.Request(method, path, body)
	r.Header.Set("X-API-Key", key)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// Request makes a request of the API with the bundle's key.
func (b *Bundle) Request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "/v1"+path, strings.NewReader(body))
	r.Header.Set("X-API-Key", b.Key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// ServeHTTP lets the service answer r, and holds the answer against the description.
func (b *Bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	Serve(b.T, b.Service, w, r)
}

// Get calls a handler with a key, without a network, and returns the status of the answer.
func Get(t testing.TB, svc http.Handler, path, key string) int {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("X-API-Key", key)
	w := httptest.NewRecorder()
	Serve(t, svc, w, r)
	return w.Code
}

// TextBlock is the blocks of a form with one required text, "name".
const TextBlock = `[{"id":"name","type":"short_text","label":"Name","required":true}]`

// MailBlocks is the blocks of a form with an e-mail address, "mail", and a text, "name".
const MailBlocks = `[{"id":"mail","type":"email"},{"id":"name","type":"short_text"}]`

// Form makes a published form of the given blocks and settings in the bundle's workspace.
func (b *Bundle) Form(blocks, settings string) formsvc.ID {
	b.T.Helper()
	var made struct{ ID formsvc.ID }
	body := `{"workspace_id":"` + b.Workspace.String() + `","name":"Form","definition":{"blocks":` + blocks + `,"settings":` + settings + `}}`
	if w := b.Do(http.MethodPost, "/forms", body, &made); w.Code != http.StatusCreated {
		b.T.Fatalf("creating a form: %d %s", w.Code, w.Body)
	}
	b.Publish(made.ID)
	return made.ID
}

// Publish publishes a form.
func (b *Bundle) Publish(form formsvc.ID) {
	b.T.Helper()
	if w := b.Do(http.MethodPatch, "/forms/"+form.String(), `{"status":"published"}`, nil); w.Code != http.StatusOK {
		b.T.Fatalf("publishing: %d %s", w.Code, w.Body)
	}
}

// Settings replaces the settings of a form.
func (b *Bundle) Settings(form formsvc.ID, settings string) formsvc.Form {
	b.T.Helper()
	f, err := b.AsHost().UpdateForm(b.T.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(settings)}})
	if err != nil {
		b.T.Fatal(err)
	}
	return f
}

// Answer submits a response to a form. The pairs are those of [Answers].
func (b *Bundle) Answer(form formsvc.ID, pairs ...string) (formsvc.Submission, error) {
	return b.Submit(b.T.Context(), formsvc.Response{FormID: form, Answers: Answers(pairs...)})
}

// Answers makes answers out of names and JSON values in turn.
func Answers(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

// Submissions counts the stored submissions of a form, at most 100.
func (b *Bundle) Submissions(form formsvc.ID) int {
	b.T.Helper()
	var page struct{ Items []json.RawMessage }
	b.Do(http.MethodGet, "/forms/"+form.String()+"/submissions?limit=100", "", &page)
	return len(page.Items)
}

// WaitFor polls until a condition holds. The test fails after 20 seconds.
func WaitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

// ReadAll reads r to its end.
func ReadAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
