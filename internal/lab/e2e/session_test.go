package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
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
		expect.Require(t, !time.Now().After(deadline), "%d pages were sent, want %d", g.arrived.Load(), n)
	}
}

// Who opens the form after somebody else sent it in the same tab sees an empty one, also
// where the browser sends it itself and no ending of the form follows.
func TestASentResponseIsNotShownAgain(t *testing.T) {
	s := newSite(t, formpage.Config{Verifiers: map[string]formpage.Verifier{"turnstile": solved{}}})
	target := elsewhere(t)
	hop := httptest.NewServer(http.RedirectHandler(target, http.StatusFound)) // a form leads where its target redirects to
	t.Cleanup(hop.Close)
	for name, captcha := range map[string]string{"by the browser": `,{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}`, "by the script": ""} {
		t.Run(name, func(t *testing.T) {
			form := s.publish("Sent", "MULTI", formsvc.Definition{
				Blocks:   json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}` + captcha + `]`),
				Settings: json.RawMessage(`{"redirectUrl":` + quote(hop.URL+"/x?a=1&b='2") + `}`),
			})
			b := newTab(t, 800, 700)
			b.open(s.url(form, ""))
			b.set(field("a.a"), "my diagnosis")
			b.until(`sessionStorage.length > 0`)
			b.do(`const k=document.createElement("input"); k.type="hidden"; k.name="token"; k.value="x"; document.querySelector(".fs-form").append(k)`)
			b.run(chromedp.Click(chromedp.CSS(".fs-actions button")))
			b.until(`location.href === ` + quote(target))
			asked, _ := b.requests.list()
			passed := slices.Contains(asked, hop.URL+"/x?a=1&b=%272") || slices.Contains(asked, hop.URL+"/x?a=1&b='2")
			expect.That(t, passed, "it asked for %q", asked)
			b.open(s.url(form, ""))
			b.until(`document.readyState === "complete" && document.querySelector("[name=viewed]").value`) // the script has run
			b.until(`Object.values(sessionStorage).every(v => !v.includes("diagnosis"))`)
			shown := get(b, chromedp.Evaluate[string](`document.querySelector("[name='a.a']").value`))
			expect.That(t, shown == "", "the next one sees %q", shown)
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
// button. It calls for its blocks.
func TestTypingWhileAnswersAreFetched(t *testing.T) {
	s := newSite(t, formpage.Config{})
	const blocks = `[{"id":"a","type":"short_text","label":"A"},{"id":"b","type":"short_text","label":"B"},{"id":"y","type":"yes_no","label":"Y"},
		{"id":"x","type":"short_text","label":"X","properties":{"rule":{"show":{"var":"answers.y"}}}}]`
	for what, kind := range map[string]string{"a press": "MULTI", "a later page": "SINGLE", "rules": "MULTI"} {
		form := s.publish("Slow", kind, formsvc.Definition{Blocks: json.RawMessage(blocks)})
		g := s.gate(form)
		b := newTab(t, 800, 700)
		b.open(g.url)
		want := map[string]string{"a": `"one"`, "b": `"typed"`}
		if kind != "SINGLE" {
			b.set(field("a.a"), "one")
			b.until(`Object.values(sessionStorage).some(v => v.includes("one"))`)
			b.run(chromedp.Reload())
			g.wait(t, 1)
		}
		switch what {
		case "a press":
			b.set(field("a.b"), "typed")
			b.do(`document.querySelector(".fs-actions button").click()`)
			g.open()
		case "rules":
			b.set(choice("a.y", "true"), "")
			time.Sleep(400 * time.Millisecond) // the script's own wait ends before the page comes
			g.open()
			b.until(`document.querySelector("[name='a.a']").value === "one"`)
			b.set(".fs-fields "+field("a.x"), "two")
			b.press("next")
			want = map[string]string{"a": `"one"`, "y": "true", "x": `"two"`}
		case "a later page": // what was kept is of the page after this one
			b.do(`sessionStorage.setItem("formsvc:"+location.pathname+"?", JSON.stringify([["a.a","one"],["a.b","typed"],["at","b"],["lang","en"]]))`)
			b.run(chromedp.Reload())
			g.wait(t, 1)
			b.set(field("a.a"), "changed")
			g.open()
			b.step("b")
			b.press("next")
			b.step("y")
			b.press("next")
			want["a"] = `"changed"`
		}
		b.shows("Thank you!")
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

// A page of another site shows a form, inline and in a dialog: its height follows, and
// a message that does not come from the frame changes nothing.
func TestAFormInAnotherPage(t *testing.T) {
	var script string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.ReplaceAll(`<!doctype html><title>Other</title><main class="fs-main">Hello <button data-formsvc-open="ID" data-title="Umfrage" data-close="Schließen">Open</button></main>SCRIPT`, "SCRIPT", script))
	}))
	t.Cleanup(other.Close)
	other.URL = strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	for allowed, ancestors := range map[bool][]string{true: {other.URL}, false: nil} {
		s := newSite(t, formpage.Config{FrameAncestors: ancestors})
		form := s.sample("feedback")
		script = fmt.Sprintf(`<script src="%s/f/-/embed.js" data-form="%s"></script>`, s.server.URL, form.PublicID)
		b := newTab(t, 800, 700)
		b.open(other.URL)
		if !allowed {
			b.until(`document.querySelector("iframe")`)
			b.do(`window.postMessage({formsvc: ` + quote(form.PublicID) + `, height: 1234}, "*")`)
			b.do(`document.querySelector("iframe").contentWindow.postMessage({}, "*")`)
			b.until(`performance.now() > 500 && document.querySelector("iframe").style.height === "400px"`)
			continue
		}
		b.until(`parseInt(document.querySelector("iframe").style.height) > 1000`)
		b.do(`window.postMessage({formsvc: ` + quote(form.PublicID) + `, height: 90}, "*"); window.marked = 0; addEventListener("message", () => window.marked++)`)
		b.do(`document.querySelector("button").dataset.formsvcOpen = ` + quote(form.PublicID) + `; document.querySelector("button").click()`)
		b.until(`window.marked > 0 && parseInt(document.querySelector("dialog[open] iframe").style.height) > 1000`)
		b.until(`parseInt(document.querySelector("main ~ iframe").style.height) > 1000`)
		// What is not a height, or comes from another form, changes nothing.
		frame := `document.querySelector("main ~ iframe")`
		b.do(`window.was = ` + frame + `.style.height; addEventListener("formsvc:done", () => { window.done = 1 });
			for (const data of [null, "x", {formsvc:"other",height:90}, {height:90}]) dispatchEvent(new MessageEvent("message",{data,source:` + frame + `.contentWindow,origin:"` + s.server.URL + `"}));
			dispatchEvent(new MessageEvent("message",{data:{formsvc:` + quote(form.PublicID) + `,height:"90",done:1},source:` + frame + `.contentWindow,origin:"` + s.server.URL + `"}));
			dispatchEvent(new MessageEvent("message",{data:{formsvc:` + quote(form.PublicID) + `,height:90,done:true},source:` + frame + `.contentWindow,origin:"https://evil.example"}));
			dispatchEvent(new MessageEvent("message",{data:{formsvc:` + quote(form.PublicID) + `,height:90,done:true},source:window,origin:"` + s.server.URL + `"}))`)
		b.until(frame + `.style.height === window.was && !window.done`)
		b.do(`dispatchEvent(new MessageEvent("message",{data:{formsvc:` + quote(form.PublicID) + `,height:99,done:true},source:` + frame + `.contentWindow,origin:"` + s.server.URL + `"}))`)
		b.until(frame + `.style.height === "99px" && window.done === 1`)

		// The dialog is closed by its button and by Escape; the focus returns to what opened
		// it, and the frame is gone.
		b.do(`document.querySelector("dialog button").click()`)
		b.until(`!document.querySelector("dialog") && document.querySelectorAll("iframe").length === 1`)
		b.run(chromedp.Focus(chromedp.CSS("main button")), chromedp.KeyEvent(kb.Enter))
		b.until(`document.querySelector("dialog[open][aria-label=Umfrage] iframe[title=Umfrage]") && document.querySelector("dialog button[aria-label=Schließen]") && document.querySelector("dialog").contains(document.activeElement)`)
		b.run(chromedp.KeyEvent(kb.Escape))
		b.until(`!document.querySelector("dialog") && document.activeElement === document.querySelector("main button")`)
	}
}

// host is a page at the origin of the forms, so that a test may press what its frames show.
func (s *site) host(body func(script string) string) string {
	s.t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/f/", s.pages)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>Host</title><main class="fs-main">Hello</main>`+body("/f/-/embed.js"))
	})
	server := httptest.NewServer(mux)
	s.t.Cleanup(server.Close)
	return server.URL
}

