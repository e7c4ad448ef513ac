package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

const twoQuestions = `[{"id":"a","type":"short_text","label":"First"},{"id":"b","type":"number","label":"Second"}]`

// Who selects a block, in the list or on the canvas, has its properties; Ctrl+Z undoes in the editor but in
// a text that is being typed.
func TestASelectedBlockIsEdited(t *testing.T) {
	s := newOwners(t)
	for _, width := range []int64{1280, 390} {
		form := s.draft("Two questions", twoQuestions)
		b := s.ownersTab(width, 800)
		h := s.hand(b, false)
		h.start("/"+form.ID.String(), ".canvas-frame")
		pane := func(n int) { // a narrow window shows one
			b.do(fmt.Sprintf(`const button = document.querySelectorAll(".pane-switch button")[%d]; if (button.checkVisibility()) button.click()`, n))
		}
		shows := func(label string) {
			b.until(`[...document.querySelectorAll("#panel-body [role=textbox]")].some(e => e.textContent === ` + quote(label) + ` && e.checkVisibility())`)
		}
		pane(0)
		b.do(`document.getElementById("tab-form").click()`) // the form's settings
		b.until(`document.querySelector('.outline [data-id="b"]').checkVisibility()`)
		b.click(`.outline [data-id="b"]`)
		shows("Second")
		pane(1)
		b.do(`document.getElementById("tab-design").click()`) // the design
		b.until(canvas + `?.adoptedStyleSheets?.length === 2 && document.querySelector(".canvas-frame").checkVisibility()`)
		b.pressBlock("a")
		shows("First")

		// A switch is not a text: the editor undoes it, with the focus still on it.
		b.do(`document.querySelector("#panel-body input[role=switch]").focus(); document.activeElement.click()`)
		b.until(`document.activeElement.checked`)
		h.key("z", chromedp.ModifierCtrl)
		b.until(`!document.querySelector("#panel-body input[role=switch]").checked`)
		// A text that has the focus and was not typed in is none that is being typed.
		b.do(`document.querySelector("#panel-body input[role=switch]").click()`)
		b.until(`document.querySelector("#panel-body input[role=switch]").checked`)
		b.do(`document.querySelector("#panel-body [role=textbox]").focus()`)
		h.key("z", chromedp.ModifierCtrl)
		b.until(`!document.querySelector("#panel-body input[role=switch]").checked`)
		// In a text that is being typed the browser takes back what was typed, and nothing else.
		b.do(`document.querySelector("#panel-body input[role=switch]").click()`)
		h.click(`document.querySelector("#panel-body [role=textbox]")`)
		h.insert("x")
		b.until(`document.activeElement.textContent.includes("x")`)
		h.key("z", chromedp.ModifierCtrl)
		b.until(`!document.activeElement.textContent.includes("x") && document.querySelector("#panel-body input[role=switch]").checked`)
		b.shot("selected")
		if width == 390 {
			continue // blocks are moved by buttons
		}
		order := func(ids string) { b.until(`T.ids().join() === ` + quote(ids)) }
		b.drag(false, `.outline [data-id="b"]`, `.outline [data-id="a"]`)
		order("b,a")
		h.key("z", chromedp.ModifierCtrl)
		order("a,b")
		h.key("z", chromedp.ModifierCtrl|chromedp.ModifierShift)
		order("b,a")
		b.until(saved)
		expect.Equal(t, s.labels(form), "number Second\nshort_text First", "the form")
	}
}

// The layout of a form is changed like its name: with undo, and in the working copy of a published form.
func TestTheLayoutIsChosenInTheEditor(t *testing.T) {
	s := newOwners(t)
	form := s.sample("feedback")
	before := s.stored(form).Type
	other := map[string]string{"SINGLE": "MULTI", "MULTI": "SINGLE"}[before]
	b := s.ownersTab(1280, 800)
	h := s.hand(b, false)
	h.start("/"+form.ID.String(), ".editor")
	b.do(`document.getElementById("tab-form").click()`)
	b.until(`document.querySelector("#panel-body select")?.value === ` + quote(before))
	b.do(`const s = document.querySelector("#panel-body select"); s.value = ` + quote(other) + `; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	inCopy := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			copied, err := s.service.As(s.owner).WorkingCopy(form.ID).Form(t.Context())
			if err == nil && copied.Type == want {
				return
			}
			expect.Require(t, !time.Now().After(deadline), "the working copy is %s (%v), want %s", copied.Type, err, want)
		}
	}
	inCopy(other)
	expect.Equal(t, s.stored(form).Type, before, "before it is published")
	b.named(h.word("editor.publish"))
	b.asked() // the page shows the layout, too
	b.shows(h.word("forms.layout_" + other))
	b.shot("publish-layout")
	h.key(kb.Escape)
	b.until(`!document.querySelector("dialog")`)
	h.key("z", chromedp.ModifierCtrl)
	inCopy(before)
}

// In dark mode the canvas of a form without dark colors is no white area, and names are in the direction of
// their letters.
func TestTheEditorInTheDark(t *testing.T) {
	s := newOwners(t)
	form := s.draft("نموذج", `[{"id":"a","type":"short_text","label":"ما اسمك؟"}]`)
	b := s.ownersTab(1280, 800)
	h := s.hand(b, false)
	b.dark(true)
	h.start("/"+form.ID.String(), ".canvas-frame")
	b.until(`getComputedStyle(document.querySelector(".canvas-frame")).filter.includes("brightness")`)
	b.until(`getComputedStyle(document.querySelector(".outline-name")).direction === "rtl"`)
	b.until(`getComputedStyle(document.querySelector(".bar-title")).direction === "rtl"`)
	b.shot("dark")
}

// One click shows the form as respondents will see it, with what was typed last.
func TestAPreviewTakesOneClick(t *testing.T) {
	s := newOwners(t)
	form := s.draft("Two questions", twoQuestions)
	b := s.ownersTab(1280, 800)
	h := s.hand(b, false)
	h.start("/"+form.ID.String(), ".canvas-frame")
	b.do(`window.opened = []; window.open = () => { const tab = {location: {}, close() {}}; opened.push(tab); return tab }`)
	b.click(`.outline [data-id="a"]`)
	b.until(`document.querySelector("#panel-body [role=textbox]")`)
	b.do(`const text = document.querySelector("#panel-body [role=textbox]"); text.textContent = "First of all"; text.dispatchEvent(new Event("input", {bubbles: true}))`)
	b.click(".canvas-bar button:first-child")
	b.until(`opened.length === 1 && opened[0].opener === null && opened[0].location.href`)
	b.visit(get(b, chromedp.Evaluate[string](`opened[0].location.href`)))
	b.shows("First of all")
}
