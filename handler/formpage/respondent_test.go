package formpage_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// session is who is signed in, as one browser with all its pages has it.
type session struct {
	id, name string
	err      error
	calls    int
}

func (s *session) respondent(*http.Request, formsvc.PublicForm) (id, name string, err error) {
	s.calls++
	return s.id, s.name, s.err
}

func signedIn(t *testing.T, config formpage.Config, options ...formsvc.Option) (*site, *session) {
	who := &session{id: "t1/ann", name: "Ann <b>"}
	config.Respondent, config.Secret = who.respondent, secret
	config.MinFillTime = cmp.Or(config.MinFillTime, -1)
	return newSite(t, config, options...), who
}

// respondents are those of the stored submissions, newest first.
func (s *site) respondents(form formsvc.Form) (list []string) {
	for submission, err := range s.service.AsHost().Submissions(s.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(s.t, err)
		list = append(list, submission.Respondent)
	}
	return list
}

const oneQuestion = `[{"id":"a","type":"short_text","label":"A"}]`

func TestThePageSaysWhoIsAnswering(t *testing.T) {
	t.Parallel()
	s, who := signedIn(t, formpage.Config{})
	for _, kind := range []string{"SINGLE", "MULTI"} {
		form, anonymous := s.form(kind, twoPages, "", ""), s.form(kind, twoPages, `{"anonymous":true,"onePerRespondent":true}`, "")
		*who = session{id: "t1/ann", name: "Ann <b>"}
		p := s.open(form, "").about(kind).require(http.StatusOK, shows("fs-who", "Answering as \u2068Ann <b>\u2069"), lacks("Ann <b>", "t1/ann"))
		expect.That(t, strings.HasPrefix(p.header.Get("Cache-Control"), "private"), "%s", p.header.Get("Cache-Control"))
		p = p.fill("a.a", "x").press("next").about(kind).require(http.StatusOK, shows("fs-who", "Ann <b>"))
		expect.Equal(t, p.header.Get("Cache-Control"), "no-store", "the second page")
		p.fill("a.b", "y").press("next").about(kind).expect(http.StatusOK, at("/done"), answered(form, "a", `"x"`))
		expect.Same(t, []string{"t1/ann"}, s.respondents(form), "the respondent")

		who.name = ""
		s.open(form, "").expect(http.StatusOK, shows("fs-who", "t1/ann"))
		who.id = ""
		s.open(form, "").press("next").press("next").expect(http.StatusOK, at("/done"), hides("fs-who"))
		expect.Same(t, []string{"", "t1/ann"}, s.respondents(form), "nobody is signed in")

		*who = session{id: "t1/ann", name: "Ann"}
		p = s.open(anonymous, "").about(kind).require(http.StatusOK, shows("fs-who", "Your answers are anonymous."), lacks("Ann"))
		p.press("next").press("next").expect(http.StatusOK, at("/done"))
		s.open(anonymous, "").press("next").press("next").expect(http.StatusOK, at("/done"))
		expect.Same(t, []string{"", ""}, s.respondents(anonymous), "an anonymous form")
		expect.Equal(t, who.calls, 0, "calls for an anonymous form")
		s.get(s.link(form.ID)).expect(http.StatusOK, hides("fs-who"))
		s.get(s.link(anonymous.ID)).expect(http.StatusOK, shows("fs-who", "anonymous"))
		expect.Equal(t, who.calls, 0, "calls for a preview")
	}
	// Text from the URL next to the name is not compressed.
	form := s.form("MULTI", oneQuestion, "", "")
	for query, want := range map[string]string{"": "gzip", "?a=x": ""} {
		w := s.serve(http.MethodGet, "/f/"+form.PublicID+query, "", "Accept-Encoding", "gzip")
		expect.Equal(t, w.Header().Get("Content-Encoding"), want, "%q", query)
	}
	who.id = ""
	w := s.serve(http.MethodGet, "/f/"+form.PublicID+"?a=x", "", "Accept-Encoding", "gzip")
	expect.Equal(t, w.Header().Get("Content-Encoding"), "gzip", "without a respondent")
}

