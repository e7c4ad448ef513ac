package servicetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/sethvargo/go-limiter/noopstore"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestNewReportsEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	_, err := formsvc.New(
		formsvc.WithBasePath("v1"), formsvc.WithBaseURL("ftp://example.com"), formsvc.WithKeyPrefix("a_b"),
		formsvc.WithRateLimit(0, time.Minute), formsvc.WithLimits(formsvc.Limits{Blocks: -1}), formsvc.WithLogger(nil),
		formsvc.WithBaseURL("/x"), formsvc.WithBaseURLFunc(func(*http.Request) string { return "" }), formsvc.WithoutPlainSecrets(),
		formsvc.WithTimeZone(nil),
	)
	expect.Require(t, err != nil, "no error")
	for _, option := range []string{"WithStorage", "WithBasePath", "WithBaseURL", "WithKeyPrefix", "WithRateLimit", "WithLimits", "WithLogger", "WithBaseURLFunc cannot be combined", "WithoutPlainSecrets", "WithTimeZone"} {
		expect.That(t, strings.Contains(err.Error(), option), "%q does not name %s", err, option)
	}
}

func TestOptionsThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	noop := expect.Must(noopstore.New())
	limited, stored, unlimited := formsvc.WithRateLimit(1, time.Minute), formsvc.WithLimiter(noop), formsvc.WithoutRateLimit()
	for name, pair := range map[string][2]formsvc.Option{
		"limit, limiter": {limited, stored}, "limiter, limit": {stored, limited}, "limit, none": {limited, unlimited},
		"none, limiter": {unlimited, stored}, "limit twice": {limited, limited}, "none twice": {unlimited, unlimited},
		"base URL and func": {formsvc.WithBaseURL("/x"), formsvc.WithBaseURLFunc(func(*http.Request) string { return "" })},
	} {
		expect.That(t, expect.ErrorOf(formsvc.New(formsvc.WithStorage(memory.New()), pair[0], pair[1])) != nil, "%s: no error", name)
	}
}

// goleak (main_test.go) fails the package if New started anything.
func TestCloseMayBeCalledTwiceAndBeforeAnything(t *testing.T) {
	t.Parallel()
	svc := expect.Must(formsvc.New(formsvc.WithStorage(memory.New())))
	for range 2 {
		check(t, svc.Close(t.Context()))
	}
	first, second := svc.Dispatcher(), svc.Dispatcher()
	expect.That(t, first != nil && first == second, "the dispatcher is not always the same one")
}

func TestTheRateLimitIsPerKey(t *testing.T) {
	t.Parallel()
	policy := servicetest.Setup(t).Do(http.MethodGet, "/me", "", nil).Header().Get("RateLimit-Policy")
	expect.That(t, policy == fmt.Sprintf(`"key";q=%d;w=60`, ratelimit.DefaultTokens), "the policy of a service without options is %s", policy)
	limited := servicetest.Setup(t, formsvc.WithRateLimit(2, time.Hour))
	other := expect.Must(limited.CreateKey(t.Context(), formsvc.KeyRequest{User: limited.User, Name: "other", Scopes: storage.Scopes()}))
	for _, want := range []int{200, 200, 429} {
		w := limited.Do(http.MethodGet, "/me", "", nil)
		status(t, w, want, "a call")
		expect.Equal(t, w.Header().Get("RateLimit-Policy"), `"key";q=2;w=3600`, "the policy")
	}
	expect.Equal(t, servicetest.Get(t, limited, "/v1/me", other.Secret), http.StatusOK, "another key of the user")
}

