package formpage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
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
	response := expect.Must(s.server.Client().Do(r))
	defer response.Body.Close()
	if into != nil {
		expect.NoError(s.t, json.NewDecoder(response.Body).Decode(into))
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
	s.stores(form, "n", "3", "ref", `"x"`)
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
	s.get(s.server.URL+"/f/-/embed.js").about("embed.js").expect(http.StatusOK, holds("e.origin !== base.origin"))
}

// Routes that are asked for JSON answer in it, whatever happens.
func TestRefusalsOfTheJSONRoutes(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, `{"closed":true,"closedMessage":" In our **own** [words](https://a.example), \\{{today}}: {{today}}"}`, "")
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
	expect.That(t, got.Message == "In our own words, {{today}}: 3 August 2026", "a closed form says %q", got.Message)
	form = s.form("MULTI", `[{"id":"a","type":"short_text"}]`, `{"openAt":"2026-12-24T18:00:00Z","closedMessage":"Closed"}`, "")
	s.ask(http.MethodGet, base+form.PublicID+"/form.json", "", nil, &got)
	status, _ := s.ask(http.MethodPost, base+form.PublicID+"/submit", "", map[string]any{"state": got.State}, &got)
	expect.That(t, status == http.StatusForbidden && got.Code == "NOT_OPEN" && got.Message == "It opens on 24 December 2026 at 18:00 (UTC).", "before the opening time: %d %+v", status, got)
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
	expect.Equal(t, send("good", map[string]any{}), http.StatusUnprocessableEntity, "without an answer")
	if status := send("good", map[string]any{"a": "x", "unknown": 1}); status != http.StatusUnprocessableEntity || got.Captcha == "" {
		t.Errorf("with an answer to nothing: %d, the captcha is %q", status, got.Captcha)
	}
	proof := got.Captcha
	for _, used := range []string{"good", proof + "x"} {
		expect.Equal(t, send(used, map[string]any{"a": "x"}), http.StatusUnprocessableEntity, "%v with", used)
	}
	if status := send(proof, map[string]any{"a": "x"}); status != http.StatusCreated || len(s.answers(form)) != 1 {
		t.Errorf("with the proof: %d", status)
	}
}

// Texts about a respondent that a link, a browser or the host sends are cleaned: the
// service refuses control characters there, and nobody could correct them.
func TestWhatNobodyTypedIsCleaned(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Country: func(*http.Request) string { return "D\x00E\n" }})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, `{"utm":{"source":true}}`, "", "ref")
	const given, want = "one\ntwo\x00\x1b[31m\tthree\u0085four\u200f", "one two[31m three four\u200f"
	// A page may still be open that was filled in before.
	p := s.open(form, url.Values{"ref": {given}, "utm_source": {given}}.Encode())
	p.values["h.ref"], p.values["utm_source"] = []string{given}, []string{given}
	p.fill("a.a", "Hello\x00World").press("next").require(http.StatusUnprocessableEntity, responses(form, 0), shows("summary", "We cannot read this answer."))
	p.fill("a.a", "typed 😀")
	p.press("next").require(http.StatusOK)
	// Through the link alone, with a tab in a header.
	p = s.open(form, url.Values{"ref": {given}, "utm_source": {given}}.Encode())
	p.press("next").require(http.StatusOK)
	// And through the JSON routes.
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	in := map[string]any{"state": got.State, "hidden": map[string]string{"ref": given}, "utm": map[string]string{"source": given}}
	var path struct{ Faults []any }
	status, _ := s.ask(http.MethodPost, base+"/path", "", in, &path)
	expect.That(t, status == http.StatusOK && len(path.Faults) == 0, "the path: %d %v", status, path.Faults)
	status, _ = s.ask(http.MethodPost, base+"/submit", "", in, nil)
	expect.That(t, status == http.StatusCreated, "the JSON route: %d", status)
	n := 0
	for submission, err := range s.service.AsHost().Submissions(t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(t, err)
		n++
		var hidden struct{ Ref string }
		var metadata struct {
			Country string
			UTM     struct{ Source string }
		}
		if err := json.Unmarshal(submission.Hidden, &hidden); err != nil || strings.TrimSpace(hidden.Ref) != want {
			t.Errorf("hidden is %q, %v", hidden.Ref, err)
		}
		if err := json.Unmarshal(submission.Metadata, &metadata); err != nil || metadata.Country != "DE " || metadata.UTM.Source != want {
			t.Errorf("metadata is %s, %v", submission.Metadata, err)
		}
	}
	expect.That(t, n == 3, "%d responses are stored, want 3", n)
}