// A host that does not know who is answering stores nothing, and everything typed is still there.
func TestAFailureToIdentifyKeepsTheInput(t *testing.T) {
	t.Parallel()
	source := &people{}
	files := &counting{}
	s, who := signedIn(t, formpage.Config{Partials: formpage.Resume, Files: files}, formsvc.WithChoices("people", "People", source))
	const blocks = `[{"id":"n","type":"short_text"},{"id":"p","type":"dropdown",` + fromPeople + `},{"id":"f","type":"file_upload"},{"id":"m","type":"multiple_choice","choices":[{"id":"x"},{"id":"y"}]}]`
	for name, broken := range map[string]session{
		"an error": {err: errors.New("down")}, "an error with an ID": {id: "t1/ann", err: errors.New("down")},
		"a violation": {err: &formsvc.Error{Violations: []schema.Violation{{Field: "n", Code: "REQUIRED"}}}}, "not found": {err: formsvc.ErrNotFound},
		"a long ID": {id: strings.Repeat("x", 201)}, "a control character": {id: "a\x00"},
	} {
		form := s.form("MULTI", blocks, "", "")
		*who = session{id: "t1/ann"}
		p := s.open(form, "").fill("a.n", "5").press("stay").require(http.StatusOK)
		p.fill("a.p", "id:p3").add("a.m", "id:y")
		*who = broken
		for _, button := range []string{"next", "save", "later", "forget", "stay"} {
			p = p.press(button).about(name, button).require(http.StatusServiceUnavailable,
				shows("summary", "could not save your answers"), value("a.n", "5"), value("a.m", "id:y"), value("a.p", "id:p3"), responses(form, 0))
		}
		expect.That(t, p.header.Get("Retry-After") != "", "%s: Retry-After", name)
		s.open(form, "a=x").about(name).expect(http.StatusServiceUnavailable, shows("fs-screen", "Please try again"))
		base := s.server.URL + "/f/" + form.PublicID
		var out struct{ Code, Message, State string }
		status, _ := s.ask(http.MethodGet, base+"/form.json", "", nil, &out)
		expect.Equal(t, fmt.Sprint(status, " ", out.Code), "503 UNAVAILABLE", "%s: form.json", name)
		*who = session{id: "t1/ann"}
		s.ask(http.MethodGet, base+"/form.json", "", nil, &out)
		*who = broken
		for _, route := range []string{"/submit", "/path", "/choices"} {
			status, _ = s.ask(http.MethodPost, base+route, "", map[string]any{"state": out.State, "block": "p"}, &out)
			expect.Equal(t, fmt.Sprint(status, " ", out.Code), "503 UNAVAILABLE", "%s: %s", name, route)
		}
		*who = session{id: "t1/ann"} // the page is still hers
		p.press("next").about(name).expect(http.StatusOK, at("/done"), answered(form, "n", `"5"`))
		expect.Same(t, []string{"t1/ann"}, s.respondents(form), "%s", name)
	}
	expect.Equal(t, files.files.Load(), 0, "files")
}

