package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const (
	// edited is the text that is edited on the canvas.
	edited = canvas + `.querySelector(".fs-edit[contenteditable]")`
	saved  = `document.querySelector("[data-status=saved]")`
)

// clickInCanvas clicks an element of the canvas at a position between 0 and 1 of its width, once it no longer moves.
func (b *tab) clickInCanvas(element string, x float64) {
	b.t.Helper()
	b.until(element)
	at := get(b, chromedp.Evaluate[[]float64](fmt.Sprintf(`(async () => {
		const at = () => { const e=%s, f=document.querySelector(".canvas-frame").getBoundingClientRect();
			e.scrollIntoView({block:"center", behavior:"instant"}); const r=e.getBoundingClientRect(); return [f.x+r.x+r.width*%g, f.y+r.y+r.height/2] };
		let last = at();
		for (let still = 0; still < 5; ) { await new Promise(requestAnimationFrame); const now = at(); still = String(now) === String(last) ? still + 1 : 0; last = now }
		return last })()`, element, x), chromedp.EvalAwaitPromise))
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

// editText selects a block and edits one of its texts, at the end. The form may still be moving, so it uses no mouse.
func (b *tab) editText(id, selector string) {
	b.t.Helper()
	text := inCanvas(id) + `.querySelector(` + quote(selector) + `)`
	b.until(text)
	b.do(text + `.click()`)
	b.until(inCanvas(id) + `.classList.contains("picked")`)
	b.do(text + `.click()`)
	b.until(edited + `?.closest("[data-block]").dataset.block === ` + quote(id))
	b.key(kb.End)
}

// labels returns the labels of the stored blocks with their types, in order.
func (s *site) labels(form formsvc.Form) string {
	s.t.Helper()
	var blocks []struct{ Type, Label, Description string }
	expect.NoError(s.t, json.Unmarshal(s.stored(form).Definition.Blocks, &blocks))
	var list []string
	for _, b := range blocks {
		list = append(list, strings.Trim(b.Type+" "+b.Label+" | "+b.Description, " |"))
	}
	return strings.Join(list, "\n")
}

// A form is typed on the canvas with Enter only, and its texts are edited in place.
func TestTypingOnTheCanvas(t *testing.T) {
	s := newOwners(t)
	check := axe(t)
	for _, width := range []int64{1280, 390} {
		form := s.draft("Typed", `[]`)
		b := s.ownersTab(width, 800)
		h := s.hand(b, false)
		b.dark(width == 390)
		s.editing(b, form)
		b.do(tools)
		b.named(h.word("editor.empty_add"))
		b.asked()
		b.key(kb.Enter) // the first type
		b.until(edited)
		for i, label := range []string{"Your **name**?", "And your cat’s?", "Last question"} {
			b.insert(label)
			b.until(edited + `.textContent === ` + quote(label))
			if i == 0 {
				b.until(canvas + `.querySelector(".fs-in input")`) // the service has rendered the new block around the text
				b.until(edited + `.textContent === ` + quote(label) + ` && ` + canvas + `.activeElement === ` + edited)
				b.shot(fmt.Sprintf("authoring-typing-%d", width))
				check(b, "typing on the canvas")
			}
			if i < 2 {
				b.key(kb.Enter)
				b.until(edited + `?.textContent === ""`)
			}
		}
		b.until(canvas + `.querySelectorAll("strong").length === 1`) // the service renders the text that was left
		b.key(kb.Escape)
		b.until(`!` + edited + ` && ` + saved)
		expect.Equal(t, s.labels(form), "short_text Your **name**?\nshort_text And your cat’s?\nshort_text Last question", "the form")
		if width == 390 {
			continue
		}

		// A click in a text of the selected block edits it at that place.
		last := canvas + `.querySelector(".fs-fields > :last-child")`
		b.clickInCanvas(last+`.querySelector(".fs-label")`, 0.003)
		b.until(edited)
		b.insert("The ")
		b.run(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)))
		b.until(edited + `.textContent.startsWith("The")`)
		for range 3 { // the line break, the space and the word
			b.key("z", chromedp.ModifierCtrl)
		}
		b.until(edited + `.textContent === "Last question"`)
		// Another change of the same text is shown, as in the panel.
		b.until(saved)
		other := s.stored(form)
		other.Definition.Blocks = json.RawMessage(strings.Replace(string(other.Definition.Blocks), "Last question", "From elsewhere", 1))
		s.edit(b, form, formsvc.Definition{Blocks: other.Definition.Blocks})
		b.until(edited + `.textContent === "From elsewhere"`)
		// A removed block is no longer edited.
		expect.Must(s.service.As(s.owner).UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(
			`[{"id":"w","type":"welcome","label":"Hello","description":"There"},{"id":"n","type":"number","label":"{{answers.x}} <img src=x onerror=top.hacked=1>"},{"id":"e","type":"ending","label":"Bye","description":"Soon"}]`)}}))
		b.do(`window.dispatchEvent(new Event("focus"))`)
		b.until(`!` + edited + ` && ` + inCanvas("e"))
		for _, text := range []struct{ id, selector, typed string }{{"w", "h2", "1"}, {"w", ".fs-desc", "2"}, {"e", "h1", "3"}, {"e", ".fs-desc", "4"}, {"n", ".fs-label", "5"}} {
			b.editText(text.id, text.selector)
			b.insert(text.typed)
			b.until(edited + `.textContent.endsWith(` + quote(text.typed) + `)`)
		}
		b.key(kb.Escape)
		b.until(`!` + edited + ` && ` + saved)
		expect.Equal(t, s.labels(form), "welcome Hello1 | There2\nnumber {{answers.x}} <img src=x onerror=top.hacked=1>5\nending Bye3 | Soon4", "the form")
		expect.That(t, !get(b, chromedp.Evaluate[bool](`"hacked" in window`)), "a label ran a script")

		// Enter in the panel adds a question, too.
		b.pressBlock("n")
		h.click(labelField)
		b.key(kb.Enter)
		b.until(`T.chosen() !== "n" && document.activeElement === ` + labelField)
		b.insert("Typed in the panel")
		b.until(saved)
		expect.That(t, strings.Contains(s.labels(form), "number Typed in the panel\nending"), "the form is\n%s", s.labels(form))
	}
}

