package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// keys presses keys, one after the other.
func (b *tab) keys(list ...string) {
	b.t.Helper()
	for _, key := range list {
		b.run(chromedp.KeyEvent(key))
	}
}

// reach presses Tab until an element has the focus, as somebody without a pointer does.
// Every stop on the way shows that it has the focus.
func (b *tab) reach(selector string) {
	b.t.Helper()
	for range 80 {
		state := get(b, chromedp.Evaluate[string](`(() => {
			const e = document.activeElement;
			if (e !== document.body && !e.matches(".fs-main,[tabindex='-1']")) {
				const marked = [e, e.nextElementSibling, e.closest(".opt")].some(m => m && getComputedStyle(m).outlineStyle !== "none" && parseFloat(getComputedStyle(m).outlineWidth) >= 2);
				if (!marked) return "unmarked " + e.outerHTML.slice(0, 200);
			}
			return e.matches(`+quote(selector)+`) ? "there" : "";
		})()`))
		switch state {
		case "there":
			return
		case "":
			b.keys(kb.Tab)
		default:
			b.t.Fatalf("the focus does not show: %s", state)
		}
	}
	b.t.Fatalf("%s is not reached by Tab", selector)
}

func (b *tab) step(id string) {
	b.t.Helper()
	b.until(`document.querySelector("form").dataset.step===` + quote(id))
}

// Every block by keyboard: a ranking, matrices, dates, and a file in the place of a drawn
// signature.
func TestEveryBlockByKeyboardAlone(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.sample("every")
	b := newTab(t, 1280, 800)
	b.open(s.url(form, ""))
	b.reach(`[name="a.short"]`)
	b.keys("word", kb.Tab, "More", kb.Enter, "words", kb.Tab, "ada@example.com")
	b.reach(`[name="a.number"]`)
	b.keys("12")
	b.reach(`[name="a.rating"]`)
	b.keys(" ", kb.ArrowRight)
	b.reach(`[name="a.scale"]`)
	b.keys(" ", kb.ArrowRight)
	b.reach(`[name="a.nps"]`)
	b.keys(" ")
	b.reach(`.fs-actions [value=next]`)
	b.keys(kb.Enter)
	b.step("page2")
	b.reach(`[name="a.yes_no"]`)
	b.keys(" ", kb.ArrowRight)
	b.reach(`[name="a.single"]`)
	b.keys(" ", kb.ArrowUp) // to the own text
	b.reach(`[name="o.single"]`)
	b.keys("mine")
	b.reach(`[name="a.multiple"][value="id:r"]`)
	b.keys(" ")
	b.reach(`[name="a.multiple"][value="id:b"]`)
	b.keys(" ")
	b.reach(`[name="a.picture"]`)
	b.keys(" ", kb.ArrowRight)
	b.reach(`[name="a.dropdown"]`)
	b.keys("M")
	b.reach(`[data-label=Speed] [data-move="-1"]`)
	b.keys(kb.Enter)
	b.until(`document.querySelector(".ranking").innerText.indexOf("Speed") < document.querySelector(".ranking").innerText.indexOf("Price")`)
	b.keys(" ") // the button kept the focus
	b.reach(`[name="r.food.matrix"]`)
	b.keys(" ", kb.ArrowRight, kb.ArrowRight)
	b.reach(`[name="r.people.matrix"]`)
	b.keys(" ")
	b.reach(`.fs-actions [value=next]`)
	b.keys(kb.Enter)
	b.step("page3")
	b.reach(`[name="a.date"]`)
	b.keys("01", "15", "2027")
	b.reach(`[name="d.birthday"]`)
	b.keys("5", kb.Tab, "6", kb.Tab, "1990")
	b.reach(`[name="a.time"]`)
	b.keys("02", "30", "P")
	b.reach(`[name="p.firstName.contact"]`)
	b.keys("Ada", kb.Tab, "Lovelace")
	b.reach(`[name="a.country"]`)
	b.keys("I", "c", "e")
	b.reach(`.fs-actions [value=next]`)
	b.keys(kb.Enter)
	b.step("page4")
	b.reach(`[name="u.files"]`)
	b.reach(`[data-clear]`)
	b.reach(`[name="u.signature"]`)
	picture := filepath.Join(t.TempDir(), "signed.png")
	expect.NoError(t, os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n and so on"), 0o600))
	b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="u.signature"]`), []string{picture})) // the system's own window
	b.until(`document.querySelector(".fs-sign+.fs-drop span").innerText.includes("signed.png")`)
	b.reach(`[name="a.nick"]`)
	b.keys("ace")
	b.reach(`[name="a.legal"]`)
	b.keys(" ")
	b.reach(`.fs-actions [value=next]`)
	b.keys(kb.Enter)
	b.shows("That was all of it")
	stored := s.answers(form)
	wantAnswers(t, stored, map[string]string{
		"short": `"word"`, "long": `"More\nwords"`, "email": `"ada@example.com"`, "number": "12", "rating": "2", "scale": "-1.5", "nps": "0",
		"yes_no": "false", "single": `{"other":"mine"}`, "multiple": `[{"id":"r","label":"Red"},{"id":"b","label":"Blue"}]`,
		"picture": `{"id":"sea","label":"Sea"}`, "dropdown": `{"id":"m","label":"Mouse"}`,
		"ranking": `[{"id":"s","label":"Speed"},{"id":"t","label":"Taste"},{"id":"p","label":"Price"}]`,
		"matrix":  `{"food":{"id":"3","label":"Good"},"people":{"id":"1","label":"Poor"}}`,
		"date":    `"2027-01-15"`, "birthday": `"1990-06-05"`, "time": `"14:30"`, "contact": `{"firstName":"Ada","lastName":"Lovelace"}`,
		"country": `"IS"`, "nick": `"ace"`, "legal": "true",
	})
	expect.That(t, len(stored) != 1 || strings.Contains(stored[0]["signature"], "signed.png"),
		"the signature is %s", stored[0]["signature"])
}

// mouse presses and lets go of the button over the middle of an element. count is 2 for the
// second press of a double click.
func (b *tab) mouse(selector string, count int64) {
	b.t.Helper()
	at := get(b, chromedp.Evaluate[[]float64](`(() => { const e = document.querySelector(`+quote(selector)+`); e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getBoundingClientRect(); return [r.left + r.width/2, r.top + r.height/2] })()`))
	for _, what := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: what, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: count})
	}
}

// enter presses the Enter key; repeated is what a key sends that is held.
func (b *tab) enter(repeated bool) {
	b.t.Helper()
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13, AutoRepeat: &repeated,
	})
}

const ok = `.fs-actions [value=next]`

// One question at a time: a page that nobody has seen is not sent by a press that was meant
// for the one before.
func TestNoQuestionIsSkippedUnseen(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("One by one", "SINGLE", formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"one","type":"single_choice","label":"One","required":true,"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
		{"id":"two","type":"short_text","label":"Two"},{"id":"three","type":"rating","label":"Three"},{"id":"four","type":"short_text","label":"Four"}]`)})
	g := s.gate(form)
	b := newTab(t, 800, 700)
	b.open(g.url)
	// Timers run at once, and pages that are sent are counted.
	b.until(`document.querySelector("[name=viewed]").value`)
	b.do(`const real = setTimeout; window.setTimeout = (f, ms, ...list) => real(f, 0, ...list); window.sent = 0; document.addEventListener("submit", () => window.sent++, true)`)
	sent := func(want int) {
		t.Helper()
		n := get(b, chromedp.Evaluate[int](`new Promise(done => setTimeout(() => setTimeout(() => done(window.sent))))`, chromedp.EvalAwaitPromise))
		expect.Require(t, n == want, "%d pages were sent, want %d", n, want)
	}
	b.mouse(choice("a.one", "id:a"), 1)
	b.until(`document.querySelector("[value='id:a']").checked`)
	sent(0)

	// The network is slow, and somebody presses again and again.
	b.mouse(ok, 1)
	sent(1)
	g.wait(t, 1)
	b.mouse(ok, 1)
	b.mouse(ok, 2)
	b.enter(false)
	g.open()
	b.step("two")
	if n := g.arrived.Load(); n != 1 {
		t.Fatalf("%d pages arrived, want 1", n)
	}

	// A double click whose second press comes when the next page is there already.
	b.do(`window.sent = 0`)
	b.mouse(ok, 1)
	b.step("three")
	b.mouse(ok, 2)
	sent(1)
	b.mouse(choice("a.three", "4"), 2)
	sent(1)
	b.until(`!document.querySelector("[name='a.three']:checked")`)
	// A press of its own does what it says.
	b.mouse(choice("a.three", "4"), 1)
	b.until(`document.querySelector("[name='a.three'][value='4']").checked`)
	b.mouse(ok, 1)
	b.step("four")
	b.mouse(`.fs-actions [value=back]`, 1)
	b.step("three")

	// A key that is held.
	b.do(`window.sent = 0; document.querySelector(` + quote(ok) + `).focus()`)
	b.enter(false)
	b.step("four")
	b.enter(true)
	b.enter(true)
	sent(1)
	b.run(chromedp.KeyEvent("Seen"))
	b.enter(false)
	b.shows("Thank you!")
	wantAnswers(t, s.answers(form), map[string]string{"one": `{"id":"a","label":"A"}`, "two": "", "three": "4", "four": `"Seen"`})
}

