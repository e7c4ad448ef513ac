package formpage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

const twoPages = `[{"id":"a","type":"short_text","label":"A"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text","label":"B"}]`

// save sends the inputs of a page as its script does, and takes over what the script takes over.
func (p *page) save(more ...string) *page {
	p.s.t.Helper()
	values := maps.Clone(p.values)
	values.Set("go", "save")
	got := p.s.send(http.MethodPost, p.action(), values.Encode(), append(more, "Formpage-Script", "1")...)
	if got.status == http.StatusOK {
		p.values.Set("half", got.values.Get("half"))
	}
	return got
}

// Pages that save nothing half-way make no call for it, and have none of its routes. Neither has a
// page without an answer, a preview, or a response that was never saved.
func TestNothingIsSavedUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Secret: secret})
	off := &asked{Storage: s.store}
	pages := expect.Must(formpage.New(off.service(t, s.clock), formpage.Config{MinFillTime: -1, Secret: secret, Clock: s.clock}))
	s.pages, s.server.Config.Handler = pages, nil
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	s.server = server
	form := s.form("MULTI", twoPages, "", "")
	p := s.open(form, "")
	policy := inPolicy.ReplaceAllString(p.header.Get("Content-Security-Policy"), "")
	expect.That(t, p.text("fs-keep") == "" && !p.values.Has("half"), "the page offers to save")
	s.get(p.url + "/later").about("later").expect(http.StatusNotFound)
	for _, action := range []string{"later", "save", "forget", "resume"} { // they are as good as any other
		p.values.Set("link", "x")
		p.fill("a.a", "x").press(action).about(action).expect(http.StatusOK, holds(">B<"))
	}
	end := p.press("next").press("next")
	expect.That(t, strings.Contains(end.url, "/done") && off.calls == 0, "%s, %d calls", end.url, off.calls)

	on := newLater(t, formpage.Config{Language: func(*http.Request, formsvc.PublicForm) string { return "en" }})
	form = on.form("MULTI", twoPages, "", "")
	p = on.open(form, "")
	expect.Equal(t, inPolicy.ReplaceAllString(p.header.Get("Content-Security-Policy"), ""), policy, "the policy")
	end = p.press("next").press("back").press("stay").press("next").press("next")
	expect.That(t, strings.Contains(end.url, "/done") && on.halves.calls == 0, "%s, %d calls", end.url, on.halves.calls)
	// A step is one call, and so is sending; without what was saved it is none.
	p = on.open(form, "").fill("a.a", "x").press("next")
	expect.That(t, on.halves.calls == 1, "a step makes %d calls", on.halves.calls)
	end = p.press("next")
	expect.That(t, strings.Contains(end.url, "/done") && on.halves.calls == 2, "%s, %d calls", end.url, on.halves.calls)
	on.halves.calls = 0
	p = on.open(form, "").fill("a.a", "x") // of which nobody knows where it was made
	p.values.Del("state")
	p = p.press("next")
	expect.That(t, p.status == http.StatusOK && on.halves.calls == 0, "%d, %d calls", p.status, on.halves.calls)
	preview := expect.Must(formpage.New(on.halves.service(t, on.clock), on.config))
	on.pages = preview
	p = on.get(on.link(form.ID))
	if p.text("fs-keep") != "" || p.fill("a.a", "x").press("next").status != http.StatusOK || p.press("later").status != http.StatusOK || on.halves.calls != 0 {
		t.Errorf("the preview makes %d calls: %s", on.halves.calls, p.text("fs-main"))
	}
	for name, config := range map[string]formpage.Config{"none": {Partials: 3}, "less than none": {Partials: -1}} {
		_, err := formpage.New(on.service, config)
		expect.That(t, err != nil, "%s: no error", name)
	}
	lacks := fmt.Sprint(preview.MissingFeatures(formsvc.PublicForm{}))
	expect.That(t, strings.Contains(lacks, "partial submissions"), "it lacks %s", lacks)
}

