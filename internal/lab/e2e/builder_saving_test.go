package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// offline takes the network of a tab away, or gives it back.
func (b *tab) offline(on bool) {
	b.t.Helper()
	conditions := []*network.Conditions{{Offline: on, DownloadThroughput: -1, UploadThroughput: -1}}
	call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: conditions})
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: on, DownloadThroughput: -1, UploadThroughput: -1})
}

// label is the text of a top-level block, or of a child, in the stored form.
func (s *site) label(form formsvc.Form, id string) string {
	s.t.Helper()
	var find func(list []*block) string
	find = func(list []*block) string {
		for _, b := range list {
			if b.ID == id {
				return b.Label
			}
			if text := find(b.Children); text != "" {
				return text
			}
		}
		return ""
	}
	var blocks []*block
	expect.NoError(s.t, json.Unmarshal(s.stored(form).Definition.Blocks, &blocks))
	return find(blocks)
}

// What was shown as saved is there; what was not is shown as such, and comes back: without network, with
// nobody signed in, after a restart of the server, in a tab that was closed and opened again.
func TestNothingIsLost(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	form := s.draft("Kept", `[{"id":"a","type":"short_text","label":"Zero"},{"id":"b","type":"short_text","label":"Other"}]`)
	b := s.ownersTab(1280, 900)
	h := s.hand(b, true)
	path := "/" + form.ID.String()
	open := func() {
		h.start(path, ".outline")
		h.edit("a")
	}
	want := func(text string) {
		t.Helper()
		h.saved()
		expect.Equal(t, s.label(form, "a"), text, "the page says that all is saved; stored")
	}
	field := `document.querySelector("[data-path='/label'] [role=textbox]")`
	// From here on each state that the page shows is noted.
	watch := `new MutationObserver(() => (window.states ??= []).at(-1) !== T.status() && states.push(T.status())).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true}); window.states = [T.status()]`
	shown := func(status, text string) {
		t.Helper()
		h.until(`T.status() === ` + quote(status))
		got := s.label(form, "a")
		expect.That(t, got != text, "%q is stored already", text)
		if states := get(b, chromedp.Evaluate[string](`states.join()`)); strings.HasSuffix(states, "saved") || strings.Contains(states, "unsaved,saved") {
			t.Errorf("it was shown as saved: %s", states)
		}
	}

	open()
	h.write(field, "First text")
	want("First text")

	b.do(watch)
	b.offline(true)
	h.write(field, "Without network")
	shown("offline", "Without network")
	b.offline(false)
	b.do(`dispatchEvent(new Event("online"))`)
	want("Without network")

	b.do(`window.states = []`)
	s.signIn(b, "")
	h.write(field, "Signed out")
	shown("signed-out", "Signed out")
	b.shows("Signed out, saved on this device")
	s.signIn(b, "owner")
	b.do(`dispatchEvent(new Event("focus"))`)
	want("Signed out")

	// The server goes, and another one takes its place.
	b.do(`window.states = []`)
	address := s.server.Listener.Addr().String()
	s.server.CloseClientConnections()
	s.server.Close()
	h.write(field, "Without server")
	shown("offline", "Without server")
	listener := expect.Must(net.Listen("tcp", address))
	s.server = &httptest.Server{Listener: listener, Config: s.server.Config}
	again := httptest.NewUnstartedServer(s.mux)
	_ = again.Listener.Close()
	again.Listener = listener
	again.Start()
	s.server = again
	t.Cleanup(again.Close)
	b.do(`dispatchEvent(new Event("focus"))`)
	want("Without server")

	// The page goes with edits that the service does not have.
	b.do(`window.states = []`)
	b.offline(true)
	h.write(field, "In a closed tab")
	shown("offline", "In a closed tab")
	s.signIn(b, "") // what a page sends as it goes may pass a network that is gone for it
	b.run(chromedp.Navigate("about:blank"))
	expect.Equal(t, s.label(form, "a"), "Without server", "stored")
	b.offline(false)
	s.signIn(b, "owner")
	open()
	expect.Equal(t, get(b, chromedp.Evaluate[string](field+`.textContent`)), "In a closed tab", "the page that was opened again shows")
	want("In a closed tab")

	// Somebody types and leaves at once.
	h.write(field, "Gone at once")
	b.run(chromedp.Navigate("about:blank"))
	open()
	want("Gone at once")

	// Answers that come late erase nothing that is typed meanwhile.
	b.do(`const real = window.fetch; window.held = []; window.fetch = async (url, o) => { const r = await real(url, o); if (o?.method === "PATCH" && held.length < 2) await new Promise(go => held.push(go)); return r }`)
	text := strings.Repeat("Two hundred. ", 16)
	h.write(field, text[:100])
	h.until(`held.length === 1`)
	h.key(strings.ReplaceAll(text[100:], " ", "_"))
	b.do(`held[0]()`)
	h.until(`held.length === 2`)
	b.do(`held[1]()`)
	want(text[:100] + strings.ReplaceAll(text[100:], " ", "_"))
	expect.Equal(t, get(b, chromedp.Evaluate[string](field+`.textContent`)), s.label(form, "a"), "the field has")
}

