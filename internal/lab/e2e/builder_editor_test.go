package e2e

import (
	"encoding/json"
	"html/template"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/page"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// documented are the five forms with rules that are examples of package formsvc, by name.
func documented(t *testing.T) map[string]sample {
	t.Helper()
	forms := map[string]sample{}
	source := expect.Must(os.ReadFile("../../../example_test.go"))
	for _, found := range regexp.MustCompile("(?s)func Example_(\\w+)\\(\\) {\n\tsvc, form := branching\\(`([^`]*)`, `([^`]*)`\\)").FindAllStringSubmatch(string(source), -1) {
		f := sample{Name: found[1], Type: "MULTI"}
		f.Definition.Blocks, f.Definition.Variables = json.RawMessage(found[2]), json.RawMessage(found[3])
		forms[found[1]] = f
	}
	expect.Require(t, len(forms) == 5, "%d forms are documented, want 5", len(forms))
	return forms
}

// plain is a definition without ids: those of blocks and choices become their places.
func plain(t testing.TB, d formsvc.Definition) map[string]any {
	t.Helper()
	var blocks []*block
	expect.NoError(t, json.Unmarshal(d.Blocks, &blocks))
	ids := map[string]string{}
	for i, b := range blocks {
		ids[b.ID] = string(rune('A' + i))
		for n, c := range b.Choices {
			ids[c.ID] = ids[b.ID] + "#" + string(rune('a'+n))
		}
	}
	out := map[string]any{}
	for _, section := range d.Sections() {
		var v any
		if len(*section.Value) > 0 {
			expect.NoError(t, json.Unmarshal(*section.Value, &v))
		}
		out[section.Name] = same(renamed(v, ids))
	}
	return out
}

// renamed has places as ids, and other ones in rules.
func renamed(v any, ids map[string]string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = renamed(v[i], ids)
			if item, ok := v[i].(map[string]any); ok && item["id"] != nil {
				item["id"] = i
			}
		}
	case map[string]any:
		for name, inner := range v {
			if name == "rule" {
				raw, _ := json.Marshal(inner)
				_ = json.Unmarshal([]byte(rename(string(raw), ids)), &inner)
				v[name] = inner
			} else {
				v[name] = renamed(inner, ids)
			}
		}
	}
	return v
}

// same leaves out what is false, empty or absent.
func same(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = same(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		for name, inner := range v {
			if v[name] = same(inner); v[name] == nil || v[name] == false {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// Forms are built from nothing in the page, by the keyboard alone and by the mouse, in Chromium and in
// Firefox, and what is stored is what was wanted.
func TestFormsAreBuilt(t *testing.T) {
	forms := documented(t)
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			var fox *firefox
			if browser == "firefox" {
				inFull(t)
				fox = newFirefox(t)
			}
			for name, want := range forms {
				for _, way := range []string{"keys", "mouse"} {
					if !full() && name+way != "quotaQuestionkeys" && name+way != "scoreWithTwoEndingsmouse" {
						continue
					}
					t.Run(name+"/"+way, func(t *testing.T) {
						s := newOwners(t)
						var p window
						if fox != nil {
							p = s.ownersFirefox(t, fox)
						} else {
							p = s.ownersTab(1280, 900)
						}
						s.isBuilt(p, want, way == "keys")
					})
				}
			}
		})
	}
}

func (s *site) isBuilt(p window, want sample, keys bool) {
	t := s.t
	made := s.hand(p, keys).build(want)
	expect.That(t, made.Name == want.Name && made.Type == want.Type, "the form is %q, %s", made.Name, made.Type)
	wanted := plain(t, want.Definition)
	got := plain(t, made.Definition)
	for name := range wanted {
		expect.That(t, reflect.DeepEqual(wanted[name], got[name]),
			"%s differ:\nwant %s\ngot  %s", name, text(wanted[name]), text(got[name]))
	}
}

func text(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// A form that nobody can answer is told of while it is edited: at its list of blocks, and at the block.
func TestAFormThatNobodyCanAnswer(t *testing.T) {
	s := newOwners(t)
	form := s.draft("Stuck", `[{"id":"pet","type":"dropdown","label":"Pet","required":true}]`)
	b := s.ownersTab(1280, 800)
	s.openOwners(b, "/"+form.ID.String(), ".outline")
	b.until(`document.querySelector("#outline > .notice")?.textContent.includes("No one can submit this form") && document.querySelector('[data-id=pet] [aria-label^="Warning: This question has no choices yet"]')`)
	b.shot("stuck")
	expect.Must(s.service.As(s.owner).UpdateBlock(t.Context(), form.ID, "pet", json.RawMessage(`{"required":false}`)))
	b.do(`window.dispatchEvent(new Event("focus"))`)
	b.until(`!document.querySelector("#outline > .notice") && document.querySelector('[data-id=pet] [aria-label^="Warning: "]')`)
}

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

// productLayout is a product around the builder.
var productLayout = template.Must(template.New("").Parse(`<!doctype html>
<html lang="{{.Language}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}}</title>{{.Head}}
<style nonce="{{.Nonce}}">
	body { display: flex; margin: 0; }
	.product { box-sizing: border-box; width: 132px; height: 100vh; padding: 18px 10px; color: #e9dcec; background: #3b2145; font: 14px system-ui, sans-serif; }
	.product b { display: block; margin: 0 8px 20px; color: #fff; font-size: 16px; }
	.product a { display: block; padding: 8px; color: inherit; border-radius: 6px; text-decoration: none; }
	.product a[aria-current] { color: #fff; background: #ffffff22; }
	main.product-page { flex: 1; min-width: 0; }
</style></head>
<body><nav class="product"><b>Lumen Cakes</b><a href="/">Orders</a><a href="/">Products</a><a href="/">Customers</a><a href="/forms/" aria-current="page">Forms</a><a href="/">Team</a></nav>
<main class="product-page">{{.Body}}</main></body></html>`))

// TestOwnersPictures writes the picture of the editor inside a product that the README shows as .github/builder.webp,
// and a dark one, to the directory FORMSVC_E2E_PICTURES. Nothing is compared.
func TestOwnersPictures(t *testing.T) {
	dir := os.Getenv("FORMSVC_E2E_PICTURES")
	if dir == "" {
		t.Skip("reason: FORMSVC_E2E_PICTURES names no directory")
	}
	s := newOwners(t, func(c *builder.Config) { c.Layout, c.Accent = productLayout, "#7a3e9d" })
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
		expect.NoError(t, os.WriteFile(filepath.Join(dir, "editor-1280-"+name+".webp"), picture.Data, 0o600))
	}
}
