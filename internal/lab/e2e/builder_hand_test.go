package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// tools are the functions by which hands find things on the builder's pages.
const tools = `window.T = {
	shown: e => e && e.checkVisibility() && !e.closest("fieldset:disabled"),
	all: (selector, within=document) => [...within.querySelectorAll(selector)].filter(T.shown),
	top: () => [...document.querySelectorAll("dialog[open]")].at(-1) ?? document,
	named: (text, within=T.top()) => T.all("button,a,summary,[role=tab]", within).find(e => e.textContent.trim() === text || e.getAttribute("aria-label") === text),
	control: path => document.querySelector('#panel-body [data-path~="' + path + '"]'),
	closed: e => { let found; for (let d = e; (d = d.parentElement?.closest("details")); ) if (!d.open) found = d; return found?.querySelector("summary") },
	row: id => document.querySelector('.outline [data-id="' + id + '"]'),
	ids: () => [...document.querySelectorAll(".outline [data-id]")].map(e => e.dataset.id),
	chosen: () => document.querySelector(".outline [aria-current]")?.dataset.id ?? "",
	status: () => document.querySelector("[data-status]")?.dataset.status ?? "",
	stops: () => T.all("a[href],button,input,select,textarea,summary,[tabindex],[contenteditable=true]", T.top()).filter(e => e.tabIndex >= 0 && !e.disabled
		&& (e.type !== "radio" || e.checked || ![...document.getElementsByName(e.name)].some(r => r.checked))),
	// How many times Tab leads from what has the focus to an element. Behind the last stop of Firefox's page its own
	// bars have the focus, and the page has it again when Tab was pressed once for each stop.
	away: e => { const all = T.stops(), on = document.activeElement, passed = all.filter(s => s === on || s.compareDocumentPosition(on) === Node.DOCUMENT_POSITION_FOLLOWING).length;
		return document.hasFocus() ? all.indexOf(e) + 1 - passed : all.length + 1 - passed },
	mine: e => e === document.activeElement,
	say: (select, value) => { select.value = value; select.dispatchEvent(new Event("change", {bubbles: true})) },
	shows: e => { const d = e.closest(".dialog-body, .pane") ?? document.documentElement; e.scrollIntoView({block: "center", behavior: "instant"}); return d },
};`

// word is a text of the builder's pages in English.
func word(t testing.TB, key string) string {
	t.Helper()
	raw := expect.Must(os.ReadFile("../../../handler/builder/words/en.json"))
	var words map[string]map[string]string
	expect.NoError(t, json.Unmarshal(raw, &words))
	area, name, _ := strings.Cut(key, ".")
	text, ok := words[area][name]
	expect.Require(t, ok, "there is no word %s", key)
	return text
}

// window is a page of a browser: a tab of Chromium, or Firefox.
type window interface {
	visit(url string)
	do(statements string)
	until(expression string)
	// evaluate is the JSON of an expression, or of what it promises.
	evaluate(expression string) string
	// key presses keys, which are texts or names of package kb, while modifiers are held.
	key(keys string, modifiers ...chromedp.Modifier)
	// insert puts a text where the cursor is.
	insert(text string)
	clickAt(x, y float64)
	// setFiles chooses a file, in a window of the system.
	setFiles(selector, name string)
}

func asJSON(expression string) string {
	return "(async () => JSON.stringify(await (" + expression + ") ?? null))()"
}

func (b *tab) visit(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
}

func (b *tab) evaluate(expression string) string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](asJSON(expression), chromedp.EvalAwaitPromise))
}

func (b *tab) key(key string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	if len(modifiers) == 0 && len(key) == 1 && (key > " " && key < "\x7f" || key == kb.Enter) {
		// As a keyboard does it, in one event: a key that the page takes goes into no field.
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key, WindowsVirtualKeyCode: int64(strings.ToUpper(key)[0])}
		if key == kb.Enter {
			down.Key = "Enter"
		}
		call(b, input.DispatchKeyEvent, down)
		down.Type, down.Text = input.DispatchKeyEventTypeKeyUp, ""
		call(b, input.DispatchKeyEvent, down)
		return
	}
	b.run(chromedp.KeyEvent(key, chromedp.KeyModifiers(modifiers...)))
}

