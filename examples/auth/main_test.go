package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// product is the running example.
type product struct {
	*host
	mail *mailer
	url  string
}

func start(t *testing.T) product {
	t.Helper()
	own, schema := pgtest.Schema(t), postgres.WithSchema(pgtest.Schema(t))
	pool := pgtest.Pool(t, pgtest.MaxConns(8), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = own })
	expect.Must(pool.Exec(t.Context(), "CREATE SCHEMA "+own))
	expect.NoError(t, postgres.Migrate(t.Context(), pool, schema))
	accounts := &accounts{pool: pool, now: time.Now, rounds: 1000}
	expect.NoError(t, accounts.migrate(t.Context()))
	expect.NoError(t, directory{pool}.migrate(t.Context()))
	for _, name := range []string{"Ann", "Bob"} {
		expect.NoError(t, accounts.register(t.Context(), strings.ToLower(name)+"@example.com", name, "correct horse"))
	}
	m := &mailer{from: "forms@example.com", accounts: accounts}
	h, err := newHost(accounts, postgres.New(pool, schema), m, webhooks.Config{Resolver: dialguard.Names{}}, slog.New(slog.DiscardHandler), formsvc.WithoutRateLimit())
	expect.NoError(t, err)
	server := httptest.NewServer(h.routes)
	t.Cleanup(server.Close)
	return product{h, m, server.URL}
}

// browser keeps cookies.
type browser struct {
	*http.Client
	product
	t *testing.T
}

func (p product) browser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	expect.NoError(t, err)
	return browser{&http.Client{Jar: jar}, p, t}
}

// send sends a request and returns its status and body.
func (b browser) send(method, path, contentType, body string, header ...string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (b browser) post(path string, values url.Values) (int, string) {
	b.t.Helper()
	return b.send(http.MethodPost, path, "application/x-www-form-urlencoded", values.Encode())
}

func (b browser) signIn(name string) {
	b.t.Helper()
	if status, page := b.post("/login", url.Values{"email": {name + "@example.com"}, "password": {"correct horse"}}); status != http.StatusOK || !strings.Contains(page, "API keys") {
		b.t.Fatalf("sign in: %d %s", status, page)
	}
}

const jsonType = "application/json"

func TestASessionIsAsGoodAsAKey(t *testing.T) {
	t.Parallel()
	p := start(t)
	ann, bob := p.browser(t), p.browser(t)
	if status, _ := ann.send(http.MethodGet, basePath+"/me", "", ""); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d", status)
	}
	if status, _ := ann.post("/login", url.Values{"email": {"ann@example.com"}, "password": {"wrong"}}); status != http.StatusUnauthorized {
		t.Errorf("a wrong password: %d", status)
	}
	ann.signIn("ann")
	bob.signIn("bob")
	status, body := ann.send(http.MethodGet, basePath+"/me", "", "")
	var me struct{ ID, Name string }
	err := json.Unmarshal([]byte(body), &me)
	expect.Require(t, err == nil && status == http.StatusOK, "%d %s", status, body)
	expect.That(t, me.ID == formsvc.UserIDFrom("1").String() && me.Name == "Ann", "%+v, want the id made of account 1", me)
	status, body = ann.send(http.MethodPost, basePath+"/workspaces", jsonType, `{"name":"Ann's"}`)
	var made struct{ ID string }
	err = json.Unmarshal([]byte(body), &made)
	expect.Require(t, err == nil && status == http.StatusCreated, "%d %s", status, body)
	status, _ = bob.send(http.MethodGet, basePath+"/workspaces/"+made.ID, "", "")
	expect.That(t, status == http.StatusNotFound, "another user reads it: %d", status)
	status, page := ann.post("/logout", nil)
	expect.That(t, status == http.StatusOK && strings.Contains(page, "Sign in"), "sign out: %d", status)
	status, _ = ann.send(http.MethodGet, basePath+"/me", "", "")
	expect.That(t, status == http.StatusUnauthorized, "after signing out: %d", status)
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	p := start(t)
	ann := p.browser(t)
	ann.signIn("ann")
	p.accounts.now = func() time.Time { return time.Now().Add(sessionLifetime + time.Minute) }
	status, _ := ann.send(http.MethodGet, basePath+"/me", "", "")
	expect.That(t, status == http.StatusUnauthorized, "an expired session: %d", status)
	_, page := ann.send(http.MethodGet, "/", "", "")
	expect.That(t, strings.Contains(page, "Sign in"), "the page of keys is shown after the session's end")
}