// One caller, who has the same KeyID in all services, uses up the budget of the first one.
func TestServicesOnOneLimiterStoreHaveBudgetsOfTheirOwn(t *testing.T) {
	t.Parallel()
	options := func(o ...formsvc.Option) []formsvc.Option { return o }
	for name, c := range map[string]struct {
		first, second []formsvc.Option
		shared        bool
	}{
		"replicas":                  {shared: true},
		"another base path":         {second: options(formsvc.WithBasePath("/v2"))},
		"another path in front":     {first: options(formsvc.WithBaseURL("/a")), second: options(formsvc.WithBaseURL("/b"))},
		"another host name":         {first: options(formsvc.WithBaseURL("https://a.example")), second: options(formsvc.WithBaseURL("https://b.example"))},
		"another name":              {first: options(formsvc.WithLimiterName("a")), second: options(formsvc.WithLimiterName("b"))},
		"one has a name":            {second: options(formsvc.WithLimiterName("b"))},
		"one name, other base path": {first: options(formsvc.WithLimiterName("a")), second: options(formsvc.WithLimiterName("a"), formsvc.WithBasePath("/v2")), shared: true},
		"no base path":              {second: options(formsvc.WithBasePath(""))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := expect.Must(memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Hour}))
			t.Cleanup(func() { _ = store.Close(context.WithoutCancel(t.Context())) })
			ask := func(opts []formsvc.Option) int {
				svc := servicetest.New(t, memory.New(), append(opts, formsvc.WithLimiter(store),
					formsvc.WithKeyResolver(resolver(func(context.Context, string) (formsvc.Principal, error) {
						return formsvc.Principal{KeyID: "ann", UserID: storage.ID{1}}, nil
					})))...)
				return servicetest.Get(t, svc, "/me", "key")
			}
			if first, again := ask(c.first), ask(c.first); first != http.StatusOK || again != http.StatusTooManyRequests {
				t.Errorf("the first service answers %d and then %d", first, again)
			}
			want := http.StatusOK
			if c.shared {
				want = http.StatusTooManyRequests
			}
			expect.Equal(t, ask(c.second), want, "the second service answers")
		})
	}
	for _, name := range []string{"", "a#b", "a b", "ä", strings.Repeat("n", 101)} {
		_, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithLimiterName(name))
		expect.That(t, err != nil, "the name %q is accepted", name)
	}
}

// brokenLimiter is a host's store that is down.
type brokenLimiter struct{}

var errDown = errors.New("connection refused")

func (brokenLimiter) Take(context.Context, string) (tokens, remaining, reset uint64, ok bool, err error) {
	return 0, 0, 0, false, errDown
}
func (brokenLimiter) Get(context.Context, string) (uint64, uint64, error)      { return 0, 0, errDown }
func (brokenLimiter) Set(context.Context, string, uint64, time.Duration) error { return errDown }
func (brokenLimiter) Burst(context.Context, string, uint64) error              { return errDown }
func (brokenLimiter) Close(context.Context) error                              { return errDown }

// One line is logged when the limiter begins to fail and one when it has recovered,
// however many calls pass meanwhile.
func TestALimiterThatFailsOrHangsLetsCallsPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		take  func() error
		waits time.Duration
	}{
		"fails": {func() error { return errDown }, 0},
		"hangs": {func() error { time.Sleep(10 * time.Second); return nil }, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				limiter := &hostLimiter{take: c.take}
				b := servicetest.Setup(t, formsvc.WithLimiter(limiter), formsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				lines := func() int { return strings.Count(log.String(), "rate limiter") }
				call := func(want time.Duration) {
					t.Helper()
					start := time.Now()
					if code := servicetest.Get(t, b, "/v1/me", b.Key); code != http.StatusOK || time.Since(start) != want {
						t.Errorf("%d after %v, want 200 after %v", code, time.Since(start), want)
					}
				}
				call(0)
				limiter.broken.Store(true)
				for range 50 {
					call(c.waits)
				}
				// A copy on another storage shares the state.
				expect.Equal(t, servicetest.Get(t, b.WithStorage(b.Store), "/v1/me", b.Key), http.StatusOK, "on a copy")
				got := lines()
				expect.That(t, got == 1 && strings.Contains(log.String(), "level=WARN"), "%d lines while it is broken, want 1:\n%s", got, &log)
				limiter.broken.Store(false)
				call(0)
				expect.Equal(t, lines(), 1, "lines after one good call: it may be a lucky one")
				time.Sleep(5 * time.Second)
				for range 5 {
					call(0)
				}
				got = lines()
				expect.That(t, got == 2 && strings.Contains(log.String(), "rate limiter recovered"), "%d lines after it recovered, want 2:\n%s", got, &log)
				time.Sleep(time.Minute) // the calls that hung end
			})
		})
	}
}

