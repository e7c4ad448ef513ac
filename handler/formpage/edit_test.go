package formpage_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// respond stores a submission. The answers are IDs and JSON values in turn.
func (s *site) respond(form formsvc.Form, r formsvc.SubmitParams, pairs ...string) formsvc.Submission {
	s.t.Helper()
	r.FormID, r.Answers = form.ID, rawAnswers(pairs)
	return expect.Must(s.service.Submit(s.t.Context(), r))
}

func rawAnswers(pairs []string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return all
}

// editLink is the address that lets a respondent change a submission for an hour.
func (s *site) editLink(submission formsvc.Submission) string {
	s.t.Helper()
	return s.server.URL + expect.Must(s.pages.EditPath(submission.FormID, submission.ID, s.clock().Add(time.Hour)))
}

func (s *site) stored(submission formsvc.Submission) formsvc.Submission {
	s.t.Helper()
	return expect.Must(s.service.AsHost().Submission(s.t.Context(), submission.FormID, submission.ID))
}

func (s *site) history(submission formsvc.Submission) []formsvc.SubmissionState {
	s.t.Helper()
	return expect.Must(s.service.AsHost().SubmissionHistory(s.t.Context(), submission.FormID, submission.ID))
}

// correct changes a submission as the host.
func (s *site) correct(submission formsvc.Submission, pairs ...string) {
	s.t.Helper()
	expect.Must(s.service.AsHost().UpdateSubmission(s.t.Context(), submission.FormID, submission.ID, formsvc.SubmissionChange{Answers: rawAnswers(pairs)}))
}

// redefine replaces the blocks of a form.
func (s *site) redefine(form formsvc.Form, blocks string) {
	s.t.Helper()
	expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(blocks)}}))
}

func (s *site) adjust(form formsvc.Form, settings string) {
	s.t.Helper()
	expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(settings)}}))
}

func (s *site) unpublish(form formsvc.Form) {
	s.t.Helper()
	draft := "draft"
	expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Status: &draft}))
}

// finish presses the buttons up to the ending.
func (p *page) finish() *page {
	p.s.t.Helper()
	for range 10 {
		if p.text("fs-form") == "" {
			break
		}
		p = p.press("next").require(http.StatusOK)
	}
	return p
}

func TestARespondentEditsASubmissionByLink(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		s := newSite(t, formpage.Config{Secret: secret, Partials: formpage.Resume}, formsvc.WithStorage(store))
		for _, kind := range []string{"SINGLE", "MULTI"} {
			form := s.form(kind, fourQuestions, `{"showTitle":true,"submitLabel":"Send it","redirectUrl":"https://elsewhere.example/"}`, "", "ref")
			first := s.respond(form, formsvc.SubmitParams{Hidden: map[string]string{"ref": "r7"}}, "name", `"Ada <b>"`, "size", `1.5`, "color", `{"other":"Teal"}`, "last", `"One\nTwo"`)
			other := s.respond(form, formsvc.SubmitParams{}, "name", `"Other"`, "color", `{"id":"r"}`)
			before := s.funnel(form)
			link := s.editLink(first)
			p := s.get(link+"?lang=de&a.name=evil&h.ref=evil").about(kind).require(http.StatusOK, shows("fs-who", "Antworten vom 03.08.2026"),
				value("a.name", "Ada <b>"), value("a.size", "1,5"), value("a.color", "other"), value("o.color", "Teal"), value("viewed", "1"), value("started", "1"), lacks("Send it"), hides("fs-keep"))
			for name, want := range map[string]string{"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "strict-origin"} {
				expect.Equal(t, p.header.Get(name), want, "%s", name)
			}
			p.values.Set("h.ref", "evil")
			for _, name := range []string{"viewed", "started"} { // a page that was made by hand
				p.values.Del(name)
			}
			p = p.fill("a.name", "Grace").finish().about(kind)
			p.require(http.StatusOK, at("/done"), shows("fs-done", "Ihre Änderungen sind gespeichert.", "The very end", "Antworten bearbeiten"), lacks("http-equiv"), responses(form, 2))
			got := s.stored(first)
			expect.Equal(t, got.Revision, first.Revision+1, "the revision")
			all := s.answers(form)[1]
			expect.Equal(t, fmt.Sprint(all["name"], all["size"], all["color"], all["last"], all["ref"]), `"Grace"1.5{"other":"Teal"}"One\nTwo""r7"`, "%s: the answers", kind)
			state := s.history(first)[0]
			expect.That(t, state.ReplacedByRespondent && state.ReplacedBy.IsZero(), "the change is by the respondent %v, by %s", state.ReplacedByRespondent, state.ReplacedBy)
			expect.Equal(t, s.stored(other).Revision, other.Revision, "another submission")
			expect.Same(t, s.funnel(form), before, "the funnel")
			for p, err := range s.service.AsHost().Partials(t.Context(), form.ID, formsvc.Query{}) {
				t.Errorf("a partial submission: %v %v", p, err)
			}

			// The link of the ending leads back, and a page without changes stores nothing.
			back := p.find(func(n *html.Node) bool { return strings.Contains(attr(n, "href"), "/edit/") })
			p = s.get(p.resolve(attr(back, "href"))).about(kind).require(http.StatusOK, value("a.name", "Grace"))
			p.finish().expect(http.StatusOK, at("/done"))
			expect.Equal(t, len(s.history(first)), 1, "earlier states without a change")
			if kind == "SINGLE" { // the changes can be saved on each page
				p.fill("a.name", "").press("submit").expect(http.StatusUnprocessableEntity, shows("summary", "Name"))
				p.fill("a.name", "Ida").press("submit").expect(http.StatusOK, at("/done"))
				p = s.get(link).fill("a.name", "Ida B.")
				p.values.Set("a.color", "")
				p.press("submit").expect(http.StatusUnprocessableEntity, shows("summary", "Color"))
			}
		}
	})
}

