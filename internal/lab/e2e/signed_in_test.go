package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// A person answers on two devices, another person signs in in the meantime, and the session ends: with the script and without,
// in both layouts, from right to left, light and dark. axe-core finds nothing.
func TestRespondentsOfTheHost(t *testing.T) {
	check := axe(t)
	var who atomic.Value
	s := newSite(t, formpage.Config{
		Partials: formpage.Resume, SignIn: http.RedirectHandler("/login", http.StatusSeeOther),
		Respondent: func(*http.Request, formsvc.PublicForm) (id, displayName string, err error) {
			if who.Load() == "broken" {
				return "", "", errors.New("down")
			}
			return who.Load().(string), who.Load().(string), nil
		},
	})
	for _, c := range []struct {
		name, kind, lang string
		script           bool
		width            int64
	}{{"script", "MULTI", "ar", true, 390}, {"plain", "SINGLE", "de", false, 1280}, {"plain-multi", "MULTI", "en", false, 390}, {"script-single", "SINGLE", "en", true, 1280}} {
		t.Run(c.name, func(t *testing.T) {
			form := s.publish("Party", c.kind, formsvc.Definition{Blocks: json.RawMessage(laterBlocks), Settings: json.RawMessage(`{"onePerRespondent":true,"showTitle":true,"darkMode":true}`)})
			address := s.url(form, "?lang="+c.lang)
			newDevice := func() *tab {
				b := newTabOf(t, c.script, c.width, 900)
				b.dark(c.width > 1000)
				return b
			}
			one := newDevice()
			look := func(b *tab, state string) {
				t.Helper()
				if c.script {
					check(b, c.name+" "+state)
				}
				b.shot("respondent-" + c.name + "-" + state)
			}
			finish := func(b *tab) {
				const step = `document.querySelector(".fs-form")?.dataset.step ?? ""`
				for at := get(b, chromedp.Evaluate[string](step)); at != ""; at = get(b, chromedp.Evaluate[string](step)) {
					b.press("next")
					b.until(`document.readyState === "complete" && (` + step + `) !== ` + quote(at))
				}
				b.until(`location.pathname.endsWith("/done")`)
			}
			who.Store("")
			one.open(address)
			one.until(`document.querySelector(".fs-screen .fs-button").getAttribute("href").includes("sign-in=1")`)
			look(one, "signed out")
			who.Store("Ann Müller")
			one.open(address)
			one.until(`document.querySelector(".fs-who").textContent.includes("Ann Müller")`)
			one.set(field("a.a"), "x")
			look(one, "first")
			one.press("next")
			one.until(`document.querySelector(".fs-form").dataset.step !== "a"`)

			two := newDevice()
			two.open(address)
			two.until(`document.querySelector("#summary") && document.querySelector("[name='a.a']").value === "x"`)
			look(two, "resumed")

			for _, other := range []string{"", "Eve", "broken"} {
				who.Store(other)
				one.press("next")
				one.until(`document.querySelector("#summary") === document.activeElement && document.querySelector("[name='a.a']").value === "x"`)
				look(one, "as "+other)
			}
			who.Store("Eve")
			finish(one)
			who.Store("Ann Müller")
			finish(two)
			expect.Equal(t, len(s.answers(form)), 2, "responses")
			two.open(address)
			two.until(`document.querySelector(".fs-screen h1") && !document.querySelector("form")`)
			look(two, "answered")
			anonymous := s.publish("Party", c.kind, formsvc.Definition{Blocks: json.RawMessage(laterBlocks), Settings: json.RawMessage(`{"anonymous":true,"showTitle":true,"darkMode":true}`)})
			two.open(s.url(anonymous, "?lang="+c.lang))
			two.until(`document.querySelector(".fs-who") && !document.body.innerText.includes("Ann")`)
			look(two, "anonymous")
		})
	}
}