// hostLimiter is a host's store that can break.
type hostLimiter struct {
	brokenLimiter
	take   func() error
	broken atomic.Bool
}

func (l *hostLimiter) Take(context.Context, string) (tokens, remaining, reset uint64, ok bool, err error) {
	if l.broken.Load() {
		err = l.take()
	}
	return 10, 5, uint64(time.Now().Add(time.Minute).UnixNano()), true, err
}

type resolver func(ctx context.Context, key string) (formsvc.Principal, error)

func (f resolver) ResolveKey(ctx context.Context, key string) (formsvc.Principal, error) {
	return f(ctx, key)
}

func TestAHostsOwnResolver(t *testing.T) {
	t.Parallel()
	good := formsvc.Principal{KeyID: "session 1", UserID: storage.ID{1}, Name: "Ann", Scopes: []formsvc.Scope{"forms:read", "mail:read", "forms:read"}}
	for _, c := range []struct {
		name      string
		principal formsvc.Principal
		err       error
		panics    bool
		status    int
		code      string
		logged    string
	}{
		{name: "accepts", principal: good, status: 200},
		{name: "refuses", err: formsvc.ErrInvalidKey, status: 401, code: "INVALID_API_KEY"},
		{name: "refuses with more to say", err: errors.Join(errors.New("no such session"), formsvc.ErrInvalidKey), status: 401, code: "INVALID_API_KEY"},
		{name: "is down", err: errDown, status: 503, code: "UNAVAILABLE", logged: "connection refused"},
		{name: "gives up by itself", err: fmt.Errorf("sessions: %w", context.Canceled), status: 503, code: "UNAVAILABLE", logged: "sessions: context canceled"},
		{name: "forgets the user", principal: formsvc.Principal{KeyID: "x"}, status: 500, code: "INTERNAL_ERROR", logged: "without user ID"},
		{name: "forgets the key", principal: formsvc.Principal{UserID: storage.ID{1}}, status: 500, code: "INTERNAL_ERROR", logged: "without user ID"},
		{name: "panics", panics: true, status: 500, code: "INTERNAL_ERROR", logged: "out of luck"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			type hostKey struct{}
			svc, err := formsvc.New(
				formsvc.WithStorage(memory.New()), formsvc.WithoutRateLimit(),
				formsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
				formsvc.WithCredential(func(r *http.Request) string { return r.Header.Get("Session") }),
				formsvc.WithKeyResolver(resolver(func(ctx context.Context, key string) (formsvc.Principal, error) {
					if key != "token" || ctx.Value(hostKey{}) != "host" {
						t.Errorf("key %q, context value %v", key, ctx.Value(hostKey{}))
					}
					if c.panics {
						panic("out of luck")
					}
					return c.principal, c.err
				})))
			expect.NoError(t, err)
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), hostKey{}, "host"), http.MethodGet, "/v1/me", nil)
			r.Header.Set("Session", "token")
			r.Header.Set("X-Request-ID", "from-the-host")
			w := httptest.NewRecorder()
			servicetest.Serve(t, svc, w, r)
			expect.Require(t, w.Code == c.status && w.Header().Get("X-Request-ID") == "from-the-host", "%d %v %s", w.Code, w.Header(), w.Body)
			var body struct {
				Code      string
				RequestID string `json:"request_id"`
				Scopes    []string
			}
			expect.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			if c.status == 200 {
				expect.That(t, len(body.Scopes) == 1 && body.Scopes[0] == "forms:read", "scopes %v, want forms:read once", body.Scopes)
				return
			}
			expect.That(t, body.Code == c.code && body.RequestID == "from-the-host", "body %s, want code %s", w.Body, c.code)
			expect.That(t, !strings.Contains(w.Body.String(), "refused") && !strings.Contains(w.Body.String(), "luck"),
				"the answer tells the cause: %s", w.Body)
			if c.logged != "" && (!strings.Contains(log.String(), c.logged) || !strings.Contains(log.String(), "from-the-host")) {
				t.Errorf("the log does not tell %q with the request id: %s", c.logged, &log)
			}
		})
	}
}

// failingStore stands for a storage in trouble.
type failingStore struct {
	storage.Storage
	err error
}

