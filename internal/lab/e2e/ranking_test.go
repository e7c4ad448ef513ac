package e2e

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
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
			if len(all) != sent {
				t.Fatalf("%d responses, want %d", len(all), sent)
			}
			if !slices.ContainsFunc(all, func(a map[string]string) bool { return a["r"] == want }) {
				t.Errorf("stored is %v, want %s among it", all, want)
			}
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

		b = newTab(t, 390, 800)
		b.noScript()
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
