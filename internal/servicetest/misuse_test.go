package servicetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

type nilResolver struct{}

func (*nilResolver) ResolveKey(context.Context, string) (formsvc.Principal, error) {
	return formsvc.Principal{}, nil
}

type nilSource struct{}

func (*nilSource) Choices(context.Context, formsvc.ChoiceQuery) ([]schema.Choice, error) {
	return nil, nil
}

func (*nilSource) Labels(context.Context, []string, formsvc.ChoiceQuery) (map[string]string, error) {
	return nil, nil
}

// A nil pointer is not found at the first request, but by New.
func TestNewRefusesNilPointers(t *testing.T) {
	t.Parallel()
	var (
		resolver *nilResolver
		files    *formpage.Dir
		source   *nilSource
		store    limiter.Store
		users    func(ctx context.Context, form formsvc.ID, submissions []formsvc.ID) error
	)
	for name, option := range map[string]formsvc.Option{
		"WithKeyResolver": formsvc.WithKeyResolver(resolver), "WithFiles": formsvc.WithFiles(files), "WithLimiter": formsvc.WithLimiter(store),
		"WithChoices": formsvc.WithChoices("rooms", "Rooms", source), "WithBeforeDelete": formsvc.WithBeforeDelete(users),
	} {
		_, err := formsvc.New(formsvc.WithStorage(memory.New()), option)
		expect.That(t, err != nil && strings.Contains(err.Error(), "formsvc: "+name+": the value is nil"), "%s of a nil pointer: %v", name, err)
	}
	_, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithKeyResolver(sessions(nil)))
	expect.NoError(t, err) // a nil map resolves nothing, which is useful
}

type sessions map[string]string

func (s sessions) ResolveKey(_ context.Context, cookie string) (formsvc.Principal, error) {
	if s[cookie] == "" {
		return formsvc.Principal{}, formsvc.ErrInvalidKey
	}
	return formsvc.Principal{KeyID: s[cookie], UserID: formsvc.UserIDFrom(s[cookie]), Scopes: formsvc.Scopes()}, nil
}

func TestNewRefusesABaseURLWithTheBasePath(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"https://example.com/v1": false, "/api/v1/": false, "https://example.com/v1/forms": true, "https://v1": true, "/api": true, "": true,
	} {
		_, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBaseURL(base))
		expect.That(t, (err == nil) == want, "%q: %v", base, err)
	}
	_, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBaseURL("/v1"), formsvc.WithBasePath("/"))
	expect.NoError(t, err)
}

// logged returns a service with a user, and its log.
func logged(t *testing.T, opts ...formsvc.Option) (*servicetest.Bundle, *logLines) {
	t.Helper()
	log := new(logLines)
	return servicetest.Setup(t, append(opts, formsvc.WithLogger(slog.New(slog.NewTextHandler(log, nil))))...), log
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Links that lead past the host's prefix are broken, although every request succeeds.
func TestLinksThatLackAPrefixAreLogged(t *testing.T) {
	t.Parallel()
	const line = "links in responses lack a prefix: check WithBaseURL"
	for _, c := range []struct {
		name, path string
		opts       []formsvc.Option
		strip      string
		want       string
	}{
		{"a prefix is stripped", "/api/v1/me", nil, "/api", "path=/api\n"},
		{"the slash is stripped too", "/api/v1/me?x=/api/v1/me", nil, "/api/v1/", "path=/api\n"},
		{"no base path", "/api/me", []formsvc.Option{formsvc.WithBasePath("/")}, "/api", "path=/api\n"},
		{"two prefixes", "/t/api/v1/me", nil, "/t/api/v1", "path=/t/api\n"},
		{"the base URL has the prefix", "/api/v1/me", []formsvc.Option{formsvc.WithBaseURL("/api")}, "/api", ""},
		{"a function returns the base URL", "/api/v1/me", []formsvc.Option{formsvc.WithBaseURLFunc(func(*http.Request) string { return "/api" })}, "/api", ""},
		{"only the base path is stripped", "/v1/me", nil, "/v1", ""},
		{"nothing is stripped", "/v1/me?x=/api/v1/me", nil, "", ""},
		{"a proxy's request", "http://example.com/v1/me", nil, "", ""},
	} {
		b, log := logged(t, c.opts...)
		for range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
			r.Header.Set("X-API-Key", b.Key)
			w := httptest.NewRecorder()
			http.StripPrefix(c.strip, b.Service).ServeHTTP(w, r)
			expect.That(t, w.Code == http.StatusOK, "%s: %d", c.name, w.Code)
		}
		want := map[bool]int{true: 1}[c.want != ""]
		expect.That(t, strings.Count(log.String(), line) == want && strings.Contains(log.String(), c.want), "%s: log:\n%s", c.name, log)
	}
}

