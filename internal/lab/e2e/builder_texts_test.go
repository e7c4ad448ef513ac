package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// textsForm is a form with hostile texts.
const textsForm = `[{"id":"name","type":"short_text","label":"Your **name** <img src=x onerror='window.pwned=1'>"},
	{"id":"who","type":"contact_info","label":"Contact"},
	{"id":"go","type":"statement","label":"Welcome"},{"id":"deal","type":"legal","label":"Terms","properties":{"legalText":"I agree","legalType":1}},
	{"id":"end","type":"ending","label":"[x](javascript:window.pwned=1) {{answers.name}} <script>window.pwned=1</script>","properties":{"buttonText":"Done"}}]`

// writesTexts formats a label, inserts an answer and a link, and returns when all is saved.
func (h hand) writesTexts(form formsvc.Form) {
	h.t.Helper()
	h.start("/"+form.ID.String(), ".outline")
	h.edit("go")
	box := `T.control("/label").querySelector("[role=textbox]")`
	tool := func(label string) string { return `T.named(` + quote(label) + `, T.control("/label"))` }
	source := func(want string) {
		h.t.Helper()
		h.until(`[...` + box + `.childNodes].map(n => n.dataset?.source ?? n.textContent).join("") === ` + quote(want))
	}
	h.write(box, "Hello ")
	h.press(tool("Insert answer"))
	h.press(`T.named("Your name <img src=x onerror='window.pwned=1'>", T.control("/label"))`)
	source("Hello {{answers.name}}")
	h.until(box + `.querySelector(".chip").textContent.startsWith("Your name <img")`)
	h.insert(", read ")
	h.key("b", chromedp.ModifierCtrl)
	h.insert("this")
	h.key(kb.End, chromedp.ModifierCtrl)
	source("Hello {{answers.name}}, read **this**")
	h.insert(" now ")
	h.key("k", chromedp.ModifierCtrl)
	h.until(`document.querySelector("dialog[open]")`)
	h.insert("example.com/a_(b)_c")
	h.press(`document.querySelectorAll("dialog[open] input")[1]`)
	h.insert("our [page]")
	h.key(kb.Enter)
	want := `Hello {{answers.name}}, read **this** now [our \[page\]](https://example.com/a_\(b\)_c)`
	source(want)

	// A chip is removed by one key, and undo brings it back.
	h.key(kb.Home, chromedp.ModifierCtrl)
	for range len("Hello ") {
		h.key(kb.ArrowRight)
	}
	h.key(kb.Delete)
	source(strings.Replace(want, "{{answers.name}}", "", 1))
	h.key("z", chromedp.ModifierCtrl)
	source(want)
	h.key(kb.Enter, chromedp.ModifierShift)
	h.insert("x")
	source(strings.Replace(want, "Hello ", "Hello \nx", 1))
	h.key("z", chromedp.ModifierCtrl)
	h.key("z", chromedp.ModifierCtrl)
	source(want)
	h.saved()
	expect.Equal(h.t, h.site.label(form, "go"), want, "the stored label")
}

func TestTextsInTheBuilder(t *testing.T) {
	s := newOwners(t)
	form := s.draft("Texts", textsForm)
	b := s.ownersTab(1280, 900)
	h := s.hand(b, false)
	h.writesTexts(form)
	check := axe(t)
	b.do(`document.querySelector(".pane-switch button:last-child").click()`) // the panel, in a narrow window
	s.each(b, "texts", check)
	b.do(`window.text = e => e.textContent.replace(/\s+/g, " ").trim()`)
	b.until(`text(T.row("go")).startsWith("Hello ‹Your name <img src=x onerror='window.pwned=1'>›, read this now our [page]")`)
	b.until(`text(` + inCanvas("go") + `).includes("Hello ‹Your name") && ` + inCanvas("go") + `.querySelector("strong")`)
	h.edit("end")
	b.until(`T.control("/label").querySelector(".chip") && !T.control("/properties/buttonText").querySelector("[aria-label=Bold]")`)
	h.edit("deal")
	b.until(`T.control("/properties/legalText").querySelector("[aria-label=Bold]") && !T.control("/properties/legalText").querySelector("[aria-label='Insert answer']")`)
	h.edit("go")
	h.press(`T.named("Insert answer", T.control("/label"))`)
	s.each(b, "texts-menu", check)
	h.key(kb.Escape)
	h.press(`T.named("Link", T.control("/label"))`)
	s.each(b, "texts-link", check)
	h.key(kb.Escape)

	form = expect.Must(s.service.As(s.owner).PublishForm(t.Context(), form.ID))
	sent := s.send(form, time.Time{}, map[string]any{"name": "Ann", "deal": true}, nil)
	s.openOwners(b, "/"+form.ID.String()+"/results/responses", ".responses")
	b.shows("Your name <img src=x onerror='window.pwned=1'>")
	b.visit(s.url(form, "?name=Ann"))
	b.until(`[...document.querySelectorAll("a")].some(a => a.href === "https://example.com/a_(b)_c" && a.textContent === "our [page]")`)
	expect.That(t, !get(b, chromedp.Evaluate[bool](`"pwned" in window`)), "a label ran a script")

	// The response contains the text that was agreed to, also when the owner has changed or deleted the block.
	client := s.service.As(s.owner)
	expect.Must(client.UpdateBlock(t.Context(), form.ID, "deal", json.RawMessage(`{"properties":{"legalText":"Something else"}}`)))
	for _, state := range []string{"changed", "deleted"} {
		s.openOwners(b, "/"+form.ID.String()+"/results/"+sent.ID.String(), ".answers")
		b.until(`[...document.querySelectorAll(".answers div")].some(e => e.innerText.replace(/\s+/g, " ") === "Terms Yes I agree") && !document.body.innerText.includes("Something else")`)
		s.each(b, "consent-"+state, check)
		if state == "changed" {
			expect.Must(client.DeleteBlock(t.Context(), form.ID, "deal"))
		}
	}
}

func TestTextsInOtherBrowsers(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	t.Run("firefox", func(t *testing.T) {
		s.hand(s.ownersFirefox(t, newFirefox(t)), false).writesTexts(s.draft("Texts", textsForm))
	})
	t.Run("webkit", func(t *testing.T) {
		w := newWebKit(t)
		w.size(1280, 900)
		w.visit(s.server.URL + "/forms/")
		w.call("POST", "/cookie", map[string]any{"cookie": map[string]any{"name": userCookie, "value": "owner"}}, nil)
		s.hand(w, false).writesTexts(s.draft("Texts", textsForm))
	})
}
