package formpage_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

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
	p.fill("a.a", "typed")
	if p = p.press("next"); p.status != http.StatusOK {
		t.Fatalf("%d %s", p.status, p.text("summary"))
	}
	// Through the link alone, with a tab in a header.
	p = s.open(form, url.Values{"ref": {given}, "utm_source": {given}}.Encode())
	if p = p.press("next"); p.status != http.StatusOK {
		t.Fatalf("%d %s", p.status, p.text("summary"))
	}
	// And through the JSON routes.
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	in := map[string]any{"state": got.State, "hidden": map[string]string{"ref": given}, "utm": map[string]string{"source": given}}
	var path struct{ Faults []any }
	if status, _ := s.ask(http.MethodPost, base+"/path", "", in, &path); status != http.StatusOK || len(path.Faults) != 0 {
		t.Errorf("the path: %d %v", status, path.Faults)
	}
	if status, _ := s.ask(http.MethodPost, base+"/submit", "", in, nil); status != http.StatusCreated {
		t.Errorf("the JSON route: %d", status)
	}
	n := 0
	for submission, err := range s.service.AsHost().Submissions(t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
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
	if n != 3 {
		t.Errorf("%d responses are stored, want 3", n)
	}
}
