package formpage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// Neither a rule nor a variable leaves the service, nor what is hidden.
func TestRulesStayWithTheService(t *testing.T) {
	t.Parallel()
	const blocks = `[{"id":"q","type":"yes_no","label":"Q","properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},4711]}}}}},
		{"id":"secret","type":"short_text","label":"Secret","properties":{"hide":true,"rule":{"set":{"score":815}}}},
		{"id":"box","type":"group","label":"Box","children":[{"id":"inner","type":"short_text","label":"Inner","properties":{"hide":true}}]},
		{"id":"more","type":"short_text","label":"More","properties":{"rule":{"show":{"==":[{"var":"answers.q"},true]}}}},
		{"id":"end","type":"ending","label":"Well done","properties":{"rule":{"show":{">":[{"var":"variables.score"},4711]}}}}]`
	s := newSite(t, formpage.Config{})
	form := s.publishWith(blocks, `{"score":42}`)
	var public map[string]any
	s.ask(http.MethodGet, s.server.URL+"/f/"+form.PublicID+"/form.json", "", nil, &public)
	for where, text := range map[string]string{"the page": s.open(form, "").raw, "form.json": fmt.Sprint(public)} {
		for _, never := range []string{"4711", "Secret", "815", "Inner", "answers.q", "Well done"} {
			if strings.Contains(text, never) {
				t.Errorf("%s has %s", where, never)
			}
		}
	}
	if blocks, _ := public["blocks"].([]any); len(blocks) != 4 || public["variables"] != nil {
		t.Errorf("form.json has the variables %v, the blocks %v", public["variables"], blocks)
	}
}

// The JSON of a form lets out what its page does, and nothing that the service alone goes by.
func TestTheJSONOfAFormKeepsWhatItsPageKeeps(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
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
	form, err := client.CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A form", Type: "MULTI", Definition: formsvc.Definition{
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
