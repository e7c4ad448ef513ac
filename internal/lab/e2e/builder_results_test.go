package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// send stores a response with answers that are given as Go values, as of a time; the zero time is now.
func (s *site) send(form formsvc.Form, at time.Time, answers, host map[string]any) formsvc.Submission {
	s.t.Helper()
	encode := func(values map[string]any) map[string]json.RawMessage {
		raws := map[string]json.RawMessage{}
		for id, value := range values {
			raws[id], _ = json.Marshal(value) // of a test
		}
		return raws
	}
	sent := expect.Must(s.service.Submit(s.t.Context(), formsvc.SubmitParams{
		FormID: form.ID, SubmittedAt: at, Answers: encode(answers), HostAnswers: encode(host), CompletionTime: 95, Hidden: map[string]string{"source": "newsletter"},
		Metadata: formsvc.Metadata{Country: "NL", Device: "mobile", UserAgent: "Mozilla/5.0", UTM: map[string]string{"campaign": "spring"}},
	}))
	return sent
}

// everyAnswered is the form with a block of each type, with a hidden field, and n responses within ten days.
func (s *site) everyAnswered(n int) formsvc.Form {
	s.t.Helper()
	form := s.sample("every")
	form = expect.Must(s.service.As(s.owner).UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{HiddenFields: json.RawMessage(`["source"]`)}}))
	random := rand.New(rand.NewPCG(2, 7)) // the same in each run
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	file := func(name, kind string) map[string]any {
		return map[string]any{"id": name, "name": name, "url": "https://files.example/" + name, "mime_type": kind, "size": 48_200}
	}
	now := time.Now().UTC()
	for i := range n {
		order := []string{"t", "p", "s"}
		random.Shuffle(3, func(i, j int) { order[i], order[j] = order[j], order[i] })
		answers := map[string]any{
			"short": fmt.Sprintf("Guest %d", i), "long": one("Lovely place, we will be back.", "The soup was cold.\nThe bread was not.", "Nothing to add."), "email": fmt.Sprintf("guest%d@example.com", i), "phone": "+31201234567", "website": "https://guest.example/",
			"number": random.IntN(900), "rating": 3 + random.IntN(5), "scale": float64(random.IntN(9))/2 - 2, "nps": 4 + random.IntN(7), "yes_no": random.IntN(3) > 0,
			"single": one("a", "b", "c"), "multiple": [][]string{{"r", "g"}, {"r", "b"}, {"g", "b", "y"}}[random.IntN(3)], "picture": one("sun", "sea"), "dropdown": one("z", "a", "m"), "ranking": order,
			"matrix": map[string]any{"food": one("3", "4"), "place": one("1", "2", "3"), "people": "4"}, "date": now.AddDate(0, random.IntN(6), 0).Format(time.DateOnly), "birthday": fmt.Sprintf("2026-0%d-11", 1+random.IntN(8)), "moment": "2026-11-20T10:30:00+01:00", "time": "10:30",
			"contact": map[string]any{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"}, "address": map[string]any{"address": "Main Street 1", "city": "Delft", "zip": "2611", "country": "NL"}, "country": one("NL", "DE", "FR"), "nick": "Nick", "team": one("1", "2"), "legal": true,
		}
		if i%5 == 0 {
			answers = map[string]any{"short": fmt.Sprintf("Guest %d", i), "single": map[string]any{"other": "Something else altogether"}, "legal": true}
		}
		s.send(form, now.Add(-time.Duration(n-i)*4*time.Hour), answers, map[string]any{"files": []any{file("menu.pdf", "application/pdf")}, "signature": file("me.png", "image/png"), "payment": map[string]any{"amount": "9.50", "currency": "EUR", "status": "paid", "gateway": "test"}})
	}
	for range 3 * n {
		_ = s.service.RecordView(s.t.Context(), form.ID)
	}
	for range 2 * n {
		_ = s.service.RecordStart(s.t.Context(), form.ID)
	}
	return form
}

func (s *site) half(form formsvc.Form, share bool, answers string) {
	s.t.Helper()
	var values map[string]json.RawMessage
	err := json.Unmarshal([]byte(answers), &values)
	if err == nil {
		_, _, err = s.service.SavePartial(s.t.Context(), formsvc.PartialSubmission{FormID: form.ID, Answers: values, ShareWithOwner: share, Block: "single", Seconds: 200, Hidden: map[string]string{"source": "poster"}})
	}
	expect.NoError(s.t, err)
}

