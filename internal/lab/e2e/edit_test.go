package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const editBlocks = `[{"id":"name","type":"short_text","label":"Name","required":true},{"id":"meal","type":"single_choice","label":"Meal","choices":[{"id":"fish","label":"Fish"},{"id":"veg","label":"Vegetarian"}]},
	{"id":"paper","type":"file_upload","label":"Membership card"},OLD{"id":"break","type":"page_break"},{"id":"guests","type":"number","label":"Guests"},
	{"id":"terms","type":"legal","label":"Terms","properties":{"legalText":"I accept the terms.","legalType":1}},{"id":"end","type":"ending","label":"See you in spring"}]`

// registered publishes a form and stores a submission, whose question about parking is then deleted.
func (s *site) registered(kind string) (formsvc.Form, formsvc.Submission) {
	s.t.Helper()
	form := s.publish("Spring dinner", kind, formsvc.Definition{
		Blocks:   json.RawMessage(strings.Replace(editBlocks, "OLD", `{"id":"car","type":"short_text","label":"Do you need parking?"},`, 1)),
		Settings: json.RawMessage(`{"showTitle":true,"darkMode":true,"progressBar":true}`),
	})
	submission := expect.Must(s.service.Submit(s.t.Context(), formsvc.SubmitParams{
		FormID: form.ID, Answers: map[string]json.RawMessage{
			"name": json.RawMessage(`"Ada Lovelace"`), "meal": json.RawMessage(`{"id":"fish"}`), "car": json.RawMessage(`"One car, please"`), "guests": json.RawMessage(`2`), "terms": json.RawMessage(`true`),
		},
		HostAnswers: map[string]json.RawMessage{"paper": json.RawMessage(`[{"id":"f1","name":"card.pdf","url":"https://files.example/f1","mime_type":"application/pdf","size":12}]`)},
	}))
	blocks := formsvc.Definition{Blocks: json.RawMessage(strings.Replace(editBlocks, "OLD", "", 1))}
	return expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Definition: blocks})), submission
}

func (s *site) editLink(submission formsvc.Submission) string {
	s.t.Helper()
	return s.server.URL + expect.Must(s.pages.EditPath(submission.FormID, submission.ID, time.Now().Add(time.Hour)))
}

func (s *site) correct(submission formsvc.Submission, answers map[string]json.RawMessage) {
	s.t.Helper()
	expect.Must(s.service.AsHost().UpdateSubmission(s.t.Context(), submission.FormID, submission.ID, formsvc.SubmissionChange{Answers: answers}))
}

// A respondent corrects an answer by link, and another person changes another answer at the same time. The test runs with
// and without the script, in both layouts, in a right-to-left language, and in light and dark. axe-core finds nothing.
func TestARespondentCorrectsAnAnswer(t *testing.T) {
	check := axe(t)
	for _, c := range []struct {
		name, kind, lang string
		script           bool
		width            int64
	}{{"script", "MULTI", "ar", true, 390}, {"plain", "SINGLE", "de", false, 1280}, {"plain-multi", "MULTI", "en", false, 390}, {"script-single", "SINGLE", "en", true, 1280}, {"script-wide", "MULTI", "en", true, 1280}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, formpage.Config{})
			form, submission := s.registered(c.kind)
			link := s.editLink(submission) + "?lang=" + c.lang
			b := newTabOf(t, c.script, c.width, 900)
			b.dark(strings.HasPrefix(c.name, "script-s") || c.name == "plain")
			look := func(state string) {
				t.Helper()
				if c.script {
					check(b, "edit "+c.name+" "+state)
				}
				b.shot("edit-" + c.name + "-" + state)
			}
			last := func() {
				const step = `document.querySelector(".fs-form").dataset.step`
				for at := get(b, chromedp.Evaluate[string](step)); at != "break" && at != "terms"; at = get(b, chromedp.Evaluate[string](step)) {
					b.press("next")
				}
			}
			b.open(link)
			b.until(`document.querySelector("[name='a.name']").value === "Ada Lovelace" && !document.querySelector("[type=file]")`)
			look("first")
			b.set(field("a.name"), "Ada King")
			last()
			look("last")
			if c.script { // what was typed survives a reload
				b.run(chromedp.Reload())
				b.until(`document.querySelector("[name='a.name']")?.value === "Ada King" && document.querySelector("#summary") === null && document.querySelector(".fs-form").dataset.step === ` + quote(map[string]string{"MULTI": "break", "SINGLE": "terms"}[c.kind]))
			}
			s.correct(submission, map[string]json.RawMessage{"meal": json.RawMessage(`{"id":"veg"}`), "name": json.RawMessage(`"A. Lovelace"`)})
			b.press("next")
			b.until(`document.querySelector("#summary dd").textContent === "A. Lovelace" && document.querySelector("[name='a.name']").value === "Ada King"`)
			look("conflict")
			b.press("next")
			b.until(`location.pathname.endsWith("/done") && document.querySelector(".fs-done [href*='/edit/']")`)
			b.shows("See you in spring")
			look("saved")
			wantAnswers(t, s.answers(form), map[string]string{"name": `"Ada King"`, "meal": `{"id":"veg","label":"Vegetarian"}`, "guests": "2", "car": `"One car, please"`, "terms": "true"})

			// The respondent may take the stored answers instead.
			b.do(`document.querySelector(".fs-done [href*='/edit/']").click()`)
			b.until(`document.querySelector("[name='a.name']")?.value === "Ada King" && document.readyState === "complete"`)
			b.set(field("a.name"), "nobody")
			s.correct(submission, map[string]json.RawMessage{"name": json.RawMessage(`"Countess"`)})
			last()
			b.press("next")
			b.until(`document.querySelector("[data-reload]")`)
			b.do(`document.querySelector("[data-reload]").click()`)
			b.until(`document.querySelector("[name='a.name']")?.value === "Countess" && document.readyState === "complete" && !document.querySelector("#summary")`)

			b.set(field("a.name"), "too late")
			s.later.Store(int64(2 * time.Hour))
			b.press("next")
			b.until(`document.querySelector(".fs-screen") && [...document.querySelectorAll(".fs-note dd")].some(e => e.textContent === "too late")`)
			look("expired")
			b.open(link)
			b.until(`document.querySelector(".fs-screen") && !document.querySelector(".fs-note")`)
			wantAnswers(t, s.answers(form), map[string]string{"name": `"Countess"`})
			m := expect.Must(s.service.AsHost().Metrics(t.Context(), form.ID, formsvc.PeriodAll))
			expect.That(t, m.Views == 0 && m.Starts == 0, "the funnel counted %+v", m)
		})
	}
}

func answersAreCorrected(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form, submission := s.registered("MULTI")
	opened(b, s.editLink(submission))
	press(b, choice("a.meal", "id:veg"))
	press(b, `.fs-actions [value=submit]`)
	b.until(thanks + ` && document.querySelector(".fs-done .fs-note")`)
	wantAnswers(t, s.answers(form), map[string]string{"name": `"Ada Lovelace"`, "meal": `{"id":"veg","label":"Vegetarian"}`})
	// Going back shows the page from before, and the same changes are stored once.
	b.do(`history.back()`)
	b.until(`document.querySelector(".fs-form") && document.readyState === "complete"`)
	press(b, choice("a.meal", "id:veg"))
	press(b, `.fs-actions [value=submit]`)
	b.until(thanks)
	states := expect.Must(s.service.AsHost().SubmissionHistory(t.Context(), form.ID, submission.ID))
	expect.Equal(t, len(states), 1, "earlier states")
}