// A page that one person opened is not submitted as another person without asking.
func TestAnotherSessionIsAskedFirst(t *testing.T) {
	t.Parallel()
	s, who := signedIn(t, formpage.Config{Partials: formpage.Resume})
	const ann, eve = "t1/ann", "t2/ann"
	for _, c := range []struct{ opened, posted, text string }{
		{ann, eve, "signed in as \u2068The other\u2069"}, {"", eve, "signed in as \u2068The other\u2069"}, {ann, "", "no longer signed in"},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			for _, button := range []string{"next", "save", "later", "back", "stay", "forget"} {
				form := s.form(kind, twoPages, "", "")
				*who = session{id: c.opened, name: "Opener"}
				p := s.open(form, "").fill("a.a", "x").press("next").require(http.StatusOK).fill("a.b", "y")
				*who = session{id: c.posted, name: "The other"}
				p = p.press(button).about(c, kind, button).require(http.StatusConflict, shows("summary", c.text), value("a.b", "y"), value("a.a", "x"), responses(form, 0))
				if c.posted != "" {
					_, err := s.service.RespondentPartial(t.Context(), form.ID, c.posted)
					expect.Error(t, fmt.Sprintf("%v %s: a partial submission", c, button), err, formsvc.ErrNotFound)
				}
				p.press("next").about(c, kind).expect(http.StatusOK, at("/done"), answered(form, "a", `"x"`, "b", `"y"`))
				expect.Same(t, []string{c.posted}, s.respondents(form), "%v", c)
			}
		}
	}
	// The same answers as another person are another submission.
	form := s.form("MULTI", oneQuestion, "", "")
	*who = session{id: ann}
	p := s.open(form, "").fill("a.a", "x")
	p.press("next").expect(http.StatusOK, at("/done"), responses(form, 1))
	p.press("next").expect(http.StatusOK, at("/done"), responses(form, 1))
	who.id = eve
	p.press("next").require(http.StatusConflict).press("next").expect(http.StatusOK, at("/done"), responses(form, 2))
	expect.Same(t, []string{eve, ann}, s.respondents(form), "both")
}

// With a respondent, a post needs the state of the respondent's page, wherever it comes from.
func TestForeignPostsCannotUseTheSession(t *testing.T) {
	t.Parallel()
	files := &counting{}
	s, who := signedIn(t, formpage.Config{Partials: formpage.Resume, Files: files, AllowedOrigins: []string{"https://app.example"}})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"A"},{"id":"f","type":"file_upload"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text"}]`, "", "")
	address := s.server.URL + "/f/" + form.PublicID
	mine := s.open(form, "")
	who.id = "t1/eve"
	theirs := s.open(form, "").fill("a.a", "z").press("next").require(http.StatusOK)
	who.id = ""
	nobodys := s.open(form, "")
	who.id = "t1/ann"
	for name, state := range map[string]url.Values{
		"none": {}, "of another person": {"state": theirs.values["state"], "half": theirs.values["half"]}, "without a person": {"state": nobodys.values["state"]},
		"of another form": {"state": s.open(s.form("MULTI", oneQuestion, "", ""), "").values["state"]}, "only what another person saved": {"half": theirs.values["half"]},
	} {
		for _, origin := range []string{"", "https://app.example", "https://evil.example"} {
			for _, button := range []string{"next", "save", "later", "forget"} {
				for _, step := range []string{"", "break"} {
					values := maps.Clone(state)
					maps.Copy(values, url.Values{"a.a": {"evil"}, "a.b": {"evil"}, "at": {step}, "go": {button}})
					got := s.send(http.MethodPost, address, values.Encode(), "Origin", origin)
					want := http.StatusConflict
					if origin == "https://evil.example" {
						want = http.StatusForbidden
					}
					expect.That(t, got.status == want && len(s.answers(form)) == 0, "%s, %s, %s, %s: %d %s", name, origin, button, step, got.status, got.text("summary"))
					_, err := s.service.RespondentPartial(t.Context(), form.ID, "t1/ann")
					expect.Error(t, fmt.Sprintf("%s, %s, %s", name, origin, button), err, formsvc.ErrNotFound)
				}
			}
			upload := "--x\r\nContent-Disposition: form-data; name=\"state\"\r\n\r\n" + state.Get("state") +
				"\r\n--x\r\nContent-Disposition: form-data; name=\"u.f\"; filename=\"a.txt\"\r\n\r\ntext\r\n--x--\r\n"
			got := s.send(http.MethodPost, address, upload, "Content-Type", "multipart/form-data; boundary=x", "Origin", origin)
			expect.That(t, got.status >= 400 && files.files.Load() == 0, "%s, %s: a file: %d, %d are stored", name, origin, got.status, files.files.Load())
		}
	}
	mine.fill("a.a", "x").press("next").press("next").expect(http.StatusOK, at("/done"), answered(form, "a", `"x"`))
	p := s.open(form, "").press("next")
	got := s.send(http.MethodPost, address, p.values.Encode(), "Origin", "https://app.example")
	got.about("the page's own state").expect(http.StatusOK, at("/done"), responses(form, 2))

	// So it is for other front ends.
	var out struct{ Code, State, Respondent string }
	for _, opener := range []string{"t1/eve", ""} {
		who.id, who.name = opener, "Eve"
		status, _ := s.ask(http.MethodGet, address+"/form.json", "", nil, &out)
		expect.Equal(t, status, http.StatusOK, "form.json")
		who.id, who.name = "t1/ann", "Ann"
		for _, route := range []string{"/path", "/choices", "/submit"} {
			status, _ = s.ask(http.MethodPost, address+route, "https://app.example", map[string]any{"state": out.State, "answers": map[string]any{"a": "evil"}}, &out)
			expect.Equal(t, fmt.Sprint(status, " ", out.Code), "409 OTHER_RESPONDENT", "%q %s", opener, route)
			if route != "/submit" { // the state of the answer is that of ann
				who.id, who.name = opener, "Eve"
				s.ask(http.MethodGet, address+"/form.json", "", nil, &out)
				who.id, who.name = "t1/ann", "Ann"
			}
		}
		expect.Equal(t, len(s.answers(form)), map[string]int{"t1/eve": 2, "": 3}[opener], "stored")
		status, _ = s.ask(http.MethodPost, address+"/submit", "", map[string]any{"state": out.State}, &out)
		expect.Equal(t, status, http.StatusCreated, "with the new state")
	}
	expect.Same(t, slices.Repeat([]string{"t1/ann"}, 4), s.respondents(form), "respondents")
	out.Respondent = ""
	s.ask(http.MethodGet, address+"/form.json", "", nil, &out)
	expect.Equal(t, out.Respondent, "Ann", "the name in form.json")
}

