package formsvc_test

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

// bundle is a service with one user, their key and their workspace.
type bundle struct {
	*formsvc.Service
	t         testing.TB
	store     storage.Storage
	user      formsvc.User
	key       string
	workspace formsvc.ID
}

func setup(t testing.TB, opts ...formsvc.Option) *bundle {
	t.Helper()
	return setupOn(t, memory.New(), opts...)
}

// setupOn is setup on another storage.
func setupOn(t testing.TB, store storage.Storage, opts ...formsvc.Option) *bundle {
	t.Helper()
	b := &bundle{t: t, store: store, user: formsvc.User{ID: formsvc.UserIDFrom("ann"), Name: "Ann", Email: "ann@example.com"}}
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
	b.Service = svc
	issued, err := svc.CreateKey(t.Context(), formsvc.KeyRequest{User: b.user, Name: "all", Scopes: storage.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	b.key = issued.Secret
	w, err := svc.CreateWorkspace(t.Context(), b.user.ID, "Workspace")
	if err != nil {
		t.Fatal(err)
	}
	b.workspace = w.ID
	return b
}

// do calls the API without a network and decodes the answer into into, unless
// that is nil.
func (b *bundle) do(method, path, body string, into any) *httptest.ResponseRecorder {
	b.t.Helper()
	w := b.doAs(b.key, method, path, body)
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			b.t.Fatalf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
		}
	}
	return w
}

// ServeHTTP is the service's, and holds every answer against the description.
func (b *bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve(b.t, b.Service, w, r)
}

// doAs calls the API with another key.
func (b *bundle) doAs(key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/v1"+path, strings.NewReader(body))
	r.Header.Set("X-API-Key", key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	serve(b.t, b.Service, w, r)
	return w
}

// form makes a published form with the given blocks and settings and returns its
// id.
func (b *bundle) form(blocks, settings string) formsvc.ID {
	b.t.Helper()
	var made struct{ ID formsvc.ID }
	body := `{"workspace_id":"` + b.workspace.String() + `","name":"Form","definition":{"blocks":` + blocks + `,"settings":` + settings + `}}`
	if w := b.do(http.MethodPost, "/forms", body, &made); w.Code != http.StatusCreated {
		b.t.Fatalf("creating a form: %d %s", w.Code, w.Body)
	}
	b.publish(made.ID)
	return made.ID
}

func (b *bundle) publish(form formsvc.ID) {
	b.t.Helper()
	if w := b.do(http.MethodPatch, "/forms/"+form.String(), `{"status":"published"}`, nil); w.Code != http.StatusOK {
		b.t.Fatalf("publishing: %d %s", w.Code, w.Body)
	}
}

// submissions counts the stored submissions of a form, at most 100.
func (b *bundle) submissions(form formsvc.ID) int {
	b.t.Helper()
	var page struct{ Items []json.RawMessage }
	b.do(http.MethodGet, "/forms/"+form.String()+"/submissions?limit=100", "", &page)
	return len(page.Items)
}

const textBlock = `[{"id":"name","type":"short_text","label":"Name","required":true}]`

// answers makes answers out of names and JSON values.
func answers(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

// clock is a clock that a test moves.
type clock struct{ now chan time.Time }

func newClock(at time.Time) *clock {
	c := &clock{now: make(chan time.Time, 1)}
	c.now <- at
	return c
}

func (c *clock) Now() time.Time {
	t := <-c.now
	c.now <- t
	return t
}

func (c *clock) Advance(d time.Duration) {
	c.now <- (<-c.now).Add(d)
}

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
