package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
)

// orders is a form with a branch, a score and two endings, as a shop would make it.
const orders = `[
	{"id":"hello","type":"welcome","label":"Order a cake","description":"Five short questions. We answer within a day.","properties":{"buttonText":"Begin"}},
	{"id":"occasion","type":"single_choice","label":"What is the occasion?","required":true,"choices":[{"id":"birthday","label":"Birthday"},{"id":"wedding","label":"Wedding"},{"id":"work","label":"Something at work"}],"properties":{"otherOption":true}},
	{"id":"guests","type":"number","label":"How many guests will there be?","required":true,"properties":{"min":4,"minVal":true,"max":400,"maxVal":true}},
	{"id":"tiers","type":"opinion_scale","label":"How many tiers?","properties":{"from":1,"to":5,"rule":{"show":{"==":[{"var":"answers.occasion"},"wedding"]}}}},
	{"id":"taste","type":"multiple_choice","label":"Which flavours do you like?","description":"As many as you want.","choices":[{"id":"lemon","label":"Lemon"},{"id":"nut","label":"Hazelnut"},{"id":"choc","label":"Chocolate"},{"id":"berry","label":"Red berries"}]},
	{"id":"day","type":"date","label":"When do you need it?","required":true},
	{"id":"page","type":"page_break","label":"About you"},
	{"id":"who","type":"contact_info","label":"How do we reach you?","properties":{"addressOrContact":{"address":{"hide":true},"address2":{"hide":true},"zip":{"hide":true},"city":{"hide":true},"state":{"hide":true},"country":{"hide":true}}}},
	{"id":"rating","type":"rating","label":"How do you like this form?","properties":{"to":5}},
	{"id":"more","type":"long_text","label":"Anything else?"},
	{"id":"thanks","type":"ending","label":"Thank you","description":"We write to you within a day."}
]`

