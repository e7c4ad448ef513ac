package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// point is the middle of an element.
func (b *tab) point(selector string) (x, y float64) {
	b.t.Helper()
	p := get(b, chromedp.Evaluate[[]float64](`(() => { const r=document.querySelector(`+quote(selector)+`).getBoundingClientRect(); return [r.left+r.width/2, r.top+r.height/2] })()`))
	return p[0], p[1]
}

// drag moves the mouse or a finger from one element just past the middle of another one.
func (b *tab) drag(touch bool, from, to string) {
	b.t.Helper()
	x, y := b.point(from)
	_, end := b.point(to)
	end += math.Copysign(6, end-y)
	for i, at := range []float64{y, y + (end-y)/2, end, end, end} {
		if touch {
			kind, points := input.DispatchTouchEventTypeTouchMove, []*input.TouchPoint{{X: x, Y: at}}
			switch i {
			case 0:
				kind = input.DispatchTouchEventTypeTouchStart
			case 4:
				kind, points = input.DispatchTouchEventTypeTouchEnd, []*input.TouchPoint{}
			}
			call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
			continue
		}
		kind, pressed := input.DispatchMouseEventTypeMouseMoved, int64(1)
		switch i {
		case 0:
			kind = input.DispatchMouseEventTypeMousePressed
		case 4:
			kind, pressed = input.DispatchMouseEventTypeMouseReleased, 0
		}
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: x, Y: at, Button: input.MouseButtonLeft, Buttons: pressed, ClickCount: 1,
		})
	}
}

// A ranking is put in order by dragging: with a mouse anywhere, with a finger by the
// grip, because elsewhere a finger scrolls.
func TestARankingIsDragged(t *testing.T) {
	s := newSite(t, formpage.Config{})
	for _, touch := range []bool{false, true} {
		form := s.publish("Rank", "MULTI", formsvc.Definition{Blocks: []byte(`[{"id":"r","type":"ranking","label":"Order","required":true,
			"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]}]`)})
		b := newTab(t, 390, 800)
		handle := " .lbl"
		if touch {
			call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
			handle = " .grip"
		}
		b.open(s.url(form, ""))
		b.until(`document.querySelector(".ranking.live")`)
		order := func(want string) {
			t.Helper()
			b.until(`[...document.querySelectorAll(".ranking li")].map(e => e.dataset.label).join("") === ` + quote(want))
		}
		if touch {
			b.drag(true, "[data-label=A] .lbl", "[data-label=C]") // scrolls
			order("ABC")
		}
		b.drag(touch, "[data-label=A]"+handle, "[data-label=C]")
		order("BCA")
		b.drag(touch, "[data-label=A]"+handle, "[data-label=C]")
		order("BAC")
		b.press("next")
		b.shows("Thank you!")
		wantAnswers(t, s.answers(form), map[string]string{"r": `[{"id":"b","label":"B"},{"id":"a","label":"A"},{"id":"c","label":"C"}]`})
	}
}

