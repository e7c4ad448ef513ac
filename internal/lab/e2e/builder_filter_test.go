package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// scoredForm has 120 responses: a third are detractors, and every fourth of all mentions the delivery.
func (s *site) scoredForm() formsvc.Form {
	s.t.Helper()
	form := s.publish("Shop", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"nps","type":"nps","label":"How likely are you to recommend us?"},
		{"id":"why","type":"long_text","label":"Why?"},{"id":"again","type":"yes_no","label":"Again?"},
		{"id":"wish","type":"multiple_choice","label":"Wishes","choices":[{"id":"a","label":"Faster"},{"id":"b","label":"Cheaper"}],
			"properties":{"rule":{"next":[{"if":{"<":[{"var":"answers.nps"},7]},"to":"sorry"}]}}},
		{"id":"thanks","type":"ending","label":"Thank you"},{"id":"sorry","type":"ending","label":"We are sorry"}]`)})
	now := time.Now().UTC()
	for i := range 120 {
		why := fmt.Sprintf("Reason %d", i)
		if i%4 == 0 {
			why = fmt.Sprintf("The Delivéry %d was late", i)
		}
		s.send(form, now.Add(-time.Duration(i)*3*time.Hour), map[string]any{"nps": []int{3, 8, 10}[i%3], "why": why, "again": i%2 == 0, "wish": []string{"a"}}, nil)
	}
	return form
}

// stopsReading stops to read for a filter that takes long, in the table and in the summary, and uses the page in the
// meantime. A response with matches waits until the test releases it, and contains one.
func (h hand) stopsReading(form formsvc.Form) {
	h.t.Helper()
	const slow = `window.slow = true; window.waiting = []; window.realFetch ??= fetch;
		window.fetch = (url, options) => !slow || !/\/(submissions|summary)\?.*text=/.test(url) ? realFetch(url, options) : new Promise((done, fail) => waiting.push(() =>
			realFetch(url.replace(/limit=\d+/, "limit=1"), options).then(r => r.json()).then(page => done(new Response(JSON.stringify({...page, unfinished: slow}))), fail)))`
	const status = `document.querySelector(".table-tools [role=status]").textContent`
	h.start("/"+form.ID.String()+"/results/responses", ".responses")
	h.do(slow)
	h.write(`document.querySelector(".filter-bar input")`, "delivery")
	h.key(kb.Enter)
	for n := 1; n < 4; n++ {
		h.until(`waiting.length === 1`)
		h.do(`waiting.shift()()`)
		h.until(fmt.Sprintf(`%s === %d && /^[0-9]+ of 120 responses read…$/.test(document.querySelector(".loading").textContent.trim())`, rows, n))
	}
	h.press(`T.named("Columns")`)
	h.press(`[...document.querySelectorAll("dialog input")].find(e => e.labels[0].textContent === "Device")`)
	h.press(`T.named("Close")`)
	h.until(`document.querySelector("thead").textContent.includes("Device") && waiting.length === 1`)
	h.press(`T.named("Stop")`)
	h.do(`waiting.shift()()`)
	h.until(rows + ` === 4 && !document.querySelector(".loading") && ` + status + ` === "4 matching responses so far" && waiting.length === 0`)
	h.do(`slow = false`)
	h.press(`T.named("Show more")`)
	h.until(rows + ` === 30 && ` + status + ` === "30 matching responses"`)

	h.do(`slow = true`)
	h.press(`document.querySelector(".views a:first-child")`)
	h.until(`waiting.length === 1`)
	h.do(`waiting.shift()()`)
	h.until(`document.querySelector(".loading")?.textContent.includes("responses read…") && waiting.length === 1`)
	h.press(`T.named("Stop")`)
	h.do(`waiting.shift()()`)
	h.until(`document.querySelector(".results .notice")?.textContent.includes("Stopped after 120 responses. The figures are incomplete.")`)
	h.do(`slow = false`)
	h.press(`T.named("Continue")`)
	h.until(`!document.querySelector(".results .notice, .loading") && document.querySelector(".blocks")`)
	h.do(`localStorage.clear()`)
}

// correctsAnAnswer opens the third response of the table, corrects an answer and sees its history. The form page takes the
// place of the builder's, because a test sees one tab.
func (h hand) correctsAnAnswer() {
	h.t.Helper()
	h.press(`document.querySelector("tbody tr:nth-child(3) a")`)
	h.until(`document.querySelector(".response .answers")?.textContent.includes("Delivéry")`)
	path := strings.TrimPrefix(ask[string](h, `location.pathname + location.search`), "/forms")
	h.do(`window.open = () => ({ close() {}, location: { set href(url) { location.href = url } } })`)
	h.press(`T.named("Edit answers")`)
	h.until(`document.querySelector("[name='a.why']")?.value.includes("Delivéry")`)
	h.do(tools)
	corrected := fmt.Sprintf("The Delivéry was early, keys: %v", h.keys)
	h.write(`document.querySelector("[name='a.why']")`, corrected)
	h.press(`T.named("Save changes")`)
	h.until(`document.body.textContent.includes("Your changes have been saved.")`)
	h.start(path, ".differences")
	h.until(`document.querySelector(".differences > li:first-child ins").textContent.endsWith(` + quote(corrected) + `)`)
	h.until(`/Before: The Delivéry .*→.*After: /.test(document.querySelector(".differences > li:first-child").textContent) && document.querySelector(".differences > li:first-child").textContent.includes("changed by you")`)
	h.press(`document.querySelector(".differences > li:first-child summary")`)
	h.until(`document.querySelector(".differences > li:first-child dl").checkVisibility()`)
	h.press(`[...document.querySelectorAll(".response a")].find(a => a.href.includes("/responses?"))`)
	h.until(rows + `===10 && document.querySelectorAll("tbody .badge").length === 1 && document.querySelector("tbody tr:nth-child(3)").textContent.includes("Changed")`)
}

// findsDetractors finds the detractors who mention the delivery, and checks that the export has exactly these.
func (h hand) findsDetractors(form formsvc.Form) {
	h.t.Helper()
	h.start("/"+form.ID.String()+"/results", ".blocks")
	h.until(`document.querySelector(".chart[role=img] title")?.textContent.startsWith("Responses by day: ")`)
	h.until(`[...document.querySelectorAll(".chart title")].some(e => e.textContent === "Outcomes: Thank you 80 · 67%, We are sorry 40 · 33%")`)
	h.until(`document.querySelector(".figures strong").textContent === "0" && document.querySelector(".figures dt").textContent === "Net Promoter Score"`)
	h.press(`document.querySelector(".bar-link[aria-label^=Detractors]")`)
	h.until(`document.querySelector(".table-tools [role=status]").textContent === "40 matching responses"`)
	h.until(`location.pathname.endsWith("/results/responses") && document.querySelectorAll(".filter-chips li").length === 1`)
	h.write(`document.querySelector(".filter-bar input")`, "delivery")
	h.key(kb.Enter)
	h.until(rows + `===10 && document.querySelector(".table-tools [role=status]").textContent === "10 matching responses"`)
	h.until(`[...document.querySelectorAll("tbody tr")].every(r => r.textContent.includes("Delivéry"))`)
	query := ask[string](h, `location.search`)

	// The summary has the same filter, which can be shared and is in the history.
	h.press(`document.querySelector(".views a:first-child")`)
	h.until(`[...document.querySelectorAll(".figures strong")].some(e => e.textContent === "10") && location.search === ` + quote(query))
	h.do(`history.back()`)
	h.until(rows + `===10`)
	h.do(`history.back()`)
	h.until(rows + `===40`)
	h.start("/"+form.ID.String()+"/results/responses"+query, ".responses")
	h.until(rows + `===10 && document.querySelectorAll(".filter-chips li").length === 2`)

	h.correctsAnAnswer()
	h.press(`T.named("Export these")`)
	h.until(`document.querySelector("dialog[open] a[download]")`)
	h.do(`fetch(document.querySelector("dialog a[download]").href).then(r => r.text()).then(text => window.exported = text)`)
	h.until(`window.exported`)
	lines := strings.Split(strings.TrimSpace(ask[string](h, `window.exported`)), "\n")
	expect.That(h.t, len(lines) == 11, "%d lines in the export: %q", len(lines), lines)
	for _, line := range lines[1:] {
		expect.That(h.t, strings.Contains(line, "Delivéry") && strings.Contains(line, "3"), "exported: %s", line)
	}
	expect.Equal(h.t, strings.Count(lines[3], "was early"), 1, "the corrected answer in the export")
	h.key(kb.Escape)

	// A bar of the endings leads to the responses that reached one.
	h.press(`document.querySelector(".filter-chips + button")`)
	h.until(rows + `===50`)
	h.press(`document.querySelector(".views a:first-child")`)
	h.press(`document.querySelector(".bar-link[aria-label^='We are sorry']")`)
	h.until(`document.querySelector(".table-tools [role=status]").textContent === "40 matching responses" && document.querySelector(".filter-chips li bdi").textContent === "“Ending” is “We are sorry”"`)

	// A condition is a sentence.
	h.press(`document.querySelector(".filter-chips + button")`)
	h.until(rows + `===50`)
	h.press(`T.named("Filter")`)
	h.choose(`document.querySelector("dialog[open] .rule-row select")`, "answers.again")
	h.press(`T.named("Apply filter")`)
	h.until(`document.querySelector(".table-tools [role=status]").textContent === "50 matching responses so far" && document.querySelectorAll(".filter-chips li").length === 1`)
	h.press(`T.named("Show more")`)
	h.until(rows + `===60 && document.querySelector(".table-tools [role=status]").textContent === "60 matching responses"`)
	h.press(`document.querySelector("tbody tr:nth-child(2) a")`)
	h.until(`[...document.querySelectorAll(".response a")].some(a => a.textContent==="Newer")`)
	h.press(`T.named("Older")`)
	h.press(`[...document.querySelectorAll(".response a")].find(a => a.href.includes("/responses?"))`)
	h.until(rows + `===50 && document.querySelectorAll(".filter-chips li").length === 1`)
}

func TestFilter(t *testing.T) {
	s := newOwners(t)
	form := s.scoredForm()
	b := s.ownersTab(1280, 900)
	s.hand(b, false).findsDetractors(form)
	s.hand(s.ownersTab(1280, 900), true).findsDetractors(form)
	s.hand(b, false).stopsReading(form)

	// A response is read again when its owner returns from the page that changes it.
	list := s.all(form)
	last := list[len(list)-1]
	change := func(client formsvc.Client, c formsvc.SubmissionChange) {
		expect.Must(client.UpdateSubmission(t.Context(), form.ID, last.ID, c))
	}
	why := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"why": json.RawMessage(quote(text))}
	}
	s.openOwners(b, "/"+form.ID.String()+"/results/"+last.ID.String(), ".response")
	b.do(`window.opened = {}; window.open = () => ({ location: opened, close() {} })`)
	change(s.service.AsHost(), formsvc.SubmissionChange{Answers: why("Not read yet")})
	b.do(`dispatchEvent(new Event("focus"))`)
	b.named("Edit answers")
	b.until(`opened.href && !document.querySelector(".response").textContent.includes("Not read yet")`)
	b.do(`dispatchEvent(new Event("focus"))`)
	b.until(`document.querySelector(".response .answers").textContent.includes("Not read yet") && document.querySelector(".differences").textContent.includes("changed by the system")`)
	change(s.service.AsHost(), formsvc.SubmissionChange{Answers: map[string]json.RawMessage{"again": json.RawMessage("null"), "wish": json.RawMessage(`["a","b"]`)}, ByRespondent: true})
	b.do(`document.dispatchEvent(new Event("visibilitychange"))`)
	b.until(`document.querySelectorAll(".differences > li").length === 2 && document.querySelector(".differences").textContent.includes("changed by the respondent")`)

	// A filter for a deleted question can be removed, and with it nothing can be exported.
	for _, view := range []string{"", "/responses"} {
		s.openOwners(b, "/"+form.ID.String()+"/results"+view+`?where={"==":[{"var":"answers.gone"},1]}&text=delivery`, ".notice.bad")
		b.shows("The filter uses a question or field that is no longer in the form.")
		b.until(`[...document.querySelectorAll("button")].find(e => e.textContent.trim() === "Export these").disabled`)
		b.named("Remove conditions")
		b.until(`!document.querySelector(".notice.bad") && location.search === "?text=delivery" && document.querySelector(".blocks, .responses") && ![...document.querySelectorAll("button")].find(e => e.textContent.trim() === "Export these").disabled`)
	}
	for _, invalid := range []string{`where={"nope":[]}`, `where={"==":[{"var":"submission.id"},1]}`, "text=" + strings.Repeat("x", 201)} {
		s.openOwners(b, "/"+form.ID.String()+"/results?"+invalid, ".notice.bad")
		b.until(`[...document.querySelectorAll("button")].find(e => e.textContent.trim() === "Export these").disabled`)
		b.do(`document.querySelector(".notice.bad button").click()`)
		b.until(`!document.querySelector(".notice.bad") && location.search === "" && document.querySelector(".blocks") && ![...document.querySelectorAll("button")].find(e => e.textContent.trim() === "Export").disabled`)
	}
	s.openOwners(b, "/"+form.ID.String()+"/results?text=nothing+like+it", ".empty")
	b.named("Clear filter")
	b.until(`location.search === "" && document.querySelector(".blocks")`)

	check := axe(t)
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{false, true} {
			b := s.ownersTab(width, 900)
			b.dark(dark)
			state := func(name string) {
				t.Helper()
				name = fmt.Sprintf("filter-%s-%d-%s", name, width, map[bool]string{false: "light", true: "dark"}[dark])
				b.do(`document.getAnimations().forEach(a => a.finish())`)
				check(b, name)
				wide := get(b, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
				expect.That(t, wide <= width, "%s is %d wide", name, wide)
				b.shot(name)
			}
			filter := `?where={"and":[{"<=":[0,{"var":"answers.nps"},6]},{"==":[{"var":"answers.again"},true]}]}&text=delivery`
			s.openOwners(b, "/"+form.ID.String()+"/results"+filter, ".blocks")
			state("summary")
			s.openOwners(b, "/"+form.ID.String()+"/results/responses"+filter, ".responses")
			state("responses")
			b.do(`document.documentElement.dir = "rtl"`)
			state("right-to-left")
			b.do(`document.documentElement.dir = ""`)
			b.named("Filter")
			b.asked()
			state("dialog")
			s.openOwners(b, "/"+form.ID.String()+"/results/"+last.ID.String(), ".differences")
			b.do(`document.querySelector(".differences details").open = true`)
			state("history")
		}
	}
}

func TestFilterInOtherBrowsers(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	searches := func(w window) {
		form, h := s.scoredForm(), s.hand(w, false)
		h.findsDetractors(form)
		h.stopsReading(form)
	}
	t.Run("firefox", func(t *testing.T) { searches(s.ownersFirefox(t, newFirefox(t))) })
	t.Run("webkit", func(t *testing.T) {
		w := newWebKit(t)
		w.size(1280, 900)
		w.visit(s.server.URL + "/forms/")
		w.call("POST", "/cookie", map[string]any{"cookie": map[string]any{"name": userCookie, "value": "owner"}}, nil)
		searches(w)
	})
}
