package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// budget is how many calls a user may make in these tests.
const budget = 8

// Two tenants whose users have one id: nothing of theirs meets, in both ways.
// Another session of the first user can only read.
var users = sessions{"a": {Tenant: "acme", Sub: "1"}, "g": {Tenant: "globex", Sub: "1"}, "r": {Tenant: "acme", Sub: "1", ReadOnly: true}}

type way struct {
	name string
	make func(context.Context, []string, sessions, opener, limiter.Store) (*host, error)
}

var ways = []way{{"a schema each", oneEach}, {"all in one schema", allInOne}}

func TestTenantsDoNotMeetInMemory(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			stores := map[string]storage.Storage{"tenant_acme": memory.New(), "tenant_globex": memory.New(), "tenants": memory.New()}
			tenantsDoNotMeet(t, way, func(_ context.Context, schema string) (storage.Storage, error) { return stores[schema], nil })
		})
	}
}

func TestTenantsDoNotMeetOnOnePool(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			own := map[string]string{}
			for _, schema := range []string{"tenant_acme", "tenant_globex", "tenants"} {
				own[schema] = pgtest.Schema(t)
			}
			open := inSchemas(pgtest.Pool(t))
			tenantsDoNotMeet(t, way, func(ctx context.Context, schema string) (storage.Storage, error) { return open(ctx, own[schema]) })
		})
	}
}

func tenantsDoNotMeet(t *testing.T, way way, open opener) {
	t.Helper()
	limit, err := memorystore.New(&memorystore.Config{Tokens: budget, Interval: time.Hour})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = limit.Close(context.WithoutCancel(t.Context())) })
	var h *host
	start := func() {
		h = expect.Must(way.make(t.Context(), []string{"acme", "globex"}, users, open, limit))
		for _, service := range h.services {
			t.Cleanup(func() { _ = service.Close(context.WithoutCancel(t.Context())) })
		}
	}
	start()
	send := func(tenant, token, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, h.prefix(tenant)+"/v1"+path, strings.NewReader(body))
		r.Header.Set("X-API-Key", token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.routes.ServeHTTP(w, r)
		return w
	}

	// What one makes the other does not see, under whichever tenant's path.
	w := send("acme", "a", http.MethodPost, "/workspaces", `{"name":"Research"}`)
	var made struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(w.Body.Bytes(), &made)
	expect.Require(t, err == nil && w.Code == http.StatusCreated, "a workspace: %d %s", w.Code, w.Body)
	if w := send("acme", "a", http.MethodGet, "/workspaces/"+made.ID, ""); w.Code != http.StatusOK {
		t.Errorf("its owner gets %d %s", w.Code, w.Body)
	}
	if w := send("globex", "g", http.MethodGet, "/workspaces/"+made.ID, ""); w.Code != http.StatusNotFound {
		t.Errorf("the user of the other tenant gets %d %s", w.Code, w.Body)
	}
	if len(h.services) > 1 {
		if w := send("acme", "g", http.MethodGet, "/me", ""); w.Code != http.StatusUnauthorized {
			t.Errorf("a session of globex gets %d at acme's path", w.Code)
		}
	}

	// The API and the builder grant the same scopes, and the builder offers no CSS and no frames.
	click := func(tenant, token, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, h.prefix(tenant)+"/forms"+path, strings.NewReader(body))
		r.AddCookie(&http.Cookie{Name: "session", Value: token})
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.routes.ServeHTTP(w, r)
		return w
	}
	form := func(definition string) string {
		return `{"name":"x","workspace_id":"` + made.ID + `","definition":` + definition + `}`
	}
	for _, c := range []struct {
		tenant, token, method, path, body string
		status                            int
	}{
		{"acme", "a", http.MethodGet, "/w/" + made.ID, "", http.StatusOK},
		{"acme", "r", http.MethodGet, "/w/" + made.ID, "", http.StatusOK},
		{"acme", "r", http.MethodGet, "/w/" + made.ID + "/trash", "", http.StatusForbidden},
		{"acme", "r", http.MethodPost, "/-/v1/forms", form(`{}`), http.StatusForbidden},
		{"acme", "a", http.MethodPost, "/-/v1/forms", form(`{}`), http.StatusCreated},
		{"acme", "a", http.MethodPost, "/-/v1/forms", form(`{"theme":{"customCss":".a{}"}}`), http.StatusUnprocessableEntity},
		{"acme", "a", http.MethodPost, "/-/v1/forms", form(`{"blocks":[{"id":"e","type":"embed"}]}`), http.StatusUnprocessableEntity},
		{"globex", "g", http.MethodPost, "/-/v1/forms", form(`{}`), http.StatusNotFound},
	} {
		w := click(c.tenant, c.token, c.method, c.path, c.body)
		expect.That(t, w.Code == c.status, "%s %s by %s: %d %s, want %d", c.method, c.path, c.token, w.Code, w.Body, c.status)
	}
	w = send("acme", "r", http.MethodPost, "/forms", form(`{}`))
	expect.That(t, w.Code == http.StatusForbidden, "the API lets a reader create a form: %d %s", w.Code, w.Body)

	// Each tenant has one contact form, also after a restart. Only its users can edit it.
	var forms struct {
		Items []struct {
			ID       string
			PublicID string `json:"public_id"`
		}
	}
	list := func() (contact string) {
		expect.NoError(t, json.Unmarshal(click("acme", "a", http.MethodGet, "/-/v1/forms", "").Body.Bytes(), &forms))
		for _, f := range forms.Items {
			if f.PublicID == "contact-acme" {
				contact = f.ID
			}
		}
		return contact
	}
	own, count := list(), len(forms.Items)
	workspaces := click("acme", "a", http.MethodGet, "/-/v1/workspaces", "").Body.String()
	w = click("globex", "g", http.MethodPatch, "/-/v1/forms/"+own, `{"name":"Mine"}`)
	expect.That(t, w.Code == http.StatusNotFound, "a user of globex edits acme's form: %d %s", w.Code, w.Body)
	w = click("acme", "a", http.MethodPatch, "/-/v1/forms/"+own, `{"name":"Write to Acme"}`)
	expect.That(t, w.Code == http.StatusOK, "a user of acme edits it: %d %s", w.Code, w.Body)
	start()
	for tenant, name := range map[string]string{"acme": "Write to Acme", "globex": "Contact"} {
		w := httptest.NewRecorder()
		h.routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, h.prefix(tenant)+"/f/contact-"+tenant, nil))
		expect.That(t, w.Code == http.StatusOK && strings.Contains(w.Body.String(), "<title>"+name), "%s has no page %q: %d %s", tenant, name, w.Code, w.Body)
	}

	expect.That(t, list() == own && len(forms.Items) == count, "acme has other forms after a restart: %+v", forms.Items)
	expect.Equal(t, click("acme", "a", http.MethodGet, "/-/v1/workspaces", "").Body.String(), workspaces, "acme's workspaces after a restart")
	w = click("acme", "a", http.MethodDelete, "/-/v1/forms/"+own, "")
	expect.That(t, w.Code == http.StatusNoContent, "a user of acme moves it to the trash: %d %s", w.Code, w.Body)
	start()

	// One user uses up all calls, and the other user still has calls left.
	var last int
	for range budget {
		last = send("acme", "a", http.MethodGet, "/me", "").Code
	}
	expect.That(t, last == http.StatusTooManyRequests, "beyond %d calls: %d, want 429", budget, last)
	w = send("globex", "g", http.MethodGet, "/me", "")
	expect.That(t, w.Code == http.StatusOK, "after that the user of the other tenant gets %d, want 200", w.Code)
}
