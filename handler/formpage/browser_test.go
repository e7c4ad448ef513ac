package formpage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// site is a service with pages, as a host mounts them.
type site struct {
	t       *testing.T
	service *formsvc.Service
	store   *memory.Store
	server  *httptest.Server
	pages   *formpage.Handler
	owner   formsvc.ID
	place   formsvc.ID
	halves  *asked // nil: nothing counts them
	mu      sync.Mutex
	now     time.Time
}

// newSite starts pages whose clock only moves when a test says so.
func newSite(t *testing.T, config formpage.Config, options ...formsvc.Option) *site {
	t.Helper()
	s := &site{t: t, store: memory.New(), owner: formsvc.UserIDFrom("owner"), now: time.Date(2026, 8, 3, 10, 0, 0, 0, time.UTC)}
	s.service = expect.Must(formsvc.New(append([]formsvc.Option{formsvc.WithStorage(storagetest.ReadOnly(t, s.store)), formsvc.WithClock(s.clock)}, options...)...))
	workspace := expect.Must(s.service.CreateWorkspace(t.Context(), s.owner, "Test"))
	s.place = workspace.ID
	if config.Clock == nil {
		config.Clock = s.clock
	}
	s.pages = expect.Must(formpage.New(s.service, config))
	mux := http.NewServeMux()
	mux.Handle("/f/", s.pages)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	return s
}

// onEachStore runs a test on a storage in memory, and on PostgreSQL.
func onEachStore(t *testing.T, test func(t *testing.T, store storage.Storage)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, storagetest.ReadOnly(t, memory.New()))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pool, schema := pgtest.Pool(t, pgtest.MaxConns(8)), postgres.WithSchema(pgtest.Schema(t))
		expect.NoError(t, postgres.Migrate(t.Context(), pool, schema))
		test(t, postgres.New(pool, schema))
	})
}

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *site) wait(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// form publishes a form. The sections are JSON; an empty one is left out.
func (s *site) form(kind, blocks, settings, theme string, hidden ...string) formsvc.Form {
	s.t.Helper()
	d := formsvc.Definition{Blocks: json.RawMessage(blocks)}
	if settings != "" {
		d.Settings = json.RawMessage(settings)
	}
	if theme != "" {
		d.Theme = json.RawMessage(theme)
	}
	if len(hidden) > 0 {
		d.HiddenFields, _ = json.Marshal(hidden)
	}
	client := s.service.As(s.owner)
	form := expect.Must(client.CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A form", Type: kind, Definition: d}))
	return expect.Must(client.PublishForm(s.t.Context(), form.ID))
}

// answers returns the stored responses of a form, newest first: values by field id.
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
			var value bytes.Buffer // without the spaces that PostgreSQL adds
			expect.NoError(s.t, json.Compact(&value, item.Value))
			one[item.Field.ID] = value.String()
		}
		all = append(all, one)
	}
	return all
}

func (s *site) funnel(form formsvc.Form) formsvc.Metrics {
	s.t.Helper()
	return expect.Must(s.service.AsHost().Metrics(context.Background(), form.ID, formsvc.PeriodAll))
}

// page is a document as a browser without JavaScript has it.
type page struct {
	s      *site
	url    string
	status int
	header http.Header
	raw    string
	root   *html.Node
	values url.Values
	label  string // what reports say of it
}

func (s *site) open(form formsvc.Form, query string) *page {
	s.t.Helper()
	address := s.server.URL + "/f/" + form.PublicID
	if query != "" {
		address += "?" + query
	}
	return s.get(address)
}

func (s *site) get(address string) *page {
	s.t.Helper()
	return s.send(http.MethodGet, address, "")
}

// send sends a request to the server, and serve to the pages. Headers are names and values in turn; without a value
// there is none, and a body is that of a page unless they say otherwise.
func (s *site) send(method, address, body string, headers ...string) *page {
	s.t.Helper()
	r := expect.Must(http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body)))
	return s.do(withHeaders(r, headers))
}

func (s *site) serve(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.pages.ServeHTTP(w, withHeaders(httptest.NewRequest(method, path, strings.NewReader(body)), headers))
	return w
}