func TestAUserMakesSeesAndRevokesKeys(t *testing.T) {
	t.Parallel()
	p := start(t)
	ann, bob, program := p.browser(t), p.browser(t), p.browser(t)
	ann.signIn("ann")
	bob.signIn("bob")
	if status, page := ann.post("/keys", url.Values{"name": {"x"}}); status != http.StatusUnprocessableEntity || !strings.Contains(page, "at least one scope") {
		t.Errorf("a key without scopes: %d", status)
	}
	status, page := ann.post("/keys", url.Values{"name": {"<b>CI</b>"}, "scope": {"forms:read", "workspaces:read"}, "expires": {"90"}})
	secret := regexp.MustCompile(`fs_live_[0-9A-Za-z]{49}`).FindString(page)
	expect.Require(t, status == http.StatusCreated && secret != "" && strings.Contains(page, "&lt;b&gt;CI&lt;/b&gt;"),
		"%d %s", status, page)
	if _, page := ann.send(http.MethodGet, "/", "", ""); strings.Contains(page, secret) || !strings.Contains(page, secret[:14]) {
		t.Error("the page shows the key again, or not its beginning")
	}
	key := []string{"X-API-Key", secret}
	status, body := program.send(http.MethodGet, basePath+"/me", "", "", key...)
	expect.That(t, status == http.StatusOK && strings.Contains(body, `"forms:read","workspaces:read"`), "the key: %d %s", status, body)
	status, _ = program.send(http.MethodPost, basePath+"/workspaces", jsonType, `{"name":"W"}`, key...)
	expect.That(t, status == http.StatusForbidden, "a scope that the key lacks: %d", status)
	revoke := regexp.MustCompile(`/keys/[0-9a-f]{24}/revoke`).FindString(page)
	status, _ = bob.post(revoke, nil)
	expect.That(t, status == http.StatusNotFound, "another user revokes the key: %d", status)
	status, page = ann.post(revoke, nil)
	expect.That(t, status == http.StatusOK && strings.Contains(page, "revoked"), "revoke: %d", status)
	status, _ = program.send(http.MethodGet, basePath+"/me", "", "", key...)
	expect.That(t, status == http.StatusUnauthorized, "the revoked key: %d", status)
}

// A page of another origin makes the browser send the cookie, and gets nowhere.
func TestOtherOriginsCannotWrite(t *testing.T) {
	t.Parallel()
	p := start(t)
	ann := p.browser(t)
	ann.signIn("ann")
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, path := range []string{"/keys", "/logout", basePath + "/workspaces"} {
			status, _ := ann.send(http.MethodPost, path, jsonType, `{"name":"W"}`, header...)
			expect.That(t, status == http.StatusForbidden, "%v %s: %d", header, path, status)
		}
	}
	// What an HTML form can send is no body of the API, should a browser send neither header.
	status, _ := ann.send(http.MethodPost, basePath+"/workspaces", "text/plain", `{"name":"W"}`)
	expect.That(t, status == http.StatusUnsupportedMediaType, "a form's body: %d", status)
	status, _ = ann.send(http.MethodPost, basePath+"/workspaces", jsonType, `{"name":"W"}`, "Sec-Fetch-Site", "same-origin")
	expect.That(t, status == http.StatusCreated, "the product's own page: %d", status)
}

func TestMetricsAreByOperation(t *testing.T) {
	t.Parallel()
	p := start(t)
	b := p.browser(t)
	b.signIn("ann")
	b.send(http.MethodGet, basePath+"/forms/65a1f0c2d4e5b6a7980c1d02", "", "")
	b.send(http.MethodGet, basePath+"/forms/65a1f0c2d4e5b6a7980c1d03", "", "")
	_, text := b.send(http.MethodGet, "/metrics", "", "")
	want := `api_requests_total{operation="GET /api/forms/v1/forms/{formId}",status="404"} 2`
	expect.That(t, strings.Contains(text, want), "no %s in\n%s", want, text)
}