// The page says for how long the service keeps what is saved.
func TestThePageSaysHowLongItIsKept(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	p := s.open(form, "").fill("a.a", "x").press("next")
	saved, err := s.service.ResumePartial(t.Context(), form.ID, s.token())
	if days := int(saved.EndsAt.Sub(saved.SavedAt).Hours() / 24); err != nil || !strings.Contains(p.text("fs-keep"), fmt.Sprintf("kept for up to %d days", days)) {
		t.Errorf("%v, %d days: %s", err, days, p.text("fs-keep"))
	}
	s.wait(29 * 24 * time.Hour)
	link := s.token()
	s.get(p.url+"/later").fill("link", link).press("resume").about("after 29 days").expect(http.StatusOK, value("a.a", "x"))
	s.wait(3 * 24 * time.Hour)
	if got := s.get(p.url+"/later").fill("link", link).press("resume"); got.status != http.StatusNotFound || !strings.Contains(got.text("summary"), "There are no saved answers for this link.") {
		t.Errorf("after 32 days: %d %s", got.status, got.text("fs-main"))
	}
	// The page itself is older than a page may be, and goes on: nothing is made anew by itself.
	p = p.fill("a.b", "y").press("back")
	expect.That(t, p.status == http.StatusOK && strings.Contains(p.text("fs-keep"), "no longer saved") && len(s.halves.made) == 1,
		"%d %s", p.status, p.text("fs-keep"))
	fresh := p.later()
	expect.That(t, !strings.Contains(fresh, link) && len(s.halves.made) == 2, "%s", fresh)
}

// Owners see what is saved only where the page had said so before the save.
func TestOwnersSeeWhatTheRespondentWasTold(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	shown := func() string {
		var list []string
		for p, err := range s.service.As(s.owner).Partials(t.Context(), form.ID, formsvc.Query{}) {
			expect.NoError(t, err)
			list = append(list, string(p.Answers))
		}
		return strings.Join(list, " ")
	}
	p := s.open(form, "").fill("a.a", "x").press("next")
	text := p.text("fs-keep")
	expect.That(t, strings.Contains(text, "only people who have your link") && shown() == "", "%s: %s", text, shown())
	s.config.Partials = formpage.ResumeAndShow
	p = p.fill("a.b", "y").press("back") // this page had not said it
	text = p.text("fs-keep")
	expect.That(t, strings.Contains(text, "The owners of this form") && shown() == "", "%s: %s", text, shown())
	p = p.press("next")
	expect.That(t, shown() == `{"a":"x","b":"y"}`, "owners see %s", shown())
	s.config.Partials = formpage.Resume
	p.press("back")
	expect.That(t, shown() == "", "owners see %s", shown())
	// A save of the script brings what the page says from then on.
	p = s.open(form, "").fill("a.a", "z")
	p.save()
	s.config.Partials = formpage.ResumeAndShow
	if got := p.save(); strings.TrimSpace(shown()) != "" || !strings.Contains(got.text("fs-keep"), "The owners of this form") {
		t.Errorf("owners see %s: %s", shown(), got.text("fs-keep"))
	}
}

func TestAPressForgets(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	p := s.open(form, "").fill("a.a", "x").press("next")
	button := func(p *page) bool {
		return p.find(func(n *html.Node) bool { return attr(n, "value") == "forget" && !has(n, "hidden") }) != nil
	}
	if token := s.token(); !button(p) || button(s.open(form, "")) || s.saved(form, token) != `{"a":"x"}` {
		t.Fatal("the button is not there when it should")
	}
	other, before := p, s.halves.calls
	got := s.open(form, "").press("forget")
	expect.That(t, got.status == http.StatusOK && s.halves.calls == before, "what was never saved is looked for: %d", got.status)
	p = p.fill("a.b", "y").press("forget")
	if !strings.Contains(p.text("summary"), "answers have been deleted") || p.values.Get("a.b") != "y" || button(p) || !strings.Contains(p.text("fs-keep"), "not being saved") {
		t.Errorf("%s", p.text("fs-main"))
	}
	gone := func(token string) {
		t.Helper()
		got := s.saved(form, token)
		expect.That(t, strings.Contains(got, "not found"), "saved is %s", got)
	}
	gone(s.token())
	// Nor does it matter what else is sent.
	fresh := s.open(form, "").fill("a.a", "x").press("next")
	s.config.MaxBody = 2000
	s.send(http.MethodPost, fresh.url, "go=forget&"+fresh.values.Encode()+"&a.b="+strings.Repeat("x", 3000)).expect(http.StatusOK)
	expect.That(t, s.saved(form, s.token()) != `{"a":"x"}`, "too large: %s", s.saved(form, s.token()))
	s.config.MaxBody, s.halves.made = 0, s.halves.made[:1]
	// Neither this page nor another one saves again by itself.
	calls := s.halves.calls
	p = p.press("back").press("next")
	if got := p.save(); !strings.Contains(got.text("fs-keep"), "not being saved") || s.halves.calls != calls {
		t.Errorf("%d %s, %d calls", got.status, got.text("fs-keep"), s.halves.calls-calls)
	}
	other = other.press("back")
	if got := other.save(); !strings.Contains(got.text("fs-keep"), "not being saved") || !strings.Contains(other.text("fs-keep"), "no longer saved") || len(s.halves.made) != 1 {
		t.Errorf("another page: %d %s", got.status, other.text("fs-keep"))
	}
	link := p.later()
	expect.That(t, s.saved(form, s.token()) == `{"a":"x","b":"y"}` && len(s.halves.made) == 2,
		"the button for a link does not begin again")
	// The page of a link forgets without showing anything.
	address, _, _ := strings.Cut(link, "#")
	s.get(address).fill("link", link).press("forget").expect(http.StatusOK, lacks("a.a"), holds("answers have been deleted"))
	gone(s.token())
}

