package formpage_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

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
		if err != nil {
			s.t.Fatal(err)
		}
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
				if got := p.save(); got.status != http.StatusOK {
					t.Fatalf("save: %d", got.status)
				}
			}
			skipped := s.open(first, "").fill("a.a", "spam").with("at", "b").press("later") // of a page that is not reached yet
			if skipped.status != http.StatusOK || s.listed(first) != 0 {
				t.Errorf("%d, the owner sees %d without a captcha", skipped.status, s.listed(first))
			}
			p := s.open(first, "").fill("a.a", "x").with(widget, "good")
			if p = p.press("next"); !strings.Contains(p.raw, ">B<") || s.listed(first) != 1 {
				t.Errorf("the owner sees %d after a page with a solved captcha", s.listed(first))
			}
			if p.save(); s.listed(first) != 1 {
				t.Errorf("the owner sees %d after another save", s.listed(first))
			}
			if s.open(first, "").fill("a.a", "x").with(widget, "good").press("next"); s.listed(first) != 1 {
				t.Errorf("the owner sees %d after a used token", s.listed(first))
			}
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
			if n := len(s.halves.made); n != 8 {
				t.Errorf("%d were saved", n)
			}

			// The captcha is solved for the save itself, with and without the script, and stays solved.
			single := s.form("MULTI", blocks(name, captcha(kind, "")), "", "")
			p = s.open(single, "").fill("a.a", "x").with(widget, "good again")
			got := p.save()
			p.values["proof"] = got.values["proof"]
			if s.listed(single) != 1 {
				t.Errorf("the owner sees %d after a save with a solved captcha", s.listed(single))
			}
			if end := p.press("next"); !strings.Contains(end.url, "/done") || s.listed(single) != 0 {
				t.Errorf("%d %s", end.status, end.text("fs-main"))
			}
			p = s.open(single, "").fill("a.a", "x").with(widget, "good for a link").press("later")
			if s.listed(single) != 1 || !strings.Contains(p.press("next").url, "/done") {
				t.Errorf("%d seen after a link", s.listed(single))
			}

			// Before the page with the captcha, behind a rule, in a group, or added after the save.
			for what, list := range map[string]string{
				"on a later page": blocks(name, breaks, captcha(kind, "")),
				"in a group":      blocks(name, breaks, `{"id":"g","type":"group","children":[`+captcha(kind, "")+`]}`),
				"off the path":    blocks(name, breaks, captcha(kind, `"rule":{"==":[{"var":"a"},"never"]},`), last),
			} {
				form := s.form("MULTI", list, "", "")
				if s.open(form, "").fill("a.a", "x").press("later"); s.listed(form) != 0 {
					t.Errorf("%s: the owner sees %d", what, s.listed(form))
				}
			}
			plain := s.form("MULTI", blocks(name, breaks, last), "", "")
			s.open(plain, "").fill("a.a", "x").press("next")
			before := s.listed(plain)
			s.change(plain, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(blocks(name, captcha(kind, ""), breaks, last))}})
			if before != 1 || s.listed(plain) != 0 {
				t.Errorf("%d seen, %d after a captcha was added", before, s.listed(plain))
			}
			// Nobody can solve these.
			for what, list := range map[string]string{
				"hidden": blocks(name, captcha(kind, `"hide":true,`), breaks, last), "none": blocks(name, captcha("none", ""), breaks, last),
				"without a verifier": blocks(name, captcha(map[bool]string{true: "hcaptcha", false: "turnstile"}[kind == "turnstile"], ""), breaks, last),
			} {
				form := s.form("MULTI", list, "", "")
				if s.open(form, "").fill("a.a", "x").press("next"); s.listed(form) != 1 {
					t.Errorf("%s: the owner sees %d", what, s.listed(form))
				}
			}
			// A host's own page says whether a captcha was solved.
			for _, solved := range []bool{false, true} {
				form := s.form("MULTI", blocks(name, captcha(kind, "")), "", "")
				if _, _, err := s.service.SavePartial(t.Context(), formsvc.PartialResponse{FormID: form.ID, CaptchaSolved: solved}); err != nil || s.listed(form) > 0 != solved {
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
	if n := s.listed(form); n != 1 {
		t.Errorf("%d after one was removed", n)
	}
	// Who goes back to the first page after sending can send something else.
	p = s.open(form, "").fill("a.a", "sent")
	first := maps.Clone(p.values)
	p.press("next").press("next")
	p.values = first
	end := p.fill("a.a", "another").press("next").press("next")
	if !strings.Contains(end.url, "/done") || len(s.answers(form)) != 2 || s.listed(form) != 1 {
		t.Errorf("%d %s: %d responses, %d partial ones", end.status, end.url, len(s.answers(form)), s.listed(form))
	}
	for range 10 { // each visit has its own
		s.open(form, "").fill("a.a", "x").press("next")
	}
	if n := s.listed(form); n != 11 {
		t.Errorf("ten more visits: %d", n)
	}
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
	if !redirects(end) || !button(end) || len(s.answers(form)) != 1 {
		t.Errorf("the browser that submitted is not redirected: %d %s", end.status, end.text("fs-main"))
	}
	for _, query := range []string{"", "?embed=1"} { // a link to a stored response, in a browser with and without a script
		for _, script := range []string{"", "1"} {
			p := s.get(s.open(form, "").url+"/later"+query).fill("link", s.token())
			values := maps.Clone(p.values)
			values.Set("go", "resume")
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.action(), strings.NewReader(values.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if script != "" {
				r.Header.Set("Formpage-Script", script)
			}
			got := s.do(r)
			if to := got.header.Get("Formpage-Location"); script != "" {
				if to == target {
					t.Errorf("%q: the script is led to the target", query)
				}
				at, _ := url.Parse(p.action())
				next, _ := url.Parse(to)
				got = s.get(at.ResolveReference(next).String())
			}
			if redirects(got) || !button(got) {
				t.Errorf("%q, script %q: %d %s redirects", query, script, got.status, got.url)
			}
			for _, more := range []string{"", "&embed=1", "&lang=de"} {
				if p := s.get(got.url + more); redirects(p) || !button(p) {
					t.Errorf("%s redirects", p.url)
				}
			}
		}
	}
}
