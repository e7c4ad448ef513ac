package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// respondent is a browser that somebody fills in a form with.
type respondent interface {
	window
	size(width, height int64)
	// stroke presses the mouse's button at the first point and moves it to the last one.
	stroke(points ...[2]float64)
}

func (b *tab) stroke(points ...[2]float64) {
	b.t.Helper()
	mouse := func(kind input.DispatchMouseEventType, p [2]float64, pressed int64) {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: p[0], Y: p[1], Button: input.MouseButtonLeft, Buttons: pressed, ClickCount: 1})
	}
	mouse(input.DispatchMouseEventTypeMousePressed, points[0], 1)
	for _, p := range points {
		mouse(input.DispatchMouseEventTypeMouseMoved, p, 1)
	}
	mouse(input.DispatchMouseEventTypeMouseReleased, points[len(points)-1], 0)
}

// What browsers decide is tried in each of them. They are started once.
func TestRespondentsInEachBrowser(t *testing.T) {
	points := map[string]func(*testing.T, respondent){
		"other": otherIsUnticked, "files": filesAreAdded, "signature": signaturesKeepTheirPlace, "frame": framesLeadOn,
		"links": linksTickNothing, "texts": textsFollowAnswers,
		"clear": choicesAreCleared, "keys": keysStayInTheQuestion, "back": backIsNoNewVisit, "print": paperHasLongAnswers,
		"consent": consentsAreToTheTextOnThePage, "edit": answersAreCorrected,
		"checks": checksAreOnTheirStep, "removed": removedPagesAreListed, "search": respondentsSearchLists,
	}
	t.Run("Chromium", func(t *testing.T) {
		for name, run := range points {
			t.Run(name, func(t *testing.T) { run(t, newTab(t, 800, 700)) })
		}
	})
	t.Run("Firefox", func(t *testing.T) {
		if _, err := exec.LookPath("firefox-esr"); err != nil && !full() {
			t.Skip("reason: there is no Firefox on this machine")
		}
		f := newFirefox(t)
		for name, run := range points {
			t.Run(name, func(t *testing.T) {
				f.t = t
				f.size(800, 700)
				run(t, f)
			})
		}
	})
	t.Run("WebKit", func(t *testing.T) {
		w := newWebKit(t)
		for name, run := range points {
			t.Run(name, func(t *testing.T) {
				w.t = t
				w.size(800, 700)
				run(t, w)
			})
		}
	})
}

// opened shows a form whose script has run.
func opened(b respondent, url string) {
	b.visit(url)
	b.until(`document.querySelector("[name=viewed]")?.value`)
}

// press clicks an element of a page that is loaded.
func press(b respondent, selector string) {
	b.until(`document.readyState === "complete" && document.querySelector(` + quote(selector) + `)`)
	b.do(`document.querySelector(` + quote(selector) + `).click()`)
}

func typeInto(b respondent, selector, text string) {
	b.do(`document.querySelector(` + quote(selector) + `).focus()`)
	b.insert(text)
	b.until(`document.querySelector(` + quote(selector) + `).value === ` + quote(text))
}

const thanks = `document.querySelector(".fs-done")`

