package formpage_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// asked is a store that counts what pages ask it for half responses.
type asked struct {
	storage.Storage

	mu     sync.Mutex
	calls  int
	made   [][32]byte          // the half responses, by the hashes of their tokens
	tokens map[[32]byte]string // that a page has carried
	before func()              // happens before the next call, which begins with a read of the form
	fail   error               // of saves
}

func (a *asked) called() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return a.fail
}

func (a *asked) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	a.mu.Lock()
	before := a.before
	a.before = nil
	a.mu.Unlock()
	if before != nil {
		before()
	}
	return a.Storage.Form(ctx, who, id)
}

func (a *asked) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	if err := a.called(); err != nil {
		return 0, err
	}
	revision, err := a.Storage.SavePartial(ctx, p)
	if err == nil && p.New {
		a.mu.Lock()
		a.made = append(a.made, p.Token)
		a.mu.Unlock()
	}
	return revision, err
}

func (a *asked) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	_ = a.called()
	return a.Storage.Partial(ctx, form, token, now)
}

func (a *asked) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	_ = a.called()
	return a.Storage.DeletePartials(ctx, who, form, p)
}

// learn takes the token from the input of a page.
func (a *asked) learn(half string) {
	payload, _, _ := strings.Cut(half, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(payload)
	var carried struct{ T string }
	if json.Unmarshal(raw, &carried) == nil && carried.T != "" {
		a.mu.Lock()
		a.tokens[sha256.Sum256([]byte(carried.T))] = carried.T
		a.mu.Unlock()
	}
}

// service is a new service on the store.
func (a *asked) service(t *testing.T, clock func() time.Time) *formsvc.Service {
	t.Helper()
	service, err := formsvc.New(formsvc.WithStorage(a), formsvc.WithClock(clock))
	expect.That(t, err == nil, "%v", err)
	return service
}

// later is a site whose pages save half responses. Each request is served by a service and pages
// that are made anew, as after a crash.
type later struct {
	*site
	config formpage.Config
}

func newLater(t *testing.T, config formpage.Config) *later {
	t.Helper()
	config.Secret = secret
	if config.Partials == 0 {
		config.Partials = formpage.Resume
	}
	if config.MinFillTime == 0 {
		config.MinFillTime = -1
	}
	s := &later{site: newSite(t, config)}
	s.halves = &asked{Storage: s.store, tokens: map[[32]byte]string{}}
	config.Clock = s.clock
	s.config = config
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service := s.halves.service(t, s.clock)
		pages, err := formpage.New(service, s.config)
		expect.That(t, err == nil, "%v", err)
		pages.ServeHTTP(w, r)
		if err := service.Close(context.WithoutCancel(r.Context())); err != nil { // stores the views
			t.Error(err)
		}
	}))
	t.Cleanup(s.server.Close)
	return s
}

// token is that of the half response that was made last.
func (s *later) token() string {
	s.t.Helper()
	expect.Require(s.t, len(s.halves.made) != 0, "no half response was made")
	return s.halves.tokens[s.halves.made[len(s.halves.made)-1]]
}

// saved is a half response as it is stored: its answers as one text.
func (s *later) saved(form formsvc.Form, token string) string {
	s.t.Helper()
	p, err := s.service.ResumePartial(s.t.Context(), form.ID, token)
	if err != nil {
		return err.Error()
	}
	raw, _ := json.Marshal(p.Answers)
	return string(raw)
}

func (s *later) change(form formsvc.Form, u formsvc.FormUpdate) {
	s.t.Helper()
	expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), form.ID, u))
}

// later presses the button for the link, and returns the link.
func (p *page) later() string {
	p.s.t.Helper()
	got := p.press("later")
	a := got.find(func(n *html.Node) bool { return n.Data == "a" && has(n, "data-link") })
	expect.Require(p.s.t, got.status == http.StatusOK && a != nil, "no link: %d %s", got.status, got.text("fs-main"))
	p.values.Set("half", got.values.Get("half")) // the test goes on with this page
	return got.resolve(attr(a, "href"))
}

