package e2e

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// axe-core finds nothing on any page and state, light and dark.
func TestAxe(t *testing.T) {
	s := newSite(t, formpage.Config{Brand: formpage.Link{Text: "Made with formsvc", URL: "https://example.com/"}})
	check := axe(t)
	for name, width := range map[string]int64{"light": 390, "dark": 1280} {
		if name == "dark" && !full() {
			continue
		}
		b := newTab(t, width, 900)
		b.dark(name == "dark")
		feedback, finder, every := s.sample("feedback"), s.sample("finder"), s.sample("every")
		b.open(s.url(feedback, ""))
		check(b, name+" feedback")
		b.press("next")
		check(b, name+" feedback with faults")
		b.open(s.url(finder, "?lang=de"))
		check(b, name+" finder")
		b.press("next")
		check(b, name+" a question")
		b.press("next")
		check(b, name+" a question with a fault")
		b.open(s.url(every, "?short=x&legal=true&lang=ar"))
		for range 4 {
			check(b, name+" every block")
			b.press("next")
		}
		check(b, name+" the end")
		b.open(s.server.URL + "/f/nothing")
		check(b, name+" no form")
		b.open(s.preview(every, ""))
		check(b, name+" a preview")
		b.press("next")
		check(b, name+" a preview with a fault")
		s.close(finder)
		b.open(s.url(finder, ""))
		check(b, name+" a closed form")
		b.open(s.preview(finder, ""))
		check(b, name+" a preview of a closed form")
		b.open(s.url(feedback, "?embed=1"))
		check(b, name+" in a frame")
		saves := newSite(t, formpage.Config{Partials: formpage.Resume})
		later := saves.sample("feedback")
		b.open(saves.url(later, "?lang=de"))
		b.click("[value=later]")
		b.until(`document.querySelector("[data-link]")`)
		check(b, name+" a link for later")
		b.open(saves.url(later, "/later?lang=ar"))
		check(b, name+" the page of a link")
	}
	// On paper; the media of the page are those of the browser, so this comes last.
	b := newTab(t, 800, 900)
	every := s.sample("every")
	b.open(s.url(every, "?short=x&legal=true"))
	b.print()
	for range 4 {
		check(b, "on paper")
		b.press("next")
	}
}

// axe returns a function that reports what axe-core finds on a page in a state.
func axe(t *testing.T) func(b *tab, state string) {
	t.Helper()
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		expect.Require(t, os.Getenv("FORMSVC_TEST_REQUIRE_BROWSER") == "", "axe-core is not here: run npm ci in internal/lab/e2e")
		t.Skip("reason: axe-core is not here: run npm ci in internal/lab/e2e")
	}
	return func(b *tab, state string) {
		t.Helper()
		if !get(b, chromedp.Evaluate[bool](`!!window.axe`)) {
			b.do(string(source))
		}
		found := get(b, chromedp.Evaluate[string](`axe.run(document, {resultTypes:["violations"]}).then(r => r.violations.map(v =>
			v.impact+" "+v.id+": "+v.nodes.slice(0,3).map(n => n.html.slice(0,120)+" ["+(n.any[0]||n.all[0]||n.none[0]||{}).message+"]").join(" | ")).join("\n"))`, chromedp.EvalAwaitPromise))
		expect.That(t, found == "", "%s:\n%s", state, found)
	}
}
