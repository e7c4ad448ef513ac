package builder_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/handler/docs"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// site is a host with pages for owners. A request names its user in the header User, and a request of the API's
// suite by a key.
type site struct {
	t       testing.TB
	service *formsvc.Service
	pages   *formpage.Handler
	owners  *builder.Handler
}

// newHost mounts the pages of a service on a store.
func newHost(t testing.TB, store storage.Storage, config builder.Config, options ...formsvc.Option) *site {
	t.Helper()
	s := &site{t: t}
	s.service = expect.Must(formsvc.New(append(options, formsvc.WithStorage(store), formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: loopback}))...))
	s.pages = expect.Must(formpage.New(s.service, formpage.Config{Secret: []byte("of tests, 16 bytes or more")}))
	config.Pages = s.pages
	if config.User == nil {
		config.User = s.user
	}
	s.owners = expect.Must(builder.New(s.service, config))
	return s
}

// onEachStore runs a test with storage in memory and on PostgreSQL.
func onEachStore(t *testing.T, test func(*testing.T, storage.Storage)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memory.New())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pool, schema := pgtest.Pool(t, pgtest.MaxConns(4)), postgres.WithSchema(pgtest.Schema(t))
		expect.NoError(t, postgres.Migrate(t.Context(), pool, schema))
		test(t, postgres.New(pool, schema))
	})
}

func newSite(t testing.TB, change ...func(*builder.Config)) *site {
	t.Helper()
	var config builder.Config
	for _, c := range change {
		c(&config)
	}
	return newHost(t, memory.New(), config)
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func (s *site) user(r *http.Request) (formsvc.ID, error) {
	if name := r.Header.Get("User"); name != "" {
		return formsvc.UserIDFrom(name), nil
	}
	p, err := s.service.ResolveKey(r.Context(), formsvc.Credential(r))
	return p.UserID, err
}

// do sends a request as a user, "" as nobody, and returns the answer with its body.
func (s *site) do(user, method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	w := s.serve(user, method, path, body, headers...)
	return w.Result(), w.Body.String()
}

func (s *site) serve(user, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	if user != "" {
		r.Header.Set("User", user)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.owners.ServeHTTP(w, r)
	return w
}

// form makes a form in a workspace of the user's.
func (s *site) form(user, definition string) formsvc.Form {
	s.t.Helper()
	client := s.service.As(formsvc.UserIDFrom(user))
	workspace := expect.Must(client.CreateWorkspace(s.t.Context(), formsvc.WorkspaceCreate{Name: user}))
	var d formsvc.Definition
	expect.NoError(s.t, json.Unmarshal([]byte(`{"Blocks":`+definition+`}`), &d))
	return expect.Must(client.CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Form of " + user, Definition: d}))
}

const oneQuestion = `[{"id":"name","type":"short_text","label":"Your name"}]`

// The API keeps its promises below the builder's path, to the user who is signed in: among them that
// nobody reaches what is another user's. What it promises of keys and limits is not this door's.
func TestTheAPIThroughThisDoor(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Target {
		s := newSite(t)
		server := httptest.NewServer(s.owners)
		t.Cleanup(server.Close)
		target := servicetarget.New(s.service, server.URL+"/forms/-/v1")
		target.AllowedNetworks = loopback
		return target
	}, skipped()...)
}

func skipped() []conformance.Option {
	const keys = "it is about keys, or asks without one; here a user has to be signed in, who has all scopes"
	var all []conformance.Option
	for name, reason := range map[string]string{
		"auth": keys, "scope": keys, "me": keys, "description": keys, "mounting": keys,
		"order/key-before-body": keys, "order/scope-before-body": keys, "order/route-before-key": keys,
		"request-id/supplied": keys, "routing/head": keys, "routing/allow": keys,
	} {
		all = append(all, conformance.Skip(name, reason))
	}
	return all
}

func TestNobodyIsSignedIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, want := range map[string]int{
		"/forms/": 401, "/forms/0123456789abcdef01234567/results": 401, "/forms/-/v1/forms": 401, "/forms/-/builder/x": 401,
		"/forms/-/copy/0123456789abcdef01234567/forms/0123456789abcdef01234567": 401, "/forms/-/canvas/0123456789abcdef01234567": 401,
		"/forms/-/assets/x": 404, "/forms/-/assets/0123456789abcdef/app.js": 404,
	} {
		answer, body := s.do("", http.MethodGet, path, "")
		expect.That(t, answer.StatusCode == want, "%s: %d %.100s", path, answer.StatusCode, body)
	}
	signIn := newSite(t, func(c *builder.Config) { c.SignIn = http.RedirectHandler("/login", http.StatusSeeOther) })
	answer, _ := signIn.do("", http.MethodGet, "/forms/", "")
	expect.That(t, answer.Header.Get("Location") == "/login", "a page does not lead to the sign-in")
	if answer, body := signIn.do("", http.MethodGet, "/forms/-/v1/me", ""); answer.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "SIGNED_OUT") {
		t.Errorf("the script is told %d %s", answer.StatusCode, body)
	}
	zero := newSite(t, func(c *builder.Config) {
		c.User = func(*http.Request) (formsvc.ID, error) { return formsvc.ID{}, nil }
	})
	answer, _ = zero.do("", http.MethodGet, "/forms/-/v1/me", "")
	expect.That(t, answer.StatusCode == http.StatusUnauthorized, "the zero id is somebody: %d", answer.StatusCode)
}