func (b *tab) insert(text string) {
	b.t.Helper()
	if len(text) <= 6 && strings.IndexFunc(text, func(r rune) bool { return r > 126 || r < 32 }) < 0 {
		b.key(text)
	} else {
		call(b, input.InsertText, input.InsertTextParams{Text: text})
	}
}

func (b *tab) clickAt(x, y float64) {
	b.t.Helper()
	b.run(chromedp.MouseClickXY(x, y))
}

func (b *tab) setFiles(selector, name string) {
	b.t.Helper()
	b.run(chromedp.SetUploadFiles(chromedp.CSS(selector), []string{name}))
}

// ask is the value of an expression.
func ask[T any](h hand, expression string) T {
	h.t.Helper()
	var value T
	got := h.evaluate(expression)
	expect.Require(h.t, json.Unmarshal([]byte(got), &value) == nil, "%s is %s", expression, got)
	return value
}

// hand works on the builder's pages as a person does: with the keyboard alone, or with the mouse and
// keys for texts. Elements are JavaScript expressions.
type hand struct {
	window
	t    testing.TB
	site *site
	keys bool

	choiceLabels map[string]string // of the form that is built, by their ids
}

func (s *site) hand(p window, keys bool) hand { return hand{window: p, t: s.t, site: s, keys: keys} }

// start opens a page of the builder and brings the tools there.
func (h hand) start(path, selector string) {
	h.t.Helper()
	h.visit(h.site.server.URL + "/forms" + path)
	h.until(`document.querySelector(` + quote(selector) + `)?.checkVisibility()`)
	h.do(tools)
}

func (h hand) word(key string) string { return word(h.t, key) }

// to puts the focus on an element: by Tab, or by a click.
func (h hand) to(element string) {
	h.t.Helper()
	h.until("T.shown(" + element + ")")
	if !h.keys {
		h.click(element)
		return
	}
	for range 60 {
		away := ask[int](h, `(() => { const e = `+element+`; return T.mine(e) && document.hasFocus() ? 0 : T.away(e) || 1 })()`)
		switch {
		case away == 0:
			return
		case away > 0:
			h.key(strings.Repeat(kb.Tab, away))
		default:
			h.key(strings.Repeat(kb.Tab, -away), chromedp.ModifierShift)
		}
	}
	h.t.Fatalf("Tab does not lead to %s: the focus is at %s", element, ask[string](h, `document.activeElement.outerHTML.slice(0, 300)`))
}

// click presses the mouse over an element.
func (h hand) click(element string) {
	h.t.Helper()
	at := ask[[]float64](h, `(() => { const e = `+element+`; e.scrollIntoView({block: "nearest", behavior: "instant"});
		let r = e.getBoundingClientRect(); const under = () => { const o = document.elementFromPoint(r.x+r.width/2, r.y+r.height/2); return o && (e.contains(o) || o.contains(e) || o.closest("label")?.control === e) };
		if (!under()) { e.scrollIntoView({block: "center", behavior: "instant"}); r = e.getBoundingClientRect() }
		return [r.x+r.width/2, r.y+r.height/2, under() ? 1 : 0] })()`)
	expect.Require(h.t, at[2] != 0, "something covers %s", element)
	h.clickAt(at[0], at[1])
}

// press presses a button, a link, a switch or a summary.
func (h hand) press(element string) {
	h.t.Helper()
	h.to(element)
	if !h.keys {
		return
	}
	if ask[bool](h, `document.activeElement.matches("input")`) {
		h.key(" ")
	} else {
		h.key(kb.Enter)
	}
}