// A middleware that reads a body and does not restore it is the host's mistake, not the client's.
func TestABodyThatWasAlreadyReadIsLogged(t *testing.T) {
	t.Parallel()
	b, log := logged(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	send := func(h http.Handler, path, kind, body string, read func(*http.Request)) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("X-API-Key", b.Key)
		r.Header.Set("Content-Type", kind)
		read(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	all := func(r *http.Request) { expect.Must(io.ReadAll(r.Body)) }
	const says = "a middleware that reads it must restore it"
	code := send(b.Service, "/v1/workspaces", "application/json", `{"name":"W"}`, all)
	expect.That(t, code == http.StatusInternalServerError && strings.Contains(log.String(), "request body was already read: a middleware must restore it"), "API: %d, log:\n%s", code, log)
	code = send(b.Service, "/v1/workspaces", "application/json", "", all)
	expect.That(t, code == http.StatusUnprocessableEntity, "API, no body: %d", code)

	pageLog := new(logLines)
	dir := expect.Must(formpage.NewDir(t.TempDir(), "https://example.com/files/"))
	t.Cleanup(func() { expect.NoError(t, dir.Close()) })
	pages := expect.Must(formpage.New(b.Service, formpage.Config{MinFillTime: -1, Files: dir, Logger: slog.New(slog.NewTextHandler(pageLog, nil))}))
	path := "/f/" + expect.Must(b.AsHost().Form(t.Context(), form)).PublicID
	opened := httptest.NewRecorder()
	pages.ServeHTTP(opened, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	inputs := url.Values{"a.name": {"Ann"}}
	for _, input := range regexp.MustCompile(`name="(state|form)" value="([^"]*)"`).FindAllStringSubmatch(opened.Body.String(), -1) {
		inputs.Set(input[1], input[2])
	}
	const plain = "application/x-www-form-urlencoded"
	var files bytes.Buffer
	parts := multipart.NewWriter(&files)
	for name := range inputs {
		expect.NoError(t, parts.WriteField(name, inputs.Get(name)))
	}
	expect.NoError(t, parts.Close())
	for _, c := range []struct {
		name, kind, body string
		read             func(*http.Request)
		want             int
	}{
		{"nothing is read", plain, inputs.Encode(), func(*http.Request) {}, http.StatusSeeOther},
		{"the form is parsed", plain, inputs.Encode(), func(r *http.Request) { expect.NoError(t, r.ParseForm()) }, http.StatusSeeOther},
		{"a value is read", plain, inputs.Encode(), func(r *http.Request) { r.PostFormValue("csrf") }, http.StatusSeeOther},
		{"everything is read", plain, inputs.Encode(), all, http.StatusBadRequest},
		{"everything is read, with files", parts.FormDataContentType(), files.String(), all, http.StatusBadRequest},
		{"parsed, with files", parts.FormDataContentType(), files.String(), func(r *http.Request) { expect.NoError(t, r.ParseMultipartForm(1<<20)) }, http.StatusBadRequest},
	} {
		pageLog.b.Reset()
		code := send(pages, path, c.kind, c.body, c.read)
		expect.That(t, code == c.want && strings.Contains(pageLog.String(), says) == (c.want == http.StatusBadRequest), "%s: %d, want %d, log:\n%s", c.name, code, c.want, pageLog)
	}
}

type resolverFunc func(context.Context, string) (formsvc.Principal, error)

func (f resolverFunc) ResolveKey(ctx context.Context, credential string) (formsvc.Principal, error) {
	return f(ctx, credential)
}

func TestAResolverThatForgetsTheKeysOfTheServiceIsLogged(t *testing.T) {
	t.Parallel()
	const line = "for an unknown credential, call Service.ResolveKey"
	var svc *formsvc.Service
	for _, c := range []struct {
		name, key string
		opts      []formsvc.Option
		resolve   resolverFunc
		want      int
	}{
		{"forgets them", "fs_live_x", nil, sessions{}.ResolveKey, 1},
		{"forgets those with another prefix", "acme_live_x", []formsvc.Option{formsvc.WithKeyPrefix("acme")}, sessions{}.ResolveKey, 1},
		{"knows the credential", "fs_live_x", nil, sessions{"fs_live_x": "7"}.ResolveKey, 0},
		{"gets other credentials", "cookie", nil, sessions{}.ResolveKey, 0},
		{"calls the service", "fs_live_x", nil, func(ctx context.Context, key string) (formsvc.Principal, error) { return svc.ResolveKey(ctx, key) }, 0},
	} {
		log := new(logLines)
		svc = servicetest.New(t, memory.New(), append(c.opts, formsvc.WithKeyResolver(c.resolve), formsvc.WithLogger(slog.New(slog.NewTextHandler(log, nil))))...)
		for range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me", nil)
			r.Header.Set("X-API-Key", c.key)
			svc.ServeHTTP(httptest.NewRecorder(), r)
		}
		got := strings.Count(log.String(), line)
		expect.That(t, got == c.want, "a resolver that %s: %d lines, want %d:\n%s", c.name, got, c.want, log)
	}
}

func TestAResolverThatHangsIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := new(logLines)
		takes := time.Second
		svc := servicetest.New(t, memory.New(), formsvc.WithLogger(slog.New(slog.NewTextHandler(log, nil))), formsvc.WithKeyResolver(resolverFunc(func(context.Context, string) (formsvc.Principal, error) {
			time.Sleep(takes) // in the bubble's time
			return formsvc.Principal{}, formsvc.ErrInvalidKey
		})))
		for want := range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me", nil)
			r.Header.Set("X-API-Key", "x")
			svc.ServeHTTP(httptest.NewRecorder(), r)
			synctest.Wait()
			got := strings.Count(log.String(), "key resolver has not returned")
			expect.That(t, got == want, "after %s: %d lines, want %d", takes, got, want)
			takes = 3 * time.Second
		}
	})
}