// follow opens a link to a half response on another device, and presses its button.
func (s *later) follow(link string) *page {
	s.t.Helper()
	address, _, _ := strings.Cut(link, "#")
	p := s.get(address).about(address).require(http.StatusOK)
	return p.fill("link", link).press("resume")
}

const fourQuestions = `[{"id":"name","type":"short_text","label":"Name","required":true},{"id":"size","type":"number","label":"Size"},
	{"id":"color","type":"single_choice","label":"Color","required":true,"choices":[{"id":"r","label":"Red"},{"id":"g","label":"Green"}],"properties":{"otherOption":true}},
	{"id":"last","type":"long_text","label":"Last"},{"id":"end","type":"ending","label":"The very end"}]`

// One response goes through three devices: the first has no script, and each request comes after a
// crash. It is one visit in the funnel, and one response.
func TestThreeDevicesHandOneResponseOn(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("SINGLE", fourQuestions, `{"utm":{"source":true}}`, "", "ref")
	p := s.open(form, "ref=r7&utm_source=mail&lang=de")
	expect.That(t, s.halves.calls == 0, "opening a form makes %d calls", s.halves.calls)
	s.wait(time.Minute)
	p = p.fill("a.name", "Ada <b>").press("next")
	p.require(http.StatusOK, shows("fs-keep", "Ihre Antworten sind gespeichert.", "30 Tage"))
	first := p
	s.wait(time.Minute)
	link := p.fill("a.size", "1,5").later()
	if !strings.Contains(link, "/later?lang=de#") || strings.Count(link, s.token()) != 1 || s.saved(form, s.token()) != `{"name":"Ada \u003cb\u003e","size":1.5}` {
		t.Fatalf("the link is %s, saved is %s", link, s.saved(form, s.token()))
	}

	// The page of the link says nothing, and asks for nothing.
	s.wait(24 * time.Hour)
	calls := s.halves.calls
	address, token, _ := strings.Cut(link, "#")
	before := s.get(address)
	if before.status != http.StatusOK || s.halves.calls != calls || strings.Contains(before.raw, "Ada") || strings.Contains(before.raw, token) || !strings.Contains(before.raw, "Dort weitermachen, wo ich aufgehört habe") {
		t.Errorf("%d, %d calls: %s", before.status, s.halves.calls-calls, before.text("fs-main"))
	}
	for name, want := range map[string]string{"Referrer-Policy": "same-origin", "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store"} {
		expect.Equal(t, before.header.Get(name), want, "%v", name)
	}

	p = s.follow(link)
	p.require(http.StatusOK, shows("fs-main", "Das sind die gespeicherten Antworten.", "Size"), value("a.size", "1,5"),
		value("a.name", "Ada <b>"))
	s.wait(time.Minute)
	p = p.press("next")
	p.values.Set("a.color", "other")
	p = p.fill("o.color", `"Blue"`)
	expect.Equal(t, p.later(), link, "the second link")

	s.wait(time.Hour)
	p = before.fill("link", " "+token).press("resume") // the third one has the text behind the # alone
	p.require(anyStatus, shows("fs-main", "Color"), value("o.color", `"Blue"`))
	p.press("back").expect(anyStatus, value("a.size", "1,5"))
	s.wait(time.Minute)
	p = s.follow(link).about("who went back").expect(anyStatus, shows("fs-main", "Color"))
	p = p.press("next").fill("a.last", "z")
	s.wait(time.Minute)
	p.press("next").require(http.StatusOK, holds("The very end"))
	want := map[string]string{"name": `"Ada <b>"`, "size": "1.5", "color": `{"other":"\"Blue\""}`, "last": `"z"`, "ref": `"r7"`}
	stored := s.answers(form)
	expect.Require(t, len(stored) == 1, "stored is %v", stored)
	for id, value := range want {
		s.stores(form, id, value)
	}
	for submission, err := range s.service.AsHost().Submissions(t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		// Two minutes before the link, one on the second device, one on the third.
		expect.That(t, err == nil && strings.Contains(string(submission.Metadata), `"mail"`) && submission.CompletionTime == 4*60,
			"%v %s, %v s", err, submission.Metadata, submission.CompletionTime)
	}
	m := s.funnel(form)
	expect.That(t, m.Views == 1 && m.Starts == 1, "the funnel is %+v", m)
	// Whoever saves or resumes it now is led to the ending.
	for name, got := range map[string]*page{"the first device": first.press("next"), "its link": s.follow(link), "its button": first.press("later")} {
		got.about(name).expect(http.StatusOK, at("/done?"), holds("The very end"))
	}
	expect.That(t, len(s.answers(form)) == 1 && len(s.halves.made) == 1,
		"%d responses, %d half responses", len(s.answers(form)), len(s.halves.made))
}