func otherIsUnticked(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	choices := `"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}],"properties":{"otherOption":true`
	form := s.publish("Other", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"many","type":"multiple_choice",` + choices + `}},{"id":"pics","type":"picture_choice",` + choices + `,"multiSelection":true}},
		{"id":"one","type":"single_choice",` + choices + `}},{"id":"list","type":"dropdown",` + choices + `}},{"id":"kept","type":"multiple_choice",` + choices + `}}]`)})
	opened(b, s.url(form, ""))
	for _, id := range []string{"many", "pics", "one", "kept"} {
		if id != "one" {
			press(b, choice("a."+id, "id:a"))
		}
		press(b, choice("a."+id, "other"))
		typeInto(b, field("o."+id), "mine")
	}
	b.do(`const l = document.querySelector("[name='a.list']"); l.value = "other"; l.dispatchEvent(new Event("input", {bubbles: true}))`)
	typeInto(b, field("o.list"), "mine")
	press(b, choice("a.many", "other"))
	press(b, choice("a.pics", "other"))
	press(b, choice("a.one", "id:b"))
	b.do(`const l = document.querySelector("[name='a.list']"); l.value = "id:a"; l.dispatchEvent(new Event("input", {bubbles: true}))`)
	b.until(`!document.querySelector("[name='o.many']").offsetWidth && document.querySelector("[name='o.kept']").offsetWidth`)
	press(b, ok)
	b.until(thanks)
	a := `{"id":"a","label":"A"}`
	wantAnswers(t, s.answers(form), map[string]string{"many": "[" + a + "]", "pics": "[" + a + "]", "one": `{"id":"b","label":"B"}`, "list": a, "kept": "[" + a + `,{"other":"mine"}]`})
}

func filesAreAdded(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{MaxFileSize: 1 << 20})
	form := s.publish("Files", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"f","type":"file_upload","label":"Files","properties":{"multipleFiles":true,"allowedFiles":["pdf","application/pdf"]}},
		{"id":"p","type":"page_break"},{"id":"n","type":"short_text"}]`)})
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	opened(b, s.url(form, ""))
	names := func(list string) { // of the files that the page lists
		t.Helper()
		b.until(`[...document.querySelectorAll(".fs-files span")].map(e => e.textContent).join() === ` + quote(list))
	}
	in := field("u.f")
	b.setFiles(in, file("one.pdf", "%PDF-1.4 one"))
	names("one.pdf")
	b.setFiles(in, file("two.pdf", "%PDF-1.4 two"))
	names("one.pdf,two.pdf")
	b.setFiles(in, file("notes.txt", "some text"))
	b.until(`document.querySelector(".refused[role=alert]").textContent.includes("notes.txt")`)
	b.setFiles(in, file("large.pdf", "%PDF-1.4"+strings.Repeat(" ", 1<<20)))
	b.until(`document.querySelector(".refused").textContent.includes("1 MB")`)
	names("one.pdf,two.pdf")
	b.setFiles(in, file("three.pdf", "%PDF-1.4 three"))
	names("one.pdf,two.pdf,three.pdf")
	b.until(`!document.querySelector(".refused")`)
	b.do(`[...document.querySelectorAll(".picked button")].find(e => e.textContent === "Remove two.pdf").focus()`)
	b.key(kb.Enter)
	names("one.pdf,three.pdf")
	b.until(`document.activeElement.textContent === "Remove three.pdf"`)
	press(b, ok)
	b.until(`document.querySelector("form").dataset.step === "p"`)
	press(b, `.fs-actions [value=back]`)
	names("one.pdf,three.pdf")
	b.setFiles(in, file("four.pdf", "%PDF-1.4 four"))
	names("one.pdf,three.pdf,four.pdf")
	press(b, ok)
	b.until(`document.querySelector("form").dataset.step === "p"`)
	press(b, ok)
	b.until(thanks)
	stored := s.answers(form)
	var files []struct{ Name string }
	if len(stored) != 1 || json.Unmarshal([]byte(stored[0]["f"]), &files) != nil || fmt.Sprint(files) != "[{one.pdf} {three.pdf} {four.pdf}]" {
		t.Errorf("stored is %v", stored)
	}
}

// drawing is the part of the picture's width that a signature covers, and the place of its highest point
// from the left, both in percent.
const drawing = `(async () => {
	const p = await createImageBitmap(document.querySelector("[name='u.s']").files[0]), c = new OffscreenCanvas(p.width, p.height), g = c.getContext("2d");
	g.drawImage(p, 0, 0);
	const d = g.getImageData(0, 0, p.width, p.height).data, xs = [];
	for (let i = 3; i < d.length; i += 4) if (d[i]) xs.push((i - 3) / 4 % p.width);
	return xs.length ? [xs.reduce((a, b) => Math.max(a, b)) - xs.reduce((a, b) => Math.min(a, b)), xs[0]].map(x => Math.round(100 * x / p.width)) : [0, 0];
})()`