func (s failingStore) Workspaces(context.Context, storage.Actor, storage.Page) ([]storage.Workspace, error) {
	return nil, s.err
}

func TestClosingACopyLeavesTheServiceOpen(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithRateLimit(1, time.Hour))
	expect.NoError(t, b.WithStorage(memory.New()).Close(t.Context()))
	for i, want := range []int{200, 429} {
		expect.Equal(t, servicetest.Get(t, b, "/v1/me", b.Key), want, "call %d", i)
	}
}

// To the storage a zero id means something else: all workspaces, or nobody.
func TestZeroIDsAreRefused(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	b.Do(http.MethodDelete, "/forms/"+form.String(), "", nil)
	forms, err := b.TrashedForms(t.Context(), formsvc.ID{})
	expect.That(t, errors.Is(err, formsvc.ErrNotFound) && len(forms) == 0, "the trash of no workspace: %d forms, %v", len(forms), err)
	expect.That(t, expect.ErrorOf(b.CreateWorkspace(t.Context(), formsvc.ID{}, "x")) != nil, "a workspace of nobody: no error")
	expect.That(t, b.TransferWorkspace(t.Context(), b.Workspace, formsvc.ID{}) != nil, "a workspace given to nobody: no error")
	expect.That(t, b.AddMember(t.Context(), b.Workspace, formsvc.ID{}) != nil, "nobody as a member: no error")
	status(t, b.Do(http.MethodGet, "/forms?workspace_id="+formsvc.ID{}.String(), "", nil), http.StatusNotFound, "forms of no workspace")
}

func TestABaseURLByRequestFindsADeeperMount(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithBaseURLFunc(func(*http.Request) string { return "https://example.com/api" }))
	for _, path := range []string{"/api/v1/me", "/v1/me", "/me"} {
		expect.Equal(t, servicetest.Get(t, b, path, b.Key), http.StatusOK, "%s", path)
	}
}

func TestAPurgeGoesOnUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	stub := &sweeping{Storage: b.Store, left: storage.SweepResult{Forms: 3, Events: 1700}}
	svc := expect.Must(formsvc.New(formsvc.WithStorage(stub)))
	n, err := svc.PurgeTrash(t.Context(), time.Now())
	expect.That(t, n == 3 && err == nil && stub.left == (storage.SweepResult{}), "%d purged, %v; left %+v", n, err, stub.left)
}

// sweeping has so much to sweep.
type sweeping struct {
	storage.Storage
	left storage.SweepResult
}

func (s *sweeping) Sweep(_ context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	swept := storage.SweepResult{Forms: min(s.left.Forms, p.Max), Events: min(s.left.Events, p.Max)}
	s.left.Forms -= swept.Forms
	s.left.Events -= swept.Events
	swept.More = s.left != storage.SweepResult{}
	return swept, nil
}

// mount is one way in which a host may mount the service.
type mount struct {
	name string
	base string // where the service is then reached
	opts []formsvc.Option
	host func(svc http.Handler) http.Handler
}

