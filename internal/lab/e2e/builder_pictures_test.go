package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"

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

// TestOwnersPictures writes the picture of the editor that the README shows as .github/builder.webp, and
// a dark one, to the directory FORMSVC_E2E_PICTURES. Nothing is compared.
func TestOwnersPictures(t *testing.T) {
	dir := os.Getenv("FORMSVC_E2E_PICTURES")
	if dir == "" {
		t.Skip("reason: FORMSVC_E2E_PICTURES names no directory")
	}
	s := newOwners(t)
	form := s.publish("Order a cake", "MULTI", formsvc.Definition{Blocks: json.RawMessage(orders)})
	quality := int64(80)
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		b := s.ownersTab(1280, 800)
		h := s.hand(b, false)
		b.dark(dark)
		h.start("/"+form.ID.String(), ".editor")
		b.until(`T.status() === "saved" && document.querySelector(".canvas-frame")?.contentDocument.querySelector("[data-block]")`)
		b.do(`T.row("taste").click()`)
		b.until(`T.chosen() === "taste"`)
		b.drawn()
		b.do(`document.getAnimations().forEach(a => a.finish())`)
		picture := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "webp", Quality: &quality})
		noError(t, os.WriteFile(filepath.Join(dir, "editor-1280-"+name+".webp"), picture.Data, 0o600))
	}
}