func signaturesKeepTheirPlace(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Signed", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"s","type":"signature","label":"Sign"}]`)})
	draw := func() {
		t.Helper()
		b.do(`document.querySelector("canvas").scrollIntoView({block: "center"})`)
		var r [4]float64
		expect.NoError(t, json.Unmarshal([]byte(b.evaluate(`(r => [r.left, r.top, r.width, r.height])(document.querySelector("canvas").getBoundingClientRect())`)), &r))
		y := r[1] + r[3]*0.7
		b.stroke([2]float64{r[0] + 4, y}, [2]float64{r[0] + r[2]/2, y - 20}, [2]float64{r[0] + r[2] - 4, y})
		b.until(`document.querySelector("[name='u.s']").files.length === 1`)
	}
	check := func(when string) {
		t.Helper()
		var got [2]int
		if err := json.Unmarshal([]byte(b.evaluate(drawing)), &got); err != nil || got[0] < 95 || got[1] < 45 || got[1] > 55 {
			t.Errorf("%s: a roof from edge to edge covers %d %% of the picture, its top is at %d %%: %v", when, got[0], got[1], err)
		}
	}
	for _, turn := range []struct {
		name         string
		before, then [2]int64
	}{{"to landscape", [2]int64{390, 844}, [2]int64{844, 390}}, {"to portrait", [2]int64{844, 390}, [2]int64{390, 844}}} {
		b.size(turn.before[0], turn.before[1])
		opened(b, s.url(form, ""))
		b.size(turn.then[0], turn.then[1])
		draw()
		check(turn.name)
		press(b, "[data-clear]")
		b.until(`document.querySelector("[name='u.s']").files.length === 0`)
	}
	// What was hidden for a while, and has another size than it had.
	b.do(`document.querySelector(".fs-sign").parentElement.style.display = "none"; document.querySelector(".fs-sign").style.maxWidth = "15rem"`)
	b.size(800, 700)
	b.do(`document.querySelector(".fs-sign").parentElement.style.display = ""`)
	draw()
	check("in another size")
	b.visit(s.url(form, ""))
	b.until(`document.querySelector("[name='u.s']").files.length === 1`)
	check("after a reload")
	press(b, ok)
	b.until(thanks)
	stored := s.answers(form)
	expect.That(t, len(stored) == 1 && strings.Contains(stored[0]["s"], "signature.png"), "stored is %v", stored)
}

