package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/apispec"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/storage/storagetest"
	"github.com/formsvc/formsvc/webhooks"
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
	expect.NoError(t, err)
	b.Key = issued.Secret
	w, err := b.CreateWorkspace(t.Context(), b.User.ID, "Workspace")
	expect.NoError(t, err)
	b.Workspace = w.ID
	return b
}

// Issue makes a key of a user with some scopes.
func (b *Bundle) Issue(user formsvc.ID, scopes ...formsvc.Scope) formsvc.IssuedKey {
	b.T.Helper()
	return expect.Must(b.CreateKey(b.T.Context(), formsvc.KeyRequest{User: formsvc.User{ID: user}, Name: "k", Scopes: scopes}))
}

// New makes a service without a user. The service is closed with the test. A benchmark has its
// storage as it is; a test fails when the service changes a value that the storage gave out.
func New(t testing.TB, store storage.Storage, opts ...formsvc.Option) *formsvc.Service {
	t.Helper()
	if _, measures := t.(*testing.B); !measures {
		store = storagetest.ReadOnly(t, store)
	}
	svc, err := formsvc.New(append([]formsvc.Option{formsvc.WithStorage(store)}, opts...)...)
	expect.NoError(t, err)
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

// Change replaces those sections of a form that are given.
func (b *Bundle) Change(form formsvc.ID, sections formsvc.Definition) formsvc.Form {
	b.T.Helper()
	return expect.Must(b.AsHost().UpdateForm(b.T.Context(), form, formsvc.FormUpdate{Definition: sections}))
}

// Settings replaces the settings of a form.
func (b *Bundle) Settings(form formsvc.ID, settings string) formsvc.Form {
	b.T.Helper()
	return b.Change(form, formsvc.Definition{Settings: json.RawMessage(settings)})
}

// Answer submits a response to a form. The pairs are those of [ParseAnswers].
func (b *Bundle) Answer(form formsvc.ID, pairs ...string) (formsvc.Submission, error) {
	return b.Submit(b.T.Context(), formsvc.SubmitParams{FormID: form, Answers: Answers(pairs...)})
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

// WaitFor polls until a condition holds. The test fails after a minute.
func WaitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		expect.Require(t, !time.Now().After(end), "waited a minute for %s", what)
	}
}

// ReadAll reads r to its end.
func ReadAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	expect.NoError(t, err)
	return string(b)
}

// Stores are one storage of each kind, by name.
func Stores(t testing.TB) map[string]storage.Storage {
	t.Helper()
	return map[string]storage.Storage{"memory": memory.New(), "postgres": PostgresStore(t)}
}

// OnEachStorage runs a test on a service with a storage in memory and, beside it, on a service with
// PostgreSQL. Both deliver to this machine and have no rate limit.
func OnEachStorage(t *testing.T, test func(t *testing.T, b *Bundle)) {
	t.Helper()
	OnEachStore(t, func(t *testing.T, store storage.Storage) {
		test(t, SetupOn(t, store, Loopback(), formsvc.WithoutRateLimit()))
	})
}

// OnEachStore runs a test on a storage in memory and, beside it, on one with PostgreSQL.
func OnEachStore(t *testing.T, test func(t *testing.T, store storage.Storage)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memory.New())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, PostgresStore(t))
	})
}

// PostgresStore is a store in a schema of its own on the tests' server.
func PostgresStore(t testing.TB) *postgres.Store {
	t.Helper()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	return Migrated(t, pool, postgres.WithSchema(schema))
}

// Migrated is a store on a pool, of which the tables are made.
func Migrated(t testing.TB, pool *pgxpool.Pool, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	expect.NoError(t, postgres.Migrate(t.Context(), pool, opts...))
	return postgres.New(pool, opts...)
}

// A Clock stands still until a test moves it. It may be used concurrently.
type Clock struct{ now chan time.Time }

// NewClock returns a clock that shows the given time.
func NewClock(at time.Time) *Clock {
	c := &Clock{now: make(chan time.Time, 1)}
	c.now <- at
	return c
}

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	t := <-c.now
	c.now <- t
	return t
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.now <- (<-c.now).Add(d)
}

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

// Serve lets h answer r, and fails the test when the answer is not as the description says. In a
// benchmark nothing is compared.
func Serve(t testing.TB, h http.Handler, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	if _, ok := t.(*testing.B); ok {
		h.ServeHTTP(w, r)
		return
	}
	tee := &tee{ResponseWriter: w}
	h.ServeHTTP(tee, r)
	if err := AsDescribed(r, tee.status, w.Header(), tee.body.Bytes()); err != nil {
		t.Errorf("%s %s: %d %.500s\nis not as described: %v", r.Method, r.URL, tee.status, tee.body.Bytes(), err)
	}
}

// tee passes a response on and keeps it.
type tee struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tee) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(b []byte) (int, error) {
	t.body.Write(b)
	return t.ResponseWriter.Write(b)
}

var requestIDRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// basePaths are those below which tests reach a service.
var basePaths = []string{"/v1", "/api/v1", "/forms/api", ""}

// AsDescribed reports how an answer differs from the description and from what is
// promised of every answer.
func AsDescribed(r *http.Request, status int, header http.Header, body []byte) error {
	responses, err := apispec.New()
	if err != nil {
		return err
	}
	if err := responses.Check(r.Method, describedPath(responses, r), status, header, body); err != nil {
		return err
	}
	ids := header["X-Request-Id"]
	if len(ids) != 1 || !requestIDRule.MatchString(ids[0]) {
		return fmt.Errorf("X-Request-ID is %q", ids)
	}
	if given := r.Header["X-Request-Id"]; len(given) == 1 && requestIDRule.MatchString(given[0]) && given[0] != ids[0] {
		return fmt.Errorf("X-Request-ID is %q, the caller supplied %q", ids[0], given[0])
	}
	if len(header["Cache-Control"]) != 1 {
		return fmt.Errorf("Cache-Control is %q", header["Cache-Control"])
	}
	if status < 400 || r.Method == http.MethodHead {
		return nil
	}
	var e struct {
		Status    int
		RequestID string `json:"request_id"`
		Details   []struct{ Path, Code, Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	switch {
	case e.Status != status:
		return fmt.Errorf("the body has the status %d", e.Status)
	case e.RequestID != ids[0]:
		return fmt.Errorf("request_id is %q, X-Request-ID %q", e.RequestID, ids[0])
	case len(e.Details) > 50:
		return fmt.Errorf("there are %d details", len(e.Details))
	case !slices.IsSortedFunc(e.Details, func(a, b struct{ Path, Code, Message string }) int { return strings.Compare(a.Path, b.Path) }):
		return fmt.Errorf("the details are not sorted: %v", e.Details)
	case e.Details != nil && status != http.StatusUnprocessableEntity:
		return fmt.Errorf("details with the status %d", status)
	}
	return nil
}

// describedPath is the request's path as the description writes it, below the base
// path. The description has no path that is not clean.
func describedPath(responses *apispec.Description, r *http.Request) string {
	path := r.URL.EscapedPath()
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "/not-clean"
		}
	}
	for _, base := range basePaths {
		if below, ok := strings.CutPrefix(path, base); ok {
			if known, _ := responses.HasRoute(r.Method, below); known {
				return below
			}
		}
	}
	return path
}
