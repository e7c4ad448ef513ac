package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// The script evaluates every case of internal/logic in the browser as the service does.
func TestRulesComeToTheirResultsInTheBrowser(t *testing.T) {
	raw, err := os.ReadFile("../logic/testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, formpage.Config{BrowserRules: true})
	b := newTab(t, 800, 800)
	b.open(s.url(s.sample("finder"), ""))
	wrong := get(b, chromedp.Evaluate[string](`(() => {
		const {example, cases} = `+string(raw)+`, {readable, evaluate} = formsvcRules, wrong = [];
		const written = v => typeof v === "number" && !Number.isFinite(v) ? {number: String(v)} : Object.is(v, -0) ? 0 : Array.isArray(v) ? v.map(written) : v;
		const sorted = v => Array.isArray(v) ? v.map(sorted) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map(k => [k, sorted(v[k])])) : v;
		for (const c of cases) {
			const got = c.unreadable ? "" : written(evaluate(c.rule, c.example ? example : c.data ?? null)), want = c.unreadable ? "" : c.result;
			if (readable(c.rule) === !!c.unreadable || JSON.stringify(sorted(got)) !== JSON.stringify(sorted(want))) wrong.push(JSON.stringify(c.rule)+" is "+JSON.stringify(got));
		}
		if (cases.length < 500) wrong.push(cases.length + " cases");
		return wrong.slice(0, 5).join("\n");
	})()`))
	if wrong != "" {
		t.Error(wrong)
	}
}

const petForm = `[
	{"id":"pet","type":"yes_no","label":"A pet?"},
	{"id":"name","type":"short_text","label":"Its name","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.pet"},true]}}}},
	{"id":"more","type":"group","label":"More","properties":{"rule":{"show":{"==":[{"var":"answers.name"},"Rex"]}}},"children":[{"id":"age","type":"number","label":"Its age"}]},
	{"id":"note","type":"short_text","label":"A note","properties":{"rule":{"require":{"!":{"var":"answers.pet"}}}}},
	{"id":"break","type":"page_break","properties":{"rule":{"show":{">":[{"var":"answers.age"},10]}}}},
	{"id":"old","type":"short_text","label":"How does it keep young?","properties":{"rule":{"show":{">":[{"var":"answers.age"},10]}}}}]`

// Where the host allows it, blocks come and go without a request. What was typed under
// one that is gone stays on the page, and is not sent.
func TestBlocksComeAndGoAtOnce(t *testing.T) {
	s := newSite(t, formpage.Config{BrowserRules: true})
	form := s.publish("Pet", "MULTI", formsvc.Definition{Blocks: json.RawMessage(petForm), Settings: json.RawMessage(`{"numberedQuestions":true,"progressBar":true}`)})
	b := newTab(t, 390, 800)
	b.open(s.url(form, ""))
	b.until(`document.querySelector(".fs>form[hidden] [data-b=name]")`)
	asked := func() int { urls, _ := b.requests.list(); return len(urls) }
	shown := func(ids, numbers string) {
		t.Helper()
		b.until(`[...document.querySelectorAll(".fs-fields>[data-b]")].map(e => e.dataset.b).join(" ") === ` + quote(ids))
		b.until(`[...document.querySelectorAll(".fs-fields .num")].map(e => e.textContent).join("") === ` + quote(numbers))
	}
	sent := func(name, value string) {
		t.Helper()
		b.until(`(new FormData(document.querySelector(".fs-form")).getAll(` + quote(name) + `).join("|")) === ` + quote(value))
	}
	shown("pet note", "1.2.")
	b.until(`document.querySelector("[data-b=note] input").required && !document.querySelector("[data-b=note] .req").hidden`)
	b.set(field("a.note"), "typed")
	b.until(`sessionStorage.length > 0`)
	before := asked()
	b.set(choice("a.pet", "true"), "")
	shown("pet name note", "1.2.3.")
	b.until(`!document.querySelector("[data-b=note] input").required && document.querySelector("[data-b=note] .req").hidden`)
	b.set(field("a.name"), "Rex")
	shown("pet name more note", "1.2.3.4.")
	b.until(`document.querySelector(".fs-actions button").textContent === "Submit"`)
	b.set(field("a.age"), "11")
	b.until(`document.querySelector(".fs-actions button").textContent === "Continue" && !document.querySelector(".fs-progress") `)
	sent("seen", "note|age|name|pet")
	b.set(choice("a.pet", "false"), "")
	shown("pet note", "1.2.")
	sent("a.name", "")
	sent("a.age", "")
	sent("seen", "note|pet")
	b.set(choice("a.pet", "true"), "")
	shown("pet name more note", "1.2.3.4.")
	sent("a.name", "Rex")
	sent("a.age", "11")
	b.set(choice("a.pet", "false"), "")
	shown("pet note", "1.2.")
	if n := asked() - before; n > 1 { // the start is counted
		t.Errorf("%d requests were made meanwhile", n)
	}

	// It is still there after a fault, and after a reload.
	b.set(field("a.note"), "")
	b.press("next")
	b.shows("Please answer this question.")
	b.set(choice("a.pet", "true"), "")
	sent("a.name", "Rex")
	b.set(choice("a.pet", "false"), "", field("a.note"), "typed")
	b.do(`window.old=1`)
	b.run(chromedp.Reload())
	b.until(`window.old===undefined && (document.querySelector("[name='a.note']")||{}).value==="typed"`)
	b.set(choice("a.pet", "true"), "")
	sent("a.name", "Rex")
	sent("a.age", "11")
	b.press("next")
	b.until(`document.querySelector("[data-b=old]")`)
	b.press("back")
	b.set(field("a.age"), "3")
	b.press("next")
	b.shows("Thank you!")
	wantAnswers(t, s.answers(form), map[string]string{"pet": "true", "name": `"Rex"`, "age": "3", "note": `"typed"`, "old": ""})
}

// Where one question is asked at a time, the way ahead is that of the answers at once.
func TestTheWayAheadFollowsTheAnswers(t *testing.T) {
	s := newSite(t, formpage.Config{BrowserRules: true})
	form := s.sample("finder")
	b := newTab(t, 1280, 800)
	b.open(s.url(form, "?lang=de"))
	b.press("next")
	way := func(text string) {
		t.Helper()
		b.until(`document.querySelector(".fs-nav span").textContent === ` + quote(text) + ` && document.querySelector(".fs-progress").getAttribute("aria-label") === ` + quote(text))
	}
	way("Seite 2 von 7")
	urls, _ := b.requests.list()
	b.run(chromedp.Focus(chromedp.CSS(choice("a.zubereitung", "id:gar_nicht"))), chromedp.KeyEvent(" "))
	way("Seite 2 von 3")
	b.run(chromedp.KeyEvent(kb.ArrowUp))
	way("Seite 2 von 7")
	b.run(chromedp.KeyEvent(kb.ArrowDown))
	way("Seite 2 von 3")
	if now, _ := b.requests.list(); len(now) > len(urls)+1 { // the start is counted
		t.Errorf("it asked for %q", now[len(urls):])
	}
	b.press("next")
	b.step("tee")
	b.until(`document.querySelector(".fs-actions button").textContent === "Kaffee zeigen"`)
	b.press("next")
	b.shows("Auch gut!")
	wantAnswers(t, s.answers(form), map[string]string{"zubereitung": `{"id":"gar_nicht","label":"Gar nicht, ich trinke Tee"}`})
}

// Without a script the same page works, and where the host does not allow it no rule
// leaves the service.
func TestRulesStayWithTheService(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		s := newSite(t, formpage.Config{BrowserRules: allowed})
		form := s.publish("Pet", "MULTI", formsvc.Definition{Blocks: json.RawMessage(petForm)})
		b := newTab(t, 390, 800)
		b.noScript()
		b.open(s.url(form, ""))
		if got := get(b, chromedp.Evaluate[bool](`document.documentElement.outerHTML.includes("answers.pet")`)); got != allowed {
			t.Errorf("allowed %v: the page has the rules: %v", allowed, got)
		}
		b.set(choice("a.pet", "true"), "")
		b.press("next")
		b.set(field("a.name"), "Tom")
		b.press("next")
		b.shows("Thank you!")
		wantAnswers(t, s.answers(form), map[string]string{"pet": "true", "name": `"Tom"`})
	}
}

