package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// people offers as many people as the value of By says.
type people struct{}

func (people) Choices(_ context.Context, q formsvc.ChoiceQuery) (list []schema.Choice, err error) {
	n := 0
	_, _ = fmt.Sscan(q.By, &n)
	for i := range n {
		if c := (schema.Choice{ID: fmt.Sprint("p", i), Label: fmt.Sprintf("Person %04d", i)}); strings.Contains(c.Label, q.Search) {
			list = append(list, c)
		}
	}
	return list, nil
}

func (p people) Labels(ctx context.Context, ids []string, q formsvc.ChoiceQuery) (map[string]string, error) {
	all, err := p.Choices(ctx, formsvc.ChoiceQuery{By: q.By})
	labels := map[string]string{}
	for _, c := range all {
		if slices.Contains(ids, c.ID) {
			labels[c.ID] = c.Label
		}
	}
	return labels, err
}

// The choices follow the answer that they depend on, and a long list is searched while a respondent types. Without the
// script, the page comes back with the same choices.
func TestListsOfTheHost(t *testing.T) {
	check := axe(t)
	s := newSite(t, formpage.Config{}, formsvc.WithChoices("people", "People", people{}))
	list := func(id, typ string) string {
		return `{"id":"` + id + `","type":"` + typ + `","label":"` + id + `","properties":{"rule":{"choices":{"list":"people","by":"answers.n"}}}}`
	}
	form := s.publish("People", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"n","type":"number","label":"How many"},` +
		list("one", "single_choice") + "," + list("drop", "dropdown") + "," + list("many", "multiple_choice") + "," + list("pic", "picture_choice") + "]")})
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			before := len(s.answers(form))
			b := newTabOf(t, script, 390, 900)
			update := func(button string) { // the buttons that a respondent without the script has
				if !script {
					b.do(`document.querySelector(".vh[name=go]").value=` + quote(button))
					b.click(".vh[name=go]")
				}
			}
			counts := func(want string) {
				t.Helper()
				b.until(`["one","drop","many","pic"].map(id=>{const q=document.querySelector("[data-b="+id+"]"), n=s=>q.querySelectorAll(s).length;
					return n("[type=radio]")+" "+n("[type=checkbox]")+" "+n("option")+" "+n("[type=search]")}).join(", ")===` + quote(want))
			}
			b.open(s.url(form, map[bool]string{true: "?lang=ar", false: ""}[script]))
			b.set(field("a.n"), "3")
			update("stay")
			counts("3 0 0 0, 0 0 4 0, 0 3 0 0, 3 0 0 0")
			if script {
				check(b, name+" options")
				b.shot("lists-options")
			}
			b.set(field("a.n"), "1000")
			update("stay")
			counts("0 0 0 1, 0 0 0 1, 0 0 0 1, 0 0 0 1")
			b.set(field("q.many"), "0007")
			update("next")
			counts("0 0 0 1, 0 0 0 1, 0 1 0 1, 0 0 0 1")
			b.click(`[data-b=many] [type=checkbox]`)
			b.set(field("q.many"), "09")
			update("next")
			b.until(`document.querySelectorAll("[data-b=many] [type=checkbox]").length===20+1 && document.querySelectorAll("[data-b=many] :checked").length===1`)
			b.set(field("q.drop"), "0500")
			update("next")
			b.until(`document.querySelectorAll("[data-b=drop] [type=radio]").length===1`)
			b.click("[data-b=drop] [type=radio]")
			if script {
				check(b, name+" a search")
			}
			b.shot("lists-search-" + map[bool]string{true: "script", false: "plain"}[script])
			b.press("next")
			b.until(`location.pathname.endsWith("/done")`)
			expect.Equal(t, len(s.answers(form)), before+1, "responses")
			wantAnswers(t, s.answers(form)[:1], map[string]string{
				"n": "1000", "drop": `{"id":"p500","label":"Person 0500"}`, "many": `[{"id":"p7","label":"Person 0007"}]`,
			})
		})
	}
}

func checkOrder(_ context.Context, in formsvc.CheckInput) (string, error) {
	if in.Answer.String() != "A-1" {
		return "There is no such order.", nil
	}
	return "", nil
}

// An owner chooses a list and a check, and a respondent meets both.
func TestListsAndChecksAreChosen(t *testing.T) {
	s := newOwners(t)
	form := s.draft("Host", `[{"id":"n","type":"number","label":"How many"},{"id":"who","type":"dropdown","label":"Who","choices":[]},{"id":"order","type":"short_text","label":"Order"}]`)
	b := s.ownersTab(1280, 900)
	h := s.hand(b, false)
	h.start("/"+form.ID.String(), ".outline")
	h.edit("who")
	h.choose(`[...document.querySelectorAll("#logic select")].find(e => e.labels[0]?.textContent.includes(`+quote(h.word("rules.list"))+`))`, "people")
	h.until(`document.querySelector("#logic").textContent.includes(` + quote(h.word("rules.list_empty")) + `) && document.querySelector("#panel-body").textContent.includes(` + quote(h.word("props.choices_from_list")) + `)`)
	h.choose(`[...document.querySelectorAll("#logic select")].find(e => e.labels[0]?.textContent.includes(`+quote(h.word("rules.list_by"))+`))`, "answers.n")
	b.shot("lists-builder")
	axe(t)(b, "a list")
	h.edit("order")
	h.press(`T.named(` + quote(h.word("rules.add_check")) + `, ` + h.part("check") + `)`)
	h.press(`[...document.querySelectorAll("[role=menuitem]")].find(e => e.textContent === "Order number")`)
	h.until(check + `.querySelector("strong").textContent === "Order number"`)
	h.saved()
	h.tab("logic")
	h.until(`document.querySelector(".logic-view").innerText.includes("The choices come from “Our people”") && document.querySelector(".logic-view").innerText.includes("Checked by “Order number”")`)
	b.shot("lists-builder-logic")
	stored := s.stored(form)
	for _, want := range []string{`"choices":{"list":"people","by":"answers.n"}`, `"check":[{"host":"order"}]`} {
		expect.That(t, strings.Contains(string(stored.Blocks), want), "%s is not in %s", want, stored.Blocks)
	}
}
