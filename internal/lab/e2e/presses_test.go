package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

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
		if n != want {
			t.Fatalf("%d pages were sent, want %d", n, want)
		}
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
			b := newTab(t, width, 600)
			if !script {
				b.noScript()
			}
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
				if covered != "" {
					t.Errorf("script %v, %d px: %s", script, width, covered)
				}
			}
			if seen != 36 {
				t.Errorf("script %v, %d px: %d fields had the focus, want 36", script, width, seen)
			}
			b.shot(fmt.Sprintf("nav-%d", width))
		}
	}
}
