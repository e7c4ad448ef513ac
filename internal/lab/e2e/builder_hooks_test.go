package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// named is a script's expression for the button, link or menu item with a name, in the topmost dialog or menu
// if there is one.
func named(name string) string {
	return `[...([...document.querySelectorAll("dialog[open], .menu")].at(-1) ?? document).querySelectorAll("button, a, [role=menuitem]")].find(e =>
		(e.getAttribute("aria-label") ?? e.textContent).trim() === ` + quote(name) + ` && e.getAttribute("aria-disabled") !== "true" && !e.disabled)`
}

// choose presses what has a name, as soon as it can be pressed.
func (b *tab) choose(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.until(named(name))
		b.do(named(name) + ".click()")
		b.drawn()
	}
}

// drawn waits until what was done is drawn, and its effects have run.
func (b *tab) drawn() {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 20))))`, chromedp.EvalAwaitPromise))
}

// tabTo presses Tab until what has a name has the focus.
func (b *tab) tabTo(name string) {
	b.t.Helper()
	b.until(named(name))
	for range 60 {
		if get(b, chromedp.Evaluate[bool](named(name)+" === document.activeElement")) {
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatalf("%q is not reached by Tab", name)
}

// each looks at a state at the widths and in the looks that people see: all of them in the long form.
func (s *site) each(b *tab, state string, check func(*tab, string)) {
	s.t.Helper()
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{width == 390, width != 390}[:map[bool]int{false: 1, true: 2}[full()]] {
			b.size(width, 900)
			b.dark(dark)
			name := fmt.Sprintf("%s-%d-%s", state, width, map[bool]string{false: "light", true: "dark"}[dark])
			check(b, name)
			b.shot(name)
			if wide := get(b, chromedp.Evaluate[string](fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d && !e.closest(".unseen, .skip")).map(e => e.outerHTML.slice(0, 100)).join("\n")`, width))); wide != "" {
				s.t.Errorf("%s: too wide are\n%s", name, wide)
			}
		}
	}
	b.size(1280, 900)
	b.dark(false)
}

// receiver takes deliveries, and answers with a status.
type receiver struct {
	*httptest.Server
	status atomic.Int64
	bodies chan []byte
	signed atomic.Bool
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{bodies: make(chan []byte, 100)}
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.signed.Store(req.Header.Get("Service-Signature") != "")
		r.bodies <- body
		if r.status.Load() == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "3600") // pauses the webhook
		}
		w.WriteHeader(int(r.status.Load()))
	}))
	t.Cleanup(r.Close)
	return r
}

// next is the next delivery.
func (r *receiver) next(t *testing.T) string {
	t.Helper()
	select {
	case body := <-r.bodies:
		return string(body)
	case <-time.After(patience):
		t.Fatal("nothing was delivered")
		return ""
	}
}