// What is shown of a half response sends the same response as the page that saved it, for each type
// of blocks.
func TestEveryAnswerComesBack(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", every, "", "", "ref")
	s.wait(2 * time.Minute) // a consent comes back if its text is older than the save
	for _, lang := range []string{"en", "de", "ar"} {
		number := map[string]string{"en": "1,234.5", "de": "1.234,5", "ar": "1234.5"}[lang]
		p := s.open(form, "ref=x&lang="+lang).fillEvery(number).fill("p.phone.contact", "999", "c.p.phone.contact", "FR").add("z.when", "+05:00")
		resumed := s.follow(p.later())
		p.values.Del("half") // it sends a response of its own, in another visit
		p.values.Set("state", s.open(form, "").values.Get("state"))
		for _, one := range []*page{p, resumed} {
			one.values.Del("p.phone.contact") // which is no number
			one.values.Set("z.when", "+05:00")
			one.values["shown"] = nil
			last := one.press("next")
			for last.status == http.StatusUnprocessableEntity {
				last = last.press("next") // it was asked how a number is meant
			}
			last.fill("a.last", "z").press("next").about(lang).require(http.StatusOK, at("/done"))
		}
		stored := s.answers(form)
		expect.That(t, len(stored[0]) >= 25 && stored[0]["ref"] == `"x"` && fmt.Sprint(stored[0]) == fmt.Sprint(stored[1]),
			"%s: stored is\n%v\nnot\n%v", lang, stored[0], stored[1])
	}
}

