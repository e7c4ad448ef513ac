package formpage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
)

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
	if status != http.StatusOK || path.Ending != "unpaid" {
		t.Errorf("%d, the ending is %q", status, path.Ending)
	}
	for _, b := range path.Blocks {
		if b.ID == "vip" {
			t.Error("the path is that of those who paid")
		}
	}
	s.wait(time.Minute)
	if status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": got.State, "answers": map[string]any{"pay": paid}}, nil); status != http.StatusUnprocessableEntity || len(s.answers(form)) > 0 {
		t.Errorf("a payment of the respondent's own: %d", status)
	}
}

// What the host answers counts for the ending.
func TestTheEndingIsThatOfTheHostsAnswers(t *testing.T) {
	t.Parallel()
	for want, answers := range map[string]map[string]json.RawMessage{"Not paid": nil, "Paid": {"pay": paid}} {
		s := newSite(t, formpage.Config{HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) { return answers, nil }})
		form := s.form("MULTI", paidBlocks, "", "")
		p := s.open(form, "")
		s.wait(time.Minute)
		if end := p.press("next"); end.status != http.StatusOK || end.text("fs-done") == "" || !strings.HasPrefix(end.text("fs-done"), want) {
			t.Errorf("want %s: %d %s", want, end.status, end.text("fs-main"))
		}
	}
}

// The page walks by the host's answers from the first request on, as the service does when
// it stores a response: what they call for is asked, and checked.
func TestThePageWalksByTheHostsAnswers(t *testing.T) {
	t.Parallel()
	asked := 0
	s := newSite(t, formpage.Config{
		MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": sums{}},
		HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
			asked++
			return map[string]json.RawMessage{"plan": json.RawMessage(`"pro"`)}, nil
		},
	})
	const pro = `"properties":{"rule":{"show":{"==":[{"var":"answers.plan"},"pro"]}}}`
	form := s.form("MULTI", `[{"id":"plan","type":"short_text","properties":{"hide":true}},{"id":"a","type":"short_text","label":"A"},
		{"id":"q","type":"short_text","label":"For pros","required":true,`+pro+`},
		{"id":"e1","type":"ending","label":"Thanks, pro",`+pro+`},{"id":"e2","type":"ending","label":"Thanks"}]`, "", "")
	p := s.open(form, "")
	if asked != 1 || !strings.Contains(p.raw, "For pros") {
		t.Errorf("the host was asked %d times, the first page is %s", asked, p.text("fs-main"))
	}
	if p = p.press("next"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("a required question was passed over: %d", p.status)
	}
	if p = p.fill("a.q", "x").press("next"); p.status != http.StatusOK || !strings.Contains(p.raw, "Thanks, pro") || len(s.answers(form)) != 1 {
		t.Errorf("%d %s", p.status, p.text("fs-main"))
	}
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State, Ending string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	for _, route := range []string{"/path", "/submit"} {
		got.Ending = ""
		if s.ask(http.MethodPost, base+route, "", map[string]any{"state": got.State, "answers": map[string]any{"q": "x"}}, &got); got.Ending != "e1" {
			t.Errorf("%s: the ending is %q", route, got.Ending)
		}
	}
	// A captcha that they call for is not passed over.
	form = s.form("MULTI", `[{"id":"plan","type":"short_text","properties":{"hide":true}},{"id":"a","type":"short_text"},
		{"id":"c","type":"captcha","properties":{"captchaType":"turnstile","rule":{"show":{"==":[{"var":"answers.plan"},"pro"]}}}}]`, "", "")
	p = s.open(form, "")
	p.values.Del("seen")
	if p = p.press("next"); p.status != http.StatusUnprocessableEntity || len(s.answers(form)) != 0 {
		t.Errorf("without the captcha: %d, %d responses", p.status, len(s.answers(form)))
	}
}

// The text of a fault follows the code and the parameters that the service returns.
func TestFaultsAreWordedByTheirParameters(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"x","type":"number","label":"X","properties":{"min":1,"minVal":true}},{"id":"y","type":"short_text","label":"Y"}]`, "", "")
	public := must(s.service.PublicForm(t.Context(), form.PublicID))
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
			if text := s.pages.FaultText(r, public, v); !strings.Contains(text, want) {
				t.Errorf("%+v: %q lacks %q", v, text, want)
			}
		}
	}
}