func withHeaders(r *http.Request, headers []string) *http.Request {
	if r.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// do sends a request, follows where it leads and reads the page.
func (s *site) do(r *http.Request) *page {
	s.t.Helper()
	response := expect.Must(s.server.Client().Do(r))
	defer response.Body.Close()
	raw := expect.Must(io.ReadAll(response.Body))
	p := &page{s: s, url: response.Request.URL.String(), status: response.StatusCode, header: response.Header, raw: string(raw)}
	p.root = expect.Must(html.Parse(strings.NewReader(p.raw)))
	p.values = successful(p.root)
	expect.That(s.t, len(response.Cookies()) == 0, "%s sets a cookie, which is missing in a frame on another site", p.url)
	if s.halves != nil {
		s.halves.learn(p.values.Get("half"))
	}
	return p
}

// press sends the page by one of its buttons.
func (p *page) press(button string) *page {
	p.s.t.Helper()
	values := url.Values{}
	for name, list := range p.values {
		values[name] = slices.Clone(list)
	}
	values.Set("go", button)
	return p.post(values)
}

func (p *page) post(values url.Values) *page {
	p.s.t.Helper()
	return p.s.send(http.MethodPost, p.action(), values.Encode(), "User-Agent", "Test Mobi")
}

// action is where the page's form is sent to.
func (p *page) action() string {
	p.s.t.Helper()
	form := p.find(func(n *html.Node) bool { return n.Data == "form" })
	if form == nil || attr(form, "action") == "" {
		return p.url
	}
	return p.resolve(attr(form, "action"))
}

// resolve makes an address of the page absolute.
func (p *page) resolve(address string) string {
	p.s.t.Helper()
	base := expect.Must(url.Parse(p.url))
	return expect.Must(base.Parse(address)).String()
}

// fill types into inputs: names and values in turn. An input that is not on the page
// is a mistake of the test.
func (p *page) fill(pairs ...string) *page {
	p.s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		expect.Require(p.s.t, p.find(func(n *html.Node) bool { return attr(n, "name") == pairs[i] && attr(n, "type") != "hidden" }) != nil,
			"there is no input %q on the page", pairs[i])
		value := pairs[i+1]
		if n := p.find(func(n *html.Node) bool {
			return attr(n, "name") == pairs[i] && strings.HasPrefix(attr(n, "value"), value+".")
		}); n != nil {
			value = attr(n, "value") // of a legal block, with its digest
		}
		p.values.Set(pairs[i], value)
	}
	return p
}

func (p *page) add(name, value string) *page {
	p.values.Add(name, value)
	return p
}

// anyStatus lets a page have any status.
const anyStatus = 0

// condition returns what is wrong with a page, or "".
type condition func(p *page) string

// about adds words to what expect reports of a page.
func (p *page) about(words ...any) *page {
	p.label = strings.TrimSpace(fmt.Sprintln(words...)) + ": "
	return p
}

// expect reports a page that has another status or does not meet the conditions.
func (p *page) expect(status int, conditions ...condition) *page {
	p.s.t.Helper()
	p.meets(status, conditions)
	return p
}

// require is expect, and ends the test if it reports something.
func (p *page) require(status int, conditions ...condition) *page {
	p.s.t.Helper()
	if !p.meets(status, conditions) {
		p.s.t.FailNow()
	}
	return p
}

// meets reports what is wrong with a page.
func (p *page) meets(status int, conditions []condition) bool {
	p.s.t.Helper()
	var faults []string
	if p.status != status && status != anyStatus {
		faults = append(faults, fmt.Sprintf("the status is %d, want %d", p.status, status))
	}
	for _, check := range conditions {
		if fault := check(p); fault != "" {
			faults = append(faults, fault)
		}
	}
	expect.That(p.s.t, len(faults) == 0, "%s%s\n%s: %s", p.label, strings.Join(faults, "\n"), p.url, p.text("fs-main"))
	p.label = ""
	return len(faults) == 0
}

// shows wants texts in the element with an id or a class, and hides wants none of them there; without a text
// there may be none at all.
func shows(place string, texts ...string) condition {
	return func(p *page) string { return faultIn(place, p.text(place), texts, true) }
}