// Rules in the browser see of each kind of answer what they see of the stored one: after
// each of many fillings the service shows the same blocks.
func TestTheBrowserReadsAnswersAsTheServiceDoes(t *testing.T) {
	const choices = `"choices":[{"id":"c1","label":"C"},{"id":"c2","label":"A"},{"id":"c3","label":"B"}]`
	questions := []struct{ id, rest string }{
		{"yes", `"type":"yes_no"`},
		{"legal", `"type":"legal"`},
		{"must", `"type":"legal","required":true`},
		{"number", `"type":"number","properties":{"min":-2,"minVal":true,"max":1500,"maxVal":true}`},
		{"any", `"type":"number"`},
		{"stars", `"type":"rating"`},
		{"scale", `"type":"opinion_scale","properties":{"from":-1,"to":1,"scaleStep":0.1}`},
		{"nps", `"type":"nps"`},
		{"one", `"type":"single_choice","properties":{"otherOption":true},` + choices},
		{"list", `"type":"dropdown","properties":{"otherOption":true},` + choices},
		{"many", `"type":"multiple_choice","properties":{"otherOption":true,"limit":3,"min":2,"minVal":true,"alphaOrder":true},` + choices},
		{"rank", `"type":"ranking",` + choices},
		{"grid", `"type":"matrix","required":true,"matrix_rows":[{"id":"r 1","label":"R"},{"id":"r.2","label":"S"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`},
		{"grids", `"type":"matrix","properties":{"multiSelection":true},"matrix_rows":[{"id":"r 1","label":"R"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`},
		{"day", `"type":"date"`},
		{"three", `"type":"date","properties":{"dateFormat":"DDMMYYYY"}`},
		{"clock", `"type":"time"`},
		{"seconds", `"type":"time","properties":{"showSeconds":true}`},
		{"land", `"type":"country"`},
		{"word", `"type":"short_text","properties":{"maxChars":6}`},
		{"text", `"type":"long_text"`},
	}
	// Each answer as text is cut into a few bits by comparisons that a small difference
	// would turn around.
	var blocks []string
	for _, q := range questions {
		blocks = append(blocks, fmt.Sprintf(`{"id":%q,"label":%q,%s}`, q.id, q.id, q.rest))
		for i, condition := range []string{
			`{"!":[VAR]}`, `{"<":[VAR,"c2"]}`, `{"<":[VAR,0.5]}`, `{">=":[VAR,1.5]}`, `{"in":["c1",VAR]}`, `{"in":["1",{"cat":[VAR]}]}`, `{">":[{"cat":[VAR,"|",{"var":"answers.ID.0"},{"var":"answers.ID.other"},{"var":"answers.ID.1.other"},{"var":"answers.ID.r 1"},{"var":"answers.ID.r.2"}]},"d"]}`,
			`{"==":[{"%":[{"var":"answers.ID.length"},2]},0]}`, `{"===":[VAR,{"cat":[VAR]}]}`, `{"===":[VAR,true]}`,
		} {
			condition = strings.NewReplacer("VAR", `{"var":"answers.ID"}`).Replace(condition)
			blocks = append(blocks, fmt.Sprintf(`{"id":"%s-%d","type":"statement","label":"S","properties":{"rule":{"show":%s}}}`, q.id, i, strings.ReplaceAll(condition, "ID", q.id)))
		}
	}
	s := newSite(t, formpage.Config{BrowserRules: true})
	form := s.publish("Kinds", "MULTI", formsvc.Definition{Blocks: json.RawMessage("[" + strings.Join(blocks, ",") + "]")})
	fillings := 15
	if full() {
		fillings = 100
	}
	for _, language := range []string{"en", "de"} {
		b := newTab(t, 1280, 900)
		b.open(s.url(form, "?lang="+language))
		b.until(`document.querySelector(".fs>form[hidden]")`)
		wrong := get(b, chromedp.Evaluate[string](`(async () => {
			let seed = 42; const rnd = n => (seed = (seed * 1103515245 + 12345) % 2147483648) / 65536 % n | 0, pick = a => a[rnd(a.length)];
			const texts = ["", "", " 5 ", "1,5", "1.5", "1.000", "1,000.5", "12.34.5", "1.234,50", "1,234.50", "0,234", "1.2,3", "٣", "−2", "-2.0", "+1", "abc", ".", "1e3", "0x1", "\u200b", "\u3164", "e\u0301", "x\u202ey", " c1\u00a0", "c1", "much too long", "😀😀😀", "\ufeffa", "a\tb", "2001", "1500", "1501", "-", "00", "1'000", "1 000", "/0", "5."];
			const form = document.querySelector(".fs-form"), shown = from => [...from.querySelectorAll(".fs-fields>[data-b]")].map(e => e.dataset.b).join(" ");
			const all = s => [...form.querySelectorAll(s)], wrong = [], different = new Set();
			for (let i = 0; i < `+fmt.Sprint(fillings)+` && wrong.length < 3; i++) {
				for (const e of all(".fs-fields input:not([type=hidden]),.fs-fields textarea,.fs-fields select")) {
					if (e.matches("[type=radio],[type=checkbox]")) e.checked = rnd(3) === 0;
					else if (e.matches("[type=date]")) e.value = pick(["", "2026-02-28", "0001-01-01", "2024-02-29"]);
					else if (e.matches("[type=time]")) e.value = pick(["", "10:30", "23:59"]);
					else if (e.matches("select")) e.selectedIndex = rnd(e.options.length);
					else if (/^[dmy]\./.test(e.name)) e.value = pick(["", "1", "02", "29", "31", "2026", "1999", " 3"]);
					else e.value = pick(texts);
				}
				form.querySelector(".fs-fields input").dispatchEvent(new Event("input", {bubbles: true}));
				const body = new URLSearchParams([...new FormData(form)].filter(([n]) => n !== "go").concat([["go", "stay"]]));
				const answer = await fetch(location.href, {method: "POST", body, headers: {"Formpage-Script": "1"}});
				const want = shown(new DOMParser().parseFromString(await answer.text(), "text/html")), got = shown(document);
				different.add(got);
				if (got !== want) {
					const a = got.split(" "), b = want.split(" ");
					wrong.push([...a.filter(x => !b.includes(x)), "-", ...b.filter(x => !a.includes(x))].join(" ") + " with " + [...body].filter(([n]) => /^[a-z]\./.test(n)).join("; "));
				}
			}
			if (different.size < `+fmt.Sprint(fillings*9/10)+`) wrong.push("only " + different.size + " different ways");
			return wrong.join("\n");
		})()`, chromedp.EvalAwaitPromise))
		if wrong != "" {
			t.Errorf("%s: shown here, - shown by the service:\n%s", language, wrong)
		}
	}
}

// A date in three inputs is one in every writing whose digits the service reads.
func TestTheBrowserReadsDatesInOtherDigits(t *testing.T) {
	s := newSite(t, formpage.Config{BrowserRules: true})
	form := s.publish("Day", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"d","type":"date","label":"D","properties":{"dateFormat":"DDMMYYYY"}},
		{"id":"q","type":"short_text","label":"Q","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.d"},"2026-04-03"]}}}}]`)})
	for _, date := range [][3]string{{"٣", "٤", "٢٠٢٦"}, {"۳", "۰۴", "۲۰۲۶"}, {"０３", "４", "２０２６"}} {
		b := newTab(t, 800, 700)
		b.open(s.url(form, "?lang=ar"))
		b.until(`document.querySelector(".fs>form[hidden]")`)
		b.set(field("d.d"), date[0], field("m.d"), date[1], field("y.d"), date[2])
		if !get(b, chromedp.Evaluate[bool](`!!document.querySelector(".fs-fields [name='a.q']")`)) {
			t.Errorf("the browser does not read %q", date)
		}
		b.press("next")
		b.until(`document.querySelectorAll(".fs-fault").length === 1 && document.querySelector("[data-b=q] .fs-fault")`)
	}
}