// Neither a rule nor a variable leaves the service, nor what is hidden, nor a setting that the service alone
// goes by.
func TestRulesStayWithTheService(t *testing.T) {
	t.Parallel()
	const blocks = `[{"id":"q","type":"yes_no","label":"Q","properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},4711]}}}}},
		{"id":"secret","type":"short_text","label":"Secret","properties":{"hide":true,"rule":{"set":{"score":815}}}},
		{"id":"box","type":"group","label":"Box","children":[{"id":"inner","type":"short_text","label":"Inner","properties":{"hide":true}}]},
		{"id":"more","type":"short_text","label":"More","properties":{"rule":{"show":{"==":[{"var":"answers.q"},true]}}}},
		{"id":"end","type":"ending","label":"Well done","properties":{"rule":{"show":{">":[{"var":"variables.score"},4711]}}}}]`
	s := newSite(t, formpage.Config{})
	client := s.service.As(s.owner)
	form := expect.Must(client.CreateForm(t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A form", Type: "MULTI", Definition: formsvc.Definition{
		Blocks: []byte(blocks), Variables: []byte(`{"score":42}`), Settings: []byte(`{"responseLimit":4712,"duplicateField":"q","submitLabel":"Off it goes"}`),
	}}))
	form = expect.Must(client.PublishForm(t.Context(), form.ID))
	var public map[string]any
	s.ask(http.MethodGet, s.server.URL+"/f/"+form.PublicID+"/form.json", "", nil, &public)
	for where, text := range map[string]string{"the page": s.open(form, "").raw, "form.json": fmt.Sprint(public)} {
		for _, never := range []string{"4711", "Secret", "815", "Inner", "answers.q", "Well done", "4712", "responseLimit", "duplicateField"} {
			expect.That(t, !strings.Contains(text, never), "%s has %s", where, never)
		}
		expect.That(t, strings.Contains(text, "Off it goes"), "%s lacks the settings: %s", where, text)
	}
	if blocks, _ := public["blocks"].([]any); len(blocks) != 4 || public["variables"] != nil {
		t.Errorf("form.json has the variables %v, the blocks %v", public["variables"], blocks)
	}
}

const paidBlocks = `[{"id":"n","type":"short_text","label":"Name"},
	{"id":"pay","type":"payment","properties":{"amount":"9.50","currency":"EUR"}},
	{"id":"gate","type":"short_text","label":"Gate","properties":{"hide":true}},
	{"id":"vip","type":"short_text","label":"For those who paid","properties":{"rule":{"show":{"==":[{"var":"answers.pay.status"},"paid"]}}}},
	{"id":"jump","type":"statement","label":"And then","properties":{"rule":{"next":[{"if":{"==":[{"var":"answers.pay.status"},"paid"]},"to":"thanks"}]}}},
	{"id":"unpaid","type":"ending","label":"Not paid"},
	{"id":"thanks","type":"ending","label":"Paid"}]`

var paid = json.RawMessage(`{"amount":"9.50","currency":"EUR","status":"paid","gateway":"test"}`)

// A respondent who says that a payment was made is not on the path of those who paid.
func TestARespondentCannotPayByJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", paidBlocks, "", "")
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	var path struct {
		Blocks []struct{ ID string }
		Ending string
	}
	status, _ := s.ask(http.MethodPost, base+"/path", "", map[string]any{"state": got.State, "answers": map[string]any{"pay": paid}}, &path)
	expect.That(t, status == http.StatusOK && path.Ending == "unpaid", "%d, the ending is %q", status, path.Ending)
	for _, b := range path.Blocks {
		expect.That(t, b.ID != "vip", "the path is that of those who paid")
	}
	s.wait(time.Minute)
	if status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": got.State, "answers": map[string]any{"pay": paid}}, nil); status != http.StatusUnprocessableEntity || len(s.answers(form)) > 0 {
		t.Errorf("a payment of the respondent's own: %d", status)
	}
}

