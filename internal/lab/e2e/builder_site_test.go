package e2e

import (
	"encoding/json"
	"errors"
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
)

// userCookie has the name of who is signed in, which formsvc.UserIDFrom makes an id of.
const userCookie = "user"

// newOwners is a site with the pages of package builder at /forms, and two users: "owner" has the
// workspace s.place, "stranger" has s.elsewhere.
func newOwners(t testing.TB, change ...func(*builder.Config)) *site {
	t.Helper()
	s := newSite(t, formpage.Config{})
	workspace := must(s.service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("stranger"), "Elsewhere"))
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
	pages := must(builder.New(s.service, config))
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
	form := must(s.service.As(s.owner).CreateForm(s.t.Context(), create))
	return form
}

// stored is a form as it is now.
func (s *site) stored(form formsvc.Form) formsvc.Form {
	s.t.Helper()
	form = must(s.service.As(s.owner).Form(s.t.Context(), form.ID))
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
		if _, problems := b.requests.list(); len(problems) > 0 {
			s.t.Errorf("the page complained:\n%s", strings.Join(problems, "\n"))
		}
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
	s.openOwners(b, "/", "")
	// The way back from a form leads to its own workspace, not to the newest; a long name stays beside it.
	must(s.service.CreateWorkspace(t.Context(), s.owner, "Newest"))
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