// A form in a frame leads the page around it on, after the page has heard that the form was sent.
func framesLeadOn(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{FrameAncestors: []string{"http://127.0.0.1:*"}})
	target := elsewhere(t)
	heard := make(chan bool, 9)
	s.mux.HandleFunc("/heard", func(http.ResponseWriter, *http.Request) { heard <- true })
	hears := func(times int) { // a beacon may come after the next page
		t.Helper()
		for range times {
			select {
			case <-heard:
			case <-time.After(patience):
				t.Fatal("the page has not heard of a response")
			}
		}
		expect.That(t, len(heard) == 0, "the page heard of more than was sent")
	}
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		script := `<script>addEventListener("formsvc:done", e => { navigator.sendBeacon("/heard"); if (location.hash) e.preventDefault() })</script>`
		if id := r.URL.Query().Get("by"); id != "" { // a frame of the page's own
			fmt.Fprintf(w, `<!doctype html><body>%s<script src="/f/-/embed.js"></script><iframe src="/f/%s"></iframe>`, script, id)
			return
		}
		fmt.Fprintf(w, `<!doctype html><body>%s<script src="/f/-/embed.js" data-form="%s"></script>`, script, r.URL.Query().Get("id"))
	})
	blocks := json.RawMessage(`[{"id":"a","type":"short_text","label":"A"},{"id":"e","type":"ending","label":"Bye","properties":{"buttonText":"Home","buttonLink":` + quote(target+"?home") + `}}]`)
	leads := s.publish("Leads", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`), Settings: json.RawMessage(`{"redirectUrl":` + quote(target) + `}`)})
	ends := s.publish("Ends", "MULTI", formsvc.Definition{Blocks: blocks})
	inside := `document.querySelector("iframe").contentDocument`
	// A click by a script before the page is loaded would replace its entry in the history.
	loaded := inside + `?.readyState === "complete" && ` + inside + `.querySelector("[name=viewed]")?.value`
	send := func(url string) {
		t.Helper()
		b.visit(s.server.URL + "/" + url)
		b.until(loaded)
		b.do(inside + `.querySelector(` + quote(ok) + `).click()`)
	}
	for range 3 {
		send("?id=" + leads.PublicID)
		b.until(`location.href === ` + quote(target))
	}
	hears(3)
	// The page may want to stay, and nothing leads a page on that did not make the frame.
	for _, url := range []string{"?id=" + leads.PublicID + "#stay", "?by=" + leads.PublicID} {
		send(url)
		b.until(inside + `.querySelector(".fs-done")`)
		b.do(inside + `.defaultView.parent.postMessage({formsvc: "x", done: true, to: "https://evil.example/"}, "*")`)
		b.until(`performance.now() > 300 && ` + inside + `.querySelector(".fs-done [target=_top]").href === ` + quote(target))
	}
	send("?id=" + ends.PublicID)
	b.until(inside + `.querySelector(".fs-done a[href]")`)
	b.do(inside + `.querySelector(".fs-done a[href]").click()`)
	b.until(`location.href === ` + quote(target+"?home"))
	hears(2)
	// Going back in a frame is no new visit either.
	thanks := s.publish("Stays", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`)})
	send("?id=" + thanks.PublicID)
	b.until(inside + `?.querySelector(".fs-done")`)
	b.do(`history.back()`)
	b.until(loaded)
	b.do(inside + `.querySelector(` + quote(ok) + `).click()`)
	b.until(inside + `?.querySelector(".fs-done")`)
	expect.Equal(t, len(s.answers(thanks)), 1, "responses are stored after going back in a frame, want 1")
}

