package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
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
	stops: () => T.all("a[href],button,input,select,textarea,summary,[tabindex]", T.top()).filter(e => e.tabIndex >= 0 && !e.disabled
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
	raw, err := os.ReadFile("../../../handler/builder/words/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var words map[string]map[string]string
	if err := json.Unmarshal(raw, &words); err != nil {
		t.Fatal(err)
	}
	area, name, _ := strings.Cut(key, ".")
	text, ok := words[area][name]
	if !ok {
		t.Fatalf("there is no word %s", key)
	}
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
	if got := h.evaluate(expression); json.Unmarshal([]byte(got), &value) != nil {
		h.t.Fatalf("%s is %s", expression, got)
	}
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
	if at[2] == 0 {
		h.t.Fatalf("something covers %s", element)
	}
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
	kind := ask[string](h, element+".type")
	if kind == "date" { // three fields, as the browser's language has them
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			h.t.Fatal(err)
		}
		h.key(kb.ArrowLeft + kb.ArrowLeft + day.Format("01022006"))
		return
	}
	if kind == "datetime-local" {
		at, err := time.Parse("2006-01-02T15:04", text)
		if err != nil {
			h.t.Fatal(err)
		}
		h.key(strings.Repeat(kb.ArrowLeft, 5) + at.Format("01022006") + kb.Tab + at.Format("0304") + at.Format("PM")[:1])
		return
	}
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

// upload chooses a picture, in a window of the system.
func (h hand) upload(element, selector, picture string) {
	h.t.Helper()
	h.open(element)
	raw, err := base64.StdEncoding.DecodeString(picture)
	if err != nil {
		h.t.Fatal(err)
	}
	name := filepath.Join(h.t.TempDir(), "picture.png")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.setFiles(selector, name)
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
	ID          string
	Type        string
	Label       string
	Description string
	Required    bool
	Properties  map[string]any
	Choices     []choiceWanted
	Rows        []choiceWanted `json:"matrix_rows"`
	Columns     []choiceWanted `json:"matrix_columns"`
	Children    []*block
}

type choiceWanted struct {
	ID, Label, Color string
	Image            map[string]any
}

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
	id, err := formsvc.ParseID(path[strings.LastIndex(path, "/")+1:])
	if err != nil {
		h.t.Fatal(err)
	}
	var blocks []*block
	if err := json.Unmarshal(want.Definition.Blocks, &blocks); err != nil {
		h.t.Fatal(err)
	}
	ids := map[string]string{} // the page's, by the wanted
	h.blocks(blocks, ids, false)
	h.section("form", want.Definition.Settings)
	h.section("design", want.Definition.Theme)
	h.data(want)
	h.saved()
	made := h.site.stored(formsvc.Form{ID: id})
	var stored []*block
	if err := json.Unmarshal(made.Definition.Blocks, &stored); err != nil {
		h.t.Fatal(err)
	}
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
			if err := json.Unmarshal([]byte(rename(string(raw), ids)), &renamed); err != nil {
				h.t.Fatal(err)
			}
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

func (h hand) blocks(list []*block, ids map[string]string, inside bool) {
	h.t.Helper()
	for i, b := range list {
		if h.keys && ask[bool](h, `document.querySelector("#panel").contains(document.activeElement)`) {
			h.key(kb.Escape)
			h.until(`T.row(T.chosen()) === document.activeElement`)
		}
		if i > 0 && list[i-1].Type == "group" {
			h.row(ids[list[i-1].ID])
		}
		id := h.add(b.Type)
		ids[b.ID] = id
		if inside && i == 0 { // a new block stands behind its group: it is moved in
			if h.keys {
				h.key(kb.Escape)
				h.until(`T.row(` + quote(id) + `) === document.activeElement`)
				h.key(kb.ArrowUp, chromedp.ModifierAlt)
			} else {
				h.click(`T.row(` + quote(id) + `).parentElement.querySelector(".outline-tools button")`)
			}
			h.until(`T.row(` + quote(id) + `).parentElement.matches(".depth-1")`)
			h.edit(id)
		}
		h.members(b)
		if len(b.Children) > 0 {
			h.row(id)
			h.blocks(b.Children, ids, true)
		}
	}
}

// members sets all of a block but its rule.
func (h hand) members(b *block) {
	h.t.Helper()
	if b.Label != "" {
		h.set("/label", b.Label)
	}
	if b.Description != "" {
		h.set("/description", b.Description)
	}
	if b.Required {
		h.set("/required", true)
	}
	h.choices("/choices", b.Choices)
	h.choices("/matrix_rows", b.Rows)
	h.choices("/matrix_columns", b.Columns)
	h.properties("/properties", b.Type, b.Properties)
}

// partners are members that the control of another one sets.
var partners = map[string]string{"minVal": "min", "maxVal": "max", "leftLabel": "firstLabel", "centerLabel": "secondLabel", "rightLabel": "thirdLabel"}

func (h hand) properties(pointer, kind string, properties map[string]any) {
	h.t.Helper()
	names := slices.Collect(maps.Keys(properties))
	sort.Slice(names, func(i, j int) bool { // switches show fields
		_, a := properties[names[i]].(bool)
		_, b := properties[names[j]].(bool)
		if a != b {
			return a
		}
		return names[i] < names[j]
	})
	for _, name := range names {
		if _, is := partners[name]; is || name == "rule" {
			continue
		}
		h.set(pointer+"/"+name, properties[name])
	}
	if _, ok := properties["maxFileSize"]; !ok && (kind == "file_upload" || kind == "signature") {
		h.set(pointer+"/maxFileSize", false)
	}
}

// set sets a member by its control in the panel.
func (h hand) set(pointer string, value any) {
	h.t.Helper()
	at := `T.control(` + quote(pointer) + `)`
	if !ask[bool](h, `!!`+at) {
		h.until(at)
	}
	inside := func(selector string) string { return at + `.querySelector(` + quote(selector) + `)` }
	kind := ask[string](h, `(() => { const e = `+at+`, has = s => e.querySelector(s);
		return has(".props-parts") ? "parts" : has(".props-week") ? "week" : has(".props-usual") ? "usual" : has("input[type=file]") ? "picture" : has("[role=switch]") ? "switch"
			: has(".props-add") ? "days" : has("select") ? "select" : has(".color") ? "color" : has("textarea,input") ? "text" : "" })()`)
	text := fmt.Sprint(value)
	switch kind {
	case "switch":
		h.turn(inside("[role=switch]"), value.(bool))
	case "select":
		h.choose(inside("select"), text)
	case "usual":
		list := inside("select")
		if ask[bool](h, `[...`+list+`.options].some(o => o.value === `+quote(text)+`)`) {
			h.choose(list, text)
			return
		}
		h.choose(list, "\x00")
		h.write(inside("input"), text)
	case "color":
		h.write(inside("input:not([type=color])"), text)
	case "parts":
		h.parts(pointer, value.(map[string]any))
	case "picture":
		image := value.(map[string]any)
		if picture, ok := image["base64"].(string); ok {
			h.upload(inside("input[type=file]"), `#panel-body [data-path~="`+pointer+`"] input[type=file]`, picture)
			h.until(inside(".props-inside"))
			return
		}
		h.write(inside("[data-key=url]"), image["url"].(string))
	case "week":
		days, _ := value.(float64)
		for i := range 7 { // from Monday
			button := fmt.Sprintf(`%s.querySelectorAll("button")[%d]`, at, i)
			h.open(button)
			off := int(days)>>((i+1)%7)&1 == 1
			if ask[bool](h, button+`.ariaPressed === "false"`) != off {
				h.press(button)
				h.until(button + `.ariaPressed === ` + quote(fmt.Sprint(!off)))
			}
		}
	case "days":
		for _, day := range value.([]any) {
			h.write(inside(".props-add input"), day.(string)[:10])
			h.key(kb.Enter)
			h.until(inside(".props-add input") + `.value === ""`)
		}
	case "text":
		if list, ok := value.([]any); ok {
			texts := make([]string, len(list))
			for i := range list {
				texts[i] = list[i].(string)
			}
			text = strings.Join(texts, ", ")
		}
		field := inside("textarea,input:not([type=checkbox])")
		if kind := ask[string](h, field+".type"); kind == "date" {
			text = text[:10]
		} else if kind == "datetime-local" {
			text = text[:16]
		}
		h.write(field, text)
	default:
		h.t.Fatalf("the control of %s is none that is known: %s", pointer, ask[string](h, at+`.outerHTML.slice(0, 300)`))
	}
}

func (h hand) parts(pointer string, want map[string]any) {
	h.t.Helper()
	for _, part := range []string{"firstName", "lastName", "email", "phone", "company", "address", "address2", "zip", "city", "state", "country"} {
		settings, _ := want[part].(map[string]any)
		for _, member := range []string{"hide", "required"} {
			on, _ := settings[member].(bool)
			box := `T.control(` + quote(pointer+"/"+part+"/"+member) + `).querySelector("input")`
			if member == "required" && ask[bool](h, box+`.disabled`) {
				continue
			}
			h.turn(box, on != (member == "hide"))
		}
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
	h.press(`T.named(` + quote(h.word("props.add_several")) + `, ` + at + `)`)
	h.until(at + `.querySelector(".props-several textarea")`)
	h.write(at+`.querySelector(".props-several textarea")`, strings.Join(labels, "\n"))
	h.press(at + `.querySelector(".props-several .button.primary")`)
	h.until(fmt.Sprintf(`%s === %d && T.mine(%s.querySelector("ol > li:last-child input"))`, count, old+len(list), at))
	for i := range old {
		h.press(at + `.querySelector("ol > li .props-choice > button:last-child")`)
		h.until(fmt.Sprintf(`%s === %d && T.mine(%s.querySelector("ol > li input"))`, count, old+len(list)-i-1, at))
	}
	for i, c := range list {
		if c.Color == "" && c.Image == nil {
			continue
		}
		row := fmt.Sprintf(`%s.querySelector("ol > li:nth-child(%d)")`, at, i+1)
		h.press(row + `.querySelector("[aria-expanded]")`)
		h.until(row + `.querySelector(".props-choice-more")`)
		if picture, ok := c.Image["base64"].(string); ok {
			selector := fmt.Sprintf(`#panel-body [data-path~=%q] ol > li:nth-child(%d) input[type=file]`, pointer, i+1)
			h.upload(row+`.querySelector("input[type=file]")`, selector, picture)
			h.until(row + `.querySelector(".props-inside")`)
		}
		if c.Color != "" {
			h.write(row+`.querySelector(".color input:not([type=color])")`, c.Color)
		}
	}
}

// section sets the settings or the theme.
func (h hand) section(tab string, raw json.RawMessage) {
	h.t.Helper()
	values := map[string]any{}
	if len(raw) == 0 {
		return
	}
	if err := json.Unmarshal(raw, &values); err != nil {
		h.t.Fatal(err)
	}
	h.tab(tab)
	var walk func(pointer string, v map[string]any)
	walk = func(pointer string, v map[string]any) {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + name
			if inner, ok := v[name].(map[string]any); ok && inner["base64"] == nil && inner["url"] == nil {
				walk(at, inner)
				continue
			}
			h.set(at, v[name])
		}
	}
	walk("", values)
}

// data sets variables and hidden fields.
func (h hand) data(want sample) {
	h.t.Helper()
	var variables map[string]any
	var hidden []string
	_ = json.Unmarshal(want.Definition.Variables, &variables) // absent
	_ = json.Unmarshal(want.Definition.HiddenFields, &hidden)
	if len(variables)+len(hidden) == 0 {
		return
	}
	h.tab("data")
	add := func(pointer, name string) {
		at := `T.control(` + quote(pointer) + `)`
		count := at + `.querySelectorAll("li").length`
		was := ask[int](h, count)
		h.write(at+`.querySelector(".props-add input")`, name)
		h.press(at + `.querySelector(".props-add button")`)
		h.until(fmt.Sprintf(`%s === %d`, count, was+1))
	}
	for i, name := range slices.Sorted(maps.Keys(variables)) {
		add("/variables", name)
		row := fmt.Sprintf(`T.control("/variables").querySelectorAll("li")[%d]`, i)
		if text, ok := variables[name].(string); ok {
			h.choose(row+`.querySelector("select")`, "text")
			h.write(row+`.querySelectorAll("input")[1]`, text)
		} else if variables[name] != 0.0 {
			h.write(row+`.querySelectorAll("input")[1]`, fmt.Sprint(variables[name]))
		}
	}
	for _, name := range hidden {
		add("/hidden_fields", name)
	}
}

// choiceIDs finds what ids the page gave to choices, rows and columns.
func choiceIDs(want, got []*block, ids map[string]string) {
	pair := func(a, b []choiceWanted) {
		for i := range min(len(a), len(b)) {
			ids[a[i].ID] = b[i].ID
		}
	}
	for i := range min(len(want), len(got)) {
		pair(want[i].Choices, got[i].Choices)
		pair(want[i].Rows, got[i].Rows)
		pair(want[i].Columns, got[i].Columns)
		choiceIDs(want[i].Children, got[i].Children, ids)
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