// A dispatcher that stops says so, because most hosts ignore the result of a go statement.
func TestADispatcherThatStopsIsLogged(t *testing.T) {
	t.Parallel()
	b, log := logged(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.NoError(t, b.Dispatcher().Run(ctx))
	expect.That(t, strings.Contains(log.String(), "dispatcher stopped because its context ended"), "Run with a context that has ended:\n%s", log)
}

func TestALocalWebhookWithoutAHandlerIsLogged(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	b, log := logged(t, formsvc.WithWebhookConfig(webhooks.Config{Local: map[string]http.Handler{"mail": handler}}))
	for name, want := range map[string]bool{"mail": false, "mial": true} {
		expect.Must(b.LocalWebhooks().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: b.Form(servicetest.TextBlock, `{}`), URL: "local:" + name}))
		got := strings.Contains(log.String(), "Config.Local has no handler for a local webhook: deliveries wait for another process\" name="+name+"\n")
		expect.That(t, got == want, "local:%s: %t, log:\n%s", name, got, log)
	}
	_, err := b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: b.Form(servicetest.TextBlock, `{}`), URL: "local:mail"})
	expect.That(t, err != nil && strings.Contains(err.Error(), "Service.LocalWebhooks"), "with AsHost: %v", err)
}

// What is missing is named, so that a wrong ID and a forgotten publish are not confused.
func TestFormsThatAreNotFoundAreExplained(t *testing.T) {
	t.Parallel()
	b, log := logged(t)
	draft := expect.Must(b.As(b.User.ID).CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "Draft"}))
	submit := func(id formsvc.ID) error {
		return expect.ErrorOf(b.Submit(t.Context(), formsvc.SubmitParams{FormID: id}))
	}
	for what, c := range map[string]struct {
		err  error
		says string
	}{
		"a submission to a draft":  {submit(draft.ID), "publish it with Client.PublishForm"},
		"a draft's page":           {expect.ErrorOf(b.PublicForm(t.Context(), draft.PublicID)), "publish it with Client.PublishForm"},
		"a submission to the zero": {submit(formsvc.ID{}), "no form has the ID 000000000000000000000000"},
		"a path of an unknown":     {expect.ErrorOf(b.Path(t.Context(), b.Workspace, nil, nil)), "no form has the ID " + b.Workspace.String()},
	} {
		expect.Error(t, what, c.err, formsvc.ErrNotFound)
		expect.That(t, strings.Contains(c.err.Error(), c.says), "%s: %v, want %q", what, c.err, c.says)
	}
	pages := expect.Must(formpage.New(b.Service, formpage.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}))
	for path, want := range map[string]bool{"/f/" + draft.PublicID: true, "/f/unknown": false} {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		expect.That(t, w.Code == http.StatusNotFound && strings.Contains(log.String(), "path="+path) == want, "%s: %d, log:\n%s", path, w.Code, log)
	}
}

// A form in the host's source code refers to lists and checks in the host's source code.
func TestEnsureFormLogsWarnings(t *testing.T) {
	t.Parallel()
	check := func(context.Context, formsvc.CheckInput) (string, error) { return "", nil }
	for name, want := range map[string]bool{"order": false, "ordr": true} {
		b, log := logged(t, formsvc.WithCheck("order", "Order number", check))
		expect.Must(b.AsHost().EnsureForm(t.Context(), formsvc.FormCreate{
			Workspace: b.Workspace, PublicID: "shop", Name: "Shop",
			Definition: formsvc.Definition{Blocks: []byte(fmt.Sprintf(`[{"id":"o","type":"short_text","label":"O","properties":{"rule":{"check":[{"host":%q}]}}}]`, name))},
		}))
		got := strings.Contains(log.String(), "form has warnings") && strings.Contains(log.String(), "ordr")
		expect.That(t, got == want, "the check %s: log:\n%s", name, log)
	}
}