func choicesAreCleared(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	choices := `"choices":[{"id":"x","label":"X","image":{"url":"data:"}},{"id":"y","label":"Y"}]`
	form := s.publish("Clear", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"single","type":"single_choice",` + choices + `,"properties":{"otherOption":true}},{"id":"yes","type":"yes_no"},{"id":"stars","type":"rating"},{"id":"nps","type":"nps"},
		{"id":"pic","type":"picture_choice",` + choices + `},{"id":"legal","type":"legal","properties":{"legalType":0}},
		{"id":"grid","type":"matrix","matrix_rows":[{"id":"r1","label":"R1"},{"id":"r2","label":"R2"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},
		{"id":"must","type":"yes_no","required":true},{"id":"more","type":"short_text","properties":{"rule":{"show":{"var":"answers.yes"}}}}]`)})
	opened(b, s.url(form, ""))
	names := []string{"a.single", "a.yes", "a.stars", "a.nps", "a.pic", "a.legal", "r.r1.grid", "r.r2.grid", "a.must"}
	b.until(`[...document.querySelectorAll(".fs-clear")].every(e => !e.checkVisibility({visibilityProperty: true}))`)
	for _, name := range names {
		press(b, field(name))
	}
	b.until(`document.querySelector("[data-b=more]")`)
	for _, name := range names[:7] {
		b.do(`const c = document.querySelector(` + quote(".fs-clear[value="+quote(name)+"]") + `); if (!c.offsetWidth) throw "hidden"; c.focus()`)
		b.key(kb.Enter)
		b.until(`!document.querySelector(` + quote(field(name)+":checked") + `) && document.activeElement.name === ` + quote(name) + ` && !document.querySelector(` + quote(".fs-clear[value="+quote(name)+"]") + `).offsetWidth`)
	}
	b.until(`!document.querySelector("[data-b=more]") && !document.querySelector("[data-b=must] .fs-clear")`)
	press(b, ok)
	b.until(thanks)
	want := map[string]string{"grid": `{"r2":{"id":"x","label":"X"}}`, "must": "true"}
	stored := s.answers(form)
	wantAnswers(t, stored, want)
	expect.That(t, len(stored[0]) == len(want), "stored is %v", stored)
}

// The text of a consent is edited while its page is open: the page shows the new one, and the box is empty. The same
// goes for a page that is loaded again with what was typed.
func consentsAreToTheTextOnThePage(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	blocks := func(text string) json.RawMessage {
		return json.RawMessage(`[{"id":"name","type":"short_text","label":"Name"},
			{"id":"terms","type":"legal","label":"Terms","required":true,"properties":{"legalType":1,"legalText":` + quote(text) + `}}]`)
	}
	form := s.publish("Consent", "MULTI", formsvc.Definition{Blocks: blocks("The first text")})
	edit := func(text string) {
		t.Helper()
		expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: blocks(text)}}))
	}
	asked := func(text string) {
		t.Helper()
		b.until(`document.querySelector("#summary")?.textContent.includes("This text has changed") && document.querySelector("[data-b=terms]").textContent.includes(` + quote(text) + `) &&
			!document.querySelector("[name='a.terms']:checked") && document.querySelector("[name='a.name']").value === "Ann"`)
	}
	opened(b, s.url(form, ""))
	typeInto(b, field("a.name"), "Ann")
	press(b, field("a.terms"))
	edit("The second text")
	press(b, ok)
	asked("The second text")
	press(b, field("a.terms"))
	edit("The third text")
	b.do(`location.reload()`)
	asked("The third text")
	expect.That(t, len(s.answers(form)) == 0, "a response is stored")
	press(b, field("a.terms"))
	press(b, ok)
	b.until(thanks)
	wantAnswers(t, s.answers(form), map[string]string{"name": `"Ann"`, "terms": "true"})
	for submission, err := range s.service.AsHost().Submissions(t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(t, err)
		answers := expect.Must(formsvc.DecodeAnswers(submission))
		expect.Equal(t, answers[1].LegalText, "The third text", "the stored text")
	}
}

func keysStayInTheQuestion(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Keys", "SINGLE", formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"one","type":"single_choice","label":"One","properties":{"badgeType":"letter"},"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
		{"id":"nps","type":"nps","label":"NPS"}]`)})
	opened(b, s.url(form, ""))
	chosen := func(value string) {
		t.Helper()
		b.until(`(document.querySelector(".q :checked")?.value || "") === ` + quote(value))
	}
	b.do(`document.activeElement.blur()`)
	b.key("b")
	chosen("")
	b.do(`document.querySelector(` + quote(ok) + `).focus()`)
	b.key("b")
	chosen("")
	b.do(`document.querySelector(".q input").focus()`)
	b.key("b")
	chosen("id:b")
	press(b, ok)
	b.until(`document.querySelector("form").dataset.step === "nps"`)
	b.do(`document.querySelector(".fs-actions [value=back]").focus()`)
	b.key("7")
	chosen("")
	b.do(`document.querySelector(".q legend").parentElement.focus()`)
	b.key("7")
	chosen("7")
}

