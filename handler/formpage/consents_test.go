package formpage_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const textHasChanged = "This text has changed since you opened the page."

// consentForm is the blocks of a form: a consent, and a text on the next page.
func consentForm(properties string) string {
	return `[{"id":"terms","type":"legal","label":"Terms","properties":{` + properties + `}},{"id":"b","type":"page_break"},
		{"id":"name","type":"short_text","label":"Name"},{"id":"b2","type":"page_break"},{"id":"last","type":"short_text","label":"Last"}]`
}

func (s *site) edit(form formsvc.Form, blocks string) {
	s.t.Helper()
	expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(blocks)}}))
}

// texts are the legal texts of the stored responses, newest first.
func (s *site) texts(form formsvc.Form) string {
	s.t.Helper()
	var list []string
	for submission, err := range s.service.AsHost().Submissions(s.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(s.t, err)
		for _, a := range expect.Must(formsvc.DecodeAnswers(submission)) {
			if a.Type == "legal" {
				list = append(list, a.String()+" "+a.LegalText)
			}
		}
	}
	return strings.Join(list, ", ")
}

func accepted(p *page) bool {
	return p.find(func(n *html.Node) bool { return attr(n, "name") == "a.terms" && has(n, "checked") }) != nil
}

// A text that was edited after its page was rendered is shown again, in every layout, whichever page is posted and
// whatever is pressed. Only the consent to the text on the page is stored.
func TestAConsentToATextThatHasChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	const boxes, buttons = `"legalText":"Old text","legalType":1`, `"legalText":"Old text","legalType":0`
	for _, layout := range []struct{ kind, settings string }{{"MULTI", ""}, {"SINGLE", ""}, {"MULTI", `{"singlePage":true}`}, {"SINGLE", `{"singlePage":true}`}} {
		for _, properties := range []string{boxes, buttons} {
			for _, answer := range []string{"true", "false"} {
				if answer == "false" && properties == boxes {
					continue
				}
				for name, changed := range map[string]string{
					"another text": strings.Replace(properties, "Old text", "New [text](https://example.com/)", 1),
					"no text":      strings.Replace(properties, "Old text", "", 1),
				} {
					for presses, press := range []string{"next", "next", "back", "stay", "save"} {
						what := layout.kind + layout.settings + properties + answer + ", " + name + ", " + press
						form := s.form(layout.kind, consentForm(properties), layout.settings, "")
						p := s.open(form, "").fill("a.terms", answer)
						if layout.settings == "" && presses > 0 {
							p = p.press("next").press("next").fill("a.last", "typed")
						}
						s.edit(form, consentForm(changed))
						again := p.press(press).about(what)
						again.require(http.StatusConflict, shows("summary", textHasChanged), responses(form, 0))
						expect.That(t, !accepted(again) && !again.values.Has("a.terms"), "%s: the answer is still there: %v", what, again.values)
						for again.status != http.StatusOK || !strings.Contains(again.url, "/done") {
							if again.find(func(n *html.Node) bool { return attr(n, "name") == "a.terms" && attr(n, "type") != "hidden" }) != nil {
								again.fill("a.terms", answer)
							}
							next := again.press("next").about(what)
							expect.Require(t, next.status == http.StatusOK, "%s: %d %s", what, next.status, next.text("fs-main"))
							again = next
						}
						want := answer + " New text (https://example.com/)"
						if name == "no text" {
							want = answer + " "
						}
						expect.Equal(t, s.texts(form), want, what)
					}
				}
			}
		}
	}
}

// Nothing is asked again if the text is the same, or for a block that the respondent does not see.
func TestAConsentToATextThatIsTheSame(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", consentForm(`"legalText":"Old text"`), "", "")
	other := s.form("MULTI", consentForm(`"legalText":"Old text"`), "", "")
	p := s.open(form, "").fill("a.terms", "true").press("next")
	s.edit(other, consentForm(`"legalText":"New text"`))
	s.edit(form, strings.Replace(consentForm(`"legalText":"Old text","legalStopFurther":true`), "Terms", "Our terms", 1))
	p.press("next").press("next").expect(http.StatusOK, at("/done"))
	expect.Equal(t, s.texts(form), "true Old text", "stored")

	p = s.open(other, "").fill("a.terms", "true").press("next")
	s.edit(other, `[{"id":"terms","type":"legal","properties":{"legalText":"Newer","rule":{"show":{"==":[{"var":"answers.name"},"Ann"]}}}},{"id":"name","type":"short_text"}]`)
	p.press("next").expect(http.StatusOK, at("/done"))
	expect.Equal(t, s.texts(other), "", "stored off the path")

	// A text that is deleted with its block is no text to copy.
	p = s.open(form, "").fill("a.terms", "true")
	s.edit(form, `[{"id":"name","type":"short_text"}]`)
	p.press("next").require(http.StatusOK, hides("summary", "true")).press("next").expect(http.StatusOK, at("/done"))
}