// A response that goes on elsewhere has no files, and its captchas are solved anew.
func TestFilesAndCaptchasAreAskedForAgain(t *testing.T) {
	t.Parallel()
	dir, _ := newDir(t)
	s := newLater(t, formpage.Config{Files: dir, Verifiers: map[string]formpage.Verifier{"hcaptcha": sums{}}})
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"Paper","required":true},{"id":"about","type":"short_text","properties":{"rule":{"show":{"!!":[{"var":"answers.f"}]}}}},{"id":"c","type":"captcha","properties":{"captchaType":"hcaptcha"}},
		{"id":"a","type":"short_text","label":"A"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text","label":"B"}]`, "", "")
	p := s.open(form, "").fill("a.a", "x")
	p.values.Set("sum", "4")
	p = p.attach("next", [3]string{"u.f", "paper.png", pngBytes}).press("next")
	expect.Require(t, p.status == http.StatusOK && s.saved(form, s.token()) == `{"a":"x"}`,
		"%d %s: %s", p.status, p.text("summary"), s.saved(form, s.token()))
	first := p
	p.values.Set("a.about", "a paper")
	if got := p.save(); got.status != http.StatusOK || s.saved(form, s.token()) != `{"a":"x","about":"a paper"}` {
		t.Errorf("%d: what depends on a file is not saved: %s", got.status, s.saved(form, s.token()))
	}
	p.values.Del("a.about")
	p = s.follow(p.later())
	p.require(anyStatus, shows("fs-main", "Files are not saved. Please add them again."), lacks("paper.png"))
	p = p.fill("a.b", "y").press("next")
	p.require(http.StatusUnprocessableEntity, shows("summary", "Please complete this verification."), responses(form, 0))
	p.values.Set("sum", "4")
	p = p.attach("next", [3]string{"u.f", "again.pdf", pdfBytes}).press("next").press("next")
	expect.Require(t, strings.Contains(p.url, "/done"), "%d %s", p.status, p.text("fs-main"))
	if got := fmt.Sprint(s.answers(form)); !strings.Contains(got, "again.pdf") || strings.Contains(got, "paper.png") || !strings.Contains(got, `b:"y"`) {
		t.Errorf("stored is %s", got)
	}
	// A token that is spent refuses no response.
	first.fill("a.b", "z").press("next").expect(http.StatusOK, at("/done"), responses(form, 2))
}