// The form accepts one submission of each person. Two tenants can have users of the same name.
func TestOneSubmissionPerRespondent(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		var through []string
		for _, config := range []formpage.Config{{}, {Partials: formpage.Resume}, {Submit: func(ctx context.Context, r formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error) {
			through = append(through, r.Respondent)
			return next(ctx, r)
		}}} {
			s, who := signedIn(t, config, formsvc.WithStorage(store))
			form := s.form("MULTI", twoPages, `{"onePerRespondent":true}`, "")
			other := s.form("MULTI", oneQuestion, `{"onePerRespondent":true}`, "")
			base := s.server.URL + "/f/" + form.PublicID
			var opened struct {
				State      string
				AnsweredAt time.Time `json:"answered_at"`
			}
			s.ask(http.MethodGet, base+"/form.json", "", nil, &opened)
			expect.That(t, opened.AnsweredAt.IsZero(), "answered at %v", opened.AnsweredAt)
			late := s.open(form, "").fill("a.a", "late")
			late = late.press("next").fill("a.b", "later")
			s.wait(14 * time.Hour)
			p := s.open(form, "")
			if config.Partials == 0 { // otherwise, it continues on the second page
				p = p.press("next")
			}
			p.fill("a.b", "y")
			p.press("next").expect(http.StatusOK, at("/done"), responses(form, 1))
			p.press("next").about("twice").expect(http.StatusOK, at("/done"), responses(form, 1))
			s.wait(240 * time.Hour)
			who.name = "Ann"
			again := s.open(form, "").about("again").expect(http.StatusConflict, shows("fs-screen", "You already answered on 4 August 2026."))
			expect.Equal(t, again.header.Get("Cache-Control"), "no-store", "caching")
			s.open(form, "lang=de").expect(http.StatusConflict, shows("fs-screen", "Sie haben bereits am 04.08.2026 geantwortet."))
			s.wait(-240 * time.Hour)
			late.press("next").about("at the same time").expect(http.StatusConflict, shows("fs-screen", "You already answered on 4 August 2026."), shows("fs-note", "late", "later"), responses(form, 1))
			var failed struct{ Code, Message string }
			status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": opened.State}, &failed)
			expect.That(t, status == http.StatusConflict && failed.Code == "ALREADY_ANSWERED" && strings.Contains(failed.Message, "4 August 2026"), "%d %+v", status, failed)
			s.ask(http.MethodGet, base+"/form.json", "", nil, &opened)
			expect.That(t, !opened.AnsweredAt.IsZero(), "answered at %v", opened.AnsweredAt)
			s.open(other, "").press("next").about("another form").expect(http.StatusOK, at("/done"), responses(other, 1))
			who.id = "t2/ann"
			s.open(form, "").press("next").press("next").about("another tenant").expect(http.StatusOK, at("/done"), responses(form, 2))
			expect.Same(t, []string{"t2/ann", "t1/ann"}, s.respondents(form), "respondents")
		}
		expect.Same(t, []string{"t1/ann", "t2/ann"}, slices.Compact(through), "what Config.Submit received")
	})
}