// The page walks by the host's answers from the first request on, as the service does when
// it stores a response: what they call for is asked, and checked.
func TestThePageWalksByTheHostsAnswers(t *testing.T) {
	t.Parallel()
	asked, broken := 0, error(nil)
	s := newSite(t, formpage.Config{
		MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": sums{}},
		HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
			asked++
			return map[string]json.RawMessage{"plan": json.RawMessage(`"pro"`)}, broken
		},
	})
	const pro = `"properties":{"rule":{"show":{"==":[{"var":"answers.plan"},"pro"]}}}`
	form := s.form("MULTI", `[{"id":"plan","type":"short_text","properties":{"hide":true}},{"id":"a","type":"short_text","label":"A"},
		{"id":"q","type":"short_text","label":"For pros","required":true,`+pro+`},
		{"id":"e1","type":"ending","label":"Thanks, pro",`+pro+`},{"id":"e2","type":"ending","label":"Thanks"}]`, "", "")
	p := s.open(form, "")
	expect.That(t, asked == 1 && strings.Contains(p.raw, "For pros"),
		"the host was asked %d times, the first page is %s", asked, p.text("fs-main"))
	p = p.press("next").about("a required question was passed over").expect(http.StatusUnprocessableEntity)
	broken = errors.New("the gateway is down")
	p = p.fill("a.q", "kept").press("next").expect(http.StatusServiceUnavailable, value("a.q", "kept"), responses(form, 0))
	broken = nil
	p.fill("a.q", "x").press("next").expect(http.StatusOK, holds("Thanks, pro"), responses(form, 1))
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State, Ending string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	for _, route := range []string{"/path", "/submit"} {
		got.Ending = ""
		s.ask(http.MethodPost, base+route, "", map[string]any{"state": got.State, "answers": map[string]any{"q": "x"}}, &got)
		expect.That(t, got.Ending == "e1", "%s: the ending is %q", route, got.Ending)
	}
	// A captcha that they call for is not passed over.
	form = s.form("MULTI", `[{"id":"plan","type":"short_text","properties":{"hide":true}},{"id":"a","type":"short_text"},
		{"id":"c","type":"captcha","properties":{"captchaType":"turnstile","rule":{"show":{"==":[{"var":"answers.plan"},"pro"]}}}}]`, "", "")
	p = s.open(form, "")
	p.values.Del("seen")
	p.press("next").about("without the captcha").expect(http.StatusUnprocessableEntity, responses(form, 0))
}

// The text of a fault follows the code and the parameters that the service returns.
func TestFaultsAreWordedByTheirParameters(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"x","type":"number","label":"X","properties":{"min":1,"minVal":true}},{"id":"y","type":"short_text","label":"Y"}]`, "", "")
	public := expect.Must(s.service.PublicForm(t.Context(), form.PublicID))
	r := httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID+"?lang=de", nil)
	type params = map[string]any
	for want, v := range map[string]schema.Violation{
		"Bitte geben Sie 7 oder mehr ein":       {Code: schema.CodeOutOfRange, Params: params{"min": json.Number("7")}},
		"1.000,5":                               {Code: schema.CodeOutOfRange, Params: params{"min": json.Number("7"), "max": json.Number("1000.5")}},
		"03.02.2026":                            {Code: schema.CodeOutOfRange, Params: params{"max": "2026-02-03"}},
		"höchstens 4":                           {Code: schema.CodeTooMany, Params: params{"max": 4, "unit": "choices"}},
		"mindestens 2":                          {Code: schema.CodeTooFew, Params: params{"min": 2, "unit": "choices"}},
		"33":                                    {Code: schema.CodeTooLong, Params: params{"limit": 33, "unit": "characters"}},
		"name@example.com":                      {Code: schema.CodeBadFormat, Params: params{"format": "email"}},
		"eine Zahl":                             {Code: schema.CodeWrongType, Params: params{"type": "integer"}},
		"2":                                     {Code: schema.CodeOutOfRange, Params: params{"max": json.Number("2097152"), "unit": "bytes"}},
		"Dieser Dateityp":                       {Code: schema.CodeNotAllowed, Params: params{"reason": "file_type"}},
		"a sentence that only the service says": {Code: "A_NEW_CODE", Message: "a sentence that only the service says"},
	} {
		for _, field := range []string{"x", "y"} {
			v.Field = field
			text := s.pages.FaultText(r, public, v)
			expect.That(t, strings.Contains(text, want), "%+v: %q lacks %q", v, text, want)
		}
	}
}