// A page of another origin comes with the user's cookies, and changes nothing.
func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSite(t, func(c *builder.Config) {
		c.Logger, c.AllowedOrigins = slog.New(slog.NewTextHandler(&log, nil)), []string{"http://forms.example"}
	})
	form := s.form("ann", oneQuestion)
	path := "/forms/-/v1/forms/" + form.ID.String()
	for _, foreign := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		for _, p := range []string{path, "/forms/-/copy/" + form.ID.String() + "/forms/" + form.ID.String(), "/forms/-/builder/forms/" + form.ID.String() + "/publish"} {
			answer, body := s.do("ann", http.MethodPatch, p, `{"name":"taken"}`, foreign...)
			expect.That(t, answer.StatusCode == http.StatusForbidden, "%v %s: %d %s", foreign, p, answer.StatusCode, body)
		}
	}
	expect.That(t, strings.Contains(log.String(), "origin=https://evil.example host=example.com"),
		"the log does not tell of it: %s", &log)
	if answer, body := s.do("ann", http.MethodPatch, path, `{"name":"mine"}`, "Sec-Fetch-Site", "same-origin"); answer.StatusCode != http.StatusOK {
		t.Errorf("its own page: %d %s", answer.StatusCode, body)
	}
	if answer, body := s.do("ann", http.MethodPatch, path, `{"name":"mine"}`, "Origin", "http://forms.example"); answer.StatusCode != http.StatusOK {
		t.Errorf("a page of an origin that is listed: %d %s", answer.StatusCode, body)
	}
	answer, _ := s.do("ann", http.MethodGet, path, "", "Origin", "https://evil.example")
	for name := range answer.Header {
		expect.That(t, !strings.HasPrefix(name, "Access-Control"), "an answer has %s, by which another origin reads it", name)
	}
}

func TestThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *builder.Config) {
		c.Name, c.Accent = `Lumen "& <co>`, "#7a3e9d"
		c.Translations = map[string]map[string]string{"fr": {"app.close": "Fermer"}}
	})
	config := regexp.MustCompile(`data-config="([^"]*)"`)
	for _, test := range []struct{ path, accept, language string }{
		{"/forms/", "", "en"}, {"/forms/w/0123456789abcdef01234567", "de-AT,en;q=0.5", "de"}, {"/forms/x/y", "fr", "fr"}, {"/forms/", "xx", "en"},
	} {
		answer, body := s.do("ann", http.MethodGet, test.path, "", "Accept-Language", test.accept)
		policy := answer.Header.Get("Content-Security-Policy")
		expect.That(t, answer.StatusCode == http.StatusOK && strings.Contains(body, `<html lang="`+test.language+`">`),
			"%s: %d %s", test.path, answer.StatusCode, body)
		expect.That(t, strings.HasPrefix(policy, "default-src 'none'") && !strings.Contains(policy, "unsafe"),
			"the policy is %s", policy)
		expect.That(t, !regexp.MustCompile(`<script(?: type="module")?>|<style| style=| on\w+=`).MatchString(body),
			"%s has an inline script or style: %s", test.path, body)
		expect.That(t, config.MatchString(body) && !strings.Contains(body, "<co>"), "%s: %s", test.path, body)
	}
	if _, body := s.do("ann", http.MethodGet, "/forms/", ""); len(body) > 4000 {
		t.Errorf("the page has %d bytes: its words are a file that browsers keep", len(body))
	}
	if answer, _ := s.do("ann", http.MethodPost, "/forms/", ""); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST of the page: %d", answer.StatusCode)
	}
	for _, path := range []string{"/forms/-/builder", "/forms/-/builder/", "/forms/-/builder//forms", "/forms/-/builder/x/../forms"} {
		if answer, _ := s.do("ann", http.MethodGet, path, ""); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d to %q", path, answer.StatusCode, answer.Header.Get("Location"))
		}
	}
	if answer, _ := s.do("ann", http.MethodGet, "/forms", ""); answer.Header.Get("Location") != "./forms/" {
		t.Errorf("without its slash it leads to %q", answer.Header.Get("Location"))
	}
	w := httptest.NewRecorder()
	http.StripPrefix("/t/http:evil.example", s.owners).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://host.example/t/http:evil.example", nil))
	at := expect.Must(url.Parse("https://host.example/t/http:evil.example"))
	to, err := at.Parse(w.Header().Get("Location"))
	expect.That(t, err == nil && to.String() == at.String()+"/", "it leads out of the host: %v, %v", to, err)
}

// The paths for a host's links are those of pages, and the layout has data of each request, also on a page that is refused.
func TestLinksIntoTheBuilder(t *testing.T) {
	t.Parallel()
	scopes := formsvc.Scopes()
	s := newSite(t, func(c *builder.Config) {
		c.BasePath = "/a café"
		c.Layout = template.Must(template.New("").Parse(`{{.Head}}<b>{{.Data.Name}} {{.Data.Path}}</b>{{.Body}}`))
		c.LayoutData = func(r *http.Request) any {
			return map[string]string{"Name": r.Header.Get("User"), "Path": r.URL.EscapedPath()}
		}
		c.Scopes = func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) { return scopes, nil }
	})
	form := s.form("ann", oneQuestion)
	for _, status := range []int{http.StatusOK, http.StatusForbidden} {
		for path, end := range map[string]string{
			s.owners.FormPath(form.ID): "", s.owners.ResultsPath(form.ID): "/results",
			s.owners.SubmissionPath(form.ID, formsvc.UserIDFrom("x")): "/results/" + formsvc.UserIDFrom("x").String(),
		} {
			answer, body := s.do("ann", http.MethodGet, path, "")
			expect.That(t, answer.StatusCode == status && path == "/a%20caf%C3%A9/"+form.ID.String()+end && strings.Contains(body, "<b>ann "+path+"</b>"),
				"%s: %d %.300s", path, answer.StatusCode, body)
		}
		scopes = nil
	}
}

