package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc/handler/formpage"
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
	noError(t, os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n and so on"), 0o600))
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
	if len(stored) == 1 && !strings.Contains(stored[0]["signature"], "signed.png") {
		t.Errorf("the signature is %s", stored[0]["signature"])
	}
}