// What the script of a page is told.
func TestTheScriptSaves(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
		return map[string]json.RawMessage{"pay": json.RawMessage(`{"amount":"1","currency":"EUR","status":"paid","gateway":"test"}`)}, nil
	}})
	form := s.form("MULTI", `[{"id":"pay","type":"payment","label":"Pay","properties":{"amount":"1","currency":"EUR"}},{"id":"a","type":"short_text","label":"A"},
		{"id":"paid","type":"short_text","properties":{"rule":{"show":{"==":[{"var":"answers.pay.status"},"paid"]}}}},
		{"id":"off","type":"short_text","properties":{"rule":{"show":{"==":[{"var":"answers.a"},"on"]}}}},{"id":"end","type":"ending","label":"The end"}]`, "", "")
	p := s.open(form, "").fill("a.a", "on", "a.paid", "p")
	p.values.Set("a.off", "typed")
	check := func(p *page, wantStatus int, want string) string {
		t.Helper()
		got := p.save().about(wantStatus, want).expect(wantStatus, shows("fs-main", want))
		return got.header.Get("Formpage-Location")
	}
	const saved = "Your answers are saved."
	check(p, http.StatusOK, saved)
	check(p.fill("a.a", "off"), http.StatusOK, saved)
	if got := s.saved(form, s.token()); got != `{"a":"off","paid":"p"}` || len(s.halves.made) != 1 {
		t.Errorf("saved is %s", got)
	}
	// What is off the path stays in the page, whatever another page saves.
	link := p.later()
	check(s.follow(link).fill("a.paid", "q"), http.StatusOK, saved)
	p = p.press("save").expect(anyStatus, value("a.off", "typed"), value("a.paid", "q"))
	p.fill("a.a", "on").later()
	other := s.follow(link).fill("a.a", "on", "a.off", "elsewhere")
	check(other, http.StatusOK, saved)
	// Until the page shows what is taken over, it saves by what it knows.
	for range 2 {
		check(p, http.StatusConflict, "changed in another window")
	}
	if p = p.press("save"); p.status != http.StatusConflict || p.values.Get("a.off") != "elsewhere" || s.saved(form, s.token()) != `{"a":"on","off":"elsewhere","paid":"q"}` {
		t.Errorf("%d %v, saved is %s", p.status, p.values, s.saved(form, s.token()))
	}
	p = p.press("save").expect(http.StatusOK, hides("summary"))
	check(p.fill("a.a", strings.Repeat("x", 70_000)), http.StatusOK, "too long to be saved")
	p.press("later").expect(http.StatusUnprocessableEntity, shows("summary", "too long to be saved"))
	for _, s.halves.fail = range []error{errors.New("secret of the host"), &schema.Error{Violations: []schema.Violation{{Path: "/metadata", Code: schema.CodeTooLong}}}} {
		check(p.fill("a.a", "y"), http.StatusOK, "could not be saved")
		if failed := p.press("back"); failed.status != http.StatusOK || failed.header.Get("Retry-After") != "" || !strings.Contains(failed.text("fs-keep"), "could not be saved") {
			t.Errorf("%d %v %s", failed.status, failed.header, failed.text("fs-keep"))
		}
	}
	s.halves.fail = nil
	hosts, sent := s.config.HostAnswers, s.halves.calls
	s.config.HostAnswers = func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
		return nil, formsvc.ErrAlreadySubmitted
	}
	check(p, http.StatusServiceUnavailable, "")
	s.config.HostAnswers = hosts
	expect.That(t, s.halves.calls == sent, "it is saved without the answers of the host")
	forged := *p
	forged.values = url.Values{"a.a": {"x"}, "half": {"x.y"}}
	check(&forged, http.StatusUnprocessableEntity, "")
	fresh := s.open(form, "").fill("a.a", "z")
	p.press("next").require(http.StatusOK, at("/done"))
	changed := *other
	changed.values = maps.Clone(other.values)
	to := check(changed.fill("a.off", "typed since"), http.StatusConflict, "already submitted from another")
	expect.That(t, to == "", "who has changed something is led to %q", to)
	changed.press("save").expect(http.StatusConflict, shows("fs-main", "already submitted from another", "typed since"))
	if to := check(other, http.StatusNoContent, ""); !strings.HasPrefix(to, form.PublicID+"/done?") || !strings.Contains(s.get(other.resolve(to)).raw, "The end") {
		t.Errorf("it leads to %q", to)
	}
	s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}})
	check(fresh, http.StatusGone, "closed")
}

