package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// site is a host with pages, on a real socket.
type site struct {
	t       testing.TB
	service *formsvc.Service
	pages   *formpage.Handler
	server  *httptest.Server
	mux     *http.ServeMux
	owner   formsvc.ID
	place   formsvc.ID

	elsewhere formsvc.ID   // see newOwners
	later     atomic.Int64 // nanoseconds by which the site's clock is ahead
}

func newSite(t testing.TB, config formpage.Config, options ...formsvc.Option) *site {
	t.Helper()
	s := &site{t: t, owner: formsvc.UserIDFrom("owner")}
	clock := func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }
	if config.Clock == nil {
		config.Clock = clock
	}
	var err error
	// Webhooks may be on this machine, and have one attempt. Nothing is sent unless a test runs the dispatcher.
	hooks := webhooks.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Retry: webhooks.RetryPolicy{Delays: []time.Duration{}}}
	s.service, err = formsvc.New(append(options, formsvc.WithClock(clock), formsvc.WithStorage(memory.New()), formsvc.WithWebhookConfig(hooks))...)
	expect.NoError(t, err)
	workspace := expect.Must(s.service.CreateWorkspace(t.Context(), s.owner, "Test"))
	s.place = workspace.ID
	if config.Secret == nil {
		config.Secret = []byte("of tests, 16 bytes or more")
	}
	if config.MinFillTime == 0 {
		config.MinFillTime = -1 // a program fills in faster than a person
	}
	if config.Files == nil {
		dir := expect.Must(formpage.NewDir(t.TempDir(), "https://files.example/"))
		t.Cleanup(func() { _ = dir.Close() })
		config.Files = dir
	}
	pages := expect.Must(formpage.New(s.service, config))
	s.pages = pages
	s.mux = http.NewServeMux()
	s.mux.Handle("/f/", pages)
	s.server = httptest.NewServer(s.mux)
	t.Cleanup(s.server.Close)
	return s
}

type sample struct {
	Name, Type string
	Definition formsvc.Definition
}

// sample publishes one of the quickstart's forms.
func (s *site) sample(name string) formsvc.Form {
	s.t.Helper()
	raw := expect.Must(os.ReadFile("../../../examples/quickstart/forms/" + name + ".json"))
	var f sample
	expect.NoError(s.t, json.Unmarshal(raw, &f))
	return s.publish(f.Name, f.Type, f.Definition)
}

func (s *site) publish(name, kind string, d formsvc.Definition) formsvc.Form {
	s.t.Helper()
	client := s.service.As(s.owner)
	form, err := client.CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: name, Type: kind, Definition: d})
	if err == nil {
		form, err = client.PublishForm(s.t.Context(), form.ID)
	}
	expect.NoError(s.t, err)
	return form
}

// close ends a form.
func (s *site) close(form formsvc.Form) {
	s.t.Helper()
	settings := map[string]any{}
	expect.NoError(s.t, json.Unmarshal(form.Definition.Settings, &settings))
	settings["closed"] = true
	raw, err := json.Marshal(settings)
	if err == nil {
		_, err = s.service.As(s.owner).UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: raw}})
	}
	expect.NoError(s.t, err)
}

// preview is the address of a form's preview.
func (s *site) preview(form formsvc.Form, query string) string {
	s.t.Helper()
	path := expect.Must(s.pages.PreviewPath(form.ID, time.Now().Add(time.Hour)))
	return s.server.URL + path + query
}

func (s *site) url(form formsvc.Form, query string) string {
	return s.server.URL + "/f/" + form.PublicID + query
}

// answers are the stored responses, newest first, values by field id.
func (s *site) answers(form formsvc.Form) []map[string]string {
	s.t.Helper()
	var all []map[string]string
	for submission, err := range s.service.AsHost().Submissions(s.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(s.t, err)
		var items []struct {
			Field struct{ ID string }
			Value json.RawMessage
		}
		expect.NoError(s.t, json.Unmarshal(submission.Answers, &items))
		one := map[string]string{}
		for _, item := range items {
			one[item.Field.ID] = string(item.Value)
		}
		all = append(all, one)
	}
	return all
}

// One browser serves all tests; each test has a tab with storage of its own.
var (
	browserOnce sync.Once
	browser     context.Context
	endBrowser  = func() {}
)

func TestMain(m *testing.M) {
	code := dialguard.Guard(m).Run()
	endBrowser()
	os.Exit(code)
}