func hides(place string, texts ...string) condition {
	return func(p *page) string {
		if got := p.text(place); len(texts) == 0 && got != "" {
			return fmt.Sprintf("%s shows %q", place, got)
		}
		return faultIn(place, p.text(place), texts, false)
	}
}

// holds wants texts in the HTML of the page, and lacks wants none of them there.
func holds(texts ...string) condition {
	return func(p *page) string { return faultIn("the page", p.raw, texts, true) }
}

func lacks(texts ...string) condition {
	return func(p *page) string { return faultIn("the page", p.raw, texts, false) }
}

// faultIn returns the first text that all has although it should not, or lacks although it should have it.
func faultIn(place, all string, texts []string, want bool) string {
	for _, text := range texts {
		if strings.Contains(all, text) != want {
			return fmt.Sprintf("%s has %q: %v", place, text, !want)
		}
	}
	return ""
}

// value wants an input to have a value.
func value(name, want string) condition {
	return func(p *page) string {
		if got := p.values.Get(name); got != want {
			return fmt.Sprintf("%s is %q, want %q", name, got, want)
		}
		return ""
	}
}

// at wants a part in the address of the page.
func at(part string) condition {
	return func(p *page) string { return faultIn("the address", p.url, []string{part}, true) }
}

// responses wants so many responses to a form.
func responses(form formsvc.Form, n int) condition {
	return func(p *page) string {
		if list := p.s.answers(form); len(list) != n {
			return fmt.Sprintf("%d responses are stored, want %d: %v", len(list), n, list)
		}
		return ""
	}
}

// answered wants one response to a form, with these ids and values.
func answered(form formsvc.Form, pairs ...string) condition {
	return func(p *page) string { return p.s.fault(form, pairs) }
}

// stores reports a form that does not have one response with these ids and values.
func (s *site) stores(form formsvc.Form, pairs ...string) {
	s.t.Helper()
	fault := s.fault(form, pairs)
	expect.That(s.t, fault == "", "%v", fault)
}

// fault returns how the responses to a form differ from one with these ids and values.
func (s *site) fault(form formsvc.Form, pairs []string) string {
	list := s.answers(form)
	if len(list) != 1 {
		return fmt.Sprintf("%d responses are stored, want one: %v", len(list), list)
	}
	for i := 0; i < len(pairs); i += 2 {
		if got := list[0][pairs[i]]; got != pairs[i+1] {
			return fmt.Sprintf("stored for %s is %s, want %s", pairs[i], got, pairs[i+1])
		}
	}
	return ""
}

func (p *page) find(want func(*html.Node) bool) *html.Node { return search(p.root, want) }

func search(n *html.Node, want func(*html.Node) bool) *html.Node {
	if n.Type == html.ElementNode && want(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := search(c, want); found != nil {
			return found
		}
	}
	return nil
}

// each calls do for every element.
func (p *page) each(do func(*html.Node)) {
	search(p.root, func(n *html.Node) bool { do(n); return false })
}

// text is what a reader sees of the element with an id or a class.
func (p *page) text(idOrClass string) string {
	n := p.find(func(n *html.Node) bool {
		return attr(n, "id") == idOrClass || slices.Contains(strings.Fields(attr(n, "class")), idOrClass)
	})
	if n == nil {
		return ""
	}
	return strings.Join(strings.Fields(textOf(n)), " ")
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(textOf(c))
	}
	return b.String()
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// successful are the values that a browser would send.
func successful(root *html.Node) url.Values {
	values := url.Values{}
	search(root, func(n *html.Node) bool {
		name := attr(n, "name")
		if name == "" {
			return false
		}
		switch n.Data {
		case "input":
			switch attr(n, "type") {
			case "radio", "checkbox":
				if has(n, "checked") {
					values.Add(name, attr(n, "value"))
				}
			case "file", "submit":
			default:
				values.Add(name, attr(n, "value"))
			}
		case "textarea":
			values.Add(name, strings.TrimPrefix(textOf(n), "\n"))
		case "select":
			chosen := ""
			search(n, func(o *html.Node) bool {
				if o.Data == "option" && has(o, "selected") {
					chosen = attr(o, "value")
				}
				return false
			})
			values.Add(name, chosen)
		}
		return false
	})
	return values
}