// editing is what somebody's random edits need in the page. Only own(id) is changed by this user; blocks
// that begin with s are everybody's. Each edit resolves when the page has drawn it.
const editing = `window.E = {
	frame: () => new Promise(done => setTimeout(done)),
	async choose(id) { T.row(id).click(); await E.frame(); document.getElementById("tab-block").click(); await E.frame(); },
	put(field, text) { if (field.isContentEditable) field.textContent = text; else Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text); field.dispatchEvent(new InputEvent("input", {bubbles: true})) },
	press: (on, key, o = {}) => on.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...o})),
	async label(id, text) { await E.choose(id); E.put(document.querySelector('[data-path="/label"] [role=textbox]'), text); await E.frame() },
	async require(id) { await E.choose(id); document.querySelector('[data-path="/required"] input').click(); await E.frame() },
	async choice(id) { await E.choose(id); T.named("Add choice").click(); await E.frame() },
	async move(id, by) { await E.choose(id); E.press(T.row(id), by < 0 ? "ArrowUp" : "ArrowDown", {altKey: true}); await E.frame() },
	async add(after, text) {
		await E.choose(after); E.press(T.row(after), "/"); await E.frame();
		document.getElementById("add-short_text").click(); await E.frame(); await new Promise(requestAnimationFrame);
		const id = T.chosen(); await E.label(id, text); return id },
	async twin(id) { await E.choose(id); E.press(T.row(id), "d", {ctrlKey: true}); await E.frame(); return T.chosen() },
	async remove(id) { await E.choose(id); E.press(T.row(id), "Delete"); await E.frame() },
	async undo() { E.press(document.body, "z", {ctrlKey: true}); await E.frame() },
	async form(text) { document.getElementById("tab-form").click(); await E.frame(); E.put(document.querySelector('[data-path="/submitLabel"] input'), text); await E.frame() },
	conflicts: () => document.querySelectorAll(".conflict").length,
	async answer(side) { document.querySelectorAll(".conflict")[0].querySelectorAll("button")[side].click(); await E.frame() },
	seen: () => JSON.stringify([...document.querySelectorAll(".outline [data-id]")].map(e => [e.dataset.id, e.closest("li").className.replace(" chosen", "").trim(), e.textContent])),
	// What is drawn in the canvas; innerText has nothing of what is outside the window.
	picture: () => [...document.querySelector(".canvas-frame").contentDocument.querySelectorAll("[data-block]")].map(e => e.dataset.block + " " + e.textContent.trim()).join("\n"),
};`

// somebody edits a form in a browser of their own.
type somebody struct {
	hand
	name   string
	random *rand.Rand
	want   map[string]string // labels of own blocks
	n      int
}

func (p *somebody) run(expression string) string {
	p.t.Helper()
	return ask[string](p.hand, `(async () => String(await `+expression+` ?? ""))()`)
}

func (p *somebody) has(id string) bool {
	return ask[bool](p.hand, `!!T.row(`+quote(id)+`)`)
}

// edit does one random edit.
func (p *somebody) edit() {
	p.t.Helper()
	p.n++
	text := fmt.Sprintf("%s %d", p.name, p.n)
	own := slices.Sorted(func(yield func(string) bool) {
		for id := range p.want {
			if !yield(id) {
				return
			}
		}
	})
	mine := own[p.random.IntN(len(own))]
	shared := fmt.Sprint("s", p.random.IntN(4))
	if p.random.IntN(3) == 0 && ask[int](p.hand, `E.conflicts()`) > 0 {
		p.run(fmt.Sprintf(`E.answer(%d)`, p.random.IntN(2)))
		return
	}
	switch p.random.IntN(14) {
	case 0, 1, 2, 3:
		p.run(fmt.Sprintf(`E.label(%q, %q)`, mine, text))
		p.want[mine] = text
	case 4, 5, 6:
		p.run(fmt.Sprintf(`E.label(%q, %q)`, shared, text))
	case 7:
		p.run(fmt.Sprintf(`E.require(%q)`, shared))
	case 8:
		p.run(fmt.Sprintf(`E.move(%q, %d)`, []string{mine, shared}[p.random.IntN(2)], p.random.IntN(2)*2-1))
	case 9:
		p.run(`E.choice("s3")`)
	case 10:
		id := p.run(fmt.Sprintf(`E.add(%q, %q)`, mine, text))
		p.want[id] = text
	case 11:
		if len(own) > 6 {
			p.run(fmt.Sprintf(`E.remove(%q)`, mine))
			delete(p.want, mine)
			if p.random.IntN(2) == 0 {
				was := ask[string](p.hand, `E.seen()`)
				p.run(`E.undo()`)
				expect.That(p.t, p.has(mine), "%s: undo did not bring %s back: %s", p.name, mine, was)
				p.want[mine] = "?" // its text is what it was
			}
		}
	case 12:
		id := p.run(fmt.Sprintf(`E.twin(%q)`, mine))
		p.want[id] = "?"
	case 13:
		p.run(fmt.Sprintf(`E.form(%q)`, text))
	}
	for id := range p.want {
		if p.want[id] == "?" && p.has(id) {
			p.want[id] = strings.TrimLeft(ask[string](p.hand, `T.row(`+quote(id)+`).querySelector(".outline-name").lastChild.nodeValue`), "0123456789")
		}
	}
}

