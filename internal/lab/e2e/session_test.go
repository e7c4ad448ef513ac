package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// solved is a captcha that everybody passes.
type solved struct{}

func (solved) Widget() formpage.Widget {
	return formpage.Widget{Script: "https://localhost:1/captcha.js", Class: "captcha", Input: "token"}
}

func (solved) Verify(context.Context, string, string) (bool, error) { return true, nil }

// elsewhere is a page of another origin, where forms redirect to.
func elsewhere(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>Elsewhere</title><main class="fs-main">Thanks</main>`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/thanks"
}

// gate is the site behind a door that pages which are sent do not pass before it opens.
type gate struct {
	url     string
	arrived atomic.Int32
	door    chan struct{}
	open    func()
}

func (s *site) gate(form formsvc.Form) *gate {
	s.t.Helper()
	g := &gate{door: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.door) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/f/"+form.PublicID {
			g.arrived.Add(1)
			<-g.door
		}
		s.pages.ServeHTTP(w, r)
	}))
	s.t.Cleanup(server.Close)
	s.t.Cleanup(g.open)
	g.url = server.URL + "/f/" + form.PublicID
	return g
}

// wait waits for pages at the door.
func (g *gate) wait(t *testing.T, n int32) {
	t.Helper()
	for deadline := time.Now().Add(patience); g.arrived.Load() < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d pages were sent, want %d", g.arrived.Load(), n)
		}
	}
}

// Who opens the form after somebody else sent it in the same tab sees an empty one, also
// where the browser sends it itself and no ending of the form follows.
func TestASentResponseIsNotShownAgain(t *testing.T) {
	s := newSite(t, formpage.Config{Verifiers: map[string]formpage.Verifier{"turnstile": solved{}}})
	target := elsewhere(t)
	for name, captcha := range map[string]string{"by the browser": `,{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}`, "by the script": ""} {
		t.Run(name, func(t *testing.T) {
			form := s.publish("Sent", "MULTI", formsvc.Definition{
				Blocks:   json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}` + captcha + `]`),
				Settings: json.RawMessage(`{"redirectUrl":` + quote(target) + `}`),
			})
			b := newTab(t, 800, 700)
			b.open(s.url(form, ""))
			b.set(field("a.a"), "my diagnosis")
			b.until(`sessionStorage.length > 0`)
			b.do(`const k=document.createElement("input"); k.type="hidden"; k.name="token"; k.value="x"; document.querySelector(".fs-form").append(k)`)
			b.run(chromedp.Click(chromedp.CSS(".fs-actions button")))
			b.until(`location.href === ` + quote(target))
			b.open(s.url(form, ""))
			b.until(`document.readyState === "complete" && document.querySelector("[name=viewed]").value`) // the script has run
			b.until(`Object.values(sessionStorage).every(v => !v.includes("diagnosis"))`)
			if shown := get(b, chromedp.Evaluate[string](`document.querySelector("[name='a.a']").value`)); shown != "" {
				t.Errorf("the next one sees %q", shown)
			}
			wantAnswers(t, s.answers(form), map[string]string{"a": `"my diagnosis"`})
		})
	}
}

// What is kept belongs to its link: another link in the same tab has its own values, and
// the first one finds what was typed.
func TestAnotherLinkHasItsOwnData(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Links", "MULTI", formsvc.Definition{
		Blocks:       json.RawMessage(`[{"id":"email","type":"email","label":"E-mail"},{"id":"a","type":"short_text","label":"A"}]`),
		HiddenFields: json.RawMessage(`["ref"]`),
	})
	b := newTab(t, 800, 700)
	ann, bob := s.url(form, "?email=ann@example.com&ref=ann"), s.url(form, "?email=bob@example.com&ref=bob")
	b.open(ann)
	b.set(field("a.a"), "of Ann")
	b.until(`sessionStorage.length > 0`)
	b.open(bob)
	b.until(`document.readyState === "complete" && document.querySelector("[name=viewed]").value`)
	b.press("next")
	b.shows("Thank you!")
	wantAnswers(t, s.answers(form), map[string]string{"email": `"bob@example.com"`, "ref": `"bob"`, "a": ""})
}

