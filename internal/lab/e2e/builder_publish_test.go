package e2e

import "testing"

// The editor and the list say that a form has unpublished changes, both publish them after showing the warnings,
// and then offer the link. Without changes there is nothing to press.
func TestUnpublishedChangesAreShown(t *testing.T) {
	s := newOwners(t)
	check := axe(t)
	t.Run("chromium", func(t *testing.T) {
		b := s.ownersTab(1280, 900)
		s.publishesChanges(s.hand(b, false), func(state string) {
			for _, dark := range []bool{false, true} {
				b.dark(dark)
				check(b, state)
				b.shot("publish-" + state)
				b.size(390, 844)
				b.shot("publish-" + state + "-narrow")
				b.size(1280, 900)
			}
			b.dark(false)
		})
	})
	t.Run("firefox", func(t *testing.T) {
		inFull(t)
		s.publishesChanges(s.hand(s.ownersFirefox(t, newFirefox(t)), false), func(string) {})
	})
}

func (s *site) publishesChanges(h hand, look func(state string)) {
	h.t.Helper()
	form := s.draft("Two questions", twoQuestions)
	publish := `T.named(` + quote(h.word("editor.publish")) + `)`
	unpublished := `[...document.querySelectorAll(".badge")].some(e => e.textContent === ` + quote(h.word("forms.status_unpublished")) + `)`
	link := `document.querySelector("dialog[open] .copied input")?.value.includes("/` + form.PublicID + `")`
	confirm := func() {
		h.t.Helper()
		button := `document.querySelector("dialog[open] .primary")`
		h.until(button + `?.disabled === false`) // the changes are loaded
		h.press(button)
		h.until(link)
	}
	h.start("/"+form.ID.String(), ".outline")
	h.until(`document.querySelector(".bar .badge")?.textContent === ` + quote(h.word("forms.status_draft")))
	h.press(publish)
	confirm()
	look("link")
	h.press(`document.querySelector("dialog[open] header button")`)
	h.until(publish + `.disabled && document.querySelector(".bar .badge").textContent === ` + quote(h.word("forms.status_published")))

	// A change that is taken back is none.
	h.edit("a")
	h.write(`T.control("/label").querySelector("[role=textbox]")`, "First of all")
	h.until(unpublished + ` && !` + publish + `.disabled`)
	look("changed")
	h.press(`document.querySelector("[aria-label=Undo]")`)
	h.until(`!` + unpublished + ` && ` + publish + `.disabled`)
	h.press(`T.named(` + quote(h.word("editor.redo")) + `)`)
	h.until(unpublished + ` && !` + publish + `.disabled`)

	h.start("", ".forms-list")
	h.until(unpublished)
	look("list")
	actions := `[...document.querySelectorAll(".form-row")].find(r => r.textContent.includes("Two questions")).querySelector("[aria-haspopup]")`
	item := func(word string) string { return `T.named(` + quote(h.word(word)) + `)` }
	h.press(actions)
	h.press(item("forms.publish_changes"))
	h.until(`document.querySelector("dialog[open] .differences")`)
	look("list-changes")
	confirm()
	h.press(`document.querySelector("dialog[open] header button")`)
	h.until(`!` + unpublished)
	h.press(actions)
	h.until(item("forms.unpublish") + ` && !` + item("forms.publish_changes"))
}