// Beginning one, and saving and looking for one, cost an address a token of a budget each. Beyond it
// pages go on, and are sent.
func TestSavingIsLimited(t *testing.T) {
	t.Parallel()
	limit := expect.Must(memorystore.New(&memorystore.Config{Tokens: 3, Interval: time.Hour}))
	var log strings.Builder
	s := newLater(t, formpage.Config{Limiter: limit, ClientIP: func(*http.Request) string { return "192.0.2.1" }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	form := s.form("MULTI", twoPages, "", "")
	for i := range 5 {
		p := s.open(form, "").fill("a.a", "x").press("next")
		if want := map[bool]string{true: "Your answers are saved.", false: "could not be saved"}[i < 3]; p.status != http.StatusOK || !strings.Contains(p.text("fs-keep"), want) {
			t.Errorf("%d: %d %s", i, p.status, p.text("fs-keep"))
		}
		if i == 0 {
			p.press("next").expect(http.StatusOK, at("/done"))
		}
		if i == 2 {
			for n := range 5 { // three more saves
				p = p.press("back").press("next")
				if want := map[bool]string{true: "Your answers are saved.", false: "could not be saved"}[n < 1]; p.status != http.StatusOK || !strings.Contains(p.text("fs-keep"), want) {
					t.Errorf("save %d: %s", n, p.text("fs-keep"))
				}
			}
			p.save().expect(http.StatusOK, shows("fs-keep", "could not be saved"))
		}
	}
	expect.That(t, len(s.halves.made) == 3, "%d were made", len(s.halves.made))
	calls := s.halves.calls
	for _, action := range []string{"resume", "forget"} {
		got := s.get(s.server.URL+"/f/"+form.PublicID+"/later").fill("link", s.token()).press(action)
		expect.That(t, got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "" && s.halves.calls == calls,
			"%s: %d", action, got.status)
	}
	expect.That(t, !strings.Contains(log.String(), "ERROR"), "%s", log.String())
}

// Who guesses tokens finds nothing, and is answered in one way.
func TestGuessedTokensFindNothing(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	other := s.form("MULTI", twoPages, "", "")
	s.open(form, "").fill("a.a", "secret").press("next")
	token := s.token()
	pages := expect.Must(formpage.New(s.halves.service(t, s.clock), s.config))
	ask := func(form formsvc.Form, action, token string) string {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(url.Values{"link": {token}, "go": {action}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		body, header := w.Body.String(), fmt.Sprint(w.Header())
		if found := inPolicy.FindStringSubmatch(header); found != nil {
			body, header = strings.ReplaceAll(body, found[1], ""), strings.ReplaceAll(header, found[1], "")
		}
		return fmt.Sprint(w.Code, header, body)
	}
	want := ask(form, "resume", "AAAAAAAAAAAAAAAAAAAAAA")
	expect.Require(t, strings.HasPrefix(want, "404") && strings.Contains(want, "no saved answers"), "%v", want)
	hostile := []string{"", "#", token[:21], token + "A", strings.ToLower(token), "\x00", strings.Repeat("x", 100_000), "<script>", token[1:] + token[:1], "../" + token}
	n := 20_000
	if raceDetector || testing.Short() {
		n = 2_000
	}
	for i := range n {
		guess := []byte(token)
		guess[i%len(guess)] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[i/len(guess)%64]
		guess[(i/7)%len(guess)] ^= 1
		if string(guess) == token {
			continue
		}
		hostile = append(hostile[:min(len(hostile), 10)], string(guess))
		for _, g := range hostile[len(hostile)-1:] {
			got := ask(form, "resume", g)
			expect.Require(t, got == want, "%.40q: %s", g, got)
		}
	}
	for _, g := range hostile {
		expect.Equal(t, ask(form, "resume", g), want, "%v", g)
		expect.Equal(t, ask(form, "forget", g), ask(form, "forget", "AAAAAAAAAAAAAAAAAAAAAA"), "%v forgetting differs", g)
	}
	expect.Equal(t, ask(other, "resume", token), strings.ReplaceAll(want, form.PublicID, other.PublicID), "by another form")
	ask(other, "forget", token)
	expect.That(t, s.saved(form, token) == `{"a":"secret"}`, "it is %s", s.saved(form, token))
}

// A page of another origin saves, shows and removes nothing.
func TestForeignPagesSaveNothing(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{"", "*"} {
		config := formpage.Config{}
		if allowed != "" {
			config.AllowedOrigins = []string{allowed}
		}
		s := newLater(t, config)
		form := s.form("MULTI", twoPages, "", "")
		p := s.open(form, "").fill("a.a", "typed").press("next")
		token, calls := s.token(), s.halves.calls
		foreign := []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
		p.save(foreign...).about("save").expect(http.StatusForbidden)
		for _, values := range []url.Values{{"link": {token}, "go": {"resume"}}, {"link": {token}, "go": {"forget"}}, p.values} {
			for _, action := range []string{"", "next", "later", "forget"} {
				if action != "" {
					values.Set("go", action)
				}
				s.send(http.MethodPost, p.url, values.Encode(), foreign...).about(values).expect(http.StatusForbidden, lacks(token))
			}
		}
		got := s.send(http.MethodOptions, p.url+"/later", "", "Origin", "https://evil.example", "Access-Control-Request-Method", http.MethodPost)
		expect.That(t, got.header.Get("Access-Control-Allow-Origin") == "", "another origin may save: %v", got.header)
		expect.That(t, s.halves.calls == calls && s.saved(form, token) == `{"a":"typed"}`,
			"%d calls, it is %s", s.halves.calls-calls, s.saved(form, token))
	}
}

// What owners and respondents write is text, wherever it is shown.
func TestHalfResponsesAreText(t *testing.T) {
	t.Parallel()
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`
	s := newLater(t, formpage.Config{})
	id, _ := json.Marshal(evil)
	form := s.form("SINGLE", `[{"id":`+string(id)+`,"type":"short_text","label":`+string(id)+`},{"id":"n","type":"short_text"},{"id":"o","type":"single_choice","properties":{"otherOption":true}}]`, "", "", evil+"h")
	name := evil
	s.change(form, formsvc.FormUpdate{Name: &name})
	clean := func(p *page) *page {
		t.Helper()
		p.each(func(n *html.Node) {
			expect.That(t, (n.Data != "script" || has(n, "src")) && n.Data != "img" && !has(n, "onerror"),
				"%s: markup of somebody in %s", p.url, p.raw)
		})
		return p
	}
	p := clean(s.open(form, url.Values{evil + "h": {evil}}.Encode()))
	p = clean(p.fill("a."+evil, evil).press("next"))
	p = clean(p.fill("a.n", evil).press("next"))
	p.values.Set("a.o", "other")
	p.values.Set("o.o", evil)
	link := p.later()
	clean(p.press("later"))
	clean(s.get(link))
	resumed := clean(s.follow(link))
	resumed.expect(anyStatus, value("a."+evil, evil), value("h."+evil+"h", evil), value("o.o", evil))
	clean(s.get(link).fill("link", evil).press("resume"))
	clean(s.get(link).fill("link", evil).press("forget"))
	s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"n","type":"rating","label":` + string(id) + `}]`)}})
	lost := clean(s.follow(link))
	expect.That(t, strings.Count(lost.text("summary"), "<script>") == 5, "%s", lost.text("summary"))
	s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}})
	clean(s.follow(link))
}