// chromium is the browser that CHROME_PATH names, else the first that is installed.
func chromium() string {
	if path := os.Getenv("CHROME_PATH"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tab is a page of the browser.
type tab struct {
	t        testing.TB
	ctx      context.Context
	requests *requests
	reading  sync.WaitGroup
}

// requests are the addresses that a tab asked for, and what it refused or complained of.
type requests struct {
	mu       sync.Mutex
	urls     []string
	problems []string
}

func (r *requests) list() (urls, problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.urls...), append([]string(nil), r.problems...)
}

func newTab(t testing.TB, width, height int64) *tab {
	t.Helper()
	path := chromium()
	if path == "" {
		expect.Require(t, os.Getenv("FORMSVC_TEST_REQUIRE_BROWSER") == "", "there is no chromium on this machine")
		t.Skip("reason: there is no chromium on this machine")
	}
	browserOnce.Do(func() {
		profile, err := os.MkdirTemp("", "e2e-profile") //nolint:usetesting // outlives the test that starts the browser
		expect.NoError(t, err)
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"), chromedp.Flag("accept-lang", "en-US"),
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"), // it sends to nobody else
		)
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		var cancel context.CancelFunc
		browser, cancel = chromedp.NewContext(allocator) //nolint:fatcontext // once
		expect.NoError(t, chromedp.Do(browser))
		endBrowser = func() { cancel(); stop(); _ = os.RemoveAll(profile) }
	})
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as this context
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, requests: &requests{}}
	t.Cleanup(func() { cancel(); b.reading.Wait() })
	call(b, network.Enable, network.EnableParams{})
	call(b, runtime.Enable, cdp.Empty{})
	follow(b, &b.reading, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) { b.requests.urls = append(b.requests.urls, e.Request.URL) })
	follow(b, &b.reading, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		b.requests.problems = append(b.requests.problems, e.ExceptionDetails.Text)
	})
	follow(b, &b.reading, page.JavascriptDialogOpening, func(e page.EventJavascriptDialogOpening) {
		b.requests.problems = append(b.requests.problems, "dialog: "+e.Message)
	})
	b.size(width, height)
	return b
}

// newTabOf is newTab, in which scripts run or not.
func newTabOf(t testing.TB, script bool, width, height int64) *tab {
	t.Helper()
	b := newTab(t, width, height)
	if !script {
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	return b
}

// follow hands the events of a tab to take, one after the other.
func follow[E any](b *tab, reading *sync.WaitGroup, event cdp.Event[E], take func(E)) {
	events := chromedp.Events(b.ctx, event)
	reading.Go(func() {
		for e, err := range events {
			if err != nil {
				return
			}
			b.requests.mu.Lock()
			take(e)
			b.requests.mu.Unlock()
		}
	})
}

// call sends a command of the protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	return get(b, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) })
}

// full reports whether the long form of a test is asked for, as make e2e does.
func full() bool { return os.Getenv("FORMSVC_E2E") == "full" }

// inFull leaves a test to the long form, which make e2e runs: it takes long, or waits for what a busy
// machine does late.
func inFull(t *testing.T) {
	t.Helper()
	if !full() {
		t.Skip("reason: it is a part of make e2e")
	}
}

// patience is how long the browser may take for one step before a test gives up.
const patience = 40 * time.Second

// get runs an action that has a value.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return expect.Must(chromedp.Run(ctx, action))
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height))
}

func (b *tab) dark(on bool) {
	b.t.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// stayedAt reports requests that went elsewhere than to a server.
func (b *tab) stayedAt(server string) {
	b.t.Helper()
	urls, _ := b.requests.list()
	for _, url := range urls {
		home := strings.HasPrefix(url, server+"/") || strings.HasPrefix(url, "data:") || url == "about:blank"
		expect.That(b.t, home, "the page asked for %s", url)
	}
}

// print shows the page as it is printed.
func (b *tab) print() {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	get(b, chromedp.Steps(actions...))
}

func (b *tab) open(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS(".fs-main")))
}

// do runs statements in the page.
func (b *tab) do(statements string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool]("(() => { "+statements+"; return true })()"))
}

// until waits for an expression to be true. It asks from outside, so that a page may be
// replaced meanwhile, and works in a page whose scripts are off.
func (b *tab) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
			b.t.Fatalf("never true: %s: %v\n%s", expression, err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// shot keeps a picture of the whole page when FORMSVC_E2E_SHOTS names a directory.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("FORMSVC_E2E_SHOTS")
	if dir == "" {
		return
	}
	expect.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), get(b, chromedp.FullScreenshot(100)), 0o600))
}

func quote(text string) string {
	raw, _ := json.Marshal(text) // a string
	return string(raw)
}

// field is the selector of an input by its name.
func field(name string) string { return fmt.Sprintf("[name=%s]", quote(name)) }

func choice(name, value string) string {
	return fmt.Sprintf("[name=%s][value=%s]", quote(name), quote(value))
}

// accepts selects the input that accepts the text of a legal block. Its value contains a digest of the text.
func accepts(name string) string { return fmt.Sprintf(`[name=%s][value^="true."]`, quote(name)) }

// contains waits until the page shows a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.until("document.body.innerText.replace(/\\s+/g,' ').includes(" + quote(strings.Join(strings.Fields(text), " ")) + ")")
}

// The browser of these tests reaches this machine and nobody else, whatever a page asks
// it for: no name and no address is resolved.
func TestTheBrowserReachesNobodyElse(t *testing.T) {
	b := newTab(t, 800, 600)
	for _, url := range []string{"http://img.example/", "http://192.0.2.1/"} {
		expect.NoError(t, chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			r, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: url})
			expect.That(t, err != nil || strings.Contains(r.ErrorText, "ERR_NAME_NOT_RESOLVED"), "%s: %q", url, r.ErrorText)
			return err
		})))
	}
}