// A host may strip the prefix, or stand below another one, behind a proxy too that takes it away.
func TestAnywhereBelow(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *builder.Config) { c.BasePath = "/owners" })
	form := s.form("ann", oneQuestion)
	escaped := expect.Must(builder.New(s.service, builder.Config{BasePath: "/a café", Pages: s.pages, User: s.user}))
	for prefix, mounted := range map[string]http.Handler{
		"/a%20caf%C3%A9": escaped,
		"/owners":        s.owners,
		"/proxied/owners": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + strings.TrimPrefix(r.RequestURI, "/proxied") + " HTTP/1.1\r\nHost: inside\r\nUser: ann\r\n\r\n")))
			if err != nil {
				t.Error(err)
				return
			}
			s.owners.ServeHTTP(w, sent)
		}),
		"/product/x/owners": http.StripPrefix("/product/x", s.owners),
		"/admin":            http.StripPrefix("/admin", s.owners),
	} {
		server := httptest.NewServer(mounted)
		t.Cleanup(server.Close)
		get := func(path string) string {
			r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+prefix+path, nil))
			r.Header.Set("User", "ann")
			answer := expect.Must(server.Client().Do(r))
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			expect.That(t, err == nil && answer.StatusCode == http.StatusOK,
				"%s%s: %d %v %.200s", prefix, path, answer.StatusCode, err, body)
			return string(body)
		}
		for path, base := range map[string]string{"/": "./", "/" + form.ID.String(): "./", "/w/x/": "../../"} {
			page := get(path)
			script := regexp.MustCompile(`src="` + base + `(-/assets/\w+/app\.js)"`).FindStringSubmatch(page)
			expect.Require(t, script != nil && strings.Contains(page, `{&#34;base&#34;:&#34;`+base+`&#34;`),
				"%s%s: %s", prefix, path, page)
			get("/" + script[1])
		}
		get("/-/v1/forms/" + form.ID.String())
		get("/-/copy/" + form.ID.String() + "/forms/" + form.ID.String() + "/blocks/name")
	}
}

func TestAssetsAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, page := s.do("ann", http.MethodGet, "/forms/", "")
	paths := regexp.MustCompile(`\./-/assets/[^"]+`).FindAllString(page, -1)
	expect.That(t, len(paths) == 5, "the page has the files %q", paths)
	for _, path := range paths {
		plain, text := s.do("", http.MethodGet, "/forms"+path[1:], "")
		packed, body := s.do("", http.MethodGet, "/forms"+path[1:], "", "Accept-Encoding", "gzip")
		expect.That(t, strings.Contains(plain.Header.Get("Cache-Control"), "immutable") && packed.Header.Get("Content-Encoding") == "gzip",
			"%s: %v %v", path, plain.Header, packed.Header)
		content := expect.Must(gzip.NewReader(strings.NewReader(body)))
		unpacked, err := io.ReadAll(content)
		expect.That(t, err == nil && string(unpacked) == text && text != "", "%s is another when it is packed: %v", path, err)
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	_, err := builder.New(nil, builder.Config{BasePath: "forms/", PublicURL: "forms.example", AllowedOrigins: []string{"forms.example"}, Accent: "blue", Background: "white",
		Layout: template.Must(template.New("").Parse("{{.Head}}{{.Head}}")), Translations: map[string]map[string]string{"en": {"app.clse": "Close"}}})
	for _, text := range []string{"the service is nil", "User is required", "Pages is required", "BasePath", "PublicURL", "AllowedOrigins", "Accent", "Background", "{{.Head}} 2 times", "{{.Body}} 0 times", "app.clse"} {
		expect.That(t, err != nil && strings.Contains(err.Error(), text), "the error does not tell of %s: %v", text, err)
	}
	s := newSite(t)
	for background, fault := range map[string]string{"#faf7f2": "", "#0b2545": "", "#808080": "neither light nor dark"} {
		_, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, Background: background})
		expect.That(t, (fault != "" || err == nil) && (fault == "" || err != nil && strings.Contains(err.Error(), fault)),
			"the Background %s: %v", background, err)
	}
	for _, theme := range []string{`{"brand":7}`, `{"brand":{"primary":"mauve"}}`, `[]`, `{`, `{"brnd":{}}`, `{}},"name":{`} {
		if _, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, Theme: json.RawMessage(theme)}); err == nil || !strings.Contains(err.Error(), "Theme") {
			t.Errorf("the Theme %s: %v", theme, err)
		}
	}
	purple := json.RawMessage(`{"colors":{"primary":"#7a3e9d"}}`)
	if _, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, Theme: purple}); err != nil {
		t.Error(err)
	}
	broken := template.Must(template.New("").Parse("{{.Head}}{{.Body}}{{.Navigation}}"))
	if _, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, Layout: broken}); err == nil || !strings.Contains(err.Error(), "Navigation") {
		t.Errorf("a Layout with a part that there is not: %v", err)
	}
	drawn := expect.Must(formpage.New(s.service, formpage.Config{}))
	if _, err := builder.New(s.service, builder.Config{User: s.user, Pages: drawn}); err == nil || !strings.Contains(err.Error(), "Secret") {
		t.Errorf("pages without a Secret: %v", err)
	}
}

