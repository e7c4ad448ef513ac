package e2e

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
)

// What the host says when it refuses a response is shown, and the corrected response is stored.
func TestARefusalOfTheHost(t *testing.T) {
	for _, script := range []bool{true, false} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			s := newSite(t, formpage.Config{Submit: func(ctx context.Context, r formsvc.Response, next func(context.Context, formsvc.Response) (formsvc.Submission, error)) (formsvc.Submission, error) {
				if string(r.Answers["code"]) != `"SPRING"` {
					return formsvc.Submission{}, &formsvc.Error{Violations: []schema.Violation{{Field: "code", Code: schema.CodeNotAllowed, Message: "We don't know <this> code."}}}
				}
				return next(ctx, r)
			}})
			form := s.publish("Invited", kind, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"name","type":"short_text","label":"Name"},{"id":"code","type":"short_text","label":"Code"}]`)})
			b := newTab(t, 390, 700)
			if !script {
				b.noScript()
			}
			b.open(s.url(form, ""))
			b.set(field("a.name"), "Ada")
			if kind == "SINGLE" {
				b.press("next")
				b.step("code")
			}
			b.set(field("a.code"), "WINTER")
			b.press("next")
			b.shows("We don't know <this> code.")
			b.until(`document.querySelector('[name="a.code"]').value === "WINTER"`)
			if n := len(s.answers(form)); n != 0 {
				t.Errorf("%s, script %v: %d responses are stored", kind, script, n)
			}
			b.set(field("a.code"), "SPRING")
			b.press("next")
			b.shows("Thank you!")
			if all := s.answers(form); len(all) != 1 || all[0]["name"] != `"Ada"` {
				t.Errorf("%s, script %v: stored is %v", kind, script, all)
			}
		}
	}
}
