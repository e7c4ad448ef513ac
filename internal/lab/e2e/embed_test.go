package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// A page of another origin shows a form, inline and in a dialog: its height follows, and
// a message that does not come from the frame changes nothing.
func TestAFormInAnotherPage(t *testing.T) {
	var script string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.ReplaceAll(`<!doctype html><title>Other</title><main class="fs-main">Hello <button data-formsvc-open="ID" data-title="Umfrage" data-close="Schließen">Open</button></main>SCRIPT`, "SCRIPT", script))
	}))
	t.Cleanup(other.Close)
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
	if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll("dialog").length`)); n != 1 {
		t.Errorf("%d dialogs are open, want 1", n)
	}
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
