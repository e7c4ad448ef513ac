package formpage_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

func TestTheFunnelCountsPeople(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, "", "")
	p := s.open(form, "")
	if c := s.funnel(form); c.Views != 0 {
		t.Errorf("fetching the page counted %+v", c)
	}
	beacon := func(what, state string) int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/f/"+form.PublicID+"/"+what, strings.NewReader(url.Values{"state": {state}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return s.do(r).status
	}
	if status := beacon("view", "forged.token"); status != http.StatusForbidden {
		t.Errorf("a forged view: %d", status)
	}
	if status := beacon("view", p.values.Get("state")); status != http.StatusNoContent {
		t.Errorf("a view: %d", status)
	}
	p.values.Set("viewed", "1") // as the script does
	p.press("next").fill("a.name", "x").press("next").press("next")
	if c := s.funnel(form); c.Views != 1 || c.Starts != 1 {
		t.Errorf("the funnel is %+v, want one view and one start", c)
	}
	// Without a script the first page that is sent counts for both.
	s.open(form, "").press("next").press("back").press("next")
	if c := s.funnel(form); c.Views != 2 || c.Starts != 2 {
		t.Errorf("the funnel is %+v, want two of each", c)
	}
}