// A removed answer is removed, and answers that a rule now skips are too.
func TestAnEditFollowsTheRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	const blocks = `[{"id":"a","type":"yes_no","label":"A"},{"id":"b","type":"short_text","label":"B","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.a"},true]}}}},
		{"id":"c","type":"date","label":"C","properties":{"showTimePicker":true}},{"id":"d","type":"long_text","label":"D"}]`
	byRef := s.form("MULTI", `[{"id":"vip","type":"short_text","label":"VIP","properties":{"rule":{"show":{"==":[{"var":"hidden.ref"},"r7"]}}}}]`, "", "", "ref")
	guest := s.respond(byRef, formsvc.SubmitParams{Hidden: map[string]string{"ref": "r7"}}, "vip", `"x"`)
	vip := s.get(s.editLink(guest)+"?ref=r8").require(http.StatusOK, value("a.vip", "x"))
	vip.add("h.ref", "r8").press("stay").expect(http.StatusOK, shows("fs-label", "VIP"))

	form := s.form("MULTI", blocks, "", "")
	first := s.respond(form, formsvc.SubmitParams{}, "a", `true`, "b", `"x"`, "c", `"2026-05-01T14:00:00+02:00"`, "d", `"y"`)
	p := s.get(s.editLink(first)).require(http.StatusOK, value("t.c", "14:00"))
	p.values.Set("z.c", "-07:00") // the browser's
	p.fill("a.d", "").press("next").expect(http.StatusOK, at("/done"), answered(form, "b", `"x"`, "c", `"2026-05-01T14:00:00+02:00"`, "d", ""))
	p = s.get(s.editLink(first)).require(http.StatusOK)
	p.values.Set("z.c", "-07:00")
	p.fill("t.c", "15:00", "a.a", "false").press("next").expect(http.StatusOK, at("/done"), answered(form, "a", `false`, "b", "", "c", `"2026-05-01T15:00:00-07:00"`))
	p = s.get(s.editLink(first)).fill("a.a", "true").press("next").require(http.StatusOK, shows("summary", "more questions"))
	p.press("next").require(http.StatusUnprocessableEntity).fill("a.b", "z").press("next").expect(http.StatusOK, at("/done"), answered(form, "a", `true`, "b", `"z"`))
}