// Texts are edited in all layouts and in groups, and Enter follows the type of the block.
func TestTypingInLayouts(t *testing.T) {
	s := newOwners(t)
	for _, layout := range []string{"MULTI", "SINGLE"} {
		form := s.draft("Layouts", `[{"id":"w","type":"welcome","label":"Hi"},{"id":"g","type":"group","label":"G","children":[]},{"id":"c","type":"single_choice","label":"Choose","required":true,"choices":[{"id":"x","label":"X"}]},{"id":"p","type":"page_break"},{"id":"t","type":"text"}]`,
			func(c *formsvc.FormCreate) {
				c.Type, c.Definition.Settings = layout, json.RawMessage(`{"numberedQuestions":true}`)
			})
		b := s.ownersTab(1280, 800)
		s.editing(b, form)
		b.do(tools)
		typeIn := func(id, selector, text string) {
			t.Helper()
			b.editText(id, selector)
			b.insert(text)
		}
		next := func(text string) {
			t.Helper()
			b.key(kb.Enter)
			b.until(edited + `?.textContent === ""`)
			b.insert(text)
			b.until(edited + `.textContent === ` + quote(text))
		}
		typeIn("w", "h2", "s")
		next("After")
		typeIn("g", "legend", "s")
		next("First")
		next("Second")
		typeIn("c", "legend", "s")
		b.until(edited + `.parentElement.querySelector(".num").textContent === "4." && ` + edited + `.parentElement.querySelector(".req")`)
		next("Again")
		b.until(canvas + `.querySelectorAll("[data-type=single_choice] .opt").length === 3`)
		typeIn("t", ".fs-none", "Text")
		b.key(kb.Escape)
		b.until(`!` + edited + ` && ` + saved)
		var blocks []struct {
			Type, Label string
			Children    []struct{ Type, Label string }
		}
		expect.NoError(t, json.Unmarshal(s.stored(form).Definition.Blocks, &blocks))
		expect.Equal(t, fmt.Sprint(blocks), "[{welcome His []} {short_text After []} {group Gs [{short_text First} {short_text Second}]} {single_choice Chooses []} {single_choice Again []} {page_break  []} {text Text []}]", layout)
		b.until(`[...` + canvas + `.querySelectorAll(".num")].map(e => e.textContent).join() === "1.,2.,3.,4.,5."`)
		for range 2 { // a page break has no text
			b.do(inCanvas("p") + `.querySelector(".fs-none").click()`)
			b.until(inCanvas("p") + `.classList.contains("picked") && !` + edited)
		}
		b.shot("authoring-" + layout)
	}
}