func (h hand) pressNamed(key string) {
	h.t.Helper()
	h.press("T.named(" + quote(h.word(key)) + ")")
}

// write replaces what is in a field.
func (h hand) write(element, text string) {
	h.t.Helper()
	h.open(element)
	h.to(element)
	h.key("a", chromedp.ModifierCtrl)
	if text == "" {
		h.key(kb.Delete)
	} else {
		h.insert(text)
	}
}

// open opens what hides an element.
func (h hand) open(element string) {
	h.t.Helper()
	h.until(element)
	for range 4 {
		if !ask[bool](h, `!!T.closed(`+element+`)`) {
			return
		}
		h.press(`T.closed(` + element + `)`)
		h.until(`T.shown(` + element + `) || T.closed(` + element + `)`)
	}
}

// choose chooses an option by its value. The list of a select is a window of the system, which no
// mouse of a test reaches.
func (h hand) choose(element, value string) {
	h.t.Helper()
	h.open(element)
	h.until(`[...` + element + `.options].some(o => o.value === ` + quote(value) + `)`)
	if !h.keys {
		h.do(`T.say(` + element + `, ` + quote(value) + `)`)
		return
	}
	h.to(element)
	for range 3 {
		steps := ask[int](h, `(() => { const e = `+element+`; return [...e.options].findIndex(o => o.value === `+quote(value)+`) - e.selectedIndex })()`)
		switch {
		case steps == 0:
			return
		case steps > 40 || steps < -40:
			h.key(ask[string](h, `[...`+element+`.options].find(o => o.value === `+quote(value)+`).text`))
		case steps > 0:
			h.key(strings.Repeat(kb.ArrowDown, steps))
		default:
			h.key(strings.Repeat(kb.ArrowUp, -steps))
		}
	}
	h.until(element + `.value === ` + quote(value))
}

func (h hand) turn(element string, on bool) {
	h.t.Helper()
	h.open(element)
	if ask[bool](h, element+`.checked`) != on {
		h.press(element)
		h.until(element + `.checked === ` + fmt.Sprint(on))
	}
}

// tab_ opens a tab of the panel.
func (h hand) tab(name string) {
	h.t.Helper()
	element := `document.getElementById("tab-` + name + `")`
	if !h.keys {
		h.click(element)
	} else {
		h.to(`document.querySelector("[role=tab][tabindex='0']")`)
		for range 4 {
			if ask[bool](h, `T.mine(`+element+`)`) {
				break
			}
			h.key(kb.ArrowRight)
			h.until(`document.activeElement.matches("[role=tab][aria-selected=true]")`)
		}
	}
	h.until(element + `.ariaSelected === "true"`)
}

// row puts the focus on the row of a block, and chooses it.
func (h hand) row(id string) {
	h.t.Helper()
	row := `T.row(` + quote(id) + `)`
	if !h.keys {
		h.click(row)
		h.until(`T.chosen() === ` + quote(id))
		return
	}
	h.to(`document.querySelector(".outline [tabindex='0']")`)
	steps := ask[int](h, `T.ids().indexOf(`+quote(id)+`) - T.ids().indexOf(document.activeElement.dataset.id)`)
	for range max(steps, -steps) {
		key := kb.ArrowDown
		if steps < 0 {
			key = kb.ArrowUp
		}
		now := ask[string](h, `document.activeElement.dataset.id`)
		h.key(key)
		h.until(`document.activeElement.dataset.id !== ` + quote(now) + ` && T.row(T.chosen()) === document.activeElement`)
	}
	if steps == 0 && ask[bool](h, `T.chosen() === ""`) {
		h.key(kb.Home)
	}
	h.until(`T.chosen() === ` + quote(id))
}

// edit opens the properties of a block.
func (h hand) edit(id string) {
	h.t.Helper()
	h.row(id)
	if h.keys {
		h.key(kb.Enter)
		h.until(`document.querySelector("#panel-body").contains(document.activeElement)`)
	} else if !ask[bool](h, `document.getElementById("tab-block").ariaSelected === "true"`) {
		h.click(`document.getElementById("tab-block")`)
	}
	h.until(`T.control("/type")`)
}