func mounts() []mount {
	options := func(o ...formsvc.Option) []formsvc.Option { return o }
	deeper := options(formsvc.WithBasePath("/api/v1"))
	below := options(formsvc.WithBaseURL("/api"))
	std := func(pattern string, wrap func(http.Handler) http.Handler) func(http.Handler) http.Handler {
		return func(svc http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle(pattern, wrap(svc))
			return mux
		}
	}
	plain := func(svc http.Handler) http.Handler { return svc }
	strip := func(prefix string) func(http.Handler) http.Handler {
		return func(svc http.Handler) http.Handler { return http.StripPrefix(prefix, svc) }
	}
	router := func(build func(r chi.Router, svc http.Handler)) func(http.Handler) http.Handler {
		return func(svc http.Handler) http.Handler {
			r := chi.NewRouter()
			build(r, svc)
			return r
		}
	}
	return []mount{
		{"as the whole server", "/v1", nil, plain},
		{"named by another host", "/v1", options(formsvc.WithBaseURL("https://api.example.com/forms")), plain},
		{"at the root of a standard mux", "/v1", nil, std("/", plain)},
		{"below its own prefix in a standard mux", "/v1", nil, std("/v1/", plain)},
		{"below its own prefix in a standard mux with StripPrefix", "/v1", nil, std("/v1/", strip("/v1"))},
		{"below a deeper base path in a standard mux", "/api/v1", deeper, std("/api/v1/", plain)},
		{"below a deeper base path in a standard mux with StripPrefix", "/api/v1", deeper, std("/api/v1/", strip("/api/v1"))},
		{"below another handler's prefix that is stripped", "/api/v1", below, std("/api/", strip("/api"))},
		{"behind a wildcard pattern of a standard mux", "/v1", nil, std("/v1/{rest...}", plain)},
		{"behind a prefix without a base path", "/forms-api", options(formsvc.WithBasePath("/forms-api")), std("/forms-api/", plain)},
		{"with chi's Mount", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Mount("/v1", svc) })},
		{"with chi's Mount below a deeper base path", "/api/v1", deeper, router(func(r chi.Router, svc http.Handler) { r.Mount("/api/v1", svc) })},
		{"with chi's Mount at the root", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Mount("/", svc) })},
		{"with chi's Route and Mount", "/api/v1", deeper, router(func(r chi.Router, svc http.Handler) {
			r.Route("/api", func(r chi.Router) { r.Mount("/v1", svc) })
		})},
		{"with chi's Route for a tenant and Mount", "/t/one/v1", options(formsvc.WithBaseURL("/t/one")), router(func(r chi.Router, svc http.Handler) {
			r.Route("/t/{tenant}", func(r chi.Router) { r.Mount("/v1", svc) })
		})},
		{"with chi's Handle", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Handle("/v1/*", svc) })},
		{"with chi's Mount and StripPrefix", "/v1", nil, router(func(r chi.Router, svc http.Handler) { r.Mount("/v1", http.StripPrefix("/v1", svc)) })},
		{"with chi's Handle and StripPrefix", "/api/v1", below, router(func(r chi.Router, svc http.Handler) {
			r.Handle("/api/*", http.StripPrefix("/api", svc))
		})},
		{"with chi's Route and Handle, and StripPrefix of both", "/api/v1", deeper, router(func(r chi.Router, svc http.Handler) {
			r.Route("/api", func(r chi.Router) { r.Handle("/v1/*", http.StripPrefix("/api/v1", svc)) })
		})},
		{"in a chi router below a standard mux", "/api/v1", deeper, func(svc http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Mount("/v1", svc)
			return std("/api/", strip("/api"))(r)
		}},
	}
}

func TestTheServiceAnswersWhereverItIsMounted(t *testing.T) {
	t.Parallel()
	for _, m := range mounts() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, func(t *testing.T) conformance.Target {
				svc := servicetest.New(t, memory.New(), append(m.opts, formsvc.WithoutRateLimit())...)
				srv := httptest.NewServer(m.host(svc))
				t.Cleanup(srv.Close)
				return servicetarget.New(svc, srv.URL+m.base)
			}, conformance.Only("mounting", "routing/allow", "description"))
		})
	}
}

// misplacedLines counts the lines about requests at another path than the base path.
func misplacedLines(log *bytes.Buffer) int {
	return strings.Count(log.String(), "request path is outside the service's path")
}

func TestNotFoundBelowTheBasePathIsNotLogged(t *testing.T) {
	t.Parallel()
	for _, m := range mounts() {
		var log bytes.Buffer
		logger := formsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))
		svc := servicetest.New(t, memory.New(), append(m.opts, formsvc.WithoutRateLimit(), logger)...)
		host := m.host(svc)
		for _, path := range []string{"/nothing", "/nothing/forms", "/nothing/forms/", "/forms/nothing/at/all", "/me/forms", "//forms", "/v2/v1/nothing"} {
			w := httptest.NewRecorder()
			host.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, m.base+path, nil))
			got := misplacedLines(&log)
			expect.That(t, got == 0 && w.Code != http.StatusOK, "%s: %s: %d, %d lines:\n%s", m.name, path, w.Code, got, &log)
		}
	}
}