// A ranking is empty until it is given an order: what it shows is what is sent. Up to 40
// choices have a list of places without a script, more have a number each.
func TestARankingIsEmptyUntilItIsSet(t *testing.T) {
	s := newSite(t, formpage.Config{})
	for _, choices := range []int{3, 41} {
		var list []string
		for i := range choices {
			list = append(list, fmt.Sprintf(`{"id":"c%02d","label":"L%02d"}`, i, i))
		}
		form := s.publish("Rank", "MULTI", formsvc.Definition{Blocks: []byte(`[{"id":"r","type":"ranking","label":"Order","required":true,"choices":[` + strings.Join(list, ",") + `]}]`)})
		order := func(first ...int) string {
			var want []string
			for i := range choices {
				if !slices.Contains(first, i) {
					first = append(first, i)
				}
			}
			for _, i := range first {
				want = append(want, fmt.Sprintf(`{"id":"c%02d","label":"L%02d"}`, i, i))
			}
			return "[" + strings.Join(want, ",") + "]"
		}
		shown := func(b *tab, want string) {
			t.Helper()
			b.until(`[...document.querySelectorAll(".ranking li")].every((li, i) => getComputedStyle(li, "::before").content === ` + want + `)`)
		}
		sent := 0
		send := func(b *tab, want string) {
			t.Helper()
			b.press("next")
			b.shows("Thank you!")
			sent++
			all := s.answers(form)
			expect.Require(t, len(all) == sent, "%d responses, want %d", len(all), sent)
			expect.That(t, slices.ContainsFunc(all, func(a map[string]string) bool { return a["r"] == want }),
				"stored is %v, want %s among it", all, want)
		}

		b := newTab(t, 390, 800)
		b.open(s.url(form, ""))
		b.until(`document.querySelector(".ranking.live")`)
		shown(b, `'"–"'`)
		b.press("next")
		b.shows("Please answer this question.")
		b.until(`document.querySelector(".ranking.live")`)
		shown(b, `'"–"'`)
		b.do(`document.querySelector("[data-ranked]").click()`)
		shown(b, `"counter(r)"`)
		b.until(`document.querySelector("[data-ranked]").hidden && document.activeElement.matches("[data-move]")`)
		send(b, order())

		b.open(s.url(form, ""))
		b.until(`document.querySelector(".ranking.live")`)
		b.do(`document.querySelectorAll("[data-move='-1']")[1].click()`)
		shown(b, `"counter(r)"`)
		send(b, order(1, 0))

		b = newTabOf(t, false, 390, 800)
		b.open(s.url(form, ""))
		b.press("next")
		b.shows("Please answer this question.")
		b.until(`[...document.querySelectorAll(".ranking li :is(select,input)")].every(e => e.value === "" && e.getBoundingClientRect().width > 40) && !document.querySelector("[data-ranked]").checkVisibility()`)
		var pairs []string
		for i := range choices {
			pairs = append(pairs, field(fmt.Sprintf("k.c%02d.r", i)), fmt.Sprint(choices-i))
		}
		b.set(pairs...)
		var reversed []int
		for i := range choices {
			reversed = append(reversed, choices-1-i)
		}
		send(b, order(reversed...))
	}
}

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
			b := newTabOf(t, script, 390, 800)
			b.open(s.url(form, ""))
			expect.That(t, !get(b, chromedp.Evaluate[bool](`document.documentElement.outerHTML.includes("answers.pet")`)),
				"the page has the rules")
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
			refused := get(b, chromedp.Evaluate[[]string](`window.refused || []`))
			expect.That(t, len(refused) == 0, "the page did what its policy refuses: %s", refused)
			b.press("next")
			b.shows("Thank you!")
			wantAnswers(t, s.answers(form), map[string]string{"pet": "true", "name": `"Rex"`, "age": "11"})
		})
	}
}

// A file is chosen and a signature drawn; a mistake elsewhere on the page keeps both.
func TestFilesAndSignatures(t *testing.T) {
	for _, script := range []bool{true, false} {
		s := newSite(t, formpage.Config{})
		form := s.publish("Files", "MULTI", formsvc.Definition{Blocks: []byte(`[{"id":"f","type":"file_upload","label":"File","required":true},
			{"id":"s","type":"signature","label":"Signature"},{"id":"n","type":"short_text","label":"Name","required":true}]`)})
		paper := filepath.Join(t.TempDir(), "paper.txt")
		expect.NoError(t, os.WriteFile(paper, []byte("some text"), 0o600))
		b := newTabOf(t, script, 800, 900)
		b.open(s.url(form, ""))
		b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="u.f"]`), []string{paper}))
		if script {
			b.do(`const c=document.querySelector("canvas"), r=c.getBoundingClientRect(); c.setPointerCapture=()=>{};
				const at=(type,x,y)=>c.dispatchEvent(new PointerEvent(type,{clientX:r.left+x,clientY:r.top+y,pointerId:1,bubbles:true}));
				at("pointerdown",20,20); at("pointermove",90,60); at("pointermove",140,20); at("pointerup",140,20)`)
			b.until(`document.querySelector("[name='u.s']").files.length===1`)
			b.until(`document.querySelector(".picked").innerText.includes("paper.txt") && document.querySelector("[name='u.f']").parentElement.hidden`)
			b.do(`document.querySelector(".picked button").click()`)
			b.until(`!document.querySelector("[name='u.f']").parentElement.hidden`)
			b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="u.f"]`), []string{paper}))
			b.until(`document.querySelector("[name='u.f']").parentElement.hidden`)
		}
		b.press("next")
		b.until(`document.querySelector("#summary") && document.querySelector(".fs-files") && document.body.innerText.includes("paper.txt")`)
		b.set(field("a.n"), "Ada")
		b.press("next")
		b.shows("Thank you!")
		stored := s.answers(form)
		if len(stored) != 1 || !strings.Contains(stored[0]["f"], `"paper.txt"`) || script != strings.Contains(stored[0]["s"], "signature.png") {
			t.Errorf("script %v: stored is %v", script, stored)
		}
	}
}