// Nothing lies over the field that has the focus, and the bar of progress stays in sight.
func TestTheFocusIsNotCovered(t *testing.T) {
	s := newSite(t, formpage.Config{})
	var blocks []string
	for i := range 12 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"t%d","type":"short_text","label":"Text %d"},{"id":"c%d","type":"single_choice","label":"Choice","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},{"id":"l%d","type":"long_text","label":"Long"}`, i, i, i, i))
	}
	form := s.publish("Long", "MULTI", formsvc.Definition{
		Blocks:   json.RawMessage(`[` + strings.Join(blocks, ",") + `,{"id":"break","type":"page_break"},{"id":"end","type":"short_text"}]`),
		Settings: json.RawMessage(`{"navigation":true,"progressBar":true}`),
	})
	for _, script := range []bool{true, false} {
		for _, width := range []int64{360, 1280} {
			b := newTabOf(t, script, width, 600)
			b.open(s.url(form, ""))
			seen := 0
			for range 60 {
				b.keys(kb.Tab)
				covered := get(b, chromedp.Evaluate[string](`(() => {
					const e = document.activeElement, r = (e.closest(".opt") || e).getBoundingClientRect(), nav = document.querySelector(".fs-nav").getBoundingClientRect();
					if (!e.closest(".fs-fields")) return "out";
					const bar = document.querySelector(".fs-progress").getBoundingClientRect();
					if (scrollY > 100 && Math.abs(bar.top) > 1) return "the progress bar is at " + bar.top;
					if (nav.left < r.right && r.left < nav.right && nav.top < r.bottom && r.top < nav.bottom) return e.name + " is below the bar";
					return r.bottom < 1 || r.top > innerHeight - 1 ? e.name + " is out of sight" : "";
				})()`))
				if covered == "out" {
					break
				}
				seen++
				expect.That(t, covered == "", "script %v, %d px: %s", script, width, covered)
			}
			expect.That(t, seen == 36, "script %v, %d px: %d fields had the focus, want 36", script, width, seen)
			b.shot(fmt.Sprintf("nav-%d", width))
		}
	}
}