func TestSigningInIsRequired(t *testing.T) {
	t.Parallel()
	for _, partials := range []formpage.Partials{0, formpage.Resume} {
		var asked []string
		signIn := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path+"?"+r.URL.Query().Get("ref"))
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		})
		for _, handler := range []http.Handler{nil, signIn} {
			s, who := signedIn(t, formpage.Config{Partials: partials, SignIn: handler})
			form := s.form("MULTI", twoPages, `{"onePerRespondent":true}`, "")
			who.id = ""
			p := s.open(form, "ref=1&embed=1").expect(http.StatusUnauthorized, shows("fs-screen", "You must sign in to answer this form."), lacks("<form"))
			button := p.find(func(n *html.Node) bool { return attr(n, "class") == "fs-button" })
			expect.That(t, (button != nil) == (handler != nil), "the button: %v", button)
			if button != nil {
				w := s.serve(http.MethodGet, strings.TrimPrefix(p.resolve(attr(button, "href")), s.server.URL), "")
				expect.That(t, w.Code == http.StatusSeeOther && w.Header().Get("Location") == "/login" && asked[len(asked)-1] == "/f/"+form.PublicID+"?1", "%d %v", w.Code, asked)
				who.id = "t1/ann"
				s.get(p.resolve(attr(button, "href"))).about("signed in").expect(http.StatusOK, shows("fs-who", "Ann"))
			} else {
				s.open(form, "sign-in=1").expect(http.StatusUnauthorized)
			}
			who.id = "t1/ann"
			p = s.open(form, "").fill("a.a", "x").press("next").fill("a.b", "y")
			who.id = "" // the session ends
			for _, pressed := range []string{"next", "back", "save"} {
				p = p.press(pressed).about(pressed).require(http.StatusUnauthorized, shows("summary", "You are not signed in", "another tab"), value("a.b", "y"), responses(form, 0), hides("fs-keep", "link"))
				expect.That(t, strings.Contains(p.text("summary"), "Sign in (opens in a new tab)") == (handler != nil), "%s", p.text("summary"))
			}
			link := s.get(s.server.URL + "/f/" + form.PublicID + "/later")
			if partials != 0 {
				link.fill("link", "x").press("resume").expect(http.StatusUnauthorized, shows("fs-screen", "You must sign in"))
			}
			var out struct{ Code, State string }
			s.ask(http.MethodGet, s.server.URL+"/f/"+form.PublicID+"/form.json", "", nil, &out)
			status, _ := s.ask(http.MethodPost, s.server.URL+"/f/"+form.PublicID+"/submit", "", map[string]any{"state": out.State}, &out)
			expect.Equal(t, fmt.Sprint(status, " ", out.Code), "401 SIGNED_OUT", "submit")
			who.id = "t1/ann" // the same person needs no confirmation
			p.press("next").about("signed in again").expect(http.StatusOK, at("/done"), answered(form, "a", `"x"`, "b", `"y"`))
		}
	}
	s := newSite(t, formpage.Config{})
	for settings, want := range map[string]bool{`{"onePerRespondent":true}`: true, `{"onePerRespondent":true,"anonymous":true}`: false, `{}`: false} {
		form := s.form("MULTI", oneQuestion, settings, "")
		lacks := s.pages.MissingFeatures(expect.Must(s.service.PublicForm(t.Context(), form.PublicID)))
		expect.Equal(t, strings.Contains(fmt.Sprint(lacks), "Config.Respondent"), want, "%s: %v", settings, lacks)
	}
}

