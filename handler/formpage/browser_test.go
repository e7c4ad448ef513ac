package formpage_test

import (
	"context"
	"encoding/json"
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
	"github.com/formsvc/formsvc/storage/memory"
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
	s.service = must(formsvc.New(append([]formsvc.Option{formsvc.WithStorage(storagetest.ReadOnly(t, s.store)), formsvc.WithClock(s.clock)}, options...)...))
	workspace := must(s.service.CreateWorkspace(t.Context(), s.owner, "Test"))
	s.place = workspace.ID
	if config.Clock == nil {
		config.Clock = s.clock
	}
	s.pages = must(formpage.New(s.service, config))
	mux := http.NewServeMux()
	mux.Handle("/f/", s.pages)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	return s
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
	form, err := client.CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A form", Type: kind, Definition: d})
	if err != nil {
		s.t.Fatal(err)
	}
	if form, err = client.PublishForm(s.t.Context(), form.ID); err != nil {
		s.t.Fatal(err)
	}
	return form
}

// answers returns the stored responses of a form, newest first: values by field id.
func (s *site) answers(form formsvc.Form) []map[string]string {
	s.t.Helper()
	var all []map[string]string
	for submission, err := range s.service.AsHost().Submissions(s.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		var items []struct {
			Field struct{ ID string }
			Value json.RawMessage
		}
		noError(s.t, json.Unmarshal(submission.Answers, &items))
		one := map[string]string{}
		for _, item := range items {
			one[item.Field.ID] = string(item.Value)
		}
		all = append(all, one)
	}
	return all
}

func (s *site) funnel(form formsvc.Form) formsvc.Metrics {
	s.t.Helper()
	return must(s.service.AsHost().Metrics(context.Background(), form.ID, formsvc.PeriodAll))
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
	r := must(http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil))
	return s.do(r)
}

// do sends a request, follows where it leads and reads the page.
func (s *site) do(r *http.Request) *page {
	s.t.Helper()
	response, err := s.server.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	raw := must(io.ReadAll(response.Body))
	p := &page{s: s, url: response.Request.URL.String(), status: response.StatusCode, header: response.Header, raw: string(raw)}
	if p.root, err = html.Parse(strings.NewReader(p.raw)); err != nil {
		s.t.Fatal(err)
	}
	p.values = successful(p.root)
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
	r := must(http.NewRequestWithContext(p.s.t.Context(), http.MethodPost, p.action(), strings.NewReader(values.Encode())))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "Test Mobi")
	return p.s.do(r)
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
	base, err := url.Parse(p.url)
	if err != nil {
		p.s.t.Fatal(err)
	}
	if base, err = base.Parse(address); err != nil {
		p.s.t.Fatal(err)
	}
	return base.String()
}

// fill types into inputs: names and values in turn. An input that is not on the page
// is a mistake of the test.
func (p *page) fill(pairs ...string) *page {
	p.s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if p.find(func(n *html.Node) bool { return attr(n, "name") == pairs[i] && attr(n, "type") != "hidden" }) == nil {
			p.s.t.Fatalf("there is no input %q on the page", pairs[i])
		}
		p.values.Set(pairs[i], pairs[i+1])
	}
	return p
}

func (p *page) add(name, value string) *page {
	p.values.Add(name, value)
	return p
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