func backIsNoNewVisit(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Back", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"},{"id":"e","type":"ending","label":"The end"}]`)})
	opened(b, s.url(form, ""))
	send := func(text string, want int) {
		t.Helper()
		b.until(`document.readyState === "complete" && document.querySelector("[name=viewed]")?.value`)
		if b.evaluate(`document.querySelector("[name='a.a']").value`) != quote(text) {
			b.do(`const i = document.querySelector("[name='a.a']"); i.value = ` + quote(text) + `; i.dispatchEvent(new Event("input", {bubbles: true}))`)
		}
		press(b, ok)
		b.until(`document.querySelector(".fs-done h1")?.textContent === "The end"`)
		expect.Equal(t, len(s.answers(form)), want, "responses are stored")
	}
	send("x", 1)
	b.do(`history.back()`)
	send("x", 1)
	b.do(`history.back()`)
	send("y", 2)
	opened(b, s.url(form, ""))
	send("x", 3)
}

func paperHasLongAnswers(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Paper", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"long","type":"long_text"},{"id":"short","type":"short_text"},{"id":"c","type":"contact_info"}]`)})
	opened(b, s.url(form, ""))
	long := strings.Repeat("many words ", 200)
	for _, name := range []string{"a.long", "a.short", "p.firstName.c"} {
		b.do(`document.querySelector(` + quote(field(name)) + `).value = ` + quote(long))
	}
	b.do(`dispatchEvent(new Event("beforeprint"))`)
	b.until(`[...document.querySelectorAll(".fs-print")].filter(p => p.textContent === ` + quote(long) + ` && p.previousElementSibling.value === p.textContent).length === 3`)
	if c, ok := b.(*tab); ok {
		c.print()
		b.until(`[...document.querySelectorAll(".fs-print")].filter(p => p.scrollHeight > 100 && p.scrollWidth <= p.clientWidth && !p.previousElementSibling.offsetWidth).length === 3`)
	}
	b.do(`dispatchEvent(new Event("afterprint"))`)
	b.until(`!document.querySelector(".fs-print")`)
}