// A webhook is added, by keyboard, with an address that is refused first; tested, paused, tried,
// redelivered, looked into, switched off and deleted.
func TestBuilderWebhooks(t *testing.T) {
	inFull(t)
	s, check := newOwners(t), axe(t)
	form := s.publish("Feedback", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"name","type":"short_text","label":"Name"}]`)})
	receiver := newReceiver(t)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = s.service.Dispatcher().Run(ctx) }()
	t.Cleanup(func() { stop(); <-stopped })

	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/"+form.ID.String()+"/webhooks", ".empty")
	s.each(b, "hooks-none", check)
	b.tabTo("Add webhook")
	b.keys(kb.Enter)
	b.until(`document.activeElement.type === "url"`)
	b.run(chromedp.KeyEvent("http://10.1.2.3/x"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.matches("[type=url][aria-invalid]") && document.querySelector("dialog .fault").textContent`)
	s.each(b, "hooks-refused", check)
	b.do(`document.activeElement.select()`)
	b.run(chromedp.KeyEvent(receiver.URL + "/responses"))
	b.keys(kb.Tab)
	b.do(`const s = document.activeElement; s.value = "new"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	b.shows("it won’t be shown again")
	s.each(b, "hooks-add", check)
	b.choose("Add webhook")
	b.shows(receiver.URL)
	b.shows("Signed")
	s.each(b, "hooks", check)
	b.do(`document.querySelector("a.hook-url").click()`)
	b.shows("No deliveries yet")
	s.each(b, "hook-none", check)

	b.tabTo("Send test event")
	b.keys(kb.Enter)
	if body := receiver.next(t); !strings.Contains(body, `"answers":{"name":`) || !receiver.signed.Load() {
		t.Errorf("the test event is %s, signed: %v", body, receiver.signed.Load())
	}
	b.shows("Delivered. The endpoint returned status 200.")

	// A response fails: that is shown when somebody sees the page again, and so is the pause.
	receiver.status.Store(http.StatusInternalServerError)
	expect.Must(s.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{"name": json.RawMessage(`"Ada <b>"`)}}))
	receiver.next(t)
	b.until(`(document.dispatchEvent(new Event("visibilitychange")), document.body.innerText.includes("The endpoint returned status 500"))`)
	receiver.status.Store(http.StatusServiceUnavailable)
	b.choose("Send test event")
	receiver.next(t)
	b.shows("Failed. The endpoint returned status 503.")
	b.shows("Paused because the endpoint asked to wait.")
	s.each(b, "hook-paused", check)
	receiver.status.Store(http.StatusNoContent)
	b.choose("Retry now")
	receiver.next(t)
	b.shows("Delivered. The endpoint returned status 204.")
	b.until(`!document.body.innerText.includes("Paused")`)

	b.choose("Resend failed deliveries")
	s.each(b, "hook-failed", check)
	b.choose("Resend")
	again := []string{receiver.next(t), receiver.next(t)}
	if strings.Contains(again[0], "Sample") {
		again[0], again[1] = again[1], again[0]
	}
	expect.That(t, strings.Contains(again[0], `"Ada <b>"`) && strings.Contains(again[1], "Sample"), "sent again: %s", again)
	b.shows("2 deliveries are being resent.")
	b.until(`document.querySelectorAll(".hook-log > li").length === 6`)
	b.do(`[...document.querySelectorAll(".hook-log > li")].find(e => e.innerText.includes("Response")).querySelector("[aria-label='Show payload']").click()`)
	b.until(`document.querySelector("dialog pre") && JSON.parse(document.querySelector("dialog pre").textContent).response.answers.name === "Ada <b>"`)
	s.each(b, "hook-body", check)
	b.keys(kb.Escape)
	b.until(`!document.querySelector("dialog")`)
	b.do(`[...document.querySelectorAll(".hook-log > li")].find(e => e.innerText.includes("Response")).querySelector("[aria-label='Resend']").click()`)
	expect.Equal(t, receiver.next(t), again[0], "one was sent again with other bytes")
	b.until(`document.querySelectorAll(".hook-log > li").length === 7`)
	s.each(b, "hook-log", check)

	b.choose("Actions for "+receiver.URL+"/responses", "Disable", "Disable")
	b.shows("This webhook is disabled")
	s.each(b, "hook-off", check)
	// Form details are a part of later events.
	expect.That(t, !strings.Contains(again[0], `"formName"`), "form details that nobody asked for: %s", again[0])
	b.choose("Actions for "+receiver.URL+"/responses", "Enable", "Actions for "+receiver.URL+"/responses", "Edit")
	b.until(`document.querySelector("dialog select").value === "keep" && document.querySelectorAll("dialog [role=switch]").length === 2`)
	b.do(`document.querySelector("dialog [role=switch]").click()`)
	s.each(b, "hooks-details", check)
	b.choose("Save")
	b.until(`!document.querySelector("dialog")`)
	for hook, err := range s.service.As(s.owner).Webhooks(t.Context(), formsvc.Query{}) {
		expect.That(t, err == nil && hook.FormDetails && hook.HasSecret && hook.Enabled, "stored is %+v %v", hook, err)
	}
	expect.Must(s.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{"name": json.RawMessage(`"Bob"`)}}))
	body := receiver.next(t)
	expect.That(t, strings.Contains(body, `"formName":"Feedback"`) && strings.Contains(body, `"questions":{"name":{"label":"Name"`), "sent with form details: %s", body)
	b.choose("Actions for "+receiver.URL+"/responses", "Delete", "Delete")
	b.shows("No webhooks yet")
	for range s.service.As(s.owner).Webhooks(t.Context(), formsvc.Query{}) {
		t.Error("it is still there")
	}
}

// A log is read again while a delivery is under way, and not while nobody sees the page.
func TestBuilderPolling(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	form := s.draft("Feedback", `[]`)
	hook := expect.Must(s.service.As(s.owner).CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "http://127.0.0.1:8080/nobody"}))
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/"+form.ID.String()+"/webhooks/"+hook.ID.String(), ".empty")
	// Two seconds pass at once, when the test says so.
	b.do(`window.ticks = []; window.setInterval = f => window.ticks.push(f); window.clearInterval = n => delete window.ticks[n-1]; window.tick = () => window.ticks.forEach(f => f && f())`)
	reads := func() (n int) {
		urls, _ := b.requests.list()
		for _, u := range urls {
			if strings.HasSuffix(u, "/deliveries") {
				n++
			}
		}
		return n
	}
	settled := func() int {
		b.drawn()
		get(b, chromedp.Evaluate[bool](`fetch("/forms/-/builder/nothing").then(() => true)`, chromedp.EvalAwaitPromise))
		return reads()
	}
	b.do(`document.dispatchEvent(new Event("visibilitychange"))`) // a reading, after which intervals would be set anew
	before := settled()
	b.do(`window.tick()`)
	expect.That(t, settled() == before, "the log is read though nothing is under way")
	b.choose("Send test event") // no dispatcher runs, so it stays under way
	b.shows("Waiting for the result")
	before = settled()
	b.do(`window.tick()`)
	expect.That(t, settled() != before, "the log is not read though something is under way")
	b.do(`Object.defineProperty(document, "visibilityState", {configurable: true, get: () => "hidden"})`)
	before = settled()
	b.do(`window.tick()`)
	expect.That(t, settled() == before, "the log is read though nobody sees it")
	b.do(`delete document.visibilityState; document.dispatchEvent(new Event("visibilitychange"))`)
	expect.That(t, settled() > before, "the log is not read when the page is seen again")
}

const threeBlocks = `[{"id":"name","type":"short_text","label":"Name"},{"id":"pet","type":"dropdown","label":"Pet","choices":[{"id":"cat","label":"Cat"}]},{"id":"age","type":"number","label":"Age","properties":{"max":99,"maxVal":true}}]`

// A publication says what it changes, asks about what was changed twice, and publishes; changes are
// discarded, and a published form is closed, opened and taken back.
func TestBuilderPublishing(t *testing.T) {
	s, check := newOwners(t), axe(t)
	client := s.service.As(s.owner)
	form := s.draft("Feedback", threeBlocks)
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/"+form.ID.String(), ".bar-actions .primary")
	b.choose("Publish")
	b.shows("The form has 3 questions")
	s.each(b, "publish-first", check)
	b.tabTo("Publish")
	b.keys(kb.Enter)
	b.shows("The form was published.")
	b.escape() // with its link
	now := s.stored(form)
	expect.Require(t, now.Status == formsvc.StatusPublished, "it is %s", now.Status)

	must := func(err error) {
		t.Helper()
		expect.NoError(t, err)
	}
	edited := func(blocks string) {
		t.Helper()
		_, err := client.WorkingCopy(form.ID).ReplaceBlocks(t.Context(), json.RawMessage(blocks))
		must(err)
	}
	edited(`[{"id":"age","type":"number","label":"How old is <b>it</b>?","properties":{"max":30,"maxVal":true}},{"id":"name","type":"short_text","label":"Name"},{"id":"color","type":"dropdown","label":"Color","required":true}]`)
	b.choose("Publish")
	for _, text := range []string{"Respondents will see these changes", "Added Color", "Removed Pet", "Moved", "How old is <b>it</b>?", "Maximum value Before: 99 → After: 30", "2 warnings"} {
		b.shows(text)
	}
	s.each(b, "publish", check)

	// Somebody changes the published form meanwhile: the dialog asks.
	_, err := client.UpdateBlock(t.Context(), form.ID, "age", json.RawMessage(`{"label":"Age in years"}`))
	must(err)
	b.choose("Publish")
	b.shows("1 conflict with the published version.")
	b.shows("Text “Age in years”")
	b.until(`!` + named("Publish"))
	s.each(b, "publish-conflict", check)
	b.do(`document.querySelector("dialog").focus()`)
	for range 20 {
		if b.keys(kb.Tab); get(b, chromedp.Evaluate[bool](`document.activeElement.type === "radio"`)) {
			break
		}
	}
	b.keys(" ", kb.ArrowDown) // the second side
	b.tabTo("Publish")
	b.keys(kb.Enter)
	b.shows("The form was published.")
	b.escape()
	if now := s.stored(form); !bytes.Contains(now.Definition.Blocks, []byte("Age in years")) || !bytes.Contains(now.Definition.Blocks, []byte("Color")) || bytes.Contains(now.Definition.Blocks, []byte("Pet")) {
		t.Errorf("published: %s", now.Definition.Blocks)
	}

	// The copy is changed while somebody looks: it is shown anew before it is published.
	edited(`[{"id":"name","type":"short_text","label":"First"}]`)
	b.choose("Publish")
	b.shows("First")
	edited(`[{"id":"name","type":"short_text","label":"Second"}]`)
	b.choose("Publish")
	b.shows("This form was just changed somewhere else.")
	b.shows("Second")
	b.choose("Discard changes", "Discard changes")
	b.shows("The changes were discarded.")
	b.until(`!` + named("Publish")) // nothing is left to publish
	s.each(b, "publish-none", check)
	b.choose("More publishing options", "Close")
	b.shows("The form no longer accepts responses.")
	expect.That(t, s.stored(form).IsClosed(time.Now()), "it is not closed")
	b.choose("More publishing options", "Reopen")
	b.shows("The form accepts responses again.")
	b.choose("More publishing options", "Unpublish", "Unpublish")
	b.shows("The form was unpublished and is a draft again.")
	now = s.stored(form)
	expect.That(t, now.Status == formsvc.StatusDraft && !now.IsClosed(time.Now()), "it is %s", now.Status)
}

// A form that is full is not opened by taking back that it was closed, and the list says so.
func TestBuilderOpensAFullForm(t *testing.T) {
	s := newOwners(t)
	form := s.publish("Seats", "MULTI", formsvc.Definition{Blocks: json.RawMessage(threeBlocks), Settings: json.RawMessage(`{"responseLimit":1}`)})
	s.send(form, time.Now(), map[string]any{"name": "Ada"}, nil)
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/", ".form-row")
	b.choose("Actions for Seats", "Reopen")
	b.shows("The form is still closed")
}

// A version is compared with the form as it is and restored, but not over what changed meanwhile.
func TestBuilderVersions(t *testing.T) {
	s, check := newOwners(t), axe(t)
	client := s.service.As(s.owner)
	form := s.draft("Feedback", threeBlocks)
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/"+form.ID.String()+"/versions", ".empty")
	b.shows("No earlier versions yet")
	s.each(b, "versions-none", check)
	publish := func(blocks string) {
		t.Helper()
		_, err := client.WorkingCopy(form.ID).ReplaceBlocks(t.Context(), json.RawMessage(blocks))
		if err == nil {
			_, err = client.WorkingCopy(form.ID).Publish(t.Context(), formsvc.PublishOptions{})
		}
		expect.NoError(t, err)
	}
	publish(threeBlocks[:len(threeBlocks)-1] + `,{"id":"more","type":"long_text","label":"More"}]`)
	publish(`[{"id":"name","type":"short_text","label":"Your name"}]`)
	expect.Must(client.WorkingCopy(form.ID).UpdateBlock(t.Context(), "name", json.RawMessage(`{"label":"Draft of a name"}`)))
	s.openOwners(b, "/"+form.ID.String()+"/versions", ".versions")
	b.shows("replaced by you")
	s.each(b, "versions", check)
	b.tabTo(get(b, chromedp.Evaluate[string](`document.querySelector(".versions ol a").textContent`)))
	b.keys(kb.Enter)
	b.shows("Added Pet")
	b.shows("Your unpublished changes are kept.")
	s.each(b, "version", check)

	expect.Must(client.UpdateBlock(t.Context(), form.ID, "name", json.RawMessage(`{"label":"Changed by somebody"}`)))
	b.choose("Restore")
	b.shows("immediately replaces the form’s content")
	s.each(b, "version-confirm", check)
	b.choose("Restore")
	b.shows("so nothing was restored")
	b.shows("Changed by somebody")
	s.each(b, "version-moved", check)
	b.choose("Restore", "Restore")
	b.shows("The version was restored.")
	b.until(`document.querySelectorAll(".versions ol a").length === 2`)
	b.until(`document.activeElement.id === "main"`)
	now := s.stored(form)
	expect.That(t, bytes.Contains(now.Definition.Blocks, []byte("More")), "restored: %s", now.Definition.Blocks)
	// The page that shows the newest version is shown already: it is no step of the history.
	b.do(`window.steps = history.length`)
	b.choose("Restore", "Restore")
	b.until(`document.querySelectorAll(".versions ol a").length === 3 && document.activeElement.id === "main"`)
	b.until(`history.length === steps`)
}

// The link of a form is shown, and its QR code is read; a preview shows what is not published.
func TestBuilderShare(t *testing.T) {
	s, check := newOwners(t), axe(t)
	form := s.draft("Feedback", threeBlocks)
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/"+form.ID.String(), ".bar-actions .primary")
	b.choose("Share")
	b.shows("This form is a draft.")
	b.choose("Create preview link")
	b.until(`document.querySelectorAll("dialog .copied").length === 3`)
	s.each(b, "share", check)
	value := func(i int) string {
		return get(b, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelectorAll("dialog .copied input")[%d].value`, i)))
	}
	if value(0) != s.url(form, "") || value(1) != `<script src="`+s.server.URL+`/f/-/embed.js" data-form="`+form.PublicID+`" async></script>` {
		t.Errorf("shared: %s and %s", value(0), value(1))
	}
	picture := expect.Must(png.Decode(bytes.NewReader(get(b, chromedp.FullScreenshot(100)))))
	bits := expect.Must(gozxing.NewBinaryBitmapFromImage(picture))
	code, err := qrcode.NewQRCodeReader().Decode(bits, map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_TRY_HARDER: true})
	expect.That(t, err == nil && code.GetText() == s.url(form, ""), "the QR code is %v %v", code, err)
	if file := get(b, chromedp.Evaluate[string](`decodeURIComponent(document.querySelector("dialog a[download]").href)`)); !strings.Contains(file, "<svg") || !strings.Contains(file, get(b, chromedp.Evaluate[string](`document.querySelector(".qr path[fill='#000']").getAttribute("d")`))) {
		t.Errorf("the file is %s", file)
	}
	preview := value(2)
	b.open(preview)
	b.shows("Pet")
}
