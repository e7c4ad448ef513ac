package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// clickOn clicks with the mouse in the middle of an element.
func clickOn(b respondent, selector string) {
	var at [2]float64
	_ = json.Unmarshal([]byte(b.evaluate(`(() => { const e = document.querySelector(`+quote(selector)+`); e.scrollIntoView({block: "center"}); const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] })()`)), &at)
	b.stroke(at, at)
}

// privacy publishes a form whose checkbox has a link, and counts the requests of the link.
func privacy(s *site) (form formsvc.Form, followed *atomic.Int64) {
	followed = new(atomic.Int64)
	s.mux.HandleFunc("/privacy", func(w http.ResponseWriter, _ *http.Request) {
		followed.Add(1)
		_, _ = w.Write([]byte("privacy"))
	})
	return s.publish("Privacy", "MULTI", formsvc.Definition{Blocks: json.RawMessage(fmt.Sprintf(`[
		{"id":"l","type":"legal","label":"Do you agree?","properties":{"legalType":1,"legalText":"[Privacy](%s/privacy): I agree to all that is written there"}}]`, s.server.URL))}), followed
}

func linksTickNothing(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form, followed := privacy(s)
	opened(b, s.url(form, ""))
	linkAndLabel(t, b, followed)
	press(b, ok)
	b.until(thanks)
	wantAnswers(t, s.answers(form), map[string]string{"l": "true"})
}

func linkAndLabel(t *testing.T, b respondent, followed *atomic.Int64) {
	t.Helper()
	if _, tabs := b.(*tab); tabs && full() { // this takes ten seconds
		clickOn(b, ".opt a")
		for followed.Load() == 0 {
			b.until(`document.querySelector(".opt a").target === "_blank"`)
		}
	} else { // a new tab would hide this page in the other browsers, and stop the tests that follow
		b.do(`const a = document.querySelector(".opt a"); a.target = ""; a.href = "#followed"`)
		clickOn(b, ".opt a")
		b.until(`location.hash === "#followed"`)
	}
	expect.Equal(t, b.evaluate(`document.querySelector(".opt input").checked`), "false", "the box after a click on its link")
	clickOn(b, ".opt .lbl")
	b.until(`document.querySelector(".opt input").checked`)
}

// Without a script, the link works as well.
func TestLinksWithoutScript(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form, followed := privacy(s)
	b := newTabOf(t, false, 390, 800)
	b.open(s.url(form, ""))
	linkAndLabel(t, b, followed)
}

// order is a form that names the respondent, counts a total while they type, and ends with a score.
var order = formsvc.Definition{
	Blocks: json.RawMessage(`[{"id":"name","type":"short_text","label":"Your name"},
		{"id":"n","type":"number","label":"Tickets for {{answers.name}}","properties":{"rule":{"set":{"total":{"*":[{"var":"answers.n"},12.5]}}}}},
		{"id":"sum","type":"statement","label":"**Total**: {{variables.total:2}}","description":"{{answers.name}}"},
		{"id":"more","type":"short_text","label":"More","properties":{"rule":{"show":{">":[{"var":"answers.n"},9]}}}},
		{"id":"break","type":"page_break"},{"id":"q","type":"short_text","label":"Where do you sit, _{{answers.name}}_?"},
		{"id":"end","type":"ending","label":"Thanks, {{answers.name}}","description":"You paid {{variables.total:2}}"}]`),
	Variables: json.RawMessage(`{"total":0}`), Settings: json.RawMessage(`{"submitLabel":"Pay {{variables.total:2}}"}`),
}

func textsFollowAnswers(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Order", "MULTI", order)
	opened(b, s.url(form, ""))
	text := func(selector, want string) {
		t.Helper()
		b.until(`document.querySelector(` + quote(selector) + `)?.textContent === ` + quote(want))
	}
	const name, number = `[data-b=name] input`, `[data-b=n] input`
	text("[data-b=sum] h2", "Total: 0.00")
	// Texts follow while the respondent types: the input keeps the focus and what was typed.
	typeInto(b, name, "Ann <b>")
	text("[data-b=n] label", "Tickets for Ann <b>")
	text("[data-b=sum] .fs-desc", "Ann <b>")
	b.until(`document.activeElement === document.querySelector(` + quote(name) + `) && document.activeElement.value === "Ann <b>"`)
	typeInto(b, number, "3")
	text("[data-b=sum] h2", "Total: 37.50")
	b.until(`document.querySelector("[data-b=sum] h2 strong").textContent === "Total"`)
	b.insert("0")
	text("[data-b=sum] h2", "Total: 375.00")
	b.until(`document.activeElement === document.querySelector(` + quote(number) + `) && document.querySelector("[data-b=more]")`)
	press(b, ok)
	text("[data-b=q] label", "Where do you sit, Ann <b>?")
	text(ok, "Pay 375.00")
	press(b, ok)
	text(".fs-done h1", "Thanks, Ann <b>")
	text(".fs-done .fs-desc", "You paid 375.00")
	b.do(`location.reload()`)
	text(".fs-done .fs-desc", "You paid 375.00")
	expect.Equal(t, b.evaluate(`document.querySelectorAll(".fs b").length`), "0", "elements of the answer")
	wantAnswers(t, s.answers(form), map[string]string{"name": `"Ann <b>"`, "n": "30"})
	// With one question on a page, the content above it follows too.
	one := s.publish("One", "SINGLE", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"t","type":"text","label":"{{answers.n}}"},{"id":"n","type":"short_text","label":"N"},{"id":"m","type":"short_text"}]`)})
	opened(b, s.url(one, ""))
	b.until(`!document.querySelector(".fs-text").offsetWidth`)
	typeInto(b, `[data-b=n] input`, "Ann")
	text(".fs-text", "Ann")
	b.until(`document.activeElement.name === "a.n" && document.querySelector(".fs-text").offsetWidth`)
}

// Without a script, the next page shows the answers.
func TestTextsWithoutScript(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Order", "MULTI", order)
	b := newTabOf(t, false, 390, 800)
	b.open(s.url(form, "?lang=ar"))
	b.set(field("a.name"), "Ann", field("a.n"), "2")
	b.press("next")
	b.shows("Where do you sit, Ann?")
	b.until(`document.querySelector("[data-b=q] bdi").textContent === "Ann" && document.documentElement.dir === "rtl"`)
	b.press("next")
	b.shows("You paid 25.00")
}

// A page with links and insertions has no problems of accessibility.
func TestTextsAreAccessible(t *testing.T) {
	s := newSite(t, formpage.Config{})
	check := axe(t)
	form := s.publish("Order", "MULTI", order)
	legal, _ := privacy(s)
	for _, dark := range []bool{false, true} {
		b := newTab(t, 390, 900)
		b.dark(dark)
		b.open(s.url(form, ""))
		check(b, "an empty page")
		b.set(field("a.name"), "Ann", field("a.n"), "2")
		b.press("next")
		check(b, "the next page")
		b.press("next")
		b.until(thanks)
		check(b, "the ending")
		b.open(s.url(legal, "?l=true"))
		check(b, "a link in a checkbox")
	}
}