// What another device saved is taken over, as far as this one did not change it, whichever of the two
// is later, and when both save at the same moment, but for what it removed. The page says so, and
// stays.
func TestTwoTabsMerge(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"},{"id":"b","type":"short_text"},{"id":"c","type":"multiple_choice","choices":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},
		{"id":"d","type":"short_text"},{"id":"p1","type":"page_break"},{"id":"e","type":"short_text"},{"id":"p2","type":"page_break"},{"id":"f","type":"short_text"}]`, "", "")
	one := s.open(form, "").fill("a.a", "1", "a.b", "1", "a.d", "1").add("a.c", "id:x").press("next")
	link := one.later()
	one = one.press("back")
	two := s.follow(link).press("back")
	// The second one changes b, empties d and chooses more.
	two = two.fill("a.b", "2", "a.d", "").add("a.c", "id:y").press("next").require(http.StatusOK, hides("summary"))
	two = two.press("next") // and is on the last page
	// The first one changes a and b meanwhile: b is its own.
	one = one.fill("a.a", "3", "a.b", "3").press("next").require(http.StatusConflict, shows("summary", "on another device"))
	if one.values.Get("a.a") != "3" || one.values.Get("a.b") != "3" || one.values.Get("a.d") != "1" || strings.Join(one.values["a.c"], " ") != "id:x id:y" {
		t.Errorf("the page has %v", one.values)
	}
	expect.Equal(t, s.saved(form, s.token()), `{"a":"3","b":"3","c":[{"id":"x"},{"id":"y"}],"d":"1"}`, "saved")
	p := s.follow(link)
	expect.That(t, p.values.Has("a.f") && p.values.Get("a.a") == "3", "a link leads to %s", p.text("fs-main"))
	// Both go on: what is the same is nothing to tell.
	one = one.press("next")
	two = two.press("back").expect(http.StatusConflict, value("a.a", "3"))
	two = two.press("back").fill("a.e", "2")
	s.halves.before = func() { one.fill("a.e", "2").press("next") }
	two = two.press("next").expect(http.StatusOK)
	// The last page is not sent without what the other one saved.
	one = one.press("next").fill("a.f", "last")
	two.press("back").press("back").fill("a.d", "new").press("next")
	sent := one.press("next").require(http.StatusConflict, value("a.d", "new"), value("a.f", "last"), responses(form, 0))
	sent.press("next").require(http.StatusOK, at("/done"))
	if got := fmt.Sprint(s.answers(form)); got != `[map[a:"3" b:"3" c:[{"id":"x","label":"X"},{"id":"y","label":"Y"}] d:"new" e:"2" f:"last"]]` {
		t.Errorf("stored is %s", got)
	}
}

// What happens to a form while its response is away.
func TestAFormChangesWhileItsResponseIsAway(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	blocks := func(list string) formsvc.FormUpdate {
		return formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(list)}}
	}
	begin := func() (formsvc.Form, string, *page) {
		form := s.form("SINGLE", fourQuestions, "", "")
		p := s.open(form, "").fill("a.name", "Ada").press("next").fill("a.size", "3").press("next").fill("a.color", "id:r").press("next")
		return form, p.fill("a.last", "a <long> text").later(), p
	}
	t.Run("changed", func(t *testing.T) {
		form, link, _ := begin()
		s.change(form, blocks(`[{"id":"size","type":"short_text","label":"Size"},{"id":"new","type":"short_text","label":"New","required":true},
			{"id":"color","type":"single_choice","label":"Color","choices":[{"id":"g","label":"Green"}]},{"id":"last","type":"rating","label":"How <i>much</i>"}]`))
		p := s.follow(link)
		note := p.text("summary")
		for _, want := range []string{"no longer has these questions", "nameAda", "How <i>much</i>a <long> text", "Color–"} {
			expect.That(t, strings.Contains(note, want), "the page lacks %q: %s", want, note)
		}
		if p.values.Get("a.size") != "3" || p.values.Has("a.name") || p.values.Get("a.color") != "" || p.find(func(n *html.Node) bool { return n.Data == "i" || n.Data == "long" }) != nil {
			t.Errorf("%v", p.values)
		}
	})
	t.Run("closed", func(t *testing.T) {
		form, link, p := begin()
		s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true,"closedMessage":"Enough"}`)}})
		calls := s.halves.calls
		for name, got := range map[string]*page{"sent": p.press("next"), "for later": p.press("later")} {
			got.about(name).expect(http.StatusGone, shows("fs-main", "Enough"))
		}
		if p = p.press("back"); p.status != http.StatusOK || s.halves.calls > calls+1 {
			t.Errorf("back: %d, %d calls", p.status, s.halves.calls-calls)
		}
		got := s.follow(link)
		if text := got.text("fs-main"); got.status != http.StatusGone || !strings.Contains(text, "Enough") || !strings.Contains(text, "Lasta <long> text") || !strings.Contains(text, "NameAda") {
			t.Errorf("%d %s", got.status, text)
		}
		// Closed at the moment of a save.
		form, _, p = begin()
		s.halves.before = func() {
			s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}})
		}
		p.press("back").expect(http.StatusGone, shows("fs-main", "a <long> text"))
	})
	for name, away := range map[string]func(formsvc.Form) (back func()){
		"a draft": func(form formsvc.Form) func() {
			draft, published := formsvc.StatusDraft, formsvc.StatusPublished
			s.change(form, formsvc.FormUpdate{Status: &draft})
			return func() { s.change(form, formsvc.FormUpdate{Status: &published}) }
		},
		"trashed": func(form formsvc.Form) func() {
			expect.NoError(t, s.service.AsHost().TrashForm(t.Context(), form.ID))
			return func() {
				expect.NoError(t, s.service.RestoreForm(t.Context(), form.ID, s.place))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			form, link, p := begin()
			back := away(form)
			p.press("back").expect(http.StatusGone, shows("fs-main", "a <long> text"))
			address, _, _ := strings.Cut(link, "#")
			s.get(address).about("its link").expect(http.StatusNotFound)
			back()
			s.follow(link).expect(http.StatusOK, value("a.last", "a <long> text"))
		})
	}
}
