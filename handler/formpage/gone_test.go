package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// What is typed into a form that its owner takes away meanwhile is shown, to be copied; so
// are the names of the files. To all others there is no form, as if there never had been one.
func TestWhatWasTypedIsShownWhenTheFormIsGone(t *testing.T) {
	t.Parallel()
	draft := formsvc.StatusDraft
	for name, end := range map[string]func(*site, formsvc.Form) error{
		"a draft": func(s *site, form formsvc.Form) error {
			_, err := s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{
				Status: &draft, Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"s","type":"long_text","label":"Not yet public"}]`)},
			})
			return err
		},
		"in the trash": func(s *site, form formsvc.Form) error { return s.service.AsHost().TrashForm(s.t.Context(), form.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			dir := must(formpage.NewDir(path, "https://host.example/files/"))
			t.Cleanup(func() { _ = dir.Close() })
			s := newSite(t, formpage.Config{Files: dir, Secret: secret})
			form := s.form("MULTI", `[{"id":"s","type":"long_text","label":"Your story"},{"id":"y","type":"yes_no","label":"Yes?"},{"id":"w","type":"opinion_scale","label":"Weight","properties":{"from":0,"to":500}},{"id":"f","type":"file_upload","label":"File"}]`, "", "")
			p := s.open(form, "lang=de").attach("upload", [3]string{"u.f", "my paper.png", pngBytes}).fill("a.s", "a <long> text", "a.y", "true", "a.w", "137")
			other := s.open(s.form("MULTI", `[{"id":"o","type":"short_text"}]`, "", ""), "")
			noError(t, end(s, form))
			before := must(os.ReadDir(path))
			s.wait(30 * 24 * time.Hour) // however old the page is
			for _, got := range []*page{p.press("next"), p.attach("next", [3]string{"u.f", "another.png", pngBytes})} {
				text := got.text("fs-main")
				for _, want := range []string{"Dieses Formular ist geschlossen", "Your story", "a <long> text", "Weight", "137", "my paper.png"} {
					if got.status != http.StatusGone || !strings.Contains(text, want) {
						t.Errorf("%d, the page lacks %q: %s", got.status, want, text)
					}
				}
				if strings.Contains(text, "true") || strings.Contains(got.raw, "Not yet public") {
					t.Errorf("the page shows what was not typed: %s", text)
				}
			}
			if text := p.attach("next", [3]string{"u.f", "another.png", pngBytes}).text("fs-main"); !strings.Contains(text, "another.png") {
				t.Errorf("the second file is not named: %s", text)
			}
			if after, err := os.ReadDir(path); err != nil || len(after) != len(before) || len(before) == 0 {
				t.Errorf("%d entries in the place for files, %v, want %d as before", len(after), err, len(before))
			}

			absent := strings.Repeat("0", len(form.PublicID))
			ask := func(method, id, state string) string {
				r := httptest.NewRequest(method, "/f/"+id, strings.NewReader(url.Values{"state": {state}, "a.s": {"typed"}, "go": {"next"}}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				s.pages.ServeHTTP(w, r)
				body, header := w.Body.String(), fmt.Sprint(w.Header())
				if found := inPolicy.FindStringSubmatch(header); found != nil {
					body, header = strings.ReplaceAll(body, found[1], ""), strings.ReplaceAll(header, found[1], "")
				}
				return fmt.Sprint(w.Code, header, body)
			}
			state := p.values.Get("state")
			payload, signature, _ := strings.Cut(state, ".")
			for _, given := range [][2]string{
				{http.MethodGet, ""}, {http.MethodGet, state}, {http.MethodPost, ""}, {http.MethodPost, "x.y"}, {http.MethodPost, payload + "." + strings.ToUpper(signature)},
				{http.MethodPost, p.values.Get("f.f")},
			} {
				if got, want := ask(given[0], form.PublicID, given[1]), ask(given[0], absent, given[1]); got != want {
					t.Errorf("%s with %q is told from a form that never was:\n%s\n%s", given[0], given[1], got, want)
				}
			}
			// A visit to another form has no labels of this one.
			if got := ask(http.MethodPost, form.PublicID, other.values.Get("state")); strings.Contains(got, "Your story") || !strings.Contains(got, "typed") {
				t.Errorf("a visit to another form: %s", got)
			}

			// Another process, and one in which the owner had a preview of the draft.
			pages := must(formpage.New(s.service, formpage.Config{Clock: s.clock, Secret: secret}))
			s.pages = pages
			if got := ask(http.MethodPost, form.PublicID, state); !strings.Contains(got, "<dt>s</dt><dd>typed</dd>") {
				t.Errorf("another process: %s", got)
			}
			if name == "a draft" {
				preview := s.link(form.ID)[len(s.server.URL):]
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, preview, nil))
				if got := ask(http.MethodPost, form.PublicID, state); !strings.Contains(w.Body.String(), "Not yet public") || strings.Contains(got, "Not yet public") || !strings.Contains(got, "<dt>s</dt><dd>typed</dd>") {
					t.Errorf("after a preview: %s", got)
				}
			}
		})
	}
}