// The button between two blocks adds a block there, with a mouse and at a small size.
func TestAddingBetweenBlocks(t *testing.T) {
	s := newOwners(t)
	for _, width := range []int64{1280, 390} {
		form := s.draft("Two questions", `[{"id":"a","type":"short_text","label":"First"},{"id":"g","type":"group","label":"G","children":[{"id":"c","type":"email","label":"In"}]},{"id":"b","type":"number","label":"Second"},{"id":"e","type":"ending","label":"Bye"}]`)
		b := s.ownersTab(width, 800)
		h := s.hand(b, false)
		s.editing(b, form)
		b.do(tools)
		for i, after := range []string{"a", "c", "b"} {
			b.clickInCanvas(inCanvas(after)+`.querySelector(":scope > .fs-plus")`, 0.5)
			b.asked()
			h.write(`document.querySelector("dialog [role=combobox]")`, "statement")
			b.key(kb.Enter)
			b.until(edited)
			b.insert(fmt.Sprint("New ", i))
			if i == 0 {
				b.until(edited + `.textContent === "New 0"`)
				b.shot(fmt.Sprintf("authoring-plus-%d", width))
			}
		}
		b.key(kb.Escape)
		b.until(`!` + edited + ` && ` + saved)
		var blocks []struct {
			Label    string
			Children []struct{ Label string }
		}
		expect.NoError(t, json.Unmarshal(s.stored(form).Definition.Blocks, &blocks))
		expect.Equal(t, fmt.Sprint(blocks), "[{First []} {New 0 []} {G [{In} {New 1}]} {Second []} {New 2 []} {Bye []}]", "the form")
	}
}