// TestOwnersPictures writes pictures of the builder at the widths of a phone, a laptop and a large
// screen, light and dark, to the directory FORMSVC_E2E_PICTURES. Nothing is compared. The README shows
// editor-1280-light.webp as .github/builder.webp.
func TestOwnersPictures(t *testing.T) {
	dir := os.Getenv("FORMSVC_E2E_PICTURES")
	if dir == "" {
		t.Skip("reason: FORMSVC_E2E_PICTURES names no directory")
	}
	s := newOwners(t)
	client := s.service.As(s.owner)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.RenameWorkspace(t.Context(), s.place, "Corner bakery")
	must(err)
	empty, err := s.service.CreateWorkspace(t.Context(), s.owner, "Garden club")
	must(err)
	form := s.publish("Order a cake", "MULTI", formsvc.Definition{Blocks: json.RawMessage(orders)})
	s.sample("feedback")
	s.sample("finder")
	closing := s.publish("Guest book of 2025", "MULTI", formsvc.Definition{Blocks: json.RawMessage(threeBlocks), Settings: json.RawMessage(`{}`)})
	s.close(closing)
	nothing := s.draft("Job application", `[]`)
	binned := s.draft("Summer party", threeBlocks)
	must(client.TrashForm(t.Context(), binned.ID))

	random := rand.New(rand.NewPCG(1, 5)) // the same in each run
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	for i := range 64 {
		first := one("Ada", "Grace", "Edsger", "Barbara", "Niklaus", "Tony")
		answers := map[string]any{
			"occasion": one("birthday", "birthday", "wedding", "work"), "guests": 4 + random.IntN(80), "taste": [][]string{{"lemon"}, {"choc", "berry"}, {"nut", "choc"}, {"lemon", "berry", "choc"}}[random.IntN(4)],
			"day": time.Now().AddDate(0, 0, random.IntN(60)).Format(time.DateOnly), "who": map[string]any{"firstName": first, "lastName": "Byron", "phone": "+31201234567", "email": fmt.Sprintf("%s%d@example.com", first, i)}, "rating": 2 + random.IntN(4),
			"more": one("No sugar on top, please.", "Can you deliver?", "Last year's was wonderful.\nThe same again?"),
		}
		if i%7 == 3 {
			answers["occasion"] = map[string]any{"other": "A new shop"}
			delete(answers, "more")
		}
		s.send(form, time.Now().Add(-time.Duration(64-i)*7*time.Hour), answers, nil)
	}
	for range 150 {
		must(s.service.RecordView(t.Context(), form.ID))
	}
	for range 90 {
		must(s.service.RecordStart(t.Context(), form.ID))
	}
	for _, answers := range []string{`{"occasion":"wedding","guests":90}`, `{"occasion":"birthday"}`} {
		values := map[string]json.RawMessage{}
		must(json.Unmarshal([]byte(answers), &values))
		_, _, err := s.service.SavePartial(t.Context(), formsvc.PartialResponse{FormID: form.ID, Answers: values, Share: true, Block: "guests", Seconds: 80})
		must(err)
	}
	copied := client.WorkingCopy(form.ID)
	edit := func(id, change string) {
		t.Helper()
		_, err := copied.UpdateBlock(t.Context(), id, json.RawMessage(change))
		must(err)
	}
	edit("guests", `{"properties":{"min":2,"minVal":true,"max":400,"maxVal":true}}`)
	_, err = copied.Publish(t.Context(), formsvc.PublishOptions{})
	must(err)
	edit("taste", `{"label":"Which flavours do your guests like?"}`)
	edit("more", `{"required":true}`)
	edit("rating", `{"properties":{"to":7}}`)
	_, err = client.UpdateBlock(t.Context(), form.ID, "rating", json.RawMessage(`{"properties":{"to":10}}`))
	must(err)

	// Two receivers: one takes what comes, the other refuses it.
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = s.service.Dispatcher().Run(ctx) }()
	t.Cleanup(func() { stop(); <-stopped })
	var hook formsvc.Webhook
	for _, status := range []int64{http.StatusOK, http.StatusInternalServerError} {
		receiver := newReceiver(t)
		receiver.status.Store(status)
		hook, err = client.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: receiver.URL + "/orders", SigningSecret: "of pictures, 16 bytes"})
		must(err)
		s.send(form, time.Time{}, map[string]any{"occasion": "work", "guests": 12, "day": time.Now().Format(time.DateOnly), "who": map[string]any{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com", "phone": "+31201234567"}, "more": "At ten, please."}, nil)
		receiver.next(t)
	}

	quality := int64(80)
	at := "/" + form.ID.String()
	drawn := `T.status() === "saved" && document.querySelector(".canvas-frame")?.contentDocument.querySelector("[data-block]")`
	for _, width := range []int64{390, 1280, 1920} {
		for _, dark := range []bool{false, true} {
			height := map[int64]int64{390: 844, 1280: 800, 1920: 1080}[width]
			b := s.ownersTab(width, height)
			h := s.hand(b, false)
			b.dark(dark)
			shot := func(name string) {
				t.Helper()
				b.drawn()
				b.do(`document.getAnimations().forEach(a => a.finish())`)
				name = fmt.Sprintf("%s-%d-%s.webp", name, width, map[bool]string{false: "light", true: "dark"}[dark])
				picture := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "webp", Quality: &quality})
				must(os.WriteFile(filepath.Join(dir, name), picture.Data, 0o600))
			}
			visit := func(name, path, selector string) {
				t.Helper()
				h.start(path, selector)
				shot(name)
			}
			pane := func(name string) {
				if width < 760 {
					button := `[...document.querySelectorAll(".pane-switch button")].find(e => e.textContent.trim() === ` + quote(h.word("editor.pane_"+name)) + `)`
					b.until(button)
					b.do(button + `.click()`)
				}
			}
			closed := func() {
				h.key("\x1b")
				b.until(`!document.querySelector("dialog[open], .menu")`)
			}
			visit("forms", "/w/"+s.place.String(), ".forms-list")
			b.named(h.word("forms.new"))
			b.until(`document.querySelector("dialog[open]")`)
			shot("forms-new")
			closed()
			visit("forms-none", "/w/"+empty.ID.String(), ".empty")
			visit("trash", "/w/"+s.place.String()+"/trash", "main li")
			visit("editor-empty", "/"+nothing.ID.String(), ".editor")
			h.start(at, ".editor")
			b.until(drawn)
			pane("outline")
			b.do(`T.row("taste").click()`)
			b.until(`T.chosen() === "taste"`)
			if width < 760 {
				shot("editor-outline")
				pane("panel")
			}
			shot("editor")
			pane("canvas")
			if width < 760 {
				shot("editor-canvas")
			}
			pane("outline")
			b.do(`T.row("tiers").click()`)
			b.until(`T.chosen() === "tiers"`)
			pane("panel")
			b.do(`document.querySelectorAll("#panel-body details").forEach(d => d.open = true); [...document.querySelectorAll("#panel-body summary")].find(e => e.textContent.trim() === ` + quote(h.word("editor.logic")) + `).scrollIntoView()`)
			shot("rules")
			b.do(`document.getElementById("tab-design").click()`)
			b.drawn()
			shot("design")
			b.do(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}))`)
			b.until(`document.querySelector("dialog [role=combobox]")`)
			shot("add")
			closed()
			b.named(h.word("editor.share"))
			b.until(`document.querySelector("dialog[open]")`)
			shot("share")
			closed()
			b.named(h.word("editor.publish_do"))
			b.until(`document.querySelector("dialog[open]")?.innerText.includes("Anything else?")`)
			shot("publish")
			b.named(h.word("editor.publish_do"))
			b.until(`document.querySelector("dialog[open] [type=radio]")`)
			shot("publish-clash")
			closed()
			b.offline(true)
			pane("panel")
			b.do(`document.getElementById("tab-block").click()`)
			b.until(`T.control("/label")`)
			b.do(typed(labelField, "How many tiers do you want?"))
			b.until(`T.status() === "offline"`)
			shot("offline")
			b.do(`T.control("/label").focus()`)
			h.key("z", chromedp.ModifierCtrl)
			b.offline(false)
			b.do(`dispatchEvent(new Event("online"))`)
			h.saved()
			visit("versions", at+"/versions", ".versions")
			visit("summary", at+"/results", ".blocks")
			b.do(`document.querySelectorAll(".blocks > *")[1]?.scrollIntoView()`)
			shot("summary-charts")
			visit("responses", at+"/results/responses", ".responses")
			visit("response", at+"/results/"+s.all(form)[1].ID.String(), ".answers")
			visit("halves", at+"/results/partials", ".halves")
			visit("webhooks", at+"/webhooks", "a.hook-url")
			visit("deliveries", at+"/webhooks/"+hook.ID.String(), ".hook-log > li")
		}
	}
}
