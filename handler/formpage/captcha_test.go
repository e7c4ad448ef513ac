package formpage_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// standIn answers as the captcha services do: the token "good" is good once.
func standIn(t *testing.T, asked *atomic.Int64) *httptest.Server {
	t.Helper()
	var used atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodPost || r.PostFormValue("secret") != "the-secret" {
			_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error-codes": []string{"invalid-input-secret"}})
			return
		}
		switch token := r.PostFormValue("response"); {
		case token == "broken":
			w.WriteHeader(http.StatusBadGateway)
		case token == "good" && used.CompareAndSwap(false, true):
			_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "hostname": "example.com"})
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error-codes": []string{"timeout-or-duplicate"}})
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestCaptchas(t *testing.T) {
	t.Parallel()
	for kind, maker := range map[string]func(formpage.CaptchaKeys) formpage.Verifier{
		"turnstile": formpage.Turnstile, "hcaptcha": formpage.HCaptcha, "recaptcha": formpage.ReCAPTCHA,
	} {
		var asked atomic.Int64
		server := standIn(t, &asked)
		v := maker(formpage.CaptchaKeys{SiteKey: "site", Secret: "the-secret", Endpoint: server.URL})
		s := newSite(t, formpage.Config{Verifiers: map[string]formpage.Verifier{kind: v}})
		form := s.form("MULTI", `[{"id":"c","type":"captcha","properties":{"captchaType":"`+kind+`"}},{"id":"b","type":"page_break"},{"id":"n","type":"short_text","label":"Name","required":true}]`, "", "")
		p := s.open(form, "")
		widget := v.Widget()
		if !strings.Contains(p.raw, `class="`+widget.Class+`" data-sitekey="site"`) || !strings.Contains(p.raw, `src="`+widget.Script+`"`) {
			t.Errorf("%s: the widget is not in the page", kind)
		}
		if policy := p.header.Get("Content-Security-Policy"); !strings.Contains(policy, widget.Sources[0]) || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %s", kind, policy)
		}
		s.wait(time.Minute)
		// A page that was never shown the challenge is not taken.
		skipped := s.open(form, "")
		skipped.values.Set("at", "b")
		skipped.values.Set("seen", "n")
		skipped.values.Set("a.n", "robot")
		s.wait(time.Minute)
		if again := skipped.press("next"); again.status != http.StatusUnprocessableEntity || len(s.answers(form)) > 0 {
			t.Errorf("%s: passing it over: %d", kind, again.status)
		}
		for _, token := range []string{"", "bad"} {
			p.values.Set(widget.Input, token)
			if p = p.press("next"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "Please complete this check.") {
				t.Errorf("%s: token %q: %d %s", kind, token, p.status, p.text("summary"))
			}
		}
		p.values.Set(widget.Input, "broken")
		if p = p.press("next"); p.status != http.StatusServiceUnavailable {
			t.Errorf("%s: a broken service: %d", kind, p.status)
		}
		p.values.Set(widget.Input, "good")
		p = p.press("next")
		// Solved once, it stays solved, though its token is used up.
		if p = p.press("next"); !strings.Contains(p.text("summary"), "Name") {
			t.Errorf("%s: %s", kind, p.text("fs-main"))
		}
		before := asked.Load()
		if end := p.fill("a.n", "Ada").press("next"); end.status != http.StatusOK || len(s.answers(form)) != 1 || asked.Load() != before {
			t.Errorf("%s: %d %s, %d responses", kind, end.status, end.text("fs-main"), len(s.answers(form)))
		}
		// Proof of one visit is none of another.
		proof, other := p.values.Get("proof"), s.open(form, "")
		other.values.Set("proof", proof)
		if again := other.press("next"); proof == "" || again.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: a proof was taken twice: %d", kind, again.status)
		}
		if _, err := maker(formpage.CaptchaKeys{Secret: "wrong", Endpoint: server.URL}).Verify(t.Context(), "good", ""); err == nil {
			t.Errorf("%s: a wrong secret is no error", kind)
		}
	}
}

func TestACaptchaWithoutItsVerifierHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"c","type":"captcha","required":true,"properties":{"captchaType":"hcaptcha"}},{"id":"n","type":"short_text"}]`, "", "")
	p := s.open(form, "").fill("a.n", "x")
	s.wait(time.Minute)
	if strings.Contains(p.raw, "captcha") || p.press("next").status != http.StatusOK {
		t.Error("the page pretends to have a captcha")
	}
}

// What a form needs and the host does not give is said to the host: when it asks, in the
// log at first sight, and in the preview.
func TestAHostIsToldWhatAFormLacks(t *testing.T) {
	t.Parallel()
	var log warnings
	s := newSite(t, formpage.Config{Secret: secret, Logger: slog.New(&log), Verifiers: map[string]formpage.Verifier{"turnstile": formpage.Turnstile(formpage.CaptchaKeys{})}})
	form := s.form("SINGLE", `[{"id":"n","type":"short_text","label":"N"},{"id":"c","type":"captcha","properties":{"captchaType":"hcaptcha"}},
		{"id":"t","type":"captcha","properties":{"captchaType":"turnstile"}},{"id":"no","type":"captcha","properties":{"captchaType":"none"}},
		{"id":"g","type":"group","children":[{"id":"f","type":"file_upload","label":"F"},{"id":"h","type":"signature","properties":{"hide":true}}]},
		{"id":"p","type":"payment","required":true,"label":"P"},{"id":"q","type":"payment","label":"Q"}]`, "", "")
	public := must(s.service.PublicForm(t.Context(), form.PublicID))
	got := s.pages.Lacks(public)
	if len(got) != 4 || !strings.Contains(got[1], `"t" is a captcha: there is no Config.Limiter`) || !strings.Contains(got[0], `"c" is a captcha`) || !strings.Contains(got[2], `"f" asks for files`) || !strings.Contains(got[3], `"p" requires a payment`) {
		t.Errorf("%q", got)
	}
	if len(log.list) > 0 {
		t.Errorf("logged before the first page: %q", log.list)
	}
	for range 3 {
		s.open(form, "")
	}
	if len(log.list) != 4 {
		t.Errorf("logged: %q", log.list)
	}
	bar := s.get(s.link(form.ID)).bar()
	for _, want := range []string{"no verifier for it (type: hcaptcha)", `"f" asks for files`, `"p" requires a payment`} {
		if !strings.Contains(bar, want) {
			t.Errorf("the preview lacks %q: %s", want, bar)
		}
	}
}

func TestHostAnswersAreAddedAndTheirErrorsLoseNothing(t *testing.T) {
	t.Parallel()
	broken := true
	s := newSite(t, formpage.Config{HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
		if broken {
			return nil, errors.New("the gateway is down")
		}
		return map[string]json.RawMessage{"pay": json.RawMessage(`{"amount":"9.50","currency":"EUR","status":"paid","gateway":"test"}`)}, nil
	}})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"},{"id":"pay","type":"payment","required":true,"properties":{"amount":"9.50","currency":"EUR"}}]`, "", "")
	p := s.open(form, "").fill("a.n", "kept")
	s.wait(time.Minute)
	if p = p.press("next"); p.status != http.StatusServiceUnavailable || p.values.Get("a.n") != "kept" {
		t.Fatalf("%d", p.status)
	}
	broken = false
	if p = p.press("next"); p.status != http.StatusOK || !strings.Contains(s.answers(form)[0]["pay"], "paid") {
		t.Errorf("%d %s", p.status, p.text("fs-main"))
	}
}

// Files and captchas cost the host something, so it is told of pages without a limiter. Authors are not.
func TestAHostIsToldOfPagesWithoutALimiter(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, Files: &counting{}, Verifiers: map[string]formpage.Verifier{"turnstile": sums{}}})
	for block, want := range map[string]int{
		`{"id":"g","type":"group","children":[{"id":"f","type":"signature"}]}`:        1,
		`{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}`:        1,
		`{"id":"f","type":"signature","properties":{"hide":true}}`:                    0,
		`{"id":"c","type":"captcha","properties":{"captchaType":"none","hide":true}}`: 0,
	} {
		form := s.form("MULTI", "["+block+"]", "", "")
		got := s.pages.Lacks(must(s.service.PublicForm(t.Context(), form.PublicID)))
		if len(got) != want || want > 0 && !strings.Contains(got[0], "there is no Config.Limiter") {
			t.Errorf("%s: %q", block, got)
		}
		if bar := s.get(s.link(form.ID)).bar(); strings.Contains(bar, "Limiter") {
			t.Errorf("%s: the preview shows %s", block, bar)
		}
	}
}