// A page that shows two forms has the script twice, and a button opens one dialog.
func TestTwoFormsInAPageOpenOneDialog(t *testing.T) {
	s := newSite(t, formpage.Config{FrameAncestors: []string{"http://127.0.0.1:*"}})
	first, second := s.sample("feedback").PublicID, s.sample("feedback").PublicID
	url := s.host(func(script string) string {
		one := `<script src="` + script + `" data-form="%s"></script>`
		return `<button data-formsvc-open="` + first + `">Open</button>` + fmt.Sprintf(one+one, first, second)
	})
	b := newTab(t, 800, 700)
	b.open(url)
	b.until(`document.querySelectorAll("iframe").length === 2`)
	b.do(`document.querySelector("button").click()`)
	expect.Equal(t, get(b, chromedp.Evaluate[int](`document.querySelectorAll("dialog").length`)), 1, "dialogs are open, want 1")
}

// The page around a form hears once that a response was sent, also where the form redirects: then it is
// led on itself.
func TestAPageHearsThatItsFormWasSent(t *testing.T) {
	s := newSite(t, formpage.Config{FrameAncestors: []string{"http://127.0.0.1:*"}, Verifiers: map[string]formpage.Verifier{"turnstile": solved{}}})
	target := elsewhere(t)
	redirects := `{"redirectUrl":` + quote(target) + `}`
	for _, c := range []struct{ settings, captcha string }{{`{}`, ""}, {redirects, ""}, {redirects, `,{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}`}} {
		form := s.publish("Framed", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}` + c.captcha + `]`), Settings: json.RawMessage(c.settings)})
		url := s.host(func(script string) string {
			return `<script>window.heard = []; addEventListener("formsvc:done", e => { heard.push(e.detail.form); localStorage.heard = heard })</script><script src="` + script + `" data-form="` + form.PublicID + `"></script>`
		})
		b := newTab(t, 800, 700)
		b.open(url)
		inside := `document.querySelector("iframe").contentDocument`
		b.until(inside + `.readyState === "complete" && ` + inside + `.querySelector("[name=viewed]").value`)
		b.do(`const f = ` + inside + `.querySelector(".fs-form"), k = f.ownerDocument.createElement("input"); k.type = "hidden"; k.name = "token"; k.value = "x"; f.append(k)`)
		b.do(inside + `.querySelector(".fs-actions button").click()`)
		if c.settings == `{}` {
			b.until(inside + `.querySelector(".fs-done")`)
			b.until(`heard.join() === ` + quote(form.PublicID))
			continue
		}
		b.until(`location.href === ` + quote(target))
		b.do(`history.back()`)
		b.until(`localStorage.heard === ` + quote(form.PublicID))
	}
}
