package e2e

import (
	"testing"
)

// A choice that a rule uses is deleted and added again: the editor says so at once, at the rule and
// when the form is published. A block that takes several choices afterwards keeps its rules.
func TestRulesThatLoseTheirChoice(t *testing.T) {
	s := newOwners(t)
	check := axe(t)
	t.Run("chromium", func(t *testing.T) {
		b := s.ownersTab(1280, 900)
		s.losesAChoice(s.hand(b, false), func(state string) {
			check(b, state)
			b.shot("rules-" + state)
			b.size(390, 844)
			b.shot("rules-" + state + "-narrow")
			b.size(1280, 900)
		})
	})
	t.Run("firefox", func(t *testing.T) {
		inFull(t)
		s.losesAChoice(s.hand(s.ownersFirefox(t, newFirefox(t)), false), func(string) {})
	})
}

func (s *site) losesAChoice(h hand, look func(state string)) {
	h.t.Helper()
	form := s.draft("Party", `[
		{"id":"come","type":"single_choice","label":"Will you come?","choices":[{"id":"y1","label":"Yes"},{"id":"n1","label":"No"}]},
		{"id":"sorry","type":"statement","label":"Sorry","properties":{"rule":{"show":{"==":[{"var":"answers.come"},"n1"]}}}},
		{"id":"unasked","type":"short_text"},
		{"id":"tel","type":"phone","label":"Phone"}]`)
	toast := `document.querySelector(".toast")?.textContent`
	note := `document.querySelector(".rule-note")?.textContent`
	h.start("/"+form.ID.String(), ".outline")
	h.until(`T.row("unasked").querySelector('[aria-label="Note: The question has no text yet."]') && !T.row("tel").querySelector("[aria-label^=Note]")`)

	h.edit("come")
	h.press(`T.named("Remove “No”")`)
	h.until(toast + `?.includes("1 rule uses this choice.")`)
	look("deleted")
	h.press(`document.querySelector(".toast button")`)
	h.until(`document.querySelector("[data-key=n1]")`)
	h.press(`T.named("Remove “No”")`)
	h.press(`T.named(` + quote(h.word("props.choices_add")) + `)`)
	h.until(`document.activeElement.matches("[data-key]")`)
	h.insert("No")
	h.saved()
	h.edit("sorry")
	h.until(note + `?.includes("This condition never holds: “Will you come?” has no choice “No” any longer.")`)
	look("never")
	h.pressNamed("editor.publish_do")
	h.until(`document.querySelector("dialog[open] .differences:last-child")?.textContent.includes("“Will you come?” has no choice “No” any longer.")`)
	look("publishing")
	h.pressNamed("app.cancel")

	// The rule is repaired. Then the question takes several choices, and a ranking, which no condition fits.
	rule := `document.querySelector(".rule-row")`
	h.choose(`[...`+rule+`.querySelectorAll(".rule-pair select")].at(-1)`, "y1")
	h.until(`!document.querySelector(".rule-note")`)
	h.edit("come")
	h.choose(`T.control("/type").querySelector("select")`, "multiple_choice")
	h.until(toast + `?.includes("1 rule was adapted to this.")`)
	look("adapted")
	h.edit("sorry")
	h.until(rule + `.querySelector(".rule-pair select").value === "has" && !document.querySelector(".rule-note")`)
	h.edit("come")
	h.choose(`T.control("/type").querySelector("select")`, "ranking")
	h.until(toast + `?.includes("1 rule no longer fits: check its conditions.")`)
	h.edit("sorry")
	h.until(note + `?.includes("“Will you come?” has another type of answers now.")`)
	look("unfit")
	h.press(`document.querySelector("[aria-label=Undo]")`)
	h.until(`T.control("/type").querySelector("select").value === "multiple_choice"`)
	h.press(`document.querySelector("[aria-label=Undo]")`) // the type and the rule are one step
	h.edit("sorry")
	h.until(rule + `.querySelector(".rule-pair select").value === "is"`)
	h.saved()
}