// What is typed while the kept answers are on their way stays, and so does a press of the
// button.
func TestTypingWhileAnswersAreFetched(t *testing.T) {
	s := newSite(t, formpage.Config{})
	for _, kind := range []string{"MULTI", "SINGLE"} {
		form := s.publish("Slow", kind, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"},{"id":"b","type":"short_text","label":"B"}]`)})
		g := s.gate(form)
		b := newTab(t, 800, 700)
		b.open(g.url)
		if kind == "MULTI" {
			b.set(field("a.a"), "one")
			b.until(`Object.values(sessionStorage).some(v => v.includes("one"))`)
			b.run(chromedp.Reload())
			g.wait(t, 1)
			b.set(field("a.b"), "typed")
			b.do(`document.querySelector(".fs-actions button").click()`)
			g.open()
		} else { // what was kept is of the page after this one
			b.do(`sessionStorage.setItem("formsvc:"+location.pathname+"?", JSON.stringify([["a.a","one"],["a.b","typed"],["at","b"],["lang","en"]]))`)
			b.run(chromedp.Reload())
			g.wait(t, 1)
			b.set(field("a.a"), "changed")
			g.open()
			b.step("b")
			b.press("next")
		}
		b.shows("Thank you!")
		want := map[string]string{"a": `"one"`, "b": `"typed"`}
		if kind == "SINGLE" {
			want["a"] = `"changed"`
		}
		wantAnswers(t, s.answers(form), want)
	}
}

// A form is sent also while the script asks which blocks an answer calls for, and a later
// answer does not wait for an earlier one.
func TestSendingWhileBlocksAreFetched(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Busy", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"y","type":"yes_no","label":"Y"},
		{"id":"x","type":"short_text","label":"X","properties":{"rule":{"show":{"var":"answers.y"}}}}]`)})
	g := s.gate(form)
	b := newTab(t, 800, 700)
	b.open(g.url)
	b.until(`document.querySelector("[name=viewed]").value`)
	b.set(choice("a.y", "true"), "")
	g.wait(t, 1)
	b.set(choice("a.y", "false"), "")
	g.wait(t, 2)
	b.do(`document.querySelector(".fs-actions button").click()`)
	g.open()
	b.shows("Thank you!")
	wantAnswers(t, s.answers(form), map[string]string{"y": "false"})
}

// A form leads to the place that its target redirects to, also without the script.
func TestAFormLeadsThroughRedirects(t *testing.T) {
	s := newSite(t, formpage.Config{})
	target := elsewhere(t)
	hop := httptest.NewServer(http.RedirectHandler(target, http.StatusFound))
	t.Cleanup(hop.Close)
	for _, script := range []bool{true, false} {
		form := s.publish("Chain", "MULTI", formsvc.Definition{
			Blocks:   json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`),
			Settings: json.RawMessage(`{"redirectUrl":` + quote(hop.URL+"/x?a=1&b='2") + `}`),
		})
		b := newTab(t, 800, 700)
		if !script {
			b.noScript()
		}
		b.open(s.url(form, ""))
		b.set(field("a.a"), "x")
		b.do(`document.querySelector(".fs-actions button").click()`)
		b.until(`location.href === ` + quote(target))
		wantAnswers(t, s.answers(form), map[string]string{"a": `"x"`})
		if asked, _ := b.requests.list(); !slices.Contains(asked, hop.URL+"/x?a=1&b=%272") && !slices.Contains(asked, hop.URL+"/x?a=1&b='2") {
			t.Errorf("script %v: it asked for %q", script, asked)
		}
	}
}

// What was typed while the kept answers were on their way calls for its blocks.
func TestTypingWhileAnswersAreFetchedWithRules(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Slow", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"},{"id":"y","type":"yes_no","label":"Y"},
		{"id":"x","type":"short_text","label":"X","properties":{"rule":{"show":{"var":"answers.y"}}}}]`)})
	g := s.gate(form)
	b := newTab(t, 800, 700)
	b.open(g.url)
	b.set(field("a.a"), "one")
	b.until(`Object.values(sessionStorage).some(v => v.includes("one"))`)
	b.run(chromedp.Reload())
	g.wait(t, 1)
	b.set(choice("a.y", "true"), "")
	g.open()
	b.until(`document.querySelector("[name='a.a']").value === "one"`)
	b.set(".fs-fields "+field("a.x"), "two")
	b.press("next")
	b.shows("Thank you!")
	wantAnswers(t, s.answers(form), map[string]string{"a": `"one"`, "y": "true", "x": `"two"`})
}
