package formpage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// Rules and variables leave the service where the host says so, and what is hidden never.
func TestRulesLeaveOnlyWhereTheHostSaysSo(t *testing.T) {
	t.Parallel()
	const blocks = `[{"id":"q","type":"yes_no","label":"Q","properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},4711]}}}}},
		{"id":"secret","type":"short_text","label":"Secret","properties":{"hide":true,"rule":{"set":{"score":815}}}},
		{"id":"box","type":"group","label":"Box","children":[{"id":"inner","type":"short_text","label":"Inner","properties":{"hide":true}}]},
		{"id":"more","type":"short_text","label":"More","properties":{"rule":{"show":{"==":[{"var":"answers.q"},true]}}}}]`
	for _, allowed := range []bool{true, false} {
		s := newSite(t, formpage.Config{BrowserRules: allowed})
		form := s.publishWith(blocks, `{"score":42}`)
		page := s.open(form, "").raw
		var public map[string]any
		s.ask(http.MethodGet, s.server.URL+"/f/"+form.PublicID+"/form.json", "", nil, &public)
		for where, text := range map[string]string{"the page": page, "form.json": fmt.Sprint(public)} {
			if strings.Contains(text, "4711") != allowed {
				t.Errorf("allowed %v: %s has the rule: %v", allowed, where, !allowed)
			}
			for _, never := range []string{"Secret", "815", "Inner"} {
				if strings.Contains(text, never) {
					t.Errorf("allowed %v: %s has %s", allowed, where, never)
				}
			}
		}
		if _, there := public["variables"]; there != allowed {
			t.Errorf("allowed %v: form.json has variables: %v", allowed, there)
		}
		if strings.Contains(page, "rules.js") != allowed || strings.Contains(page, "<template") != allowed {
			t.Errorf("allowed %v: script or template: %s", allowed, page)
		}
	}
}

// A browser does not walk by an answer that only the service knows as it is stored.
func TestRulesThatOnlyTheServiceCanRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{BrowserRules: true})
	for question, here := range map[string]bool{
		`"type":"short_text"`: true, `"type":"number"`: true, `"type":"date"`: true, `"type":"rating","properties":{"to":20}`: true,
		`"type":"phone"`: false, `"type":"email"`: false, `"type":"website"`: false, `"type":"address"`: false, `"type":"contact_info"`: false,
		`"type":"payment"`: false, `"type":"file_upload"`: false, `"type":"date","properties":{"showTimePicker":true}`: false,
		`"type":"date","properties":{"afterDate":"2026-01-01T00:00:00Z"}`: false, `"type":"rating","properties":{"to":21}`: false,
	} {
		for read, plan := range map[string]bool{
			`{"var":"answers.q.city"}`: here, `{"missing":["answers.q"]}`: here, `{"var":"answers"}`: here, `{"var":{"cat":["answers.","q"]}}`: here,
			`{"var":"answers.other"}`: true, `{"var":"answers.qq"}`: true, `{"nope":{"var":"answers.q"}}`: true,
		} {
			form := s.publishWith(`[{"id":"q","label":"Q",`+question+`},{"id":"qq","type":"short_text","label":"QQ"},{"id":"s","type":"statement","label":"S","properties":{"rule":{"show":`+read+`}}}]`, `{}`)
			if got := strings.Contains(s.open(form, "").raw, "fs-rules"); got != plan {
				t.Errorf("%s read by %s: the page has the rules: %v", question, read, got)
			}
		}
	}
}

// The JSON of a form lets out what its page does, and nothing that the service alone goes by.
func TestTheJSONOfAFormKeepsWhatItsPageKeeps(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{BrowserRules: true})
	form := s.form("MULTI", `[{"id":"ph","type":"phone"},{"id":"b","type":"short_text","properties":{"rule":{"show":{"==":[{"var":"answers.ph"},"+31201234567"]}}}}]`,
		`{"responseLimit":4711,"duplicateField":"ph","submitLabel":"Off it goes"}`, "")
	var public map[string]any
	s.ask(http.MethodGet, s.server.URL+"/f/"+form.PublicID+"/form.json", "", nil, &public)
	text := fmt.Sprint(public)
	for _, never := range []string{"31201234567", "4711", "responseLimit", "duplicateField"} {
		if strings.Contains(text, never) {
			t.Errorf("form.json has %s: %s", never, text)
		}
	}
	if !strings.Contains(text, "Off it goes") {
		t.Errorf("form.json lacks the settings: %s", text)
	}
}

func (s *site) publishWith(blocks, variables string) formsvc.Form {
	s.t.Helper()
	client := s.service.As(s.owner)
	form, err := client.CreateForm(s.t.Context(), formsvc.NewForm{Workspace: s.place, Name: "A form", Type: "MULTI", Definition: formsvc.Definition{
		Blocks: []byte(blocks), Variables: []byte(variables),
	}})
	if err == nil {
		form, err = client.PublishForm(s.t.Context(), form.ID)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return form
}