func TestThePageOfTheAPIFollowsTheBasePath(t *testing.T) {
	t.Parallel()
	b := start(t).browser(t)
	status, page := b.send(http.MethodGet, "/docs", "", "")
	expect.That(t, status == http.StatusOK && strings.Contains(page, basePath+"/workspaces/{workspaceId}"), "%d", status)
}

// The API is whole where the product has put it, with keys in their header.
func TestTheAPIIsWhole(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		p := start(t)
		return servicetarget.New(p.service, p.url+basePath)
	},
		conformance.Skip("ratelimit", "the test switches the limit off"),
		conformance.Skip("deliveries", "no dispatcher is running"),
		conformance.Skip("auth/expired", "the service's clock is the real one"),
		conformance.Skip("forms/opens-in-time", "the service's clock is the real one"),
		conformance.Skip("forms/closes-in-time", "the service's clock is the real one"),
		conformance.Skip("analytics/periods", "the service's clock is the real one"),
		conformance.Skip("routing/unknown-method", "the product's ServeMux sees the request first"),
		conformance.Skip("routing/unclean-path", "the product's ServeMux sees the request first"),
	)
}

// The owners' pages are the session's user's, and lead everybody else to the sign-in.
func TestTheOwnersPagesAreBehindTheSession(t *testing.T) {
	t.Parallel()
	p := start(t)
	ann, nobody := p.browser(t), p.browser(t)
	ann.signIn("ann")
	status, page := ann.send(http.MethodGet, "/forms/", "", "")
	expect.That(t, status == http.StatusOK && strings.Contains(page, `id="formsvc-builder"`), "ann: %d %s", status, page)
	status, body := ann.send(http.MethodPost, "/forms/-/v1/workspaces", jsonType, `{"name":"W"}`, "Sec-Fetch-Site", "same-origin")
	expect.That(t, status == http.StatusCreated, "ann makes a workspace: %d %s", status, body)
	status, body = ann.send(http.MethodPost, "/forms/-/v1/workspaces", jsonType, `{"name":"W"}`, "Sec-Fetch-Site", "cross-site")
	expect.That(t, status == http.StatusForbidden, "another origin makes one: %d %s", status, body)
	status, page = nobody.send(http.MethodGet, "/forms/", "", "")
	expect.That(t, status == http.StatusOK && strings.Contains(page, "<h1>Sign in</h1>"), "nobody: %d %s", status, page)
	status, _ = nobody.send(http.MethodGet, "/forms/-/v1/workspaces", "", "")
	expect.That(t, status == http.StatusUnauthorized, "nobody's script: %d", status)
}

// Forms know the session's user. Everyone else answers without one, unless the form accepts one response per person.
func TestFormsKnowWhoIsAnswering(t *testing.T) {
	t.Parallel()
	p := start(t)
	ann, nobody := p.browser(t), p.browser(t)
	ann.signIn("ann")
	workspace := expect.Must(p.service.CreateWorkspace(t.Context(), account{ID: 1}.user().ID, "W"))
	client := p.service.As(account{ID: 1}.user().ID)
	publish := func(settings string) string {
		d := formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text"}]`), Settings: json.RawMessage(settings)}
		form := expect.Must(client.CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "F", Type: "MULTI", Definition: d}))
		return "/f/" + expect.Must(client.PublishForm(t.Context(), form.ID)).PublicID
	}
	once, open := publish(`{"onePerRespondent":true}`), publish(`{}`)
	status, page := ann.send(http.MethodGet, once, "", "")
	expect.That(t, status == http.StatusOK && strings.Contains(page, "Answering as \u2068Ann\u2069"), "ann: %d %s", status, page)
	status, page = nobody.send(http.MethodGet, once, "", "")
	expect.That(t, status == http.StatusUnauthorized && strings.Contains(page, "sign-in=1"), "nobody: %d %s", status, page)
	status, page = nobody.send(http.MethodGet, once+"?sign-in=1", "", "")
	expect.That(t, status == http.StatusOK && strings.Contains(page, "<h1>Sign in</h1>"), "signing in: %d %s", status, page)
	status, page = nobody.send(http.MethodGet, open, "", "")
	expect.That(t, status == http.StatusOK && !strings.Contains(page, "Answering as"), "nobody, another form: %d %s", status, page)
}