// all are the responses of a form, newest first.
func (s *site) all(form formsvc.Form) (list []formsvc.Submission) {
	s.t.Helper()
	for found, err := range s.service.AsHost().Submissions(s.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(s.t, err)
		list = append(list, found)
	}
	return list
}

// named presses the button or link with a text.
func (b *tab) named(text string) {
	b.t.Helper()
	find := `[...document.querySelectorAll("button,a,summary")].filter(e => e.checkVisibility() && e.textContent.trim() === ` + quote(text) + `).at(-1)`
	b.until(find)
	b.do(find + `.click()`)
}

// asked waits until the page asks something in a dialog.
func (b *tab) asked() {
	b.t.Helper()
	b.until(`document.querySelector("dialog[open]")`)
}

// confirm presses a button, and the same in the dialog that asks whether it was meant.
func (b *tab) confirm(text string) {
	b.t.Helper()
	b.named(text)
	b.asked()
	b.named(text)
}

// escape closes a dialog, or a menu.
func (b *tab) escape() {
	b.t.Helper()
	b.keys(kb.Escape)
	b.until(`!document.querySelector("dialog[open], .menu")`)
}

// choosesTime chooses one of the times that results are filtered by.
func (b *tab) choosesTime(value string) {
	b.t.Helper()
	b.do(`const e = document.querySelector(".time-filter select"); e.value = ` + quote(value) + `; e.dispatchEvent(new Event("change", {bubbles:true}))`)
}

const rows = `document.querySelectorAll(".responses tbody tr").length`