// A signed-in person continues on another device without a link.
func TestARespondentContinuesOnAnotherDevice(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		for _, partials := range []formpage.Partials{formpage.Resume, formpage.ResumeAndShow} {
			s, who := signedIn(t, formpage.Config{Partials: partials}, formsvc.WithStorage(store))
			form := s.form("MULTI", `[{"id":"a","type":"short_text"},{"id":"n","type":"number"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text"}]`, "", "", "ref")
			phone := s.open(form, "ref=1&embed=1").fill("a.a", "x").press("next").require(http.StatusOK, shows("fs-keep", "Your answers are saved."))
			expect.Equal(t, strings.Contains(phone.text("fs-keep"), "owners"), partials == formpage.ResumeAndShow, "who can read it")
			expect.That(t, !strings.Contains(phone.text("fs-keep"), "link"), "%s", phone.text("fs-keep"))
			phone.press("later").about("later").expect(http.StatusOK, shows("summary", "To continue later, open this form again"), lacks("data-link"))
			tablet := s.open(form, "embed=1&a=other").about("tablet").require(http.StatusOK, shows("summary", "These are your saved answers. You can continue here."), value("at", "break"), value("a.a", "x"), value("h.ref", "1"), value("embed", "1"), lacks("link"))

			who.id = "t2/ann" // another tenant
			s.open(form, "").about("another tenant").expect(http.StatusOK, value("a.a", ""), hides("summary"))
			who.id = ""
			s.open(form, "").about("nobody").expect(http.StatusOK, value("a.a", ""))
			who.id = "t1/ann"

			// Both devices change it. Each keeps its own changes.
			tablet.values.Set("a.a", "tablet")
			tablet = tablet.press("back").require(http.StatusOK)
			phone = phone.fill("a.b", "phone").press("save").about("both").require(http.StatusConflict, shows("summary", "also changed in another window"), value("a.a", "tablet"), value("a.b", "phone"))
			phone.press("save").require(http.StatusOK)
			expect.Equal(t, string(expect.Must(s.service.RespondentPartial(t.Context(), form.ID, "t1/ann")).Answers["b"]), `"phone"`, "saved")

			// A page that knows nothing of the saved answers does not lose them.
			fresh := s.open(s.form("MULTI", twoPages, "", ""), "")
			newer := s.get(fresh.url).fill("a.a", "newer").press("next").require(http.StatusOK).fill("a.b", "b").press("save").require(http.StatusOK)
			merged := fresh.fill("a.a", "fresh").press("next").about("without a revision").require(http.StatusConflict, value("a.a", "fresh"), value("a.b", "b"))
			merged.press("next").press("next").about("merged").expect(http.StatusOK, at("/done"))
			newer.press("next").about("after it was sent").expect(anyStatus)

			// A page that was submitted without being saved does not continue, either.
			single := s.form("MULTI", `[{"id":"a","type":"short_text"},{"id":"b","type":"short_text"}]`, "", "")
			unsaved := s.open(single, "").fill("a.a", "unsaved")
			s.open(single, "").fill("a.b", "saved").press("save").require(http.StatusOK)
			unsaved.press("next").about("unsaved").require(http.StatusConflict, value("a.a", "unsaved"), value("a.b", "saved"), responses(single, 0)).
				press("next").expect(http.StatusOK, at("/done"), answered(single, "a", `"unsaved"`, "b", `"saved"`))

			phone.press("next").require(http.StatusOK, at("/done"), responses(form, 1))
			tablet.press("next").about("sent in the meantime").expect(anyStatus, responses(form, 1))
			s.open(form, "").about("a new one").expect(http.StatusOK, value("a.a", ""), hides("summary"))
			again := s.open(form, "").fill("a.a", "second").press("next").about("a second one").require(http.StatusOK, shows("fs-keep", "Your answers are saved."))
			again.press("forget").require(http.StatusOK, shows("summary", "have been deleted"))
			_, err := s.service.RespondentPartial(t.Context(), form.ID, "t1/ann")
			expect.Error(t, "deleted", err, formsvc.ErrNotFound)
		}
	})
}