// Two people edit one form, some of it both: nothing is lost that only one of them wrote, no write is
// refused, and in the end both see the same, which is what is stored.
func TestTwoPeopleEditAForm(t *testing.T) {
	inFull(t)
	const edits = 1000
	s := newOwners(t)
	var blocks []string
	for _, id := range []string{"a0", "a1", "a2", "b0", "b1", "b2", "s0", "s1", "s2"} {
		blocks = append(blocks, fmt.Sprintf(`{"id":%q,"type":"short_text","label":"Begin %s"}`, id, id))
	}
	form := s.draft("Together", `[`+strings.Join(blocks, ",")+`,{"id":"s3","type":"single_choice","label":"Begin s3","choices":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]}]`)
	people := make([]*somebody, 2)
	seed := uint64(29)
	for i, name := range []string{"a", "b"} {
		b := s.ownersTab(1280, 800)
		p := &somebody{hand: s.hand(b, false), name: strings.ToUpper(name), random: rand.New(rand.NewPCG(seed, uint64(i))), want: map[string]string{}}
		for n := range 3 {
			id := fmt.Sprint(name, n)
			p.want[id] = "Begin " + id
		}
		p.start("/"+form.ID.String(), ".outline")
		b.do(editing + `; window.worst = []; new MutationObserver(() => ["refused","gone","read-only","signed-out"].includes(T.status()) && worst.at(-1) !== T.status() && worst.push(T.status())).observe(document.body, {subtree: true, attributes: true, childList: true, characterData: true})`)
		people[i] = p
	}
	order := rand.New(rand.NewPCG(seed, 9))
	for range 2 * edits {
		p := people[order.IntN(2)]
		p.edit()
		if order.IntN(8) == 0 { // looks what the other one did
			p.do(`dispatchEvent(new Event("focus"))`)
		}
	}
	// Both answer what is open, until nothing is and both have seen all.
	settled := false
	for range 40 {
		for _, p := range people {
			p.do(`dispatchEvent(new Event("focus"))`)
			p.until(`["saved","conflict","refused"].includes(T.status())`)
			for ask[int](p.hand, `E.conflicts()`) > 0 {
				p.run(fmt.Sprintf(`E.answer(%d)`, p.random.IntN(2)))
			}
			p.until(`["saved","conflict","refused"].includes(T.status())`)
		}
		a, b := people[0].run(`E.seen()`), people[1].run(`E.seen()`)
		if a == b && people[0].run(`T.status()`)+people[1].run(`T.status()`) == "savedsaved" {
			settled = true
			break
		}
	}
	if !settled {
		t.Fatalf("they do not come to the same form:\n%s %s\n%s %s", people[0].run(`T.status()`), people[0].run(`E.seen()`), people[1].run(`T.status()`), people[1].run(`E.seen()`))
	}
	for _, p := range people {
		expect.Equal(t, p.run(`worst.join()`), "", "%v was told", p.name)
		for id, text := range p.want {
			expect.Equal(t, s.label(form, id), text, "%v %v of", id, p.name)
		}
	}
	people[0].until(`E.picture() !== ""`)
	picture := people[0].run(`E.picture()`)
	people[1].until(`E.picture() === ` + quote(picture))
	var stored []*block
	expect.NoError(t, json.Unmarshal(s.stored(form).Definition.Blocks, &stored))
	ids := make([]string, len(stored))
	for i, b := range stored {
		ids[i] = b.ID
	}
	expect.Equal(t, people[0].run(`T.ids().join()`), strings.Join(ids, ","), "stored")
	t.Logf("%d edits of each, %d blocks", edits, len(stored))
}