// An answer that says nothing of its text is no consent: of a page of another version, or of a client that makes up
// the value.
func TestAConsentWithoutItsText(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Secret: secret})
	form := s.form("MULTI", `[{"id":"terms","type":"yes_no"}]`, "", "")
	p := s.open(form, "").fill("a.terms", "true")
	s.edit(form, `[{"id":"terms","type":"legal","properties":{"legalText":"A text"}}]`)
	p.press("next").expect(http.StatusConflict, shows("summary", textHasChanged), responses(form, 0))
	for _, value := range []string{"true", "false", "true.", "true.AAAAAAAAAAAAAAAAAAAAAA", "false.AAAAAAAAAAAAAAAAAAAAAA"} {
		p = s.open(form, "")
		p.values.Set("a.terms", value)
		got := p.press("next").about(value)
		expect.That(t, got.status == http.StatusConflict || value == "true." && got.status == http.StatusUnprocessableEntity, "%s: status %d", value, got.status)
		got.expect(anyStatus, responses(form, 0))
	}
	preview := s.get(s.link(form.ID)).fill("a.terms", "true")
	s.edit(form, `[{"id":"terms","type":"legal","properties":{"legalText":"Another text"}}]`)
	preview.press("next").about("a preview").expect(http.StatusConflict, shows("summary", textHasChanged))
}

// A text that changes between the check of the page and the submission is not stored either.
func TestATextThatChangesDuringTheSubmission(t *testing.T) {
	t.Parallel()
	var s *site
	var form formsvc.Form
	edits := 1
	s = newSite(t, formpage.Config{MinFillTime: -1, Submit: func(ctx context.Context, r formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error) {
		if edits--; edits == 0 {
			s.edit(form, `[{"id":"terms","type":"legal","properties":{"legalText":"New text"}}]`)
		}
		return next(ctx, r)
	}})
	form = s.form("MULTI", `[{"id":"terms","type":"legal","properties":{"legalText":"Old text"}}]`, "", "")
	p := s.open(form, "").fill("a.terms", "true").press("next")
	p.require(http.StatusUnprocessableEntity, shows("summary", textHasChanged), responses(form, 0))
	p = p.press("next").require(http.StatusConflict, shows("summary", textHasChanged), responses(form, 0))
	p.fill("a.terms", "true").press("next").expect(http.StatusOK, at("/done"))
	expect.Equal(t, s.texts(form), "true New text", "stored")
}

// A saved consent comes back if the form has not changed since. Otherwise it must be given again, also if another
// device has saved it.
func TestSavedConsents(t *testing.T) {
	t.Parallel()
	s := newLater(t, formpage.Config{})
	form := s.form("SINGLE", consentForm(`"legalText":"Old text"`), "", "")
	s.wait(2 * time.Minute)
	p := s.open(form, "").fill("a.terms", "true").press("next").fill("a.name", "Ann")
	link := p.later()
	same := s.follow(link).press("back")
	expect.That(t, accepted(same), "the consent does not come back")

	s.wait(time.Minute)
	s.edit(form, consentForm(`"legalText":"New text"`))
	got := s.follow(link).require(http.StatusOK, value("a.name", "Ann"))
	again := got.press("next").require(http.StatusConflict, shows("summary", textHasChanged))
	expect.That(t, !accepted(again), "the box is ticked")
	// A page that has taken over nothing yet does not take over the old consent.
	fresh := s.open(form, "")
	fresh.values.Set("half", got.values.Get("half"))
	expect.That(t, !accepted(fresh.press("next").press("back")), "the page takes over the consent to the old text")

	done := again.fill("a.terms", "true").press("next").press("next").press("next")
	done.expect(http.StatusOK, at("/done"))
	expect.Equal(t, s.texts(form), "true New text", "stored")
}

// A front end can send the texts that it has shown.
func TestLegalTextsOfAFrontEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"terms","type":"legal","properties":{"legalText":"Our **text**"}}]`, "", "")
	base := s.server.URL + "/f/" + form.PublicID
	var got struct {
		State, Code string
		Blocks      []struct{ Properties struct{ LegalText string } }
		Faults      []struct{ Field, Code, Message string }
	}
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	expect.Equal(t, got.Blocks[0].Properties.LegalText, "Our **text**", "the text of form.json")
	send := func(texts any) int {
		status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": got.State, "answers": map[string]any{"terms": true}, "legal_texts": texts}, &got)
		return status
	}
	expect.Equal(t, send(map[string]string{"terms": "Old text"}), http.StatusUnprocessableEntity, "another text")
	expect.That(t, len(got.Faults) == 1 && got.Faults[0].Field == "terms" && got.Faults[0].Code == "NOT_ALLOWED" && strings.HasPrefix(got.Faults[0].Message, textHasChanged), "%+v", got.Faults)
	expect.Equal(t, send(map[string]string{"terms": "Our **text**", "gone": "x"}), http.StatusCreated, "the text of form.json")
	expect.Equal(t, send([]string{"Our **text**"}), http.StatusBadRequest, "a list")
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	expect.Equal(t, send(nil), http.StatusCreated, "no text")
	expect.Equal(t, s.texts(form), "true Our text, true Our text", "stored")
}
