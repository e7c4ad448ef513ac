package e2e

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
)

// around is a host's layout with its style and what stands above and beside the pages.
func around(style, above, beside string) *template.Template {
	return template.Must(template.New("").Parse(`<!doctype html><html lang="{{.Language}}"><head><meta charset="utf-8">
		<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>{{.Title}}</title>{{.Head}}
		<style nonce="{{.Nonce}}">body { margin: 0; font: 20px serif } ` + style + `</style></head>
		<body>` + above + `<div class="host-row">` + beside + `<div class="host-main">{{.Body}}</div></div></body></html>`))
}

const hostNavigation = `<nav class="host-top" aria-label="Product"><a href="/">Product</a></nav>`

// Below a host's navigation the editor ends where the window ends, and the page does not scroll.
func TestTheEditorFillsWhatIsLeftOfTheWindow(t *testing.T) {
	for name, layout := range map[string]*template.Template{
		"no layout":        nil,
		"a bar":            around(`.host-top { height: 64px; background: #fff }`, hostNavigation, ""),
		"a sticky bar":     around(`.host-top { position: sticky; top: 0; height: 48px; background: #fff; z-index: 99 }`, hostNavigation, ""),
		"a fixed bar":      around(`body { padding-top: 56px } .host-top { position: fixed; inset: 0 0 auto; height: 56px; background: #fff }`, hostNavigation, ""),
		"a bar that grows": around(`.host-top { height: 40px } .host-top.late { height: 120px }`, hostNavigation, ""),
		"a menu beside it": around(`.host-row { display: flex } .host-main { flex: 1; min-width: 0 } .host-side { width: 80px }`, "", `<aside class="host-side">Menu</aside>`),
	} {
		t.Run(name, func(t *testing.T) {
			s := newOwners(t, func(c *builder.Config) { c.Layout = layout })
			form := s.sample("feedback")
			b := s.ownersTab(1280, 800)
			s.openOwners(b, "/"+form.ID.String(), ".editor")
			b.do(`document.querySelector(".host-top")?.classList.add("late")`)
			for _, size := range [][2]int64{{1280, 800}, {390, 760}, {1440, 600}} {
				b.size(size[0], size[1])
				b.until(`Math.abs(document.querySelector(".frame.fill").getBoundingClientRect().bottom - innerHeight) <= 1`)
				b.until(`document.documentElement.scrollHeight <= innerHeight + 1 && document.documentElement.scrollWidth <= innerWidth`)
			}
			b.shot("mounted-" + strings.ReplaceAll(name, " ", "-"))
		})
	}
}

// The host's font, background and accent are those of every page, readable in both schemes whatever the
// browser prefers, and new forms have its theme.
func TestTheBuilderWearsTheHostsColors(t *testing.T) {
	check := axe(t)
	for _, c := range []struct {
		background, accent, scheme string
		prefersDark                bool
	}{
		{"#faf3e7", "#7a3e9d", "light", true}, {"#0b2545", "#ffb703", "dark", false}, {"", "#00695c", "dark", true},
	} {
		t.Run(c.background+c.scheme, func(t *testing.T) {
			s := newOwners(t, func(b *builder.Config) {
				b.Background, b.Accent, b.Font = c.background, c.accent, `"Courier New", monospace`
				b.Theme = json.RawMessage(`{"colors":{"primary":"#7a3e9d"}}`)
				b.Layout = around(`.host-top { height: 64px; background: #fff }`, hostNavigation, "")
			})
			b := s.ownersTab(1280, 800)
			h := s.hand(b, false)
			b.dark(c.prefersDark)
			form := s.sample("feedback")
			for _, page := range []string{"/", "/" + form.ID.String(), "/" + form.ID.String() + "/results"} {
				h.start(page, "h1:not(:empty)")
				b.until(fmt.Sprintf(`getComputedStyle(document.querySelector("#formsvc-builder")).colorScheme === %q`, c.scheme))
				b.until(`getComputedStyle(document.querySelector("#formsvc-builder h1")).fontFamily.startsWith('"Courier New"')`)
				check(b, page+" on "+c.background)
				b.shot("colors-" + c.scheme + c.background + strings.ReplaceAll(page[:min(len(page), 4)], "/", "-"))
			}
			h.start("/", ".forms-list")
			b.named(h.word("forms.new"))
			b.named(h.word("forms.create"))
			b.until(`/[0-9a-f]{24}$/.test(location.pathname)`)
			var made formsvc.ID
			for f, err := range s.service.As(s.owner).Forms(t.Context(), formsvc.FormQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				if f.ID != form.ID {
					made = f.ID
				}
			}
			stored, err := s.service.As(s.owner).Form(t.Context(), made)
			if err != nil || !strings.Contains(string(stored.Theme), "#7a3e9d") {
				t.Errorf("the theme of a new form is %s (%v)", stored.Theme, err)
			}
		})
	}
}
