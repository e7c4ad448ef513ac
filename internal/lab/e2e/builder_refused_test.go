package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// What a host's check says is on the page while its change is not saved, whatever its path, and in the dialog that publishes.
func TestTheHostsRefusalsAreShown(t *testing.T) {
	check := axe(t)
	s := newOwners(t)
	for name, path := range map[string]string{"form": "", "blocks": "/definition/blocks", "label": "/definition/blocks/0/label"} {
		t.Run(name, func(t *testing.T) {
			const message = "The approval needs the question “Cost centre”."
			keep := func(_, after formsvc.FormContent) error {
				if bytes.Contains(after.Blocks, []byte(`"cost"`)) {
					return nil
				}
				return &formsvc.Error{Violations: []schema.Violation{{Path: path, Code: "KEEP", Message: message}}}
			}
			s.mux.Handle("/"+name+"/", expect.Must(builder.New(s.service.WithFormCheck(keep), builder.Config{
				BasePath: "/" + name, Pages: s.pages, User: func(*http.Request) (formsvc.ID, error) { return s.owner, nil },
			})))
			form := s.draft("Approvals of journeys for the whole company", `[{"id":"name","type":"short_text","label":"Name"},{"id":"cost","type":"short_text","label":"Cost centre"}]`)
			expect.Must(s.service.As(s.owner).PublishForm(t.Context(), form.ID))
			b := s.ownersTab(1280, 900)
			b.run(chromedp.Navigate(s.server.URL+"/"+name+"/"+form.ID.String()), chromedp.WaitVisible(chromedp.CSS("[data-id=cost]")))
			b.do(tools + `T.row("cost").dispatchEvent(new KeyboardEvent("keydown", {key: "Delete", bubbles: true}))`)
			says := func(within string) string {
				return `T.all(` + quote(within) + `).some(e => e.textContent.includes(` + quote(message) + `))`
			}
			b.until(`T.status() === "refused"`)
			if path != "/definition/blocks/0/label" { // whose row in the outline is marked
				b.until(says(".editor-notice"))
			}
			look := func(state string) {
				if name != "blocks" {
					return
				}
				for _, width := range []int64{1280, 390} {
					for _, dark := range []bool{false, true} {
						b.size(width, 844)
						b.dark(dark)
						check(b, state)
						b.until(`document.documentElement.scrollWidth <= innerWidth && document.querySelector(".bar").getBoundingClientRect().height < (innerWidth > 760 ? 110 : 190) && document.querySelector(".saved-text").getBoundingClientRect().height < 40`)
						b.shot("refused-" + name + "-" + state + map[bool]string{true: "-dark"}[dark] + map[bool]string{true: "-narrow"}[width == 390])
					}
				}
				b.size(1280, 900)
				b.dark(false)
			}
			look("editor")
			b.do(`document.querySelector("[data-status] button").click()`)
			b.until(says("dialog[open]"))
			look("dialog")
			if path == "/definition/blocks/0/label" {
				b.named(word(t, "editor.show_problem"))
				b.until(`T.chosen() === "name"`)
			} else {
				b.escape()
			}
			b.named(word(t, "editor.publish"))
			b.until(says("dialog[open] .notice"))
			look("publish")
			b.escape()
			b.do(`document.querySelector("[aria-label=Undo]").click()`)
			b.until(`T.status() === "saved" && !document.querySelector(".editor-notice")`)

			// Dialogs and messages of other changes say it too: of a new form, a copy and an earlier version.
			as, visit := s.service.As(s.owner), func(path, selector string) {
				b.run(chromedp.Navigate(s.server.URL+"/"+name+path), chromedp.WaitVisible(chromedp.CSS(selector)))
				b.do(tools)
			}
			was := s.draft("Was without", `[]`)
			expect.Must(as.PublishForm(t.Context(), was.ID))
			expect.Must(as.UpdateForm(t.Context(), was.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: form.Blocks}}))
			visit("/"+was.ID.String()+"/versions", "#version")
			b.named(word(t, "editor.version_restore"))
			b.asked()
			b.do(`document.querySelector("dialog[open] [type=submit]").click()`)
			b.until(says("main .notice"))
			bare := s.draft("Bare, "+name, `[]`)
			visit("/w/"+s.place.String(), ".forms-list")
			b.do(`document.querySelector('[aria-label="` + strings.ReplaceAll(word(t, "forms.actions_of"), "{name}", bare.Name) + `"]').click()`)
			b.named(word(t, "forms.duplicate"))
			b.until(says(".toast"))
			b.named(word(t, "forms.new"))
			b.named(word(t, "forms.create"))
			b.until(says("dialog[open] .fault"))
		})
	}
}