// What the builder refuses has the body of the API's errors, with the id of the request.
func TestRefusalsAreAnsweredAsTheAPIAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		user, method, path, header, value string
		status                            int
		kind, code                        string
	}{
		{"", http.MethodGet, "/forms/-/v1/forms", "", "", 401, "authentication_error", "SIGNED_OUT"},
		{"", http.MethodGet, "/forms/-/builder/forms", "", "", 401, "authentication_error", "SIGNED_OUT"},
		{"", http.MethodGet, "/forms/", "Accept", "*/*", 401, "authentication_error", "SIGNED_OUT"},
		{"ann", http.MethodPost, "/forms/-/v1/forms", "Origin", "https://evil.example", 403, "permission_error", "FOREIGN_ORIGIN"},
		{"ann", http.MethodGet, "/forms/-/canvas/x", "", "", 404, "not_found_error", "NOT_FOUND"},
		{"ann", http.MethodPost, "/forms/", "", "", 405, "request_error", "METHOD_NOT_ALLOWED"},
	} {
		for given, want := range map[string]string{"": "req_", "of-the.host_1": "of-the.host_1", "not one": "req_"} {
			answer, body := s.do(c.user, c.method, c.path, "", c.header, c.value, "X-Request-ID", given)
			var e struct {
				Type, Code, Message string
				Status              int
				RequestID           string `json:"request_id"`
			}
			err := json.Unmarshal([]byte(body), &e)
			if err != nil || answer.StatusCode != c.status || e.Status != c.status || e.Type != c.kind || e.Code != c.code || e.Message == "" {
				t.Errorf("%s %s by %q: %d %s", c.method, c.path, c.user, answer.StatusCode, body)
			}
			if id := answer.Header["X-Request-Id"]; len(id) != 1 || id[0] != e.RequestID || !strings.HasPrefix(e.RequestID, want) {
				t.Errorf("%s %s: X-Request-ID %q, request_id %q, want %q", c.method, c.path, id, e.RequestID, want)
			}
		}
	}
	if answer, body := s.do("", http.MethodGet, "/forms/", "", "Accept", "text/html,*/*"); answer.StatusCode != http.StatusUnauthorized || strings.Contains(body, "{") {
		t.Errorf("a person who is not signed in reads %d %s", answer.StatusCode, body)
	}
}

// A user's request that ends early is nobody else's fault: it is answered as the API answers it.
func TestACancelledRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/forms/-/v1/forms", nil)
	r.Header.Set("User", "ann")
	s.owners.ServeHTTP(w, r)
	expect.That(t, w.Code == http.StatusServiceUnavailable, "%d %s", w.Code, w.Body)
}

// Each code of what a form's author may be told has words in each language.
func TestWordsOfCodes(t *testing.T) {
	t.Parallel()
	codes := 0
	for _, name := range []string{"error.go", "warning.go"} {
		source := expect.Must(os.ReadFile("../../schema/" + name))
		for _, found := range regexp.MustCompile(`(?m)^\t(?:Code|Warn)\w+ += ("[A-Z_]+")`).FindAllSubmatch(source, -1) {
			codes++
			for _, file := range []string{"words/en.json", "words/de.json"} {
				expect.That(t, bytes.Contains(expect.Must(os.ReadFile(file)), append(found[1], ':')), "%s has no words for %s", file, found[1])
			}
		}
	}
	expect.That(t, codes >= 25, "%d codes were found", codes)
}