// Who opens a link while signed in continues with those answers, and the link's answers stay as they are.
func TestARespondentOpensALink(t *testing.T) {
	t.Parallel()
	s, who := signedIn(t, formpage.Config{Partials: formpage.Resume})
	form := s.form("MULTI", twoPages, "", "")
	who.id = ""
	p := s.open(form, "").fill("a.a", "linked").press("next").press("later")
	link := p.find(func(n *html.Node) bool { return has(n, "data-link") })
	_, token, _ := strings.Cut(attr(link, "href"), "#")
	who.id = "t1/ann"
	mine := s.get(s.server.URL+"/f/"+form.PublicID+"/later").fill("link", token).press("resume").require(http.StatusOK, value("a.a", "linked"), shows("fs-who", "Ann"))
	mine.values.Set("a.a", "changed")
	mine.press("save").require(http.StatusOK)
	expect.Equal(t, string(expect.Must(s.service.RespondentPartial(t.Context(), form.ID, "t1/ann")).Answers["a"]), `"changed"`, "the respondent's")
	expect.Equal(t, string(expect.Must(s.service.ResumePartial(t.Context(), form.ID, token)).Answers["a"]), `"linked"`, "the link's")
	// An anonymous form has links for everyone.
	form = s.form("MULTI", twoPages, `{"anonymous":true}`, "")
	s.open(form, "").fill("a.a", "x").press("later").expect(http.StatusOK, holds("data-link"))
	s.open(form, "").expect(http.StatusOK, value("a.a", ""))
}

// The host's lists and checks know who is answering.
func TestListsDependOnTheRespondent(t *testing.T) {
	t.Parallel()
	var checked []string
	source := byRespondent{}
	check := func(_ context.Context, in formsvc.CheckInput) (string, error) {
		checked = append(checked, in.Respondent)
		return "", nil
	}
	s, who := signedIn(t, formpage.Config{}, formsvc.WithChoices("mine", "Mine", source), formsvc.WithCheck("order", "Order", check))
	const blocks = `[{"id":"p","type":"dropdown","properties":{"rule":{"choices":{"list":"mine"},"check":[{"host":"order"}]}}}]`
	form := s.form("MULTI", blocks, "", "")
	p := s.open(form, "").require(http.StatusOK, holds("of t1/ann")).fill("a.p", "id:t1/ann")
	*who = session{err: errors.New("down")}
	p = p.press("next").about("an error").require(http.StatusServiceUnavailable, value("a.p", "id:t1/ann"))
	*who = session{id: "t1/eve"}
	p = p.press("next").require(http.StatusConflict, holds("of t1/eve"), lacks("of t1/ann"))
	p.fill("a.p", "id:t1/ann").press("next").about("another person's choice").expect(http.StatusUnprocessableEntity, responses(form, 0))
	p.fill("a.p", "id:t1/eve").press("next").expect(http.StatusOK, at("/done"), responses(form, 1))
	expect.Same(t, []string{"t1/eve"}, slices.Compact(checked), "checked for")
}

type byRespondent struct{}

func (byRespondent) Choices(_ context.Context, q formsvc.ChoiceQuery) ([]schema.Choice, error) {
	return []schema.Choice{{ID: q.Respondent, Label: "of " + q.Respondent}}, nil
}

func (byRespondent) Labels(_ context.Context, ids []string, q formsvc.ChoiceQuery) (map[string]string, error) {
	return map[string]string{q.Respondent: "of " + q.Respondent}, nil
}
