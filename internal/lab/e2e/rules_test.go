package e2e

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

const petForm = `[
	{"id":"pet","type":"yes_no","label":"A pet?"},
	{"id":"name","type":"short_text","label":"Its name","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.pet"},true]}}}},
	{"id":"more","type":"group","label":"More","properties":{"rule":{"show":{"==":[{"var":"answers.name"},"Rex"]}}},"children":[{"id":"age","type":"number","label":"Its age"}]},
	{"id":"note","type":"short_text","label":"A note","properties":{"rule":{"require":{"!":{"var":"answers.pet"}}}}},
	{"id":"break","type":"page_break","properties":{"rule":{"show":{">":[{"var":"answers.age"},10]}}}},
	{"id":"old","type":"short_text","label":"How does it keep young?","properties":{"rule":{"show":{">":[{"var":"answers.age"},10]}}}}]`

// The script asks the service for the blocks that an answer calls for, and keeps what was
// typed under one that is gone. Without a script the same page works. No rule leaves the
// service.
func TestRulesStayWithTheService(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, formpage.Config{MinFillTime: -1})
			form := s.publish("Pet", "MULTI", formsvc.Definition{Blocks: json.RawMessage(petForm), Settings: json.RawMessage(`{"numberedQuestions":true}`)})
			b := newTab(t, 390, 800)
			if !script {
				b.noScript()
			}
			b.open(s.url(form, ""))
			if get(b, chromedp.Evaluate[bool](`document.documentElement.outerHTML.includes("answers.pet")`)) {
				t.Error("the page has the rules")
			}
			shown := func(ids, numbers string) {
				t.Helper()
				b.until(`[...document.querySelectorAll(".fs-fields>[data-b]")].map(e => e.dataset.b).join(" ") === ` + quote(ids))
				b.until(`[...document.querySelectorAll(".fs-fields .num")].map(e => e.textContent).join("") === ` + quote(numbers))
			}
			shown("pet note", "1.2.")
			if script {
				b.do(`window.refused = []; addEventListener("securitypolicyviolation", e => refused.push(e.violatedDirective))`)
			}
			b.set(choice("a.pet", "true"), "")
			if !script {
				b.press("next")
			}
			shown("pet name note", "1.2.3.")
			b.set(field("a.name"), "Rex")
			if script {
				shown("pet name more note", "1.2.3.4.")
				b.set(choice("a.pet", "false"), "")
				shown("pet note", "1.2.")
				b.until(`document.querySelector("[data-b=note] input").required`)
				b.set(choice("a.pet", "true"), "")
			} else {
				b.press("next")
			}
			shown("pet name more note", "1.2.3.4.")
			b.set(field("a.age"), "11")
			b.press("next")
			b.until(`document.querySelector("[data-b=old]")`)
			if refused := get(b, chromedp.Evaluate[[]string](`window.refused || []`)); len(refused) > 0 {
				t.Errorf("the page did what its policy refuses: %s", refused)
			}
			b.press("next")
			b.shows("Thank you!")
			wantAnswers(t, s.answers(form), map[string]string{"pet": "true", "name": `"Rex"`, "age": "11"})
		})
	}
}