// A host that mounts the service elsewhere than it says finds the reason of its 404s in the log.
func TestTheFirstRequestAtAnotherPathIsLogged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, base string
		opts             []formsvc.Option
		strip            string
	}{
		{name: "below a prefix that the service does not know", path: "/api/v1/forms", base: "/v1"},
		{name: "at another version", path: "/v2/forms/5f", base: "/v1"},
		{name: "below the name of a resource", path: "/forms/v1/webhooks", base: "/v1"},
		{name: "below another prefix than the base URL's", path: "/rest/v1/me", base: "/api/v1", opts: []formsvc.Option{formsvc.WithBaseURL("https://example.com/api")}},
		{name: "with too little stripped", path: "/t/acme/v1/forms", base: "/v1", strip: "/t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			b := servicetest.Setup(t, append(c.opts, formsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
			host := http.StripPrefix(c.strip, b.Service)
			get := func(path string, want int) {
				t.Helper()
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Header.Set("X-API-Key", b.Key)
				w := httptest.NewRecorder()
				host.ServeHTTP(w, r)
				expect.That(t, w.Code == want, "%s: %d, want %d", path, w.Code, want)
			}
			get(c.strip+"/v1/me", http.StatusOK) // what comes at the right path changes nothing
			get(c.strip+"/favicon.ico", http.StatusNotFound)
			got := misplacedLines(&log)
			expect.That(t, got == 0, "%d lines before the first such request:\n%s", got, &log)
			for range 3 {
				get(c.path, http.StatusNotFound)
			}
			host = b.WithStorage(b.Store)
			get(strings.TrimPrefix(c.path, c.strip), http.StatusNotFound)
			logged := log.String()
			if got := misplacedLines(&log); got != 1 || !strings.Contains(logged, " path="+strings.TrimPrefix(c.path, c.strip)+" base_path="+c.base+"\n") {
				t.Errorf("%d lines, want one with both paths:\n%s", got, logged)
			}
		})
	}
}

func TestTheHostsMiddlewareSeesItsOwnRoute(t *testing.T) {
	t.Parallel()
	svc := servicetest.New(t, memory.New(), formsvc.WithoutRateLimit())
	var pattern, path string
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			pattern, path = chi.RouteContext(r.Context()).RoutePattern(), r.URL.Path
		})
	})
	r.Mount("/v1", svc)
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/me", nil))
	expect.That(t, pattern == "/v1/*" && path == "/v1/me",
		"after the service the host's middleware sees the pattern %q and the path %q, want /v1/* and /v1/me", pattern, path)
}

// The host's metrics and traces see which operation a request was.
func TestTheRequestNamesItsOperation(t *testing.T) {
	t.Parallel()
	svc := expect.Must(formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithBasePath("/api/v2")))
	for path, want := range map[string]string{
		"/api/v2/forms/65a1f0c2d4e5b6a7980c1d02/blocks/a%2Fb": "/api/v2/forms/{formId}/blocks/{blockId}",
		"/api/v2/openapi.json":                                "/api/v2/openapi.json",
		"/api/v2/nothing":                                     "of the host's mux",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Pattern = "of the host's mux"
		svc.ServeHTTP(httptest.NewRecorder(), r)
		expect.That(t, r.Pattern == want, "%s: the pattern is %q, want %q", path, r.Pattern, want)
	}
}

// Middleware finds the route of an export as it does those of the API.
func TestTheRouteOfAnExport(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	for _, test := range []struct{ mounted, want string }{
		{"/exports/", "/exports/{form_id}.csv"}, {"GET /exports/", "GET /exports/{form_id}.csv"},
		{"/exports/{file}", "/exports/{file}"}, {"", "/{form_id}.csv"},
	} {
		for _, key := range []string{b.Key, "no key"} {
			handler, pattern := b.ExportHandler(), ""
			seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r)
				pattern = r.Pattern
			})
			var root http.Handler = seen
			if test.mounted != "" {
				mux := http.NewServeMux()
				mux.Handle(test.mounted, seen)
				root = mux
			}
			r := httptest.NewRequest(http.MethodGet, "/exports/"+form.String()+".csv", nil)
			r.Header.Set("X-API-Key", key)
			w := httptest.NewRecorder()
			root.ServeHTTP(w, r)
			expect.That(t, pattern == test.want, "mounted at %q: %d, %q, want %q", test.mounted, w.Code, pattern, test.want)
		}
	}
}
