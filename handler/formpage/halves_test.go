package formpage_test

import (
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
	"github.com/formsvc/formsvc/schema"
)

const twoPages = `[{"id":"a","type":"short_text","label":"A"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text","label":"B"}]`

// save sends the inputs of a page as its script does, and takes over what the script takes over.
func (p *page) save(more ...string) *page {
	p.s.t.Helper()
	values := maps.Clone(p.values)
	values.Set("go", "save")
	r, _ := http.NewRequestWithContext(p.s.t.Context(), http.MethodPost, p.action(), strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Formpage-Script", "1")
	for i := 0; i < len(more); i += 2 {
		r.Header.Set(more[i], more[i+1])
	}
	got := p.s.do(r)
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
	pages := must(formpage.New(off.service(t, s.clock), formpage.Config{MinFillTime: -1, Secret: secret, Clock: s.clock}))
	s.pages, s.server.Config.Handler = pages, nil
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	s.server = server
	form := s.form("MULTI", twoPages, "", "")
	p := s.open(form, "")
	policy := inPolicy.ReplaceAllString(p.header.Get("Content-Security-Policy"), "")
	if p.text("fs-keep") != "" || p.values.Has("half") {
		t.Error("the page offers to save")
	}
	if got := s.get(p.url + "/later"); got.status != http.StatusNotFound {
		t.Errorf("later: %d", got.status)
	}
	for _, action := range []string{"later", "save", "forget", "resume"} { // they are as good as any other
		p.values.Set("link", "x")
		if got := p.fill("a.a", "x").press(action); got.status != http.StatusOK || !strings.Contains(got.raw, ">B<") {
			t.Errorf("%s: %d", action, got.status)
		}
	}
	if end := p.press("next").press("next"); !strings.Contains(end.url, "/done") || off.calls != 0 {
		t.Errorf("%s, %d calls", end.url, off.calls)
	}

	on := newLater(t, formpage.Config{Language: func(*http.Request, formsvc.PublicForm) string { return "en" }})
	form = on.form("MULTI", twoPages, "", "")
	p = on.open(form, "")
	if got := inPolicy.ReplaceAllString(p.header.Get("Content-Security-Policy"), ""); got != policy {
		t.Errorf("the policy is %s, not %s", got, policy)
	}
	if end := p.press("next").press("back").press("stay").press("next").press("next"); !strings.Contains(end.url, "/done") || on.halves.calls != 0 {
		t.Errorf("%s, %d calls", end.url, on.halves.calls)
	}
	// A step is one call, and so is sending; without what was saved it is none.
	if p = on.open(form, "").fill("a.a", "x").press("next"); on.halves.calls != 1 {
		t.Errorf("a step makes %d calls", on.halves.calls)
	}
	if end := p.press("next"); !strings.Contains(end.url, "/done") || on.halves.calls != 2 {
		t.Errorf("%s, %d calls", end.url, on.halves.calls)
	}
	on.halves.calls = 0
	p = on.open(form, "").fill("a.a", "x") // of which nobody knows where it was made
	p.values.Del("state")
	if p = p.press("next"); p.status != http.StatusOK || on.halves.calls != 0 {
		t.Errorf("%d, %d calls", p.status, on.halves.calls)
	}
	preview := must(formpage.New(on.halves.service(t, on.clock), on.config))
	on.pages = preview
	p = on.get(on.link(form.ID))
	if p.text("fs-keep") != "" || p.fill("a.a", "x").press("next").status != http.StatusOK || p.press("later").status != http.StatusOK || on.halves.calls != 0 {
		t.Errorf("the preview makes %d calls: %s", on.halves.calls, p.text("fs-main"))
	}
	for name, config := range map[string]formpage.Config{"none": {Partials: 3}, "less than none": {Partials: -1}} {
		if _, err := formpage.New(on.service, config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if lacks := fmt.Sprint(preview.Lacks(formsvc.PublicForm{})); !strings.Contains(lacks, "half responses") {
		t.Errorf("it lacks %s", lacks)
	}
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
	if got := s.get(p.url+"/later").fill("link", link).press("resume"); got.status != http.StatusOK || got.values.Get("a.a") != "x" {
		t.Errorf("after 29 days: %d", got.status)
	}
	s.wait(3 * 24 * time.Hour)
	if got := s.get(p.url+"/later").fill("link", link).press("resume"); got.status != http.StatusNotFound || !strings.Contains(got.text("summary"), "There are no saved answers for this link.") {
		t.Errorf("after 32 days: %d %s", got.status, got.text("fs-main"))
	}
	// The page itself is older than a page may be, and goes on: nothing is made anew by itself.
	p = p.fill("a.b", "y").press("back")
	if p.status != http.StatusOK || !strings.Contains(p.text("fs-keep"), "no longer saved") || len(s.halves.made) != 1 {
		t.Errorf("%d %s", p.status, p.text("fs-keep"))
	}
	if fresh := p.later(); strings.Contains(fresh, link) || len(s.halves.made) != 2 {
		t.Errorf("%s", fresh)
	}
}

// Owners see what is saved only where the page had said so before the save.
func TestOwnersSeeWhatTheRespondentWasTold(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	shown := func() string {
		var list []string
		for p, err := range s.service.As(s.owner).Partials(t.Context(), form.ID, formsvc.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(p.Answers))
		}
		return strings.Join(list, " ")
	}
	p := s.open(form, "").fill("a.a", "x").press("next")
	if text := p.text("fs-keep"); !strings.Contains(text, "only someone who has your link") || shown() != "" {
		t.Errorf("%s: %s", text, shown())
	}
	s.config.Partials = formpage.ResumeAndShow
	p = p.fill("a.b", "y").press("back") // this page had not said it
	if text := p.text("fs-keep"); !strings.Contains(text, "The owners of this form") || shown() != "" {
		t.Errorf("%s: %s", text, shown())
	}
	if p = p.press("next"); shown() != `{"a":"x","b":"y"}` {
		t.Errorf("owners see %s", shown())
	}
	s.config.Partials = formpage.Resume
	if p.press("back"); shown() != "" {
		t.Errorf("owners see %s", shown())
	}
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
	if got := s.open(form, "").press("forget"); got.status != http.StatusOK || s.halves.calls != before {
		t.Errorf("what was never saved is looked for: %d", got.status)
	}
	p = p.fill("a.b", "y").press("forget")
	if !strings.Contains(p.text("summary"), "has been deleted") || p.values.Get("a.b") != "y" || button(p) || !strings.Contains(p.text("fs-keep"), "not being saved") {
		t.Errorf("%s", p.text("fs-main"))
	}
	gone := func(token string) {
		t.Helper()
		if got := s.saved(form, token); !strings.Contains(got, "not found") {
			t.Errorf("saved is %s", got)
		}
	}
	gone(s.token())
	// Nor does it matter what else is sent.
	fresh := s.open(form, "").fill("a.a", "x").press("next")
	s.config.MaxBody = 2000
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, fresh.url, strings.NewReader("go=forget&"+fresh.values.Encode()+"&a.b="+strings.Repeat("x", 3000)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if got := s.do(r); got.status != http.StatusOK || s.saved(form, s.token()) == `{"a":"x"}` {
		t.Errorf("too large: %d %s", got.status, s.saved(form, s.token()))
	}
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
	if s.saved(form, s.token()) != `{"a":"x","b":"y"}` || len(s.halves.made) != 2 {
		t.Error("the button for a link does not begin again")
	}
	// The page of a link forgets without showing anything.
	address, _, _ := strings.Cut(link, "#")
	got := s.get(address).fill("link", link).press("forget")
	if got.status != http.StatusOK || strings.Contains(got.raw, "a.a") || !strings.Contains(got.raw, "has been deleted") {
		t.Errorf("%d %s", got.status, got.raw)
	}
	gone(s.token())
}

// A response that goes on elsewhere has no files, and its captchas are solved anew.
func TestFilesAndCaptchasAreAskedForAgain(t *testing.T) {
	t.Parallel()
	dir := must(formpage.NewDir(t.TempDir(), "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	s := newLater(t, formpage.Config{Files: dir, Verifiers: map[string]formpage.Verifier{"hcaptcha": sums{}}})
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"Paper","required":true},{"id":"about","type":"short_text","properties":{"rule":{"show":{"!!":[{"var":"answers.f"}]}}}},{"id":"c","type":"captcha","properties":{"captchaType":"hcaptcha"}},
		{"id":"a","type":"short_text","label":"A"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text","label":"B"}]`, "", "")
	p := s.open(form, "").fill("a.a", "x")
	p.values.Set("sum", "4")
	p = p.attach("next", [3]string{"u.f", "paper.png", pngBytes}).press("next")
	if p.status != http.StatusOK || s.saved(form, s.token()) != `{"a":"x"}` {
		t.Fatalf("%d %s: %s", p.status, p.text("summary"), s.saved(form, s.token()))
	}
	first := p
	p.values.Set("a.about", "a paper")
	if got := p.save(); got.status != http.StatusOK || s.saved(form, s.token()) != `{"a":"x","about":"a paper"}` {
		t.Errorf("%d: what depends on a file is not saved: %s", got.status, s.saved(form, s.token()))
	}
	p.values.Del("a.about")
	p = s.follow(p.later())
	if text := p.text("fs-main"); !strings.Contains(text, "Files are not saved: please add them again.") || strings.Contains(p.raw, "paper.png") {
		t.Fatalf("%s", text)
	}
	p = p.fill("a.b", "y").press("next")
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "Please complete this check.") || len(s.answers(form)) != 0 {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	p.values.Set("sum", "4")
	if p = p.attach("next", [3]string{"u.f", "again.pdf", pdfBytes}).press("next").press("next"); !strings.Contains(p.url, "/done") {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	if got := fmt.Sprint(s.answers(form)); !strings.Contains(got, "again.pdf") || strings.Contains(got, "paper.png") || !strings.Contains(got, `b:"y"`) {
		t.Errorf("stored is %s", got)
	}
	// A token that is spent refuses no response.
	if end := first.fill("a.b", "z").press("next"); !strings.Contains(end.url, "/done") || len(s.answers(form)) != 2 {
		t.Errorf("%d %s, %d are stored", end.status, end.text("fs-main"), len(s.answers(form)))
	}
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
		got := p.save()
		if text := got.text("fs-main"); got.status != wantStatus || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %d %q", got.status, text, wantStatus, want)
		}
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
	if p = p.press("save"); p.values.Get("a.off") != "typed" || p.values.Get("a.paid") != "q" {
		t.Errorf("%v", p.values)
	}
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
	if p = p.press("save"); p.status != http.StatusOK || p.text("summary") != "" {
		t.Errorf("%d %s", p.status, p.text("summary"))
	}
	check(p.fill("a.a", strings.Repeat("x", 70_000)), http.StatusOK, "too long to be saved")
	if long := p.press("later"); long.status != http.StatusUnprocessableEntity || !strings.Contains(long.text("summary"), "too long to be saved") {
		t.Errorf("%d %s", long.status, long.text("fs-main"))
	}
	for _, s.halves.fail = range []error{errors.New("secret of the host"), &schema.Error{Violations: []schema.Violation{{Path: "/metadata", Code: schema.CodeTooLong}}}} {
		check(p.fill("a.a", "y"), http.StatusOK, "could not be saved")
		if failed := p.press("back"); failed.status != http.StatusOK || failed.header.Get("Retry-After") != "" || !strings.Contains(failed.text("fs-keep"), "could not be saved") {
			t.Errorf("%d %v %s", failed.status, failed.header, failed.text("fs-keep"))
		}
	}
	s.halves.fail = nil
	hosts, sent := s.config.HostAnswers, s.halves.calls
	s.config.HostAnswers = func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
		return nil, formsvc.ErrSent
	}
	check(p, http.StatusServiceUnavailable, "")
	if s.config.HostAnswers = hosts; s.halves.calls != sent {
		t.Error("it is saved without the answers of the host")
	}
	forged := *p
	forged.values = url.Values{"a.a": {"x"}, "half": {"x.y"}}
	check(&forged, http.StatusUnprocessableEntity, "")
	fresh := s.open(form, "").fill("a.a", "z")
	if end := p.press("next"); !strings.Contains(end.url, "/done") {
		t.Fatalf("%d %s", end.status, end.text("fs-main"))
	}
	changed := *other
	changed.values = maps.Clone(other.values)
	if to := check(changed.fill("a.off", "typed since"), http.StatusConflict, "already sent from another"); to != "" {
		t.Errorf("who has changed something is led to %q", to)
	}
	if got := changed.press("save"); got.status != http.StatusConflict || !strings.Contains(got.text("fs-main"), "already sent from another") || !strings.Contains(got.text("fs-main"), "typed since") {
		t.Errorf("%d %s", got.status, got.text("fs-main"))
	}
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
	limit := must(memorystore.New(&memorystore.Config{Tokens: 3, Interval: time.Hour}))
	var log strings.Builder
	s := newLater(t, formpage.Config{Limiter: limit, Address: func(*http.Request) string { return "192.0.2.1" }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	form := s.form("MULTI", twoPages, "", "")
	for i := range 5 {
		p := s.open(form, "").fill("a.a", "x").press("next")
		if want := map[bool]string{true: "Your answers are saved.", false: "could not be saved"}[i < 3]; p.status != http.StatusOK || !strings.Contains(p.text("fs-keep"), want) {
			t.Errorf("%d: %d %s", i, p.status, p.text("fs-keep"))
		}
		if i == 0 {
			if end := p.press("next"); !strings.Contains(end.url, "/done") {
				t.Errorf("%d %s", end.status, end.text("fs-main"))
			}
		}
		if i == 2 {
			for n := range 5 { // three more saves
				p = p.press("back").press("next")
				if want := map[bool]string{true: "Your answers are saved.", false: "could not be saved"}[n < 1]; p.status != http.StatusOK || !strings.Contains(p.text("fs-keep"), want) {
					t.Errorf("save %d: %s", n, p.text("fs-keep"))
				}
			}
			if got := p.save(); got.status != http.StatusOK || !strings.Contains(got.text("fs-keep"), "could not be saved") {
				t.Errorf("%d %s", got.status, got.text("fs-keep"))
			}
		}
	}
	if len(s.halves.made) != 3 {
		t.Errorf("%d were made", len(s.halves.made))
	}
	calls := s.halves.calls
	for _, action := range []string{"resume", "forget"} {
		got := s.get(s.server.URL+"/f/"+form.PublicID+"/later").fill("link", s.token()).press(action)
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" || s.halves.calls != calls {
			t.Errorf("%s: %d", action, got.status)
		}
	}
	if strings.Contains(log.String(), "ERROR") {
		t.Errorf("%s", log.String())
	}
}

// Who guesses tokens finds nothing, and is answered in one way.
func TestGuessedTokensFindNothing(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("MULTI", twoPages, "", "")
	other := s.form("MULTI", twoPages, "", "")
	s.open(form, "").fill("a.a", "secret").press("next")
	token := s.token()
	pages := must(formpage.New(s.halves.service(t, s.clock), s.config))
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
	if !strings.HasPrefix(want, "404") || !strings.Contains(want, "no saved answers") {
		t.Fatal(want)
	}
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
			if got := ask(form, "resume", g); got != want {
				t.Fatalf("%.40q: %s", g, got)
			}
		}
	}
	for _, g := range hostile {
		if got := ask(form, "resume", g); got != want {
			t.Errorf("%.40q: %s", g, got)
		}
		if got := ask(form, "forget", g); got != ask(form, "forget", "AAAAAAAAAAAAAAAAAAAAAA") {
			t.Errorf("%.40q: forgetting differs", g)
		}
	}
	if got := ask(other, "resume", token); got != strings.ReplaceAll(want, form.PublicID, other.PublicID) {
		t.Errorf("by another form: %s", got)
	}
	if ask(other, "forget", token); s.saved(form, token) != `{"a":"secret"}` {
		t.Errorf("it is %s", s.saved(form, token))
	}
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
		if got := p.save(foreign...); got.status != http.StatusForbidden {
			t.Errorf("save: %d", got.status)
		}
		for _, values := range []url.Values{{"link": {token}, "go": {"resume"}}, {"link": {token}, "go": {"forget"}}, p.values} {
			for _, action := range []string{"", "next", "later", "forget"} {
				if action != "" {
					values.Set("go", action)
				}
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(values.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				for i := 0; i < len(foreign); i += 2 {
					r.Header.Set(foreign[i], foreign[i+1])
				}
				if got := s.do(r); got.status != http.StatusForbidden || strings.Contains(got.raw, token) {
					t.Errorf("%v: %d", values, got.status)
				}
			}
		}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodOptions, p.url+"/later", nil)
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		if got := s.do(r); got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("another origin may save: %v", got.header)
		}
		if s.halves.calls != calls || s.saved(form, token) != `{"a":"typed"}` {
			t.Errorf("%d calls, it is %s", s.halves.calls-calls, s.saved(form, token))
		}
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
			if n.Data == "script" && !has(n, "src") || n.Data == "img" || has(n, "onerror") {
				t.Errorf("%s: markup of somebody in %s", p.url, p.raw)
			}
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
	if resumed.values.Get("a."+evil) != evil || resumed.values.Get("h."+evil+"h") != evil || resumed.values.Get("o.o") != evil {
		t.Errorf("%v", resumed.values)
	}
	clean(s.get(link).fill("link", evil).press("resume"))
	clean(s.get(link).fill("link", evil).press("forget"))
	s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"n","type":"rating","label":` + string(id) + `}]`)}})
	lost := clean(s.follow(link))
	if strings.Count(lost.text("summary"), "<script>") != 5 {
		t.Errorf("%s", lost.text("summary"))
	}
	s.change(form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}})
	clean(s.follow(link))
}