// A link always works until it ends, whatever stops new submissions.
func TestAnEditDoesNotNeedAnOpenForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, MinFillTime: time.Hour, Verifiers: map[string]formpage.Verifier{"turnstile": sums{}}})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"A"},{"id":"m","type":"email","label":"M"},{"id":"robot","type":"captcha","properties":{"captchaType":"turnstile"}}]`, `{"responseLimit":2,"duplicateField":"m"}`, "")
	first := s.respond(form, formsvc.SubmitParams{}, "a", `"x"`, "m", `"a@example.com"`)
	second := s.respond(form, formsvc.SubmitParams{}, "m", `"b@example.com"`)
	s.open(form, "").expect(http.StatusGone)
	for n, change := range []func(){
		func() {},
		func() { s.adjust(form, `{"closed":true,"duplicateField":"m"}`) },
		func() { s.adjust(form, `{"closeAt":"2026-08-01T00:00:00Z","duplicateField":"m"}`) },
		func() { s.adjust(form, `{"openAt":"2027-08-01T00:00:00Z","duplicateField":"m"}`) },
		func() { s.unpublish(form) },
	} {
		change()
		text := fmt.Sprint("v", n)
		p := s.get(s.editLink(first)).about(n).require(http.StatusOK, value("a.m", "a@example.com"), lacks("data-sitekey"))
		p.add("more_info", "a bot").fill("a.a", text).press("next").about(n).expect(http.StatusOK, at("/done"), shows("fs-done", "Your changes have been saved."))
		s.get(s.editLink(first)).expect(http.StatusOK, value("a.a", text))
	}
	s.get(s.editLink(second)).fill("a.m", "A@example.com").press("next").expect(http.StatusConflict, shows("summary", "already submitted in another response"), value("a.m", "A@example.com"))
}

func TestLinksThatDoNotEdit(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", threeQuestions, "", "")
	first, other := s.respond(form, formsvc.SubmitParams{}, "name", `"first"`), s.respond(form, formsvc.SubmitParams{}, "name", `"other"`)
	good := s.editLink(first)
	start := strings.LastIndex(good, "/") + 1
	payload, signature, _ := strings.Cut(good[start:], ".")
	raw := string(expect.Must(base64.RawURLEncoding.DecodeString(payload)))
	swap := func(from, to string) string {
		expect.Require(t, strings.Contains(raw, from), "%s has no %s", raw, from)
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(raw, from, to, 1))) + "." + signature
	}
	preview := s.link(form.ID)
	foreign := newSite(t, formpage.Config{Secret: []byte("the secret of another host")})
	for name, token := range map[string]string{
		"another submission": swap(first.ID.String(), other.ID.String()), "another user": swap("}", `,"b":"`+s.owner.String()+`"}`), "no signature": payload + ".", "nothing": "",
		"a preview": preview[strings.LastIndex(preview, "/")+1:], "a visit": s.open(form, "").values.Get("state"), "a page's state": s.get(good).values.Get("half"),
		"another secret": expect.Must(foreign.pages.EditPath(form.ID, first.ID, s.clock().Add(time.Hour)))[start-len(s.server.URL):], "a route below": good[start:] + "/submit",
	} {
		s.get(good[:start]+token).about(name).expect(http.StatusNotFound, shows("fs-screen", "Please check the link."), hides("fs-main", "first", "Name"))
		s.send(http.MethodPost, good[:start]+token, "a.name=x&go=next").about(name).expect(http.StatusNotFound)
	}
	s.get(s.server.URL + "/f/-/preview/" + good[start:]).expect(http.StatusNotFound)
	s.send(http.MethodPut, good, "").expect(http.StatusMethodNotAllowed)

	// The page of a link is about its own submission, whatever is sent.
	p := s.get(good)
	p.values.Set("half", s.get(s.editLink(other)).values.Get("half"))
	p.fill("a.name", "changed").press("next").require(http.StatusOK, at("/done"))
	expect.Equal(t, s.stored(other).Revision, other.Revision, "the other submission")
	s.get(good).expect(http.StatusOK, value("a.name", "changed"))

	if path, err := s.pages.EditPath(form.ID, first.ID, s.clock()); err == nil || path != "" {
		t.Errorf("a link without time: %q %v", path, err)
	}
	path, err := newSite(t, formpage.Config{}).pages.EditPathFor(s.owner, form.ID, first.ID, s.clock().Add(time.Hour))
	expect.That(t, errors.Is(err, formpage.ErrNoSecret) && path == "", "without a secret: %q %v", path, err)
}

// A page says plainly that a link has ended, and what was typed can be copied.
func TestEndedLinksShowTheInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(s *site, form formsvc.Form, id formsvc.ID) error
		text string
	}{
		"expired": {func(s *site, _ formsvc.Form, _ formsvc.ID) error { s.wait(3 * time.Hour); return nil }, "This link has expiredPlease ask for a new link"},
		"deleted": {func(s *site, f formsvc.Form, id formsvc.ID) error {
			return s.service.AsHost().DeleteSubmission(t.Context(), f.ID, id)
		}, "can no longer be changed"},
		"in the trash": {func(s *site, f formsvc.Form, _ formsvc.ID) error {
			return s.service.AsHost().TrashForm(t.Context(), f.ID)
		}, "can no longer be changed"},
	} {
		s := newSite(t, formpage.Config{Secret: secret})
		form := s.form("MULTI", threeQuestions, "", "")
		s.open(form, "").require(http.StatusOK)
		first := s.respond(form, formsvc.SubmitParams{}, "name", `"stored"`)
		link := s.editLink(first)
		p := s.get(link).require(http.StatusOK).fill("a.name", "typed <b>")
		expect.NoError(t, c.end(s, form, first.ID))
		s.get(link).about(name).expect(http.StatusGone, shows("fs-screen", c.text), lacks("stored", "typed"), hides("fs-note"))
		p.press("next").about(name).expect(http.StatusGone, shows("fs-screen", c.text), shows("fs-note", "Your changes were not saved.", "Name", "typed <b>"))
		p.press("stay").about(name).expect(http.StatusGone, shows("fs-note", "typed <b>"))
		s.get(link+"/done").about(name).expect(http.StatusGone, lacks("stored"))
		expect.Equal(t, p.header.Get("Referrer-Policy"), "strict-origin", "the referrer policy")
	}
	// A change that was stored just before the end is said to be saved.
	s := newSite(t, formpage.Config{Secret: secret})
	link := s.editLink(s.respond(s.form("MULTI", threeQuestions, "", ""), formsvc.SubmitParams{}, "name", `"x"`))
	s.wait(61 * time.Minute)
	s.get(link+"/done").expect(http.StatusOK, shows("fs-done", "Your changes have been saved."))
}

// The user of a link needs access when the link is used, and the history names the user.
func TestAUserEditsWithItsPermissions(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		s := newSite(t, formpage.Config{Secret: secret}, formsvc.WithStorage(store))
		form := s.form("MULTI", threeQuestions, "", "")
		first := s.respond(form, formsvc.SubmitParams{}, "name", `"x"`)
		member := formsvc.UserIDFrom("member")
		link := s.server.URL + expect.Must(s.pages.EditPathFor(member, form.ID, first.ID, s.clock().Add(time.Hour)))
		s.get(link).expect(http.StatusGone, lacks("A form"))
		expect.NoError(t, s.service.AddMember(t.Context(), s.place, member))
		s.get(link).fill("a.name", "y").press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"y"`))
		state := s.history(first)[0]
		expect.That(t, state.ReplacedBy == member && !state.ReplacedByRespondent, "the change is by %s, want %s", state.ReplacedBy, member)
		p := s.get(link).fill("a.name", "z")
		respondents := s.get(s.editLink(first)).fill("a.name", "after the move")
		expect.NoError(t, s.service.RemoveMember(t.Context(), s.place, member))
		p.press("next").expect(http.StatusGone, shows("fs-note", "z"))
		expect.NoError(t, s.service.AddMember(t.Context(), s.place, member))
		other := expect.Must(s.service.CreateWorkspace(t.Context(), s.owner, "Other"))
		expect.Must(s.service.As(s.owner).UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Workspace: &other.ID}))
		p.press("next").about("moved").expect(http.StatusGone, shows("fs-note", "z"), answered(form, "name", `"y"`))
		respondents.press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"after the move"`))
	})
}

// A change by someone else is merged, and what both changed is shown before it is replaced.
func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		s := newSite(t, formpage.Config{Secret: secret}, formsvc.WithStorage(store))
		form := s.form("MULTI", fourQuestions, "", "")
		first := s.respond(form, formsvc.SubmitParams{}, "name", `"Ada"`, "size", `1`, "color", `{"id":"r"}`, "last", `"text"`)
		p := s.get(s.editLink(first)).fill("a.name", "mine", "a.size", "2")
		s.correct(first, "name", `"theirs"`, "color", `{"id":"g"}`, "last", `null`)
		p = p.press("next").require(http.StatusConflict, shows("summary", "changed elsewhere in the meantime", "Stored at the moment:", "Nametheirs", "Discard my changes"),
			value("a.name", "mine"), value("a.size", "2"), value("a.color", "id:g"), value("a.last", ""), hides("summary", "Size"))
		reload := p.find(func(n *html.Node) bool { return has(n, "data-reload") })
		s.get(p.resolve(attr(reload, "href"))).expect(http.StatusOK, value("a.name", "theirs"), value("a.size", "1"), value("a.last", ""))
		p.press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"mine"`, "size", `2`, "color", `{"id":"g","label":"Green"}`, "last", ""))

		// Without its state, a page changes nothing unseen.
		p = s.get(s.editLink(first)).fill("a.last", "more")
		for _, half := range []string{"", "nonsense"} {
			p.values.Set("half", half)
			p.press("next").about(half).expect(http.StatusConflict, value("a.last", "more"), value("a.name", "mine"))
		}

		// The same page can be sent twice, also at the same time.
		p = s.get(s.editLink(first)).fill("a.name", "twice")
		n := len(s.history(first))
		var both sync.WaitGroup
		for range 4 {
			both.Go(func() { p.press("next").expect(http.StatusOK, at("/done")) })
		}
		both.Wait()
		p.press("next").expect(http.StatusOK, at("/done"))
		expect.Equal(t, len(s.history(first)), n+1, "earlier states")
		// A page from before a change, as the back button shows it, asks first.
		p.fill("a.name", "thrice").press("next").require(http.StatusConflict, shows("summary", "twice")).press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"thrice"`))
	})
}

// Answers without a question, and answers of the host, stay and are only shown.
func TestAnEditKeepsWhatItCannotChange(t *testing.T) {
	t.Parallel()
	files := &counting{}
	s := newSite(t, formpage.Config{Secret: secret, Files: files, HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
		return nil, errors.New("asked for an edit")
	}})
	const pay = `{"id":"pay","type":"payment","label":"Fee","required":true,"properties":{"amount":"5","currency":"EUR"}},{"id":"f","type":"file_upload","label":"Paper","required":true},
		{"id":"secret","type":"number","label":"Internal","properties":{"hide":true}},`
	form := s.form("MULTI", `[`+pay+`{"id":"gone","type":"single_choice","label":"Old question","choices":[{"id":"x","label":"Ex"}]},{"id":"was","type":"short_text","label":"Was text"},{"id":"name","type":"short_text","label":"Name"},
		{"id":"c","type":"multiple_choice","label":"Colors","choices":[{"id":"r","label":"Red"},{"id":"g","label":"Green"}],"properties":{"multiSelection":true}}]`, "", "")
	host := map[string]json.RawMessage{
		"pay": json.RawMessage(`{"amount":"5.00","currency":"EUR","status":"paid","gateway":"g","reference":"r"}`), "secret": json.RawMessage(`87`),
		"f": json.RawMessage(`[{"id":"f1","name":"paper.pdf","url":"https://files.example/f1","mime_type":"application/pdf","size":12}]`),
	}
	first := s.respond(form, formsvc.SubmitParams{HostAnswers: host}, "gone", `{"id":"x"}`, "was", `"old text"`, "name", `"Ada"`, "c", `[{"id":"r"},{"id":"g"}]`)
	was := s.answers(form)[0]
	s.redefine(form, `[`+pay+`{"id":"was","type":"number","label":"Now a number"},{"id":"name","type":"short_text","label":"Name"},
		{"id":"c","type":"multiple_choice","label":"Colors","choices":[{"id":"g","label":"Green"}],"properties":{"multiSelection":true}}]`)
	p := s.get(s.editLink(first)).require(http.StatusOK, shows("fs-main", "5.00 EUR", "paper.pdf", "You cannot change this here.", "no longer has these questions", "Old questionEx", "Was textold text"),
		shows("summary", "no longer fit", "ColorsRed, Green"), value("a.c", "id:g"), value("a.was", ""), hides("fs-main", "87"), lacks("Internal", `type="file"`, "files.example", "cannot be submitted"))
	p.add("a.secret", "id:1").add("a.gone", "id:y").add("a.pay", "id:free")
	p.fill("a.name", "Grace").press("next").require(http.StatusOK, at("/done"))
	got := s.answers(form)[0]
	for id, want := range was {
		switch id {
		case "name":
			want = `"Grace"`
		case "c":
			want = `[{"id":"g","label":"Green"}]`
		}
		expect.Equal(t, got[id], want, "%s", id)
	}
	expect.Equal(t, files.files.Load(), 0, "files")
}

func TestConsentsInEdits(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		s := newSite(t, formpage.Config{Secret: secret}, formsvc.WithStorage(store))
		blocks := func(terms, news string) string {
			return fmt.Sprintf(`[{"id":"name","type":"short_text","label":"Name"},{"id":"terms","type":"legal","label":"Terms","required":true,"properties":{"legalText":%q}},{"id":"news","type":"legal","label":"News","properties":{"legalText":%q}}]`, terms, news)
		}
		form := s.form("MULTI", blocks("The **terms**", "The news"), "", "")
		first := s.respond(form, formsvc.SubmitParams{}, "name", `"x"`, "terms", `true`, "news", `true`)
		texts := func() string {
			var all []string
			for _, a := range expect.Must(formsvc.DecodeAnswers(s.stored(first))) {
				all = append(all, a.String()+" "+a.LegalText)
			}
			return strings.Join(all[1:], ", ")
		}
		s.wait(time.Hour)
		s.redefine(form, blocks("The **terms**", "The news")+" ") // another revision of the form
		s.get(s.editLink(first)).require(http.StatusOK, hides("summary")).fill("a.name", "y").press("next").expect(http.StatusOK, at("/done"))
		expect.Equal(t, texts(), "true The terms, true The news", "unchanged texts")

		s.redefine(form, blocks("New terms", "New news"))
		p := s.get(s.editLink(first)).require(http.StatusOK, shows("summary", "Terms This text has changed", "News This text has changed")).fill("a.name", "z")
		p.press("next").expect(http.StatusUnprocessableEntity, shows("summary", "Terms"))
		p.fill("a.terms", "true").press("next").expect(http.StatusOK, at("/done"))
		expect.Equal(t, texts(), "true New terms, true The news", "the answered text")
		p = s.get(s.editLink(first)).fill("a.news", "false")
		s.redefine(form, blocks("New terms", "Newer news"))
		p.press("next").expect(http.StatusConflict, shows("summary", "News"))

		// A text changes while the page is open, also together with an answer that both change.
		for n := range 8 {
			merged, before, after := n&1 > 0, []string{"true", ""}[n>>1&1], []string{"true", ""}[n>>2]
			s.redefine(form, blocks("New terms", "News"))
			s.correct(first, "news", `true`)
			p = s.get(s.editLink(first)).fill("a.news", before, "a.name", fmt.Sprint("mine ", n))
			if merged {
				s.correct(first, "name", `"theirs"`)
			}
			s.redefine(form, blocks("New terms", "Newest news"))
			if p = p.press("next"); before != "" {
				p = p.require(http.StatusConflict, shows("summary", "News This text has changed"), value("a.news", "")).fill("a.news", after).press("next")
				before = after
			}
			if merged {
				p = p.require(http.StatusConflict, shows("summary", "changed elsewhere")).press("next")
			}
			p.about(n).expect(http.StatusOK, at("/done"))
			expect.Equal(t, texts(), "true New terms"+map[string]string{"true": ", true Newest news"}[before], "%d: the answers", n)
		}
	})
}

// A respondent who is signed in edits the own submission if the form allows it.
func TestEditableForms(t *testing.T) {
	t.Parallel()
	s, who := signedIn(t, formpage.Config{SignIn: http.RedirectHandler("/login", http.StatusSeeOther)})
	form := s.form("MULTI", oneQuestion, `{"onePerRespondent":true,"editable":true}`, "")
	offer := func(p *page) string {
		a := p.find(func(n *html.Node) bool { return strings.Contains(attr(n, "href"), "-/edit/") })
		if a == nil {
			return ""
		}
		expect.Equal(t, textOf(a), "Edit your answers", "the link")
		return p.resolve(attr(a, "href"))
	}
	done := s.open(form, "").fill("a.a", "x").press("next").require(http.StatusOK, at("/done"))
	link := offer(s.open(form, "").require(http.StatusConflict, shows("fs-screen", "already answered")))
	expect.Require(t, link != "" && offer(done) != "", "no link to edit: %s", done.text("fs-main"))
	p := s.get(link).require(http.StatusOK, value("a.a", "x"), hides("fs-who", "Ann")).fill("a.a", "y")
	p.press("next").expect(http.StatusOK, at("/done"), shows("fs-done", "Your changes have been saved."), answered(form, "a", `"y"`), responses(form, 1))

	// Nobody else uses the link, and a session that ended loses no input.
	p = s.get(link).fill("a.a", "z")
	address := done.url
	for name, c := range map[string]struct {
		session session
		status  int
	}{"another person": {session{id: "t1/eve"}, http.StatusGone}, "nobody": {session{}, http.StatusUnauthorized}, "an error": {session{err: errors.New("down")}, http.StatusServiceUnavailable}} {
		*who = c.session
		s.get(link).about(name).expect(c.status, lacks(`value="y"`), hides("fs-form"))
		s.get(strings.Replace(link, "?", "/done?", 1)).about(name).expect(c.status, hides("fs-done"))
		p.press("next").about(name).expect(c.status, holds("z"), answered(form, "a", `"y"`))
		expect.Equal(t, offer(s.get(address)), "", "%s is offered to edit", name)
	}
	*who = session{id: "t1/ann", name: "Ann"}
	expect.That(t, offer(s.get(address)) != "", "the person herself is not offered to edit")

	// The form decides at each request. Its limit does not count.
	for settings, status := range map[string]int{
		`{"editable":true,"responseLimit":1}`: http.StatusOK, `{"editable":true,"closed":true}`: http.StatusGone, `{"editable":true,"closeAt":"2026-08-01T00:00:00Z"}`: http.StatusGone,
		`{"editable":true,"openAt":"2027-08-01T00:00:00Z"}`: http.StatusGone, `{"onePerRespondent":true}`: http.StatusGone, `{"editable":true,"anonymous":true}`: http.StatusGone,
	} {
		s.adjust(form, settings)
		s.get(link).about(settings).expect(status)
		p.press("stay").about(settings).expect(status, holds("z"))
		if got := offer(s.get(address)); (got != "") != (status == http.StatusOK) {
			t.Errorf("%s: the ending offers %q", settings, got)
		}
		s.get(s.editLink(s.respondentSubmission(form))).about(settings, "by the host's link").expect(http.StatusOK)
	}
	s.adjust(form, `{"editable":true}`)
	s.unpublish(form)
	s.get(link).expect(http.StatusGone)
	expect.Must(s.service.AsHost().PublishForm(t.Context(), form.ID))
	s.wait(8 * 24 * time.Hour)
	s.get(link).expect(http.StatusGone, shows("fs-screen", "This link has expired"))
	s.open(form, "").expect(http.StatusOK) // more than one submission for each respondent

	plain := s.form("MULTI", oneQuestion, `{"onePerRespondent":true}`, "")
	expect.Equal(t, offer(s.open(plain, "").press("next")), "", "an ending without settings.editable")
	expect.Equal(t, offer(s.open(plain, "")), "", "a page without settings.editable")
}

func (s *site) respondentSubmission(form formsvc.Form) formsvc.Submission {
	s.t.Helper()
	return expect.Must(s.service.RespondentSubmission(s.t.Context(), form.ID, "t1/ann"))
}

// only offers one choice to one respondent.
type only struct{ id, respondent string }

func (o *only) Choices(ctx context.Context, q formsvc.ChoiceQuery) (list []schema.Choice, err error) {
	labels, _ := o.Labels(ctx, []string{o.id}, q)
	for id, label := range labels {
		list = append(list, schema.Choice{ID: id, Label: label})
	}
	return list, nil
}

func (o *only) Labels(_ context.Context, ids []string, q formsvc.ChoiceQuery) (map[string]string, error) {
	if q.Respondent != o.respondent || !slices.Contains(ids, o.id) {
		return nil, nil
	}
	return map[string]string{o.id: "Choice " + o.id}, nil
}

// Lists and checks of the host get the respondent who submitted.
func TestEditsAskTheHost(t *testing.T) {
	t.Parallel()
	source, refused := &only{"p3", "t1/ann"}, "bad"
	check := func(_ context.Context, in formsvc.CheckInput) (string, error) {
		if in.Answer.String() == refused || in.Respondent != "t1/ann" {
			return "Not for " + in.Respondent, nil
		}
		return "", nil
	}
	s := newSite(t, formpage.Config{Secret: secret}, formsvc.WithChoices("people", "People", source), formsvc.WithCheck("order", "Order", check))
	form := s.form("MULTI", `[{"id":"p","type":"dropdown","label":"Person","properties":{"rule":{"choices":{"list":"people"}}}},{"id":"name","type":"short_text","label":"Name","properties":{"rule":{"check":[{"host":"order"}]}}}]`, "", "")
	first := s.respond(form, formsvc.SubmitParams{Respondent: "t1/ann"}, "p", `{"id":"p3"}`, "name", `"x"`)
	p := s.get(s.editLink(first)).require(http.StatusOK, value("a.p", "id:p3"), hides("summary"))
	p.fill("a.name", "bad").press("next").expect(http.StatusUnprocessableEntity, shows("summary", "Not for t1/ann"))
	p.fill("a.name", "y").press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"y"`, "p", `{"id":"p3","label":"Choice p3"}`))
	// Stored answers that the host would refuse today stay until they change.
	source.id, refused = "p4", "y"
	s.get(s.editLink(first)).fill("a.p", "id:p5").press("next").expect(http.StatusUnprocessableEntity, shows("summary", "Person"))
	p = s.get(s.editLink(first)).require(http.StatusOK, value("a.p", "id:p3"), hides("summary"))
	p.fill("a.name", "z").press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"z"`, "p", `{"id":"p3","label":"Choice p3"}`))
	refused = "z"
	s.get(s.editLink(first)).fill("a.p", "id:p4").press("next").expect(http.StatusOK, at("/done"), answered(form, "name", `"z"`, "p", `{"id":"p4","label":"Choice p4"}`))
}

func TestEditsAreLimited(t *testing.T) {
	t.Parallel()
	store := expect.Must(memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Hour}))
	s := newSite(t, formpage.Config{Secret: secret, Limiter: store, ClientIP: func(*http.Request) string { return "192.0.2.1" }})
	form := s.form("MULTI", oneQuestion, "", "")
	p := s.get(s.editLink(s.respond(form, formsvc.SubmitParams{}, "a", `"x"`)))
	p.fill("a.a", "y").press("next").expect(http.StatusOK, at("/done"))
	p.fill("a.a", "z").press("next").require(http.StatusConflict).press("next").expect(http.StatusTooManyRequests, shows("summary", "too many requests"), value("a.a", "z"))
	s.stores(form, "a", `"y"`)
}

func TestEditsInFramesAndFromElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, FrameAncestors: []string{"https://app.example"}})
	form := s.form("MULTI", oneQuestion, "", "")
	link := s.editLink(s.respond(form, formsvc.SubmitParams{}, "a", `"x"`))
	p := s.get(link+"?embed=1&lang=ar").require(http.StatusOK, holds(`dir="rtl"`, "embedded", `data-form="`+form.PublicID+`"`), value("embed", "1"))
	expect.That(t, strings.Contains(p.header.Get("Content-Security-Policy"), "frame-ancestors https://app.example"), "%s", p.header.Get("Content-Security-Policy"))
	p.fill("a.a", "y").press("next").expect(http.StatusOK, at("embed=1"), holds("embedded", "-/edit/"))
	s.send(http.MethodPost, link, url.Values{"a.a": {"evil"}, "go": {"next"}, "half": p.values["half"], "state": p.values["state"]}.Encode(), "Origin", "https://evil.example").
		expect(http.StatusForbidden, shows("fs-note", "evil"))
	s.stores(form, "a", `"y"`)
}