func TestResults(t *testing.T) {
	s := newOwners(t)
	form := s.everyAnswered(60)
	path := "/" + form.ID.String() + "/results"
	b := s.ownersTab(1280, 900)

	// The summary has a chart and the numbers for each block that is answered.
	s.openOwners(b, path, ".blocks")
	b.until(`document.querySelectorAll(".block .chart[role=img] > title").length >= 28 && document.querySelectorAll(".block details table").length >= 28`)
	b.shows("180") // views
	b.until(`[...document.querySelectorAll(".steps strong")].map(e => e.textContent).join() === "180,120,60"`)
	if wrong := get(b, chromedp.Evaluate[string](`[...document.querySelectorAll(".block:not(.total)")].filter(c => !c.querySelector(".chart")).map(c => c.textContent).join("|")`)); wrong != "" {
		t.Errorf("without a chart: %s", wrong)
	}

	// The table: pages, columns that are kept, a filter that is in the address.
	b.named("Responses")
	b.until(rows + `===50`)
	b.shows("Latest 50 responses")
	b.named("Show more")
	b.until(rows + `===60`)
	b.shows("All 60 responses")
	b.until(`!document.querySelector("tbody td[dir]") && document.querySelector("tbody .cut[dir=auto]")`) // +49 below an Arabic title
	b.named("Columns")
	b.asked()
	b.do(`[...document.querySelectorAll("dialog label")].find(l => l.textContent === "Device").click()`)
	b.do(`[...document.querySelectorAll("dialog label")].find(l => l.textContent === "source").click()`)
	b.named("Close")
	b.shows("mobile")
	b.do(`location.reload()`)
	b.until(rows + `===50 && document.querySelector("thead").textContent.includes("Device") && document.querySelector("thead").textContent.includes("source")`)
	b.choosesTime("days")
	day := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	before := day(s.all(form)[30].SubmittedAt)
	b.until(`document.querySelectorAll(".time-filter input").length===2`)
	b.do(`const e = document.querySelectorAll(".time-filter input")[1]; e.value = ` + quote(before) + `; e.dispatchEvent(new Event("input", {bubbles:true}))`)
	want := 0
	for _, found := range s.all(form) {
		if day(found.SubmittedAt) <= before {
			want++
		}
	}
	b.until(fmt.Sprintf(`%s===%d && location.search==="?to=%s"`, rows, want, before))

	// Days that no response can be in are said, and nothing is asked for.
	other := `const o = document.querySelectorAll(".time-filter input")[0]; o.value = %s; o.dispatchEvent(new Event("input", {bubbles:true}))`
	b.do(fmt.Sprintf(other, `"20266-01-01"`))
	b.until(fmt.Sprintf(`%s===%d && location.search==="?to=%s"`, rows, want, before))
	b.do(fmt.Sprintf(other, `"9999-01-01"`))
	b.until(`document.querySelector(".time-filter .fault") && !document.querySelector(".responses, .notice.bad") && [...document.querySelectorAll("button")].find(e => e.textContent.includes("Export")).disabled`)
	b.do(fmt.Sprintf(other, `""`))
	b.until(fmt.Sprintf(`%s===%d`, rows, want))
	// Back leads to the time that was chosen there, and the tab to all time.
	b.named("Summary")
	b.choosesTime("yesterday")
	b.until(`location.search==="?time=yesterday"`)
	b.do(`history.back()`)
	b.until(fmt.Sprintf(`%s===%d && location.search==="?to=%s" && document.querySelectorAll(".time-filter input")[1].value===%[3]q`, rows, want, before))
	b.named("Results")
	b.until(`location.search==="" && document.querySelector(".time-filter select").value==="all"`)
	b.do(`history.back()`)
	b.until(fmt.Sprintf(`%s===%d`, rows, want))

	// The export has what the filter says, byte for byte.
	b.named("Export")
	b.until(`document.querySelector("dialog[open] a[download]")`)
	got := get(b, chromedp.Evaluate[string](`fetch(document.querySelector("dialog a[download]").href).then(r => r.arrayBuffer()).then(a => [...new Uint8Array(a)].map(n => String.fromCharCode(n)).join(""))`, chromedp.EvalAwaitPromise))
	end, _ := time.Parse(time.DateOnly, before)
	var file bytes.Buffer
	expect.NoError(t, s.service.As(s.owner).Export(t.Context(), &file, form.ID, formsvc.Export{Until: end.AddDate(0, 0, 1).Add(-time.Second), Labels: true, BOM: true}))
	raw := make([]rune, file.Len())
	for i, c := range file.Bytes() {
		raw[i] = rune(c)
	}
	expect.That(t, got == string(raw), "the download has %d bytes, want %d", len([]rune(got)), file.Len())
	b.escape()

	// One response, its neighbors as the list has them, also at the ends.
	list := s.all(form)
	s.openOwners(b, path+"/"+list[1].ID.String(), ".answers")
	b.named("Newer")
	b.until(`location.pathname.endsWith(` + quote(list[0].ID.String()) + `)`)
	b.until(`[...document.querySelectorAll(".response a")].some(a => a.textContent==="Older") && ![...document.querySelectorAll(".response a")].some(a => a.textContent==="Newer")`)
	b.named("Older")
	b.named("Older")
	b.until(`location.pathname.endsWith(` + quote(list[2].ID.String()) + `)`)
	for _, text := range []string{"https://guest.example/", "The food", "First name", "Ada", "I know that this", "menu.pdf", "newsletter", "spring", "Netherlands", "Mozilla/5.0", "1 min 35 s"} {
		b.shows(text)
	}
	b.until(`document.querySelector('a[href="https://files.example/menu.pdf"][rel~=noopener]')`)

	// Deleting one leads to the next; deleting several leaves the others.
	b.confirm("Delete")
	b.until(`location.pathname.endsWith(` + quote(list[3].ID.String()) + `) && document.activeElement.id==="main"`)
	b.named("All responses")
	b.until(rows + `===50`)
	b.do(`for (const i of [1, 2, 3]) document.querySelectorAll(".responses tbody input")[i].click()`)
	b.shows("3 selected")
	b.confirm("Delete")
	b.until(rows + `===47 && !document.querySelector("dialog")`)
	left := s.all(form)
	expect.That(t, len(left) == 56 && left[0].ID == list[0].ID && left[1].ID == list[5].ID, "%d responses are left", len(left))

	// New responses show after a press.
	s.send(form, time.Time{}, map[string]any{"short": "Late guest 1", "legal": true}, nil)
	s.send(form, time.Time{}, map[string]any{"short": "Late guest 2", "legal": true}, nil)
	b.do(`window.dispatchEvent(new Event("focus"))`)
	b.named("2 new responses")
	b.shows("Late guest 2")
	b.until(`![...document.querySelectorAll("button")].some(e => e.textContent.includes("new responses"))`)

	// Half responses stand apart; what was not shared is not shown.
	s.half(form, false, `{"short":"Never seen"}`)
	s.half(form, true, `{"short":"Half a guest","single":"b","matrix":{"food":"3"}}`)
	b.named("Partial responses")
	b.until(`document.querySelectorAll(".halves li").length===2`)
	b.named("3 answers")
	b.shows("Half a guest")
	b.shows("The second")
	b.shows("The food")
	b.until(`!document.body.innerText.includes("Never seen")`)
	b.do(`document.querySelector(".halves .button.danger").click()`)
	b.asked()
	b.named("Delete")
	b.until(`document.querySelectorAll(".halves li").length===1 && !document.querySelector("dialog")`)

	// Where nothing came in, the page says what to do.
	empty := s.publish("Nobody", "MULTI", formsvc.Definition{})
	s.openOwners(b, "/"+empty.ID.String()+"/results/responses", ".empty")
	b.shows("Share the form. Responses appear here")
	s.openOwners(b, "/"+empty.ID.String()+"/results?time=7d", ".empty")
	b.named("Show all responses")
	b.shows("Share the form. Responses appear here")
}