// goodTokens accepts each token that begins with "good" once.
type goodTokens struct {
	formpage.Verifier
	used map[string]bool
}

func (v goodTokens) Verify(_ context.Context, token, _ string) (bool, error) {
	fresh := strings.HasPrefix(token, "good") && !v.used[token]
	v.used[token] = true
	return fresh, nil
}

// listed is the number of partial submissions that the owner of a form sees.
func (s *later) listed(form formsvc.Form) (n int) {
	s.t.Helper()
	for _, err := range s.service.As(s.owner).Partials(s.t.Context(), form.ID, formsvc.Query{}) {
		expect.NoError(s.t, err)
		n++
	}
	return n
}

// with sets inputs that scripts add to the page.
func (p *page) with(values ...string) *page {
	for i := 0; i < len(values); i += 2 {
		p.values.Set(values[i], values[i+1])
	}
	return p
}

func withVerifier(t *testing.T, kind string) (*later, string) {
	t.Helper()
	makers := map[string]func(formpage.CaptchaKeys) formpage.Verifier{"turnstile": formpage.Turnstile, "hcaptcha": formpage.HCaptcha, "recaptcha": formpage.ReCAPTCHA}
	v := goodTokens{makers[kind](formpage.CaptchaKeys{SiteKey: "site"}), map[string]bool{}}
	return newLater(t, formpage.Config{Verifiers: map[string]formpage.Verifier{kind: v}}), v.Widget().Input
}

