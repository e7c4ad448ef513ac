package formpage_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/handler/formpage"
)

// ask sends JSON as a page of another origin does.
func (s *site) ask(method, address, origin string, body any, into any) (int, http.Header) {
	s.t.Helper()
	raw, _ := json.Marshal(body)
	r, _ := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(string(raw)))
	r.Header.Set("Content-Type", "application/json")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if method == http.MethodOptions {
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	}
	response := must(s.server.Client().Do(r))
	defer response.Body.Close()
	if into != nil {
		noError(s.t, json.NewDecoder(response.Body).Decode(into))
	}
	return response.StatusCode, response.Header
}

func TestAFrontEndOfTheHostsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{AllowedOrigins: []string{"https://app.example"}})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N","required":true,"properties":{"min":2,"minVal":true,"rule":{"next":[]}}},
		{"id":"secret","type":"short_text","label":"Hidden","properties":{"hide":true}},{"id":"g","type":"group","children":[{"id":"i","type":"short_text","properties":{"hide":true}}]},
		{"id":"e","type":"ending","label":"End"}]`, `{"utm":{"source":true}}`, "", "ref")
	base := s.server.URL + "/f/" + form.PublicID
	var got struct {
		State  string
		Name   string
		Blocks []map[string]any
	}
	status, header := s.ask(http.MethodGet, base+"/form.json", "https://app.example", nil, &got)
	raw, _ := json.Marshal(got.Blocks)
	if status != http.StatusOK || got.Name != "A form" || len(got.Blocks) != 3 || strings.Contains(string(raw), "rule") || strings.Contains(string(raw), `"secret"`) || strings.Contains(string(raw), `"i"`) {
		t.Errorf("%d %s", status, raw)
	}
	if header.Get("Access-Control-Allow-Origin") != "https://app.example" || header.Get("Access-Control-Allow-Credentials") != "" || header.Get("Vary") != "Origin" {
		t.Errorf("headers are %v", header)
	}
	if _, header := s.ask(http.MethodGet, base+"/form.json", "https://evil.example", nil, nil); header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("an origin that is not allowed may read")
	}
	if status, header := s.ask(http.MethodOptions, base+"/submit", "https://app.example", nil, nil); status != http.StatusNoContent || !strings.Contains(header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("the preflight: %d %v", status, header)
	}
	if _, header := s.ask(http.MethodGet, base, "https://app.example", nil, nil); header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the HTML page may be read by another origin")
	}

	var path struct {
		Blocks []struct {
			ID       string
			Required bool
		}
		Ending string
	}
	if status, _ := s.ask(http.MethodPost, base+"/path", "", map[string]any{"state": got.State}, &path); status != http.StatusOK || len(path.Blocks) != 3 || !path.Blocks[0].Required || path.Ending != "e" {
		t.Errorf("the path: %d %+v", status, path)
	}

	type refusal struct {
		Code   string
		Faults []struct{ Field, Code, Message string }
	}
	send := func(body map[string]any) (int, refusal) {
		var r refusal
		status, _ := s.ask(http.MethodPost, base+"/submit?lang=de", "https://app.example", body, &r)
		return status, r
	}
	good := map[string]any{"state": got.State, "answers": map[string]any{"n": 3}, "hidden": map[string]string{"ref": "x"}, "utm": map[string]string{"source": "mail", "term": "no"}, "took": 5}
	if status, r := send(good); status != http.StatusUnprocessableEntity || r.Code != "TOO_FAST" {
		t.Errorf("too fast: %d %+v", status, r)
	}
	s.wait(time.Minute)
	if status, r := send(map[string]any{"answers": map[string]any{"n": 3}}); status != http.StatusForbidden || r.Code != "STATE" {
		t.Errorf("without state: %d %+v", status, r)
	}
	if status, r := send(map[string]any{"state": got.State, "answers": map[string]any{"n": 1}}); status != http.StatusUnprocessableEntity || len(r.Faults) != 1 || r.Faults[0].Message != "Bitte geben Sie 2 oder mehr ein." {
		t.Errorf("a fault: %d %+v", status, r)
	}
	for range 2 {
		if status, r := send(good); status != http.StatusCreated {
			t.Errorf("%d %+v", status, r)
		}
	}
	if stored := s.answers(form); len(stored) != 1 || stored[0]["n"] != "3" || stored[0]["ref"] != `"x"` {
		t.Errorf("stored is %v", stored)
	}
	if status, _ := s.ask(http.MethodPost, base+"/submit", "", "not an object", nil); status != http.StatusBadRequest {
		t.Errorf("no object: %d", status)
	}
}

func TestFramesAreForTheHostsList(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]formpage.Config{
		"frame-ancestors 'self';":                   {},
		"frame-ancestors https://a.example 'self';": {FrameAncestors: []string{"https://a.example", "'self'"}},
	} {
		s := newSite(t, config)
		p := s.open(s.form("MULTI", `[]`, "", ""), "embed=1")
		policy := p.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(p.raw, "embedded") {
			t.Errorf("the policy is %s", policy)
		}
	}
	s := newSite(t, formpage.Config{})
	if p := s.get(s.server.URL + "/f/-/embed.js"); p.status != http.StatusOK || !strings.Contains(p.raw, "e.origin !== base.origin") {
		t.Errorf("embed.js: %d", p.status)
	}
}

// Routes that are asked for JSON answer in it, whatever happens.
func TestRefusalsOfTheJSONRoutes(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, `{"closed":true,"closedMessage":"In our own words"}`, "")
	base := s.server.URL + "/f/"
	var got struct{ State, Code, Message string }
	s.ask(http.MethodGet, base+form.PublicID+"/form.json", "", nil, &got)
	for _, c := range []struct {
		method, path, code string
		status             int
	}{
		{http.MethodPost, "nothing/submit", "NOT_FOUND", http.StatusNotFound},
		{http.MethodGet, "nothing/form.json", "NOT_FOUND", http.StatusNotFound},
		{http.MethodGet, form.PublicID + "/submit", "METHOD_NOT_ALLOWED", http.StatusMethodNotAllowed},
		{http.MethodPost, form.PublicID + "/submit", "CLOSED", http.StatusGone},
	} {
		status, header := s.ask(c.method, base+c.path, "", map[string]any{"state": got.State}, &got)
		if status != c.status || got.Code != c.code || got.Message == "" || header.Get("Content-Type") != "application/json" || c.status == http.StatusMethodNotAllowed && header.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s %s: %d %+v %v", c.method, c.path, status, got, header)
		}
	}
	if got.Message != "In our own words" {
		t.Errorf("a closed form says %q", got.Message)
	}
}

// once takes the token "good" one time.
type once struct {
	sums
	used bool
}

func (o *once) Verify(_ context.Context, token, _ string) (bool, error) {
	ok := token == "good" && !o.used
	o.used = o.used || token == "good"
	return ok, nil
}

// A captcha is solved once, though another answer was wrong.
func TestACaptchaByJSONIsSolvedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": &once{}}})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","required":true},{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}]`, "", "")
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State, Captcha string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	send := func(captcha string, answers map[string]any) int {
		got.Captcha = ""
		status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": got.State, "captcha": captcha, "answers": answers}, &got)
		return status
	}
	if status := send("good", map[string]any{}); status != http.StatusUnprocessableEntity {
		t.Errorf("without an answer: %d", status)
	}
	if status := send("good", map[string]any{"a": "x", "unknown": 1}); status != http.StatusUnprocessableEntity || got.Captcha == "" {
		t.Errorf("with an answer to nothing: %d, the captcha is %q", status, got.Captcha)
	}
	proof := got.Captcha
	for _, used := range []string{"good", proof + "x"} {
		if status := send(used, map[string]any{"a": "x"}); status != http.StatusUnprocessableEntity {
			t.Errorf("with %.10s: %d", used, status)
		}
	}
	if status := send(proof, map[string]any{"a": "x"}); status != http.StatusCreated || len(s.answers(form)) != 1 {
		t.Errorf("with the proof: %d", status)
	}
}
