package formpage_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// What belongs to one visit is in no other page.
func TestFirstPagesShareNoVisit(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Question"}]`, "", `{"customCss":".fs-label{color:red}"}`)
	nonces, states := map[string]bool{}, map[string]bool{}
	inPage := regexp.MustCompile(`<style nonce="(\w+)">`)
	var without []string
	for range 4 {
		s.wait(time.Minute)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID, nil)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		found := inPage.FindStringSubmatch(string(raw))
		if found == nil || strings.Count(answer.Header.Get("Content-Security-Policy"), "'nonce-"+found[1]+"'") != 2 {
			t.Fatalf("the policy %q does not allow the style of %v", answer.Header.Get("Content-Security-Policy"), found)
		}
		p := s.open(form, "")
		nonces[found[1]], states[p.values.Get("state")] = true, true
		without = append(without, strings.NewReplacer(p.values.Get("state"), "", inPage.FindStringSubmatch(p.raw)[1], "").Replace(p.raw))
	}
	if len(nonces) != 4 || len(states) != 4 {
		t.Errorf("%d nonces and %d visits of 4 pages", len(nonces), len(states))
	}
	for _, page := range without {
		if page != without[0] || !strings.Contains(page, "Question") {
			t.Errorf("the pages differ in more than that:\n%s\n%s", page, without[0])
		}
	}
	// Each visit stores its own response.
	first, second := s.open(form, "").fill("a.a", "1"), s.open(form, "").fill("a.a", "2")
	s.wait(time.Minute)
	for _, p := range []*page{first, second} {
		if end := p.press("next"); end.status != http.StatusOK {
			t.Errorf("%d %s", end.status, end.text("fs-main"))
		}
	}
	if n := len(s.answers(form)); n != 2 {
		t.Errorf("%d responses are stored, want 2", n)
	}
}

func TestFirstPagesAreNeverOutOfDate(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Before","required":true}]`, "", `{"customCss":".fs-label{color:red}"}`)
	name, single := "Another name", formsvc.Definition{}
	for _, c := range []struct {
		update formsvc.FormUpdate
		want   string
	}{
		{formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"After"}]`)}}, "After"},
		{formsvc.FormUpdate{Definition: formsvc.Definition{Theme: json.RawMessage(`{"customCss":".fs-label{color:blue}"}`)}}, "color:blue"},
		{formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"submitLabel":"Off it goes"}`)}}, "Off it goes"},
		{formsvc.FormUpdate{Name: &name, Definition: single}, name},
		{formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true,"closedMessage":"Too late"}`)}}, "Too late"},
	} {
		for range 2 {
			if p := s.open(form, ""); strings.Contains(p.raw, c.want) {
				t.Fatalf("%q is there before the change", c.want)
			}
		}
		if _, err := s.service.As(s.owner).UpdateForm(t.Context(), form.ID, c.update); err != nil {
			t.Fatal(err)
		}
		if p := s.open(form, ""); !strings.Contains(p.raw, c.want) {
			t.Errorf("%q is not there after the change: %s", c.want, p.text("fs-main"))
		}
	}
}

func TestFirstPagesThatDiffer(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Question"}]`, "", "", "ref")
	for range 2 { // the second time they could come from the cache
		if p := s.open(form, ""); p.values.Get("a.a") != "" || p.values.Has("h.ref") || p.bar() != "" || strings.Contains(p.raw, "Absenden") {
			t.Errorf("a plain page: %s", p.raw)
		}
		if p := s.open(form, "a=x&ref=mine"); p.values.Get("a.a") != "x" || p.values.Get("h.ref") != "mine" {
			t.Errorf("a prefilled page: %v", p.values)
		}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID, nil)
		r.Header.Set("Accept-Language", "de")
		if p := s.do(r); !strings.Contains(p.raw, `lang="de"`) {
			t.Errorf("a German page: %s", p.raw)
		}
		if p := s.get(s.link(form.ID)); p.bar() == "" {
			t.Error("a preview without its bar")
		}
	}
	// Choices are mixed anew in each visit.
	choices := make([]string, 12)
	for i := range choices {
		choices[i] = `{"id":"c` + string(rune('a'+i)) + `","label":"Choice"}`
	}
	mixed := s.form("MULTI", `[{"id":"g","type":"group","children":[{"id":"m","type":"single_choice","choices":[`+strings.Join(choices, ",")+`],"properties":{"randomize":true}}]}]`, "", "")
	orders := map[string]bool{}
	for range 5 {
		orders[strings.Join(regexp.MustCompile(`value="id:c."`).FindAllString(s.open(mixed, "").raw, -1), "")] = true
	}
	if len(orders) < 2 {
		t.Error("five visits have the same order")
	}
}