// If a form has a captcha, its owner sees the partial submissions of visits that solved one.
func TestPartialsNeedASolvedCaptcha(t *testing.T) {
	t.Parallel()
	captcha := func(kind, more string) string {
		return `{"id":"c","type":"captcha","properties":{` + more + `"captchaType":"` + kind + `"}}`
	}
	const name, breaks, last = `{"id":"a","type":"short_text","label":"A"}`, `{"id":"break","type":"page_break"}`, `{"id":"b","type":"short_text","label":"B"}`
	blocks := func(list ...string) string { return "[" + strings.Join(list, ",") + "]" }

	for _, kind := range []string{"turnstile", "hcaptcha", "recaptcha"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, widget := withVerifier(t, kind)
			first := s.form("MULTI", blocks(name, captcha(kind, ""), breaks, last), "", "")
			for i := range 5 { // the script's saves, with no token and with wrong ones
				p := s.open(first, "").fill("a.a", "spam")
				if i > 0 {
					p.with(widget, "bad")
				}
				p.save().about("save").require(http.StatusOK)
			}
			skipped := s.open(first, "").fill("a.a", "spam").with("at", "b").press("later") // of a page that is not reached yet
			expect.That(t, skipped.status == http.StatusOK && s.listed(first) == 0,
				"%d, the owner sees %d without a captcha", skipped.status, s.listed(first))
			p := s.open(first, "").fill("a.a", "x").with(widget, "good")
			if p = p.press("next"); !strings.Contains(p.raw, ">B<") || s.listed(first) != 1 {
				t.Errorf("the owner sees %d after a page with a solved captcha", s.listed(first))
			}
			p.save()
			expect.That(t, s.listed(first) == 1, "the owner sees %d after another save", s.listed(first))
			s.open(first, "").fill("a.a", "x").with(widget, "good").press("next")
			expect.That(t, s.listed(first) == 1, "the owner sees %d after a used token", s.listed(first))
			// A proof of one visit does not count for another visit.
			stolen := s.open(first, "").fill("a.a", "x")
			stolen.values["proof"] = p.values["proof"]
			if stolen.save(); len(p.values["proof"]) == 0 || s.listed(first) != 1 {
				t.Errorf("the owner sees %d after a proof of another visit", s.listed(first))
			}
			// What a linked page saves stays visible, although its captcha is not solved yet.
			link := s.get(p.url+"/later").fill("link", s.halves.tokens[s.halves.made[6]]).press("resume")
			if link.fill("a.b", "y").save(); link.status != http.StatusOK || s.listed(first) != 1 {
				t.Errorf("%d, the owner sees %d after a save by link", link.status, s.listed(first))
			}
			expect.Equal(t, len(s.halves.made), 8, "were saved")

			// The captcha is solved for the save itself, with and without the script, and stays solved.
			single := s.form("MULTI", blocks(name, captcha(kind, "")), "", "")
			p = s.open(single, "").fill("a.a", "x").with(widget, "good again")
			got := p.save()
			p.values["proof"] = got.values["proof"]
			expect.That(t, s.listed(single) == 1, "the owner sees %d after a save with a solved captcha", s.listed(single))
			end := p.press("next")
			expect.That(t, strings.Contains(end.url, "/done") && s.listed(single) == 0, "%d %s", end.status, end.text("fs-main"))
			p = s.open(single, "").fill("a.a", "x").with(widget, "good for a link").press("later")
			expect.That(t, s.listed(single) == 1 && strings.Contains(p.press("next").url, "/done"),
				"%d seen after a link", s.listed(single))

			// Before the page with the captcha, behind a rule, in a group, or added after the save.
			for what, list := range map[string]string{
				"on a later page": blocks(name, breaks, captcha(kind, "")),
				"in a group":      blocks(name, breaks, `{"id":"g","type":"group","children":[`+captcha(kind, "")+`]}`),
				"off the path":    blocks(name, breaks, captcha(kind, `"rule":{"==":[{"var":"a"},"never"]},`), last),
			} {
				form := s.form("MULTI", list, "", "")
				s.open(form, "").fill("a.a", "x").press("later")
				expect.That(t, s.listed(form) == 0, "%s: the owner sees %d", what, s.listed(form))
			}
			plain := s.form("MULTI", blocks(name, breaks, last), "", "")
			s.open(plain, "").fill("a.a", "x").press("next")
			before := s.listed(plain)
			s.change(plain, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(blocks(name, captcha(kind, ""), breaks, last))}})
			expect.That(t, before == 1 && s.listed(plain) == 0, "%d seen, %d after a captcha was added", before, s.listed(plain))
			// Nobody can solve these.
			for what, list := range map[string]string{
				"hidden": blocks(name, captcha(kind, `"hide":true,`), breaks, last), "none": blocks(name, captcha("none", ""), breaks, last),
				"without a verifier": blocks(name, captcha(map[bool]string{true: "hcaptcha", false: "turnstile"}[kind == "turnstile"], ""), breaks, last),
			} {
				form := s.form("MULTI", list, "", "")
				s.open(form, "").fill("a.a", "x").press("next")
				expect.That(t, s.listed(form) == 1, "%s: the owner sees %d", what, s.listed(form))
			}
			// A host's own page says whether a captcha was solved.
			for _, solved := range []bool{false, true} {
				form := s.form("MULTI", blocks(name, captcha(kind, "")), "", "")
				if _, _, err := s.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, CaptchaSolved: solved}); err != nil || s.listed(form) > 0 != solved {
					t.Errorf("through Go, solved %v: %v, the owner sees %d", solved, err, s.listed(form))
				}
			}
		})
	}
}

