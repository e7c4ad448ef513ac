package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// mobile is a slow mobile network: 1.6 Mbit/s down, 750 kbit/s up, and a round trip of 150 ms.
var mobile = network.Conditions{Latency: 150, DownloadThroughput: 1.6e6 / 8, UploadThroughput: 750e3 / 8}

// milliseconds starts something and returns how long it takes until an expression is true, at the page's next frame.
func (b *tab) milliseconds(start, until string) float64 {
	b.t.Helper()
	return number(b, `new Promise((done, fail) => { const began = performance.now(); `+start+`;
		const look = () => { const passed = performance.now() - began; if (`+until+`) done(passed); else if (passed > 2e4) fail("never true"); else requestAnimationFrame(look) }; look() })`)
}

// number is the value of an expression, or of what it promises.
func number(b *tab, expression string) float64 {
	b.t.Helper()
	return expect.Must(strconv.ParseFloat(b.evaluate(expression), 64))
}

// TestFigures prints how long respondents and owners wait, for internal/docs/performance.md, if FORMSVC_E2E_FIGURES is
// set. Storage is in memory, and the median of nine rounds counts. Nothing is compared.
func TestFigures(t *testing.T) {
	if os.Getenv("FORMSVC_E2E_FIGURES") == "" {
		t.Skip("reason: FORMSVC_E2E_FIGURES is not set")
	}
	s := newOwners(t)
	var blocks []string
	for i := range 20 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"q%d","type":%q,"label":"Question number %d, which somebody has to answer"}`, i, []string{"short_text", "email", "number", "yes_no", "rating"}[i%5], i))
	}
	twenty := formsvc.Definition{Blocks: json.RawMessage("[" + strings.Join(blocks, ",") + "]")}
	page := s.publish("Twenty questions", "MULTI", twenty)
	for i := range 100 {
		s.draft(fmt.Sprintf("Form %d", i), string(twenty.Blocks))
	}
	figures := map[string][]float64{}
	note := func(name string, value float64) { figures[name] = append(figures[name], value) }

	for range 9 {
		b := newTab(t, 390, 800)
		call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
		call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{&mobile}})
		b.open(s.url(page, ""))
		b.until(`performance.getEntriesByType("navigation")[0].loadEventEnd && performance.getEntriesByName("first-contentful-paint").length`)
		note("open a page of 20 questions on 1.6 Mbit/s: first paint, ms", number(b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
		note("open a page of 20 questions on 1.6 Mbit/s: all loaded, ms", number(b, `performance.getEntriesByType("navigation")[0].loadEventEnd`))
		note("open a page of 20 questions: bytes", number(b, `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((sum, e) => sum + e.transferSize, 0)`))
	}

	b := s.ownersTab(1280, 900)
	h := s.hand(b, false)
	publish, saved := `T.named(`+quote(h.word("editor.publish"))+`)`, `T.status() === "saved"`
	for range 9 {
		form := s.draft("Edited", string(twenty.Blocks))
		h.start("/"+form.ID.String(), ".editor")
		b.until(saved)
		h.edit("q0")
		b.do(`T.control("/label").querySelector("[role=textbox]").focus()`)
		b.do(`window.states = []; new MutationObserver(() => states.at(-1) !== T.status() && states.push(T.status())).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true})`)
		note("save a change in the editor, with its wait for more typing: ms", b.milliseconds(`document.execCommand("insertText", false, "More")`, `states.length > 1 && `+saved))
		b.until(publish + `.disabled === false`)
		b.milliseconds(publish+`.click()`, `document.querySelector("dialog[open] .primary")?.disabled === false`)
		note("publish: ms", b.milliseconds(`document.querySelector("dialog[open] .primary").click()`, `document.querySelector("dialog[open] .copied input")?.value`))
		h.start("/", ".forms-list")
		b.run(chromedp.Reload())
		note("list of over 100 forms, from the start of the navigation: ms", number(b, `new Promise(done => { const look = () => document.querySelectorAll(".form-row").length < 100 ? requestAnimationFrame(look) : done(performance.now()); look() })`))
	}
	for name, values := range figures {
		slices.Sort(values)
		fmt.Printf("%s: %.0f (%.0f to %.0f)\n", name, values[len(values)/2], values[0], values[len(values)-1])
	}
}
