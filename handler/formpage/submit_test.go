package formpage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

type submitFunc = func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)

const invited = `[{"id":"mail","type":"email","label":"Email"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text","label":"B"}]`

// refusing is a site whose host answers each response with an error, or stores it if that is nil.
func refusing(t *testing.T, config formpage.Config) (s *site, refuse func(error), calls *int) {
	t.Helper()
	var answer error
	calls = new(int)
	config.Secret, config.MinFillTime = secret, -1
	config.Submit = func(ctx context.Context, r formsvc.SubmitParams, next submitFunc) (formsvc.Submission, error) {
		if *calls++; answer != nil {
			return formsvc.Submission{}, answer
		}
		return next(ctx, r)
	}
	return newSite(t, config), func(err error) { answer = err }, calls
}

// The host's own message is shown as it is, whatever its code, on every layout, with and without the
// page's script, and the corrected page is stored.
func TestTheHostsMessageIsShown(t *testing.T) {
	t.Parallel()
	layout := template.Must(template.New("").Parse(`<!doctype html><html lang="{{.Language}}"><head><title>{{.Title}}</title>{{.Head}}</head><body><header>Ours</header>{{.Body}}</body></html>`))
	const message = `Only guests with an <invitation> can take part.`
	for name, c := range map[string]struct {
		kind, settings string
		layout         *template.Template
	}{
		"one at a time": {kind: "SINGLE"}, "pages": {kind: "MULTI"}, "on one page": {kind: "SINGLE", settings: `{"singlePage":true}`},
		"in the host's layout": {kind: "MULTI", layout: layout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, refuse, calls := refusing(t, formpage.Config{Layout: c.layout})
			form := s.form(c.kind, invited, c.settings, "")
			for i, code := range []string{schema.CodeRequired, schema.CodeOutOfRange, schema.CodeNotAllowed, schema.CodeTooMany, "", "OUR_OWN", "KNOWN", "CAPTCHA"} {
				for _, field := range []string{"mail", "b", "", "not_in_the_form"} {
					stored := len(s.answers(form))
					refuse(nil)
					p := s.open(form, "lang=de").fill("a.mail", "ada@example.com")
					if !p.values.Has("a.b") {
						p = p.press("next")
					}
					p = p.fill("a.b", "x")
					refuse(fmt.Errorf("the host: %w", &formsvc.Error{Violations: []schema.Violation{{Field: field, Code: code, Message: message, Params: map[string]any{"unit": "bytes"}}}}))
					before := *calls
					got := p.press("next")
					if i%2 == 1 {
						got = p.byScript()
					}
					if got.status != http.StatusUnprocessableEntity || strings.Count(got.text("summary"), message) != 1 || *calls != before+1+i%2 || len(s.answers(form)) != stored {
						t.Fatalf("%q of %q: %d, %d calls, the page says %q", code, field, got.status, *calls-before, got.text("summary"))
					}
					if got.values.Get("a.mail") != "ada@example.com" || got.values.Get("a.b") != "x" || c.layout != nil && !strings.Contains(got.raw, "Ours") {
						t.Fatalf("%q of %q: the page has %v", code, field, got.values)
					}
					refuse(nil)
					for got.status != http.StatusOK || !strings.Contains(got.url, "/done") {
						got = got.press("next").about("sent again").require(http.StatusOK)
					}
					expect.That(t, len(s.answers(form)) == stored+1, "%d are stored", len(s.answers(form))-stored)
				}
			}
		})
	}
}

// byScript sends the page as its script does, which shows the page that is returned.
func (p *page) byScript() *page {
	p.s.t.Helper()
	return p.s.send(http.MethodPost, p.action(), p.values.Encode()+"&go=next", "Formpage-Script", "1")
}

