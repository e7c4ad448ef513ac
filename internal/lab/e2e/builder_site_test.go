package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// userCookie has the name of who is signed in, which formsvc.UserIDFrom makes an id of.
const userCookie = "user"

// newOwners is a site with the pages of package builder at /forms, and two users: "owner" has the
// workspace s.place, "stranger" has s.elsewhere.
func newOwners(t testing.TB, change ...func(*builder.Config)) *site {
	t.Helper()
	s := newSite(t, formpage.Config{}, formsvc.WithChoices("people", "Our people", people{}), formsvc.WithCheck("order", "Order number", checkOrder))
	workspace := expect.Must(s.service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("stranger"), "Elsewhere"))
	s.elsewhere = workspace.ID
	config := builder.Config{Pages: s.pages, User: func(r *http.Request) (formsvc.ID, error) {
		cookie, err := r.Cookie(userCookie)
		if err != nil || cookie.Value == "" {
			return formsvc.ID{}, errors.New("nobody is signed in")
		}
		return formsvc.UserIDFrom(cookie.Value), nil
	}}
	for _, change := range change {
		change(&config)
	}
	pages := expect.Must(builder.New(s.service, config))
	s.mux.Handle("/forms/", pages)
	return s
}

// draft makes a form of the owner with these blocks, a JSON array, and what change adds.
func (s *site) draft(name, blocks string, change ...func(*formsvc.FormCreate)) formsvc.Form {
	s.t.Helper()
	create := formsvc.FormCreate{Workspace: s.place, Name: name, Type: "MULTI", Definition: formsvc.Definition{Blocks: json.RawMessage(blocks)}}
	for _, change := range change {
		change(&create)
	}
	form := expect.Must(s.service.As(s.owner).CreateForm(s.t.Context(), create))
	return form
}

// stored is a form as it is now.
func (s *site) stored(form formsvc.Form) formsvc.Form {
	s.t.Helper()
	form = expect.Must(s.service.As(s.owner).Form(s.t.Context(), form.ID))
	return form
}

// ownersTab is a tab in which the owner is signed in. At the end of the test nothing may have
// complained in it: no exception, no dialog, no line in the console, above all none about the
// Content-Security-Policy. Answers that are errors may be meant, and are left out.
func (s *site) ownersTab(width, height int64) *tab {
	s.t.Helper()
	b := newTab(s.t, width, height)
	call(b, log.Enable, cdp.Empty{})
	follow(b, &b.reading, log.EntryAdded, func(e log.EventEntryAdded) {
		if e.Entry.Source != "network" && e.Entry.Level != "verbose" {
			b.requests.problems = append(b.requests.problems, e.Entry.Text)
		}
	})
	follow(b, &b.reading, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			text, _ := json.Marshal(e.Args)
			b.requests.problems = append(b.requests.problems, string(text))
		}
	})
	s.t.Cleanup(func() {
		_, problems := b.requests.list()
		expect.That(s.t, len(problems) == 0, "the page complained:\n%s", strings.Join(problems, "\n"))
	})
	s.signIn(b, "owner")
	return b
}

// signIn makes a user the one of a tab; "" signs out.
func (s *site) signIn(b *tab, user string) {
	s.t.Helper()
	call(b, network.SetCookie, network.SetCookieParams{Name: userCookie, Value: user, URL: s.server.URL})
}

// openOwners opens a path of the builder, such as "/" or "/"+form.ID.String(), and waits until
// something matches the selector; "" waits for anything that the script drew.
func (s *site) openOwners(b *tab, path, selector string) {
	s.t.Helper()
	if selector == "" {
		selector = "#formsvc-builder > :not(noscript)"
	}
	b.run(chromedp.Navigate(s.server.URL+"/forms"+path), chromedp.WaitVisible(chromedp.CSS(selector)))
}

// The script draws pages for whoever is signed in, and for nobody else.
func TestOwnersPages(t *testing.T) {
	s := newOwners(t)
	s.draft("Mine", `[]`)
	b := s.ownersTab(1280, 800)
	s.openOwners(b, "/w/000000000000000000000000", ".empty")
	b.until(`!document.body.innerText.includes("Mine")`) // of another workspace
	s.openOwners(b, "/000000000000000000000000/webhooks", ".notice.bad")
	b.until(`!document.querySelector(".empty")`)
	for _, part := range []string{"", "/results", "/webhooks", "/versions", "/results/000000000000000000000000"} { // nothing to open, and nothing to try again
		s.openOwners(b, "/000000000000000000000000"+part, "main :is(.notice.bad, .empty)")
		b.until(`!document.querySelector(".tabs, main button")`)
	}
	s.openOwners(b, "/", "")
	// The way back from a form leads to its own workspace, not to the newest; a long name stays beside it.
	expect.Must(s.service.CreateWorkspace(t.Context(), s.owner, "Newest"))
	form := s.draft("A form with a name that is far longer than a telephone is wide", `[]`)
	b.size(360, 640)
	for _, part := range []string{"", "/results", "/webhooks", "/versions"} {
		s.openOwners(b, "/"+form.ID.String()+part, ".bar-title:not(:empty)")
		b.until(`document.querySelector(".brand").pathname === ` + quote("/forms/w/"+s.place.String()))
		b.until(`document.querySelector(".bar-title").getBoundingClientRect().left > document.querySelector(".brand").getBoundingClientRect().right`)
	}
	b.do(`document.querySelector(".brand").click()`)
	b.shows(form.Name)
	s.signIn(b, "")
	b.run(chromedp.Navigate(s.server.URL + "/forms/"))
	b.until(`!document.querySelector("#formsvc-builder")`)
}

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
				expect.NoError(t, err)
				if f.ID != form.ID {
					made = f.ID
				}
			}
			stored, err := s.service.As(s.owner).Form(t.Context(), made)
			expect.That(t, err == nil && strings.Contains(string(stored.Theme), "#7a3e9d"),
				"the theme of a new form is %s (%v)", stored.Theme, err)
		})
	}
}