// add adds a block behind the one that is chosen, and returns its id.
func (h hand) add(kind string) string {
	h.t.Helper()
	was := ask[string](h, `T.chosen()`)
	if h.keys {
		h.key("/")
	} else {
		h.click(`document.querySelector(".pane-head button")`)
	}
	h.until(`document.activeElement.matches("dialog [role=combobox]")`)
	option := `document.getElementById("add-` + kind + `")`
	if h.keys {
		h.key(kind)
		for range 8 {
			if ask[bool](h, option+`?.ariaSelected === "true"`) {
				break
			}
			h.key(kb.ArrowDown)
		}
		if !ask[bool](h, option+`?.ariaSelected === "true"`) {
			h.t.Fatalf("no %s: %s; %s", kind, ask[string](h, `document.activeElement.outerHTML.slice(0,300)+document.activeElement.value`), ask[string](h, `document.body.innerText`))
		}
		h.key(kb.Enter)
	} else {
		h.click(option)
	}
	h.until(`!document.querySelector("dialog[open]") && T.chosen() !== ` + quote(was) + ` && document.querySelector("#panel-body").contains(document.activeElement)`)
	return ask[string](h, `T.chosen()`)
}

func (h hand) saved() {
	h.t.Helper()
	h.until(`T.status() === "saved"`)
}

// block is a block as it is wanted, with the id that the page gave it.
type block struct {
	ID         string
	Type       string
	Label      string
	Required   bool
	Properties map[string]any
	Choices    []choiceWanted
	Children   []*block
}

type choiceWanted struct{ ID, Label string }

// build makes a form from nothing, as far as its page can, and returns it as it is stored.
func (h hand) build(want sample) formsvc.Form {
	h.t.Helper()
	h.start("/", ".forms-page")
	h.pressNamed("forms.new")
	h.until(`document.querySelector("dialog[open] [name=type]")`)
	if h.keys {
		h.to(`document.querySelector("dialog [name=type]:checked")`)
		if want.Type == "SINGLE" {
			h.key(kb.ArrowRight)
		}
	} else {
		h.click(fmt.Sprintf(`document.querySelectorAll("dialog [name=type]")[%d]`, map[string]int{"MULTI": 0, "SINGLE": 1}[want.Type]))
	}
	h.write(`document.querySelector("dialog input.input")`, want.Name)
	h.pressNamed("forms.create")
	h.until(`document.querySelector(".pane-outline")`)
	path := ask[string](h, `location.pathname`)
	id := expect.Must(formsvc.ParseID(path[strings.LastIndex(path, "/")+1:]))
	var blocks []*block
	expect.NoError(h.t, json.Unmarshal(want.Definition.Blocks, &blocks))
	ids := map[string]string{} // the page's, by the wanted
	for _, b := range blocks {
		h.block(b, ids)
	}
	h.variables(want.Definition.Variables)
	h.saved()
	made := h.site.stored(formsvc.Form{ID: id})
	var stored []*block
	expect.NoError(h.t, json.Unmarshal(made.Definition.Blocks, &stored))
	choiceIDs(blocks, stored, ids)
	h.choiceLabels = map[string]string{}
	for _, b := range stored {
		for _, c := range b.Choices {
			h.choiceLabels[c.ID] = c.Label
		}
	}
	for i, b := range blocks {
		if rule, _ := b.Properties["rule"].(map[string]any); rule != nil {
			raw, _ := json.Marshal(rule)
			var renamed map[string]any
			expect.NoError(h.t, json.Unmarshal([]byte(rename(string(raw), ids)), &renamed))
			h.edit(stored[i].ID)
			h.rule(renamed)
		}
	}
	if h.keys {
		h.key("s", chromedp.ModifierCtrl)
	}
	h.saved()
	return h.site.stored(made)
}

