package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

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

// An owner in another time zone says when a form opens: until then its page says so, and afterwards it is filled in.
func TestAFormOpensLater(t *testing.T) {
	s := newOwners(t)
	form := s.draft("Early birds", `[{"id":"a","type":"short_text","label":"A"}]`)
	b := s.ownersTab(1280, 900)
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	h := s.hand(b, false)
	h.start("/"+form.ID.String(), ".outline")
	h.tab("form")
	h.until(`T.control("/openAt")`)
	h.do(typed(`T.control("/openAt").querySelector("input")`, "2090-05-01T09:00"))
	h.saved()
	expect.Must(s.service.As(s.owner).PublishForm(t.Context(), form.ID))
	page := newTab(t, 390, 800)
	page.open(s.url(form, ""))
	page.shows("It opens on 1 May 2090 at 03:30 (UTC).")
	page.until(`!document.querySelector("form")`)
	s.later.Store(int64(time.Until(time.Date(2090, 5, 1, 3, 30, 1, 0, time.UTC))))
	page.open(s.url(form, ""))
	page.set(field("a.a"), "x")
	page.press("next")
	page.until(thanks)
	wantAnswers(t, s.answers(form), map[string]string{"a": `"x"`})
}