// Somebody without a pointer reads, chooses and deletes.
func TestResultsByKeyboard(t *testing.T) {
	s := newOwners(t)
	form := s.everyAnswered(3)
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/"+form.ID.String()+"/results", ".blocks")
	b.reach(`.views a[href$="responses"]`)
	b.keys(kb.Enter)
	b.until(rows + `===3`)
	b.reach(`.responses`)
	b.reach(`tbody tr:nth-child(2) input`)
	b.keys(" ")
	b.shows("1 selected")
	b.do(`document.querySelector("#main").focus()`)
	b.reach(`.table-tools .danger`)
	b.keys(kb.Enter)
	b.until(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	b.reach(`dialog .danger`)
	b.keys(kb.Enter)
	b.until(rows + `===2 && !document.querySelector("dialog")`)
	b.do(`document.querySelector("#main").focus()`)
	b.reach(`tbody tr:nth-child(1) a`)
	b.keys(kb.Enter)
	b.until(`document.querySelector(".response")`)
	b.reach(`.response a[href*="results/"]:not([href$=responses])`)
	b.keys(kb.Enter)
	b.until(`document.querySelector(".response")`)
	left := s.all(form)
	expect.That(t, len(left) == 2, "%d responses are left", len(left))
}

// axe-core finds nothing on any state of the results; with FORMSVC_E2E_SHOTS it keeps pictures of them.
func TestResultsAxe(t *testing.T) {
	inFull(t)
	check := axe(t)
	s := newOwners(t)
	form, empty := s.everyAnswered(60), s.publish("Nobody", "MULTI", formsvc.Definition{})
	s.half(form, false, `{"short":"Never seen"}`)
	s.half(form, true, `{"short":"Half a guest","single":"b","matrix":{"food":"3"}}`)
	path := "/" + form.ID.String() + "/results"
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{false, true} {
			b := s.ownersTab(width, 900)
			b.dark(dark)
			state := func(name string) {
				t.Helper()
				name = fmt.Sprintf("results-%s-%d-%s", name, width, map[bool]string{false: "light", true: "dark"}[dark])
				b.do(`document.getAnimations().forEach(a => a.finish())`)
				check(b, name)
				wide := get(b, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
				expect.That(t, wide <= width, "%s is %d wide", name, wide)
				b.shot(name)
			}
			s.openOwners(b, path, ".blocks")
			state("summary")
			b.do(`document.querySelectorAll("details").forEach(d => d.open = true)`)
			state("numbers")
			s.openOwners(b, path+"/responses", ".responses")
			state("responses")
			b.do(`document.querySelectorAll(".responses tbody input")[1].click()`)
			for _, dialog := range []string{"Delete", "Columns", "Export"} {
				b.named(dialog)
				b.asked()
				state(strings.ToLower(dialog))
				b.escape()
			}
			s.openOwners(b, path+"/"+s.all(form)[1].ID.String(), ".answers")
			b.until(`[...document.querySelectorAll(".response a")].some(a => a.textContent==="Newer")`)
			state("response")
			s.openOwners(b, path+"/partials", ".halves")
			b.named("3 answers")
			state("halves")
			s.openOwners(b, "/"+empty.ID.String()+"/results", ".empty")
			state("empty")
			s.openOwners(b, path+"/"+form.ID.String(), ".empty")
			state("missing")
		}
	}
	b := s.ownersTab(800, 1100)
	s.openOwners(b, path+"/"+s.all(form)[1].ID.String(), ".answers")
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.until(`![...document.querySelectorAll(".bar, .button")].some(e => e.checkVisibility())`)
	b.shot("results-print")
}

// An owner in another time zone reads many texts, a question whose type was changed, questions that begin
// alike, and a count that takes long; on a phone responses are cards.
func TestResultsOfMany(t *testing.T) {
	s, check := newOwners(t), axe(t)
	const begin = "How satisfied were you, all things considered, with "
	form := s.publish("Many", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"why","type":"long_text","label":"What did you think?"},
		{"id":"food","type":"rating","label":"` + begin + `the food?"},{"id":"place","type":"rating","label":"` + begin + `the place?"},{"id":"same","type":"short_text","label":"Comment"},{"id":"same2","type":"short_text","label":"Comment"}]`)})
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	for i := range 70 {
		s.send(form, midnight.Add(-time.Duration(i)*time.Hour), map[string]any{"why": fmt.Sprintf("Thought %d", i), "food": 4, "place": 5, "same": "Fine"}, nil)
		s.send(form, midnight.Add(-time.Duration(i)*time.Hour), map[string]any{"why": "Lovely!"}, nil)
	}
	_ = expect.Must(s.service.As(s.owner).UpdateBlock(t.Context(), form.ID, "food", json.RawMessage(`{"type":"opinion_scale"}`)))
	for range 120 {
		s.send(form, time.Time{}, map[string]any{"place": 3, "food": 7}, nil)
	}
	path := "/" + form.ID.String() + "/results"
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{false, true} {
			if !full() && dark == (width == 1280) {
				continue
			}
			b := s.ownersTab(width, 900)
			b.dark(dark)
			call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Pacific/Auckland"})
			state := func(name string) {
				b.do(`document.getAnimations().filter(a => a.effect.getTiming().iterations < 10).forEach(a => a.finish())`)
				name = fmt.Sprintf("results-many-%s-%d-%t", name, width, dark)
				check(b, name)
				b.shot(name)
			}
			s.openOwners(b, path, ".blocks")
			list := `document.querySelectorAll(".block:not(.total)")[0].querySelectorAll(".recent li").length`
			b.until(list + `===10`)
			b.shows("× 70")
			b.shows("These answers were given before the question type changed and aren’t counted: Rating (70).")
			b.named("Show more")
			b.until(list + `===60`)
			b.named("Show more")
			b.until(list + `===71 && document.querySelectorAll(".block:not(.total)")[0].textContent.includes("Thought 69")`)
			state("summary")
			// The days are those of the service, which the page says, whatever the zone of the browser.
			b.choosesTime("today")
			b.until(`document.querySelector(".time-filter").textContent.includes("Dates are shown in UTC") && document.querySelectorAll(".block:not(.total)")[2].querySelector("header p").textContent.startsWith("121 ")`)
			// A count that takes long shows what it has, and goes on.
			b.do(`const real = fetch; let asked = 0; window.fetch = async (address, options) => {
				const response = await real(address, options);
				if (!String(address).includes("/summary")) return response;
				const summary = await response.json();
				if (asked++ > 0) await new Promise(go => window.goOn = go);
				return new Response(JSON.stringify({...summary, unfinished: asked === 1}));
			}`)
			b.choosesTime("all")
			b.shows("260 responses counted so far…")
			state("progress")
			b.until(`window.goOn`)
			b.do(`window.goOn()`)
			b.until(`!document.body.innerText.includes("counted so far")`)
			s.openOwners(b, path+"/responses?to="+midnight.Format(time.DateOnly), ".responses")
			b.until(rows + `===50`)
			if width == 1280 {
				b.until(`[...document.querySelectorAll("thead .cut")].map(e => e.textContent).join() === "What did you think?,… food?,… place?,Comment"`)
			} else {
				b.until(`getComputedStyle(document.querySelector(".responses tbody tr")).display === "grid" && document.documentElement.scrollWidth <= 390`)
			}
			b.named("Columns")
			b.asked()
			b.do(`[...document.querySelectorAll("dialog label")].filter(l => l.textContent === "Comment")[1].click()`)
			b.named("Close")
			b.until(`[...document.querySelectorAll("thead .cut")].map(e => e.textContent).includes("Comment (2)")`)
			state("responses")
		}
	}
	t.Run("firefox", func(t *testing.T) {
		inFull(t)
		h := s.hand(s.ownersFirefox(t, newFirefox(t)), false)
		h.start(path, ".blocks")
		first := `document.querySelectorAll(".block:not(.total)")[0]`
		for _, shown := range []int{10, 60, 71} {
			h.until(fmt.Sprintf(`%s.querySelectorAll(".recent li").length === %d`, first, shown))
			if shown < 71 {
				h.press(`T.named("Show more", ` + first + `)`)
			}
		}
		h.choose(`document.querySelector(".time-filter select")`, "today")
		h.until(`document.querySelectorAll(".block:not(.total)")[2].querySelector("header p").textContent.startsWith("121 ")`)
		h.start(path+"/responses", ".responses")
		h.until(rows + `===50 && [...document.querySelectorAll("thead .cut")].map(e => e.textContent).join().startsWith("What did you think?,… food?,… place?")`)
	})
}

// Labels, names and answers are text on each page of the results, whatever stands in them.
func TestHostileResultsRunNothing(t *testing.T) {
	s := newOwners(t)
	kinds := []string{"short_text", "long_text", "single_choice", "multiple_choice", "ranking", "matrix", "dropdown", "rating", "number", "date", "nps", "yes_no"}
	clean := strings.NewReplacer("\n", " ", "\u2028", " ", "\u200b", "", "\u202e", "")
	var blocks []map[string]any
	answers := map[string]any{}
	for i, text := range append(texts, texts...) {
		kind := kinds[i%len(kinds)]
		id := fmt.Sprintf("b%d", i)
		if i < len(texts) && len(text) < 150 {
			id += clean.Replace(text)
		}
		choices := []map[string]any{{"id": "a", "label": text}, {"id": "b", "label": text + "b"}}
		block := map[string]any{"id": id, "type": kind, "label": text}
		switch kind {
		case "short_text", "long_text":
			answers[id] = clean.Replace(texts[(i+1)%len(texts)])
		case "single_choice", "dropdown":
			block["choices"], block["properties"] = choices, map[string]any{"otherOption": true}
			answers[id] = map[string]any{"other": clean.Replace(texts[(i+2)%len(texts)])}
		case "multiple_choice", "ranking":
			block["choices"] = choices
			answers[id] = []string{"b", "a"}
		case "matrix":
			block["matrix_rows"], block["matrix_columns"] = choices, choices
			answers[id] = map[string]any{"a": "b"}
		case "rating", "number":
			answers[id] = 3
		}
		blocks = append(blocks, block)
	}
	raw, _ := json.Marshal(blocks)
	names, _ := json.Marshal(texts)
	form := s.publish(texts[0], "MULTI", formsvc.Definition{Blocks: raw, HiddenFields: names})
	hidden := map[string]string{}
	for i, text := range texts {
		hidden[text] = clean.Replace(texts[(i+5)%len(texts)])
	}
	encoded := map[string]json.RawMessage{}
	for id, value := range answers {
		encoded[id], _ = json.Marshal(value)
	}
	metadata := formsvc.Metadata{Country: "NL", Device: texts[1], UserAgent: texts[0], UTM: map[string]string{"campaign": texts[1], "term": texts[0], "source": texts[2]}}
	sent, err := s.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: encoded, Hidden: hidden, Metadata: metadata})
	if err == nil {
		_, _, err = s.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, Answers: encoded, Hidden: hidden, Metadata: metadata, ShareWithOwner: true})
	}
	expect.NoError(t, err)
	expect.Require(t, len(blocks)+len(hidden) >= 100, "too few payloads")
	b := s.ownersTab(1000, 800)
	for _, page := range []struct{ path, wait string }{{"", ".blocks"}, {"/responses", ".responses"}, {"/" + sent.ID.String(), ".answers"}, {"/partials", ".halves"}} {
		s.openOwners(b, "/"+form.ID.String()+"/results"+page.path, page.wait)
		if page.path == "/responses" { // with all columns
			b.named("Columns")
			b.asked()
			b.do(`document.querySelectorAll("dialog fieldset input:not(:checked)").forEach(e => e.click())`)
		}
		b.do(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		b.until(`window.pwned===undefined`)
		b.until(`!document.querySelector("main script, main iframe, main object, main img, main base, main link, main style, main [onerror], main [onload], main [onfocus], main [style]:not(.bar-link), dialog img")`)
		b.until(`[...document.querySelectorAll("#formsvc-builder a[href]")].every(a => a.href.startsWith(location.origin + "/forms"))`)
	}
	b.stayedAt(s.server.URL)
}