// block adds a block with all of it but its rule.
func (h hand) block(b *block, ids map[string]string) {
	h.t.Helper()
	if h.keys && ask[bool](h, `document.querySelector("#panel").contains(document.activeElement)`) {
		h.key(kb.Escape)
		h.until(`T.row(T.chosen()) === document.activeElement`)
	}
	ids[b.ID] = h.add(b.Type)
	if b.Label != "" {
		label := `T.control("/label").querySelector("[role=textbox]")`
		h.until(label)
		h.write(label, b.Label)
	}
	if b.Required {
		h.turn(`T.control("/required").querySelector("[role=switch]")`, true)
	}
	h.choices("/choices", b.Choices)
	if parts, ok := b.Properties["addressOrContact"].(map[string]any); ok {
		h.parts(parts)
	}
}

// parts shows and hides the parts of an address; the page hides some of them at first.
func (h hand) parts(want map[string]any) {
	h.t.Helper()
	for _, part := range []string{"firstName", "lastName", "email", "phone", "company", "address", "address2", "zip", "city", "state", "country"} {
		settings, _ := want[part].(map[string]any)
		hidden, _ := settings["hide"].(bool)
		h.turn(`T.control(`+quote("/properties/addressOrContact/"+part+"/hide")+`).querySelector("input")`, !hidden)
	}
}

// choices replaces the choices that a new block has by pasted lines.
func (h hand) choices(pointer string, list []choiceWanted) {
	h.t.Helper()
	if len(list) == 0 {
		return
	}
	at := `T.control(` + quote(pointer) + `)`
	count := at + `.querySelectorAll("ol > li").length`
	old := ask[int](h, count)
	labels := make([]string, len(list))
	for i := range list {
		labels[i] = list[i].Label
	}
	h.press(`T.named(` + quote(h.word("props.add_multiple")) + `, ` + at + `)`)
	h.until(at + `.querySelector(".props-several textarea")`)
	h.write(at+`.querySelector(".props-several textarea")`, strings.Join(labels, "\n"))
	h.press(at + `.querySelector(".props-several .button.primary")`)
	h.until(fmt.Sprintf(`%s === %d && T.mine(%s.querySelector("ol > li:last-child input"))`, count, old+len(list), at))
	for i := range old {
		h.press(at + `.querySelector("ol > li .props-choice > button:last-child")`)
		h.until(fmt.Sprintf(`%s === %d && T.mine(%s.querySelector("ol > li input"))`, count, old+len(list)-i-1, at))
	}
}

// variables adds variables that are 0.
func (h hand) variables(raw json.RawMessage) {
	h.t.Helper()
	var variables map[string]any
	expect.NoError(h.t, json.Unmarshal(raw, &variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		h.tab("data")
		const at = `T.control("/variables")`
		count := at + `.querySelectorAll("li").length`
		was := ask[int](h, count)
		h.write(at+`.querySelector(".props-add input")`, name)
		h.press(at + `.querySelector(".props-add button")`)
		h.until(fmt.Sprintf(`%s === %d`, count, was+1))
	}
}

// choiceIDs finds what ids the page gave to choices.
func choiceIDs(want, got []*block, ids map[string]string) {
	for i := range min(len(want), len(got)) {
		for n := range min(len(want[i].Choices), len(got[i].Choices)) {
			ids[want[i].Choices[n].ID] = got[i].Choices[n].ID
		}
	}
}

// rename replaces ids in a rule, as values and in paths.
func rename(rule string, ids map[string]string) string {
	for from, to := range ids {
		rule = strings.ReplaceAll(rule, quote(from), quote(to))
		rule = strings.ReplaceAll(rule, `"answers.`+from+`"`, `"answers.`+to+`"`)
		rule = strings.ReplaceAll(rule, `"answers.`+from+`.`, `"answers.`+to+`.`)
	}
	return rule
}