// Every connection of r.RemoteAddr has another port.
func TestClientIPWithAPort(t *testing.T) {
	t.Parallel()
	b, _ := logged(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	path := "/f/" + expect.Must(b.AsHost().Form(t.Context(), form)).PublicID
	for _, c := range []struct {
		first, second string
		limited       bool
	}{
		{"192.0.2.1:1000", "192.0.2.1:2000", true},
		{"[2001:db8::1]:1000", "[2001:db8::1]:2000", true},
		{"192.0.2.1:1000", "192.0.2.2:1000", false},
		{"2001:db8::1:1000", "2001:db8::1:2000", false},
		{"", "", false},
	} {
		var log bytes.Buffer
		store := expect.Must(memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Hour}))
		t.Cleanup(func() { expect.NoError(t, store.Close(context.WithoutCancel(t.Context()))) })
		pages := expect.Must(formpage.New(b.Service, formpage.Config{MinFillTime: -1, Limiter: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), ClientIP: func(r *http.Request) string { return r.RemoteAddr }}))
		var code int
		for _, address := range []string{c.first, c.second} {
			opened := httptest.NewRecorder()
			pages.ServeHTTP(opened, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			state := regexp.MustCompile(`name="state" value="([^"]*)"`).FindStringSubmatch(opened.Body.String())[1]
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(url.Values{"a.name": {"Ann"}, "state": {state}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = address
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			code = w.Code
		}
		said := strings.Count(log.String(), "request is not limited, because Config.ClientIP returned no address")
		expect.That(t, (code == http.StatusTooManyRequests) == c.limited && (said == 1) == (c.first == ""), "%s, then %s: %d, log:\n%s", c.first, c.second, code, &log)
	}
}

func TestBuilderRefusesThePagesOfAnotherService(t *testing.T) {
	t.Parallel()
	one, other := servicetest.New(t, memory.New()), servicetest.New(t, memory.New())
	config := builder.Config{
		User:  func(*http.Request) (formsvc.ID, error) { return formsvc.ID{}, nil },
		Pages: expect.Must(formpage.New(one, formpage.Config{Secret: []byte("0123456789abcdef")})),
	}
	for svc, want := range map[*formsvc.Service]bool{
		one: true, other: false,
		one.WithFormCheck(func(_, _ formsvc.FormContent) error { return nil }): true,
	} {
		b, err := builder.New(svc, config)
		expect.That(t, (err == nil) == want, "the same service: %t, error: %v", want, err)
		if err == nil {
			expect.NoError(t, b.Close(t.Context()))
		} else {
			expect.That(t, strings.Contains(err.Error(), "Config.Pages belongs to another service"), "%v", err)
		}
	}
}

// The errors of PostgreSQL say what the host must do.
func TestErrorsOfPostgreSQLSayWhatToDo(t *testing.T) {
	t.Parallel()
	create := func(store *postgres.Store) error {
		return expect.ErrorOf(servicetest.New(t, store).CreateWorkspace(t.Context(), formsvc.UserIDFrom("ann"), "W"))
	}
	ctx, schemaName, pool := t.Context(), pgtest.Schema(t), pgtest.Pool(t)
	servicetest.Migrated(t, pool, postgres.WithSchema(schemaName))
	exec := func(sql string) { t.Helper(); expect.Must(pool.Exec(ctx, sql)) }
	single := pgtest.Pool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	says := func(what string, err error, says string) {
		t.Helper()
		expect.That(t, err != nil && strings.Count(err.Error(), says) == 1, "%s: %v, want %q once", what, err, says)
	}

	tx := expect.Must(single.Begin(ctx))
	inside := postgres.New(single, postgres.WithSchema(schemaName), postgres.WithTimeout(50*time.Millisecond))
	says("the pool's store inside a transaction", create(inside), "all 1 connections of the pool are in use (inside a transaction, use Store.On)")
	expect.NoError(t, tx.Rollback(ctx))
	expect.NoError(t, create(inside))

	says("New without WithSchema", create(postgres.New(pool, postgres.WithSchema(pgtest.Schema(t)))), "call postgres.Migrate, with the same WithSchema as New")
	exec(`ALTER TABLE ` + schemaName + `.workspaces RENAME name TO title`)
	says("a missing column", create(postgres.New(pool, postgres.WithSchema(schemaName))), "tables have another version: call Service.Check")
	exec(`ALTER TABLE ` + schemaName + `.workspaces RENAME title TO name`)
}