// Blocks are copied, cut and pasted within a form and into another form.
func TestPastingBlocks(t *testing.T) {
	s := newOwners(t)
	check := axe(t)
	from := s.draft("From", `[{"id":"pet","type":"dropdown","label":"Pet","choices":[{"id":"cat","label":"Cat"},{"id":"dog","label":"Dog"}]},
		{"id":"why","type":"short_text","label":"Why {{answers.pet}}?","properties":{"rule":{"show":{"==":[{"var":"answers.pet"},"cat"]},"check":[{"if":{"==":[{"var":"answers.why"},"x"]},"say":"No"}]}}}]`)
	to := s.draft("To", `[{"id":"first","type":"email","label":"Mail"},{"id":"last","type":"ending","label":"Bye"}]`)
	b := s.ownersTab(1280, 800)
	h := s.hand(b, false)
	s.editing(b, from)
	b.do(tools)
	toast := func(key string, params ...string) { b.shows(strings.NewReplacer(params...).Replace(h.word(key))) }
	h.click(`T.row("why")`)
	b.key("c", chromedp.ModifierCtrl)
	b.key("v", chromedp.ModifierCtrl)
	toast("editor.pasted_one")
	b.until(`T.ids().length === 3 && ` + saved)
	b.key("z", chromedp.ModifierCtrl)
	b.until(`T.ids().join() === "pet,why"`)
	h.click(`T.row("why")`)
	b.key("x", chromedp.ModifierCtrl)
	b.until(`T.ids().join() === "pet" && ` + saved)

	s.editing(b, to)
	b.do(tools)
	h.click(`T.row("first")`)
	b.key("v", chromedp.ModifierCtrl)
	toast("editor.pasted_one")
	b.until(`T.ids().length === 3 && ` + saved)
	b.shot("authoring-pasted")
	check(b, "a pasted block")
	var blocks []struct {
		ID, Label  string
		Properties struct{ Rule map[string]json.RawMessage }
	}
	expect.NoError(t, json.Unmarshal(s.stored(to).Definition.Blocks, &blocks))
	pasted := blocks[1]
	expect.That(t, pasted.ID != "why" && pasted.Label == "Why {{answers.pet}}?" && strings.Contains(string(pasted.Properties.Rule["show"]), "answers.pet") &&
		strings.Contains(string(pasted.Properties.Rule["check"]), "answers."+pasted.ID), "pasted %+v", pasted)
	b.named(h.word("app.undo"))
	b.until(`T.ids().join() === "first,last"`)

	// Other texts change nothing, and a text field has its own clipboard.
	paste := func(target, text string) {
		b.do(`const data = new DataTransfer(); data.setData("text/plain", ` + quote(text) + `); ` + target + `.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}))`)
	}
	for _, text := range []string{"Some text", `{"formsvc_blocks":[{"id":"a","type":"evil"}]}`, `{"formsvc_blocks":` + strings.Repeat("[", 50_000)} {
		paste("document.body", text)
		toast("editor.paste_invalid")
	}
	h.click(`T.row("first")`)
	paste(labelField, `{"formsvc_blocks":[{"id":"a","type":"text"}]}`)
	expect.Equal(t, get(b, chromedp.Evaluate[string](`T.ids().join()`)), "first,last", "the blocks")
}

// A user who can no longer change a form can no longer type or add blocks on the canvas.
func TestCanvasIsReadOnly(t *testing.T) {
	var restricted atomic.Bool
	s := newOwners(t, func(c *builder.Config) {
		c.Scopes = func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) {
			if restricted.Load() {
				return []formsvc.Scope{formsvc.ScopeFormsRead}, nil
			}
			return []formsvc.Scope{formsvc.ScopeFormsRead, formsvc.ScopeFormsWrite}, nil
		}
	})
	form := s.draft("Two questions", twoQuestions)
	b := s.ownersTab(1280, 800)
	s.editing(b, form)
	b.do(tools)
	b.pressBlock("a")
	b.clickInCanvas(inCanvas("a")+`.querySelector(".fs-label")`, 0.5)
	b.until(edited)
	restricted.Store(true)
	b.insert("s")
	b.until(`T.status() === "read-only" && !` + edited + ` && !` + canvas + `.querySelector(".fs-plus").checkVisibility()`)
}

