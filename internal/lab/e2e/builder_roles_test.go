package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// The editor tells users who cannot edit that they can only view the form, also on a phone.
func TestAViewerIsToldSo(t *testing.T) {
	s := newOwners(t, func(c *builder.Config) {
		c.Scopes = func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) {
			return []formsvc.Scope{formsvc.ScopeFormsRead}, nil
		}
	})
	b := s.ownersTab(390, 844)
	s.openOwners(b, "/"+s.draft("A form", threeBlocks).ID.String(), ".editor")
	b.until(`document.querySelector("[data-status=read-only] .saved-text").getBoundingClientRect().width > 40 && document.documentElement.scrollWidth <= innerWidth`)
	b.shot("viewer-narrow")
	b.size(1280, 844)
	b.shows(word(t, "editor.select_block_to_view"))
	b.shot("viewer")
}

// refusals are the paths of the page's requests that were refused, and of its links that would be.
const refusals = `(async () => {
	const links = [...document.querySelectorAll("a[href]")].filter(a => a.origin === location.origin && a.checkVisibility());
	await Promise.all(links.map(a => fetch(a.href)));
	return performance.getEntriesByType("resource").filter(e => e.responseStatus === 403).map(e => new URL(e.name).pathname);
})()`

// clickEverything clicks each visible button of the page and of what it opens, except for those that print or open another tab.
const clickEverything = `(async () => {
	const visible = () => [...document.querySelectorAll("button")].filter(b => b.checkVisibility() && !b.matches(":disabled") && !/Print|Preview/.test(b.textContent + b.ariaLabel));
	const pause = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	const clicked = [];
	for (let i = 0; i < visible().length && i < 60; i++) {
		const b = visible()[i];
		clicked.push(b.getAttribute("aria-label") || b.textContent);
		b.click();
		await pause();
		const opened = [...document.querySelectorAll("[role=menu] [role=menuitem]")];
		clicked.push(...opened.map(e => e.textContent));
		for (const d of document.querySelectorAll("dialog[open]")) d.dispatchEvent(new Event("cancel", { cancelable: true }));
		if (opened.length > 0) document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
		await pause();
	}
	return clicked;
})()`

// changes matches the names of buttons and menu items that change something.
var changes = regexp.MustCompile(`^(Add|New|Publish|Unpublish|Rename|Duplicate|Move|Reopen|Delete|Undo|Redo|Edit|Enable|Disable|Resend|Send|Restore)\b`)

// A user with few scopes sees no button and no link that leads to a refusal, on a phone and on a desk.
func TestPagesOfRoles(t *testing.T) {
	check := axe(t)
	var granted []formsvc.Scope
	s := newOwners(t, func(c *builder.Config) {
		c.Scopes = func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) { return granted, nil }
		c.Limits = builder.Limits{Requests: -1, TestEvents: -1}
	})
	form := s.everyAnswered(3)
	s.half(form, true, `{"short":"Half a guest"}`)
	empty := s.draft("A draft", `[]`)
	as := s.service.As(s.owner)
	expect.Must(as.WorkingCopy(form.ID).UpdateForm(t.Context(), formsvc.FormUpdate{Definition: formsvc.Definition{HiddenFields: json.RawMessage(`[]`)}}))
	hook := expect.Must(as.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "https://93.184.216.34/", Disabled: true}))
	id, list := "/"+form.ID.String(), "/w/"+s.place.String()
	response := id + "/results/" + s.all(form)[0].ID.String()
	const (
		forms, formsWrite, results, funnel, hooks, places = formsvc.ScopeFormsRead, formsvc.ScopeFormsWrite, formsvc.ScopeSubmissionsRead, formsvc.ScopeAnalyticsRead, formsvc.ScopeWebhooksRead, formsvc.ScopeWorkspacesRead
	)
	for _, role := range []struct {
		name   string
		scopes []formsvc.Scope
		pages  map[string]string // selectors
	}{
		{"report", []formsvc.Scope{forms, results}, map[string]string{id: ".editor", id + "/results": ".blocks", id + "/results/responses": ".responses", response: ".answers", id + "/results/partials": ".halves"}},
		{"viewer", []formsvc.Scope{forms, results, funnel, hooks, places}, map[string]string{
			"/": ".forms-list", list: ".forms-list", id: ".editor", "/" + empty.ID.String(): ".editor", id + "/results": ".funnel", response: ".answers",
			id + "/webhooks": ".hooks", id + "/webhooks/" + hook.ID.String(): ".hook-head",
		}},
		{"editor", []formsvc.Scope{forms, formsWrite, places}, map[string]string{list: ".forms-list", list + "/trash": ".empty", "/" + empty.ID.String(): ".editor", id + "/versions": "main"}},
		{"lister", []formsvc.Scope{forms, places}, map[string]string{list: ".forms-list", "/" + empty.ID.String(): ".editor"}},
		{"nobody", []formsvc.Scope{funnel}, map[string]string{"/": ".empty", id: ".empty", list: ".empty"}},
	} {
		widths := []int64{390, 1280}
		if !full() {
			widths = widths[:1]
		}
		for _, width := range widths {
			granted = role.scopes
			b := s.ownersTab(width, 900)
			n := 0
			for path, selector := range role.pages {
				n++
				s.openOwners(b, path, selector)
				b.until(`![...document.querySelectorAll(".loading")].some(e => e.checkVisibility())`)
				name := fmt.Sprintf("role-%s-%s-%d", role.name, selector[1:], width)
				check(b, name)
				b.shot(name)
				clicked := get(b, chromedp.Evaluate[[]string](clickEverything, chromedp.EvalAwaitPromise))
				for _, button := range clicked {
					expect.That(t, slices.Contains(role.scopes, formsWrite) || !changes.MatchString(button), "%s at %s (%d) has the button %q", role.name, path, width, button)
				}
				if found := get(b, chromedp.Evaluate[[]string](refusals, chromedp.EvalAwaitPromise)); role.name != "nobody" && len(found) > 0 {
					t.Errorf("%s at %s (%d): refused %s after clicking %q", role.name, path, width, found, clicked)
				}
			}
		}
	}
	after := expect.Must(as.Form(t.Context(), form.ID))
	expect.Equal(t, after.Revision, form.Revision, "the revision")
}