// statusless records a response whose handler wrote a body without a status. Routers such as gin
// in NoRoute have set 404 before.
type statusless struct {
	http.ResponseWriter
	begun, guessed bool
}

func (w *statusless) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusless) Write(b []byte) (int, error) {
	w.guessed = w.guessed || !w.begun
	return w.ResponseWriter.Write(b)
}

func (w *statusless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// compressing is a middleware that announces gzip before the handler runs, as echo's does, and
// compresses whatever the handler writes.
func compressing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		h.ServeHTTP(&packing{w, packed}, r)
		_ = packed.Close() // the test reads what came
	})
}

type packing struct {
	http.ResponseWriter
	to io.Writer
}

func (w *packing) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w *packing) Write(b []byte) (int, error) { return w.to.Write(b) }

// Every handler sets its status, and none compresses again what a middleware compresses.
func TestRoutersAndMiddleware(t *testing.T) {
	t.Parallel()
	o := newOwners(t, memory.New())
	form := o.publish("Form", []map[string]any{{"id": "q", "type": "short_text", "label": "Question"}})
	mux := http.NewServeMux()
	mux.Handle("/v1/", o.service)
	mux.Handle("/f/", o.pages)
	mux.Handle("/forms/", o.owners)
	mux.Handle("/docs", docs.Handler(o.service, "/v1/openapi.json", docs.Options{}))
	mux.Handle("/exports/", o.service.ExportHandler())
	key := expect.Must(o.service.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("ada")}, Name: "all", Scopes: formsvc.Scopes()}))
	id := form.ID.String()
	paths := []string{
		"/v1/openapi.json", "/v1/me", "/v1/forms", "/v1/forms/" + id, "/v1/forms/" + id + "/submissions", "/v1/webhooks", "/v1/nothing",
		"/f/" + form.PublicID, "/f/" + form.PublicID + "/done", "/f/" + form.PublicID + "/form.json", "/f/-/page.js", "/f/-/page.css", "/f/nothing",
		"/forms/", "/forms/workspaces", "/docs", "/exports/" + id + ".csv", "/exports/" + id + ".ndjson",
	}
	ask := func(h http.Handler, path string, header http.Header) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header = header.Clone()
		r.Header.Set("X-API-Key", key.Secret)
		r.Header.Set("User", "ada")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	listed := ask(mux, "/forms/", http.Header{}).Body.String()
	for _, asset := range regexp.MustCompile(`(?:src|href)="([^"]+\.(?:js|css))"`).FindAllStringSubmatch(listed, -1) {
		paths = append(paths, "/forms/"+strings.TrimPrefix(asset[1], "./"))
	}
	expect.Require(t, len(paths) >= 20, "the page of owners names no assets: %s", listed)
	for _, path := range paths {
		for _, accept := range []string{"", "gzip"} {
			header := http.Header{"Accept-Encoding": {accept}}
			var recorded *statusless
			ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorded = &statusless{ResponseWriter: w}
				mux.ServeHTTP(recorded, r)
			}), path, header)
			expect.That(t, recorded.begun && !recorded.guessed, "%s, accepting %q: the handler sets no status", path, accept)
		}
		plain := ask(mux, path, http.Header{})
		w := ask(compressing(mux), path, http.Header{"Accept-Encoding": {"gzip"}})
		unpacked, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, err := io.ReadAll(unpacked)
		if start := text[:min(2, len(text))]; err != nil || w.Code != plain.Code || string(start) == "\x1f\x8b" {
			t.Errorf("%s: status %d, %v, it begins with %q", path, w.Code, err, start)
		}
	}
}