// Without a script the browser shows the page that it had, with its visit.
func TestBackWithoutScript(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Back", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"},{"id":"y","type":"yes_no"}]`)})
	b := newTabOf(t, false, 390, 800)
	b.open(s.url(form, ""))
	for range 2 {
		b.until(`document.querySelector("[name='a.a']")`)
		b.set(field("a.a"), "x")
		b.press("next")
		b.shows("Thank you!")
		b.do(`history.back()`)
	}
	wantAnswers(t, s.answers(form), map[string]string{"a": `"x"`})
	b.open(s.url(form, ""))
	b.set(field("a.a"), "x")
	b.press("next")
	b.shows("Thank you!")
	expect.Equal(t, len(s.answers(form)), 2, "responses are stored after another visit, want 2")
}

// A proxy in front of the pages responds instead of them: the form stays as it is and says
// what happened, and sends all of it later.
func TestAnswersOfProxies(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Behind", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"long_text","label":"A"},{"id":"f","type":"file_upload","label":"F"}]`)})
	target := elsewhere(t)
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	var proxy atomic.Pointer[http.HandlerFunc]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := proxy.Load(); p != nil && (r.Method == http.MethodPost && r.URL.Path == "/f/"+form.PublicID || r.Method == http.MethodHead) {
			(*p)(w, r)
			return
		}
		s.pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	paper := filepath.Join(t.TempDir(), "paper.pdf")
	expect.NoError(t, os.WriteFile(paper, []byte("%PDF-1.4"+strings.Repeat(" ", 1<<20)), 0o600))
	login := `<!doctype html><title>Sign in</title><form method="post"><input name="user"></form>`
	hangUp := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
	}
	b := newTab(t, 390, 800)
	for _, files := range []bool{false, true} {
		proxy.Store(nil)
		b.open(server.URL + "/f/" + form.PublicID)
		b.set(field("a.a"), "a long story")
		if files {
			b.setFiles(field("u.f"), paper)
		}
		for name, test := range map[string]struct {
			answer http.HandlerFunc
			says   string
		}{
			"too large":                  {answer(413, "<html><center>nginx"), "too large to submit"},
			"forbidden":                  {answer(403, "Blocked"), "blocked the request"},
			"of a country":               {answer(451, ""), "blocked the request"},
			"unauthorized":               {answer(401, login), "blocked the request"},
			"bad gateway":                {answer(502, "<html>502 Bad Gateway"), "could not save your answers just now"},
			"a gateway's timeout":        {answer(504, ""), "could not save your answers just now"},
			"own error of a cloud":       {answer(522, "<html>"), "could not save your answers just now"},
			"too many":                   {answer(429, "slow down"), "wait a minute"},
			"a page to sign in":          {answer(200, login), "We received an unexpected page"},
			"nothing":                    {answer(200, ""), "We received an unexpected page"},
			"no content":                 {answer(204, ""), "We received an unexpected page"},
			"not found":                  {answer(404, "<html>404"), "We received an unexpected page"},
			"a redirect":                 {http.RedirectHandler("/login", http.StatusFound).ServeHTTP, "We received an unexpected page"},
			"a redirect to another host": {http.RedirectHandler(target, http.StatusSeeOther).ServeHTTP, "We received an unexpected page"},
			"nobody":                     {hangUp, map[bool]string{false: "check your connection", true: "too large to submit"}[files]},
			"the service's own": {func(w http.ResponseWriter, r *http.Request) {
				s.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/none", nil))
			}, "Form not found"},
		} {
			proxy.Store(&test.answer)
			b.do(`document.querySelector(".fs-status").textContent = ""; document.querySelector(` + quote(ok) + `).click()`)
			b.until(`document.querySelector(".fs-status").textContent.includes(` + quote(test.says) + `) && !document.querySelector(".fs-button[aria-disabled=true]")`)
			if kept := b.evaluate(`[document.querySelector("[name='a.a']").value, document.querySelector("[name='u.f']").files.length, location.pathname]`); kept != fmt.Sprintf(`["a long story",%d,"/f/%s"]`, map[bool]int{true: 1}[files], form.PublicID) {
				t.Errorf("%s, files %v: the page has %s", name, files, kept)
			}
		}
		proxy.Store(nil)
		b.press("next")
		b.shows("Thank you!")
	}
	stored := s.answers(form)
	expect.That(t, len(stored) == 2 && stored[0]["f"] != "", "stored is %v", stored)
}

// While files are sent, the page shows how far it has come.
func TestProgressOfAnUpload(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Upload", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"f","type":"file_upload","label":"F"}]`)})
	half := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/f/"+form.PublicID {
			head := make([]byte, 4<<20)
			_, _ = io.ReadFull(r.Body, head)
			<-half
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(head), r.Body))
		}
		s.pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	paper := filepath.Join(t.TempDir(), "paper.pdf")
	expect.NoError(t, os.WriteFile(paper, []byte("%PDF-1.4"+strings.Repeat(" ", 9<<20)), 0o600))
	b := newTab(t, 390, 800)
	b.open(server.URL + "/f/" + form.PublicID)
	b.setFiles(field("u.f"), paper)
	press(b, ok)
	b.until(`document.querySelector("progress.fs-upload[aria-label]")?.value > 0.2 && document.querySelector("progress.fs-upload").offsetWidth && document.querySelector(".fs-status").textContent`)
	close(half)
	b.shows("Thank you!")
}

// What is saved by itself may be refused on its way as well, and the page says so.
func TestSavingBehindAProxy(t *testing.T) {
	s := newSite(t, formpage.Config{Partials: formpage.Resume})
	form := s.publish("Saves", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/f/"+form.PublicID {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := newTab(t, 390, 800)
	opened(b, server.URL+"/f/"+form.PublicID)
	b.do(soon)
	b.set(field("a.a"), "x")
	b.until(`document.querySelector(".fs-keep [role=status]").textContent.includes("blocked the request") && document.querySelector("[name='a.a']").value === "x"`)
}