// Several messages of the host are all shown, and JSON has them with their codes.
func TestMessagesOfTheHostInJSON(t *testing.T) {
	t.Parallel()
	s, refuse, _ := refusing(t, formpage.Config{})
	form := s.form("MULTI", invited, "", "")
	refuse(&formsvc.Error{Violations: []schema.Violation{
		{Code: "FULL", Message: "We are full."}, {Code: "FULL", Message: "Try the other form."}, {Field: "mail", Path: "/answers/mail", Code: schema.CodeNotAllowed, Message: "Not invited."},
		{Field: "b", Code: schema.CodeRequired},
	}})
	base := s.server.URL + "/f/" + form.PublicID
	var got struct {
		State, Code string
		Faults      []struct{ Field, Path, Code, Message string }
	}
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": got.State, "answers": map[string]any{}}, &got)
	want := "[{  FULL We are full.} {  FULL Try the other form.} {mail /answers/mail NOT_ALLOWED Not invited.} {b  REQUIRED Please answer this question.}]"
	expect.That(t, fmt.Sprint(got.Faults) == want && status == http.StatusUnprocessableEntity && got.Code == "VALIDATION_FAILED",
		"%d %+v", status, got)
	p := s.open(form, "").press("next").press("next")
	for _, text := range []string{"We are full.", "Try the other form.", "EmailNot invited."} {
		if !strings.Contains(strings.Join(strings.Fields(p.text("summary")), " "), text) && !strings.Contains(p.text("summary"), "Email Not invited.") {
			t.Errorf("the page lacks %q: %s", text, p.text("summary"))
		}
	}
}

// Errors of the service are worded by the page, also when the host wraps them. Any other error of the
// host is not shown.
func TestOtherErrorsOfTheHost(t *testing.T) {
	t.Parallel()
	const german = `[{"id":"a","type":"short_text","label":"A"}]`
	for name, c := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"closed":      {fmt.Errorf("host: %w", formsvc.ErrClosed), http.StatusGone, "Dieses Formular"},
		"not found":   {formsvc.ErrNotFound, http.StatusGone, "Dieses Formular"},
		"a duplicate": {formsvc.ErrDuplicate, http.StatusConflict, "Diese Angabe wurde schon"},
		"unavailable": {formsvc.ErrUnavailable, http.StatusServiceUnavailable, "nicht speichern"},
		"any":         {errors.New("a secret of the host"), http.StatusServiceUnavailable, "nicht speichern"},
	} {
		s, refuse, _ := refusing(t, formpage.Config{})
		form := s.form("MULTI", german, "", "")
		refuse(c.err)
		p := s.open(form, "lang=de").fill("a.a", "typed").press("next")
		p.about(name).expect(c.status, shows("fs-main", c.says), holds("typed"), lacks("secret of the host"))
	}

	s := newSite(t, formpage.Config{MinFillTime: -1, Secret: secret, Submit: func(ctx context.Context, r formsvc.SubmitParams, next submitFunc) (formsvc.Submission, error) {
		submission, err := next(ctx, r)
		if err != nil {
			err = fmt.Errorf("the host: %w", err)
		}
		return submission, err
	}})
	form := s.form("MULTI", german, "", "", "ref")
	p := s.open(form, "lang=de").fill("a.a", "x")
	p.values.Set("h.ref", strings.Repeat("x", 10_001))
	p.press("next").expect(http.StatusUnprocessableEntity, shows("summary", "10.000 Zeichen"))
}