// However often a visit is sent again, it has one partial submission.
func TestAVisitCreatesOnePartial(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	p := s.open(form, "")
	state := p.values.Get("state")
	for i := range 20 {
		again := s.open(form, "").fill("a.a", strings.Repeat("x", i+1))
		again.values.Set("state", state)
		again.values.Del("half")
		switch i % 3 {
		case 0:
			again.save()
		case 1:
			again.press("next")
		case 2:
			again.press("later")
		}
	}
	if n := s.listed(form); n != 1 || s.saved(form, s.token()) != `{"a":"`+strings.Repeat("x", 20)+`"}` {
		t.Errorf("one visit has %d: %s", n, s.saved(form, s.token()))
	}
	// After it was removed, a press makes it once more.
	p.fill("a.a", "x").press("next").press("forget").press("later")
	expect.Equal(t, s.listed(form), 1, "after one was removed")
	// Who goes back to the first page after sending can send something else.
	p = s.open(form, "").fill("a.a", "sent")
	first := maps.Clone(p.values)
	p.press("next").press("next")
	p.values = first
	end := p.fill("a.a", "another").press("next").press("next")
	expect.That(t, strings.Contains(end.url, "/done") && len(s.answers(form)) == 2 && s.listed(form) == 1,
		"%d %s: %d responses, %d partial ones", end.status, end.url, len(s.answers(form)), s.listed(form))
	for range 10 { // each visit has its own
		s.open(form, "").fill("a.a", "x").press("next")
	}
	expect.Equal(t, s.listed(form), 11, "ten more visits")
}

// Only the browser that submitted a form is redirected. Everybody else gets a button.
func TestALinkToAnEndingRedirectsNoOne(t *testing.T) {
	t.Parallel()
	const target = "https://example.com/thanks"
	redirects := func(p *page) bool {
		return p.header.Get("Refresh") != "" || p.find(func(n *html.Node) bool { return n.Data == "meta" && has(n, "http-equiv") }) != nil || p.header.Get("Formpage-Location") == target
	}
	button := func(p *page) bool {
		return p.find(func(n *html.Node) bool { return n.Data == "a" && attr(n, "href") == target }) != nil
	}
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, `{"redirectUrl":"`+target+`"}`, "")
	end := s.open(form, "").fill("a.a", "x").press("next").press("next")
	expect.That(t, redirects(end) && button(end) && len(s.answers(form)) == 1,
		"the browser that submitted is not redirected: %d %s", end.status, end.text("fs-main"))
	for _, query := range []string{"", "?embed=1"} { // a link to a stored response, in a browser with and without a script
		for _, script := range []string{"", "1"} {
			p := s.get(s.open(form, "").url+"/later"+query).fill("link", s.token())
			values := maps.Clone(p.values)
			values.Set("go", "resume")
			got := s.send(http.MethodPost, p.action(), values.Encode(), "Formpage-Script", script)
			if to := got.header.Get("Formpage-Location"); script != "" {
				expect.That(t, to != target, "%q: the script is led to the target", query)
				got = s.get(expect.Must(expect.Must(url.Parse(p.action())).Parse(to)).String())
			}
			expect.That(t, !redirects(got) && button(got), "%q, script %q: %d %s redirects", query, script, got.status, got.url)
			for _, more := range []string{"", "&embed=1", "&lang=de"} {
				if p := s.get(got.url + more); redirects(p) || !button(p) {
					t.Errorf("%s redirects", p.url)
				}
			}
		}
	}
}
