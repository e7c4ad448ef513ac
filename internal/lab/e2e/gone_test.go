package e2e

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// What somebody typed into a form that its owner takes away is there to be copied.
func TestWhatWasTypedIntoAFormThatIsGone(t *testing.T) {
	draft := formsvc.StatusDraft
	for _, script := range []bool{true, false} {
		for _, end := range map[string]func(*site, formsvc.Form) error{
			"a draft": func(s *site, form formsvc.Form) error {
				_, err := s.service.As(s.owner).UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Status: &draft})
				return err
			},
			"in the trash": func(s *site, form formsvc.Form) error { return s.service.AsHost().TrashForm(t.Context(), form.ID) },
		} {
			s := newSite(t, formpage.Config{})
			form := s.publish("Story", "SINGLE", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"one","type":"long_text","label":"Your story"},{"id":"two","type":"short_text","label":"Its name"}]`)})
			b := newTab(t, 390, 700)
			if !script {
				b.noScript()
			}
			b.open(s.url(form, ""))
			b.set(field("a.one"), "A long\nstory <b>")
			b.press("next")
			b.step("two")
			b.set(field("a.two"), "Its end")
			if err := end(s, form); err != nil {
				t.Fatal(err)
			}
			b.press("next")
			b.shows("This form is closed")
			b.shows("Your story A long story <b> Its name Its end")
			b.shot("gone-" + map[bool]string{true: "script", false: "plain"}[script])
			b.run(chromedp.Navigate(s.url(form, "")))
			b.shows("There is no form here")
		}
	}
}