// The ending shows the submission that the host returns, however it was stored.
func TestTheEndingOfTheHostsSubmission(t *testing.T) {
	t.Parallel()
	const blocks = `[{"id":"x","type":"short_text","label":"X","properties":{"rule":{"next":[{"if":{"==":[{"var":"answers.x"},"other"]},"to":"e2"},{"to":"e1"}]}}},
		{"id":"e1","type":"ending","label":"First {{answers.x}}"},{"id":"e2","type":"ending","label":"Second {{answers.x}}"}]`
	for _, c := range []struct {
		next                 bool // is called first
		answer, ending, says string
	}{
		{false, "typed", "e1", "First typed Edit your answers"}, {false, "other", "e2", "Second other Edit your answers"},
		{true, "other", "e2", "Second other Edit your answers"}, {true, "", "e1", "First typed Edit your answers"},
	} {
		var s *site
		s, _ = signedIn(t, formpage.Config{Submit: func(ctx context.Context, r formsvc.SubmitParams, next submitFunc) (formsvc.Submission, error) {
			if c.next {
				_ = expect.Must(next(ctx, r))
			}
			if r.IdempotencyKey = ""; c.answer == "" {
				return formsvc.Submission{}, nil
			}
			r.Answers = map[string]json.RawMessage{"x": json.RawMessage(`"` + c.answer + `"`)}
			return s.service.Submit(ctx, r)
		}})
		for _, kind := range []string{"SINGLE", "MULTI"} {
			form := s.form(kind, blocks, `{"editable":true}`, "")
			s.open(form, "").fill("a.x", "typed").press("next").about(c, kind).expect(http.StatusOK, at("/done"), shows("fs-main", c.says))
			location := s.open(form, "").fill("a.x", "typed").byScript().header.Get("Formpage-Location")
			s.get(s.server.URL+"/f/"+location).about(c, kind).expect(http.StatusOK, shows("fs-main", c.says))
			var got struct{ State, Ending string }
			base := s.server.URL + "/f/" + form.PublicID
			s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
			s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": got.State, "answers": map[string]string{"x": "typed"}}, &got)
			expect.Equal(t, got.Ending, c.ending, "%v: the ending in JSON", c)
		}
	}
}

// Files of a response that is not stored are released, whatever the host's error is.
func TestFilesOfARefusedResponse(t *testing.T) {
	t.Parallel()
	refused := &formsvc.Error{Violations: []schema.Violation{{Message: "No."}}}
	for _, c := range []struct {
		stored string // who has stored the response, or asked the service in vain
		err    error  // if nil, the host panics
		want   int    // files to sweep
	}{
		{"", refused, 1}, {"next", refused, 0}, {"", errors.New("the host's insert failed"), 1}, {"the host", errors.New("the connection was lost"), 0},
		{"", context.Canceled, 1}, {"", formsvc.ErrClosed, 1}, {"", formsvc.ErrOutcomeUnknown, 0}, {"", formsvc.ErrUnavailable, 0},
		{"", nil, 1}, {"next", nil, 0}, {"the host", nil, 0}, {"in vain", nil, 0}, {"in vain", errors.New("hidden"), 0},
	} {
		dir, _ := newDir(t)
		var s *site
		s = newSite(t, formpage.Config{MinFillTime: -1, Files: dir, Submit: func(ctx context.Context, r formsvc.SubmitParams, next submitFunc) (formsvc.Submission, error) {
			if store := map[string]submitFunc{"next": next, "the host": s.service.Submit}[c.stored]; store != nil {
				_ = expect.Must(store(ctx, r))
			} else if c.stored != "" {
				r.Answers["o"] = json.RawMessage(`"x"`)
				expect.Error(t, "Submit", expect.ErrorOf(next(ctx, r)), formsvc.ErrUnavailable)
			}
			if c.err == nil {
				panic("a bug of the host")
			}
			return formsvc.Submission{}, c.err
		}})
		form := s.form("MULTI", `[{"id":"f","type":"signature"},{"id":"o","type":"short_text","properties":{"rule":{"check":[{"host":"none"}]}}}]`, "", "")
		p := s.open(form, "").attach("upload", [3]string{"u.f", "a.png", pngBytes})
		func() {
			defer func() { expect.Equal(t, recover() != nil, c.err == nil, "%v: panicked", c) }()
			s.serve(http.MethodPost, "/f/"+form.PublicID, p.values.Encode()+"&go=next")
		}()
		expect.Equal(t, len(s.answers(form)) == 1, c.stored != "" && c.stored != "in vain", "%v: stored", c)
		n, err := dir.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
		expect.That(t, n == c.want && err == nil, "%v: %d files are swept, %v", c, n, err)
	}
}