// A downloaded form can be imported, a form can be duplicated, and both copies have the same content.
func TestDownloadingAForm(t *testing.T) {
	s := newOwners(t)
	form := s.sample("finder")
	b := s.ownersTab(1280, 800)
	h := s.hand(b, false)
	copied := func(name string) {
		t.Helper()
		b.until(`document.querySelector(".editor") && !location.pathname.endsWith(` + quote(form.ID.String()) + `)`)
		id := expect.Must(formsvc.ParseID(ask[string](h, `location.pathname.split("/").at(-1)`)))
		made, want := expect.Must(s.service.As(s.owner).Form(t.Context(), id)), s.stored(form)
		expect.That(t, made.Name == name && made.Type == want.Type && made.Status == formsvc.StatusDraft, "the copy is %s, %s", made.Name, made.Type)
		for i, section := range made.Definition.Sections() {
			var got, stored any
			expect.NoError(t, errors.Join(json.Unmarshal(*section.Value, &got), json.Unmarshal(*want.Definition.Sections()[i].Value, &stored)))
			expect.That(t, reflect.DeepEqual(got, stored), "%s: %s", section.Name, *section.Value)
		}
	}
	h.start("/"+form.ID.String(), ".editor")
	intercept := `URL.createObjectURL = blob => { window.file = blob; return "#" }; HTMLAnchorElement.prototype.click = function() { window.fileName = this.download }`
	b.do(intercept)
	b.do(`document.getElementById("tab-form").click()`)
	b.named(h.word("forms.download"))
	b.until(`window.fileName === ` + quote(form.Name+".json"))
	inEditor := ask[string](h, `file.text()`)

	h.start("/", ".forms-list")
	b.do(intercept)
	b.do(`document.querySelector(".form-row [aria-haspopup]").click()`)
	b.named(h.word("forms.download"))
	b.until(`window.fileName === ` + quote(form.Name+".json"))
	expect.Equal(t, ask[string](h, `file.text()`), inEditor, "the file from the list")

	name := filepath.Join(t.TempDir(), "form.json")
	expect.NoError(t, os.WriteFile(name, []byte(inEditor), 0o600))
	b.named(h.word("forms.new"))
	b.asked()
	h.press(`[...document.querySelectorAll("dialog [name=start]")].at(-1)`)
	b.until(`document.querySelector("dialog [type=file]")`)
	b.shot("authoring-import")
	b.setFiles("dialog [type=file]", name)
	b.until(`document.querySelector("dialog textarea").value !== ""`)
	b.named(h.word("forms.create"))
	copied(form.Name)

	h.start("/", ".forms-list")
	b.do(`[...document.querySelectorAll(".form-row")].at(-1).querySelector("[aria-haspopup]").click()`) // the other form is newer
	b.named(h.word("forms.duplicate_published"))
	copied(form.Name + " (copy)")
}

// In Firefox and WebKit, a form is typed on the canvas, and a block is copied.
func TestTypingInOtherBrowsers(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	types := func(t *testing.T, p window) {
		form := s.draft("Typed", `[]`)
		h := s.hand(p, false)
		h.start("/"+form.ID.String(), ".canvas-frame")
		h.until(canvas + `?.adoptedStyleSheets?.length === 2`)
		h.pressNamed("editor.empty_add")
		h.until(`document.querySelector("dialog [role=combobox]")`)
		h.key(kb.Enter)
		for i, label := range []string{"One", "Two", "Three"} {
			if i > 0 {
				h.key(kb.Enter)
			}
			h.until(edited + `?.textContent === ""`)
			h.insert(label)
			h.until(edited + `?.textContent === ` + quote(label) + ` && ` + canvas + `.querySelectorAll(".fs-in input").length === ` + fmt.Sprint(i+1))
		}
		h.key("z", chromedp.ModifierCtrl)
		h.until(edited + `?.textContent === ""`)
		h.insert("Three")
		h.key(kb.Escape)
		h.until(`!` + edited + ` && T.row(T.chosen()) === document.activeElement`)
		h.key("c", chromedp.ModifierCtrl)
		h.key("v", chromedp.ModifierCtrl)
		h.until(`T.ids().length === 4 && ` + saved)
		expect.Equal(t, s.labels(form), "short_text One\nshort_text Two\nshort_text Three\nshort_text Three", "the form")
	}
	t.Run("firefox", func(t *testing.T) { types(t, s.ownersFirefox(t, newFirefox(t))) })
	t.Run("webkit", func(t *testing.T) {
		w := newWebKit(t)
		w.size(1280, 900)
		w.visit(s.server.URL + "/forms/")
		w.call("POST", "/cookie", map[string]any{"cookie": map[string]any{"name": userCookie, "value": "owner"}}, nil)
		types(t, w)
	})
}
