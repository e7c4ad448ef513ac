package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// counted counts the clicks of a hand.
type counted struct {
	window
	clicks int
}

func (c *counted) clickAt(x, y float64) {
	c.clicks++
	c.window.clickAt(x, y)
}

// wanted is a block that somebody builds with the mouse, and types the texts of.
type wanted struct {
	kind, label string
	required    bool
	choices     []string
}

// How many clicks three forms take from the list of forms to their link, for somebody who takes each block from the
// row of common ones or from the menu, and types.
func TestFormsTakeFewClicks(t *testing.T) {
	for _, form := range []struct {
		name   string
		single bool
		most   int
		blocks []wanted
	}{
		{"Event registration", false, 15, []wanted{
			{"short_text", "Your name", true, nil}, {"email", "Your email address", true, nil},
			{"single_choice", "Will you come?", true, []string{"Yes", "No", "Perhaps"}}, {"number", "How many people come with you?", false, nil},
			{"long_text", "Anything that you cannot eat?", false, nil},
		}},
		{"Job application", false, 28, []wanted{
			{"short_text", "Your name", true, nil}, {"email", "Your email address", true, nil}, {"phone", "Your phone number", false, nil},
			{"single_choice", "Which job?", true, []string{"Engineer", "Designer", "Writer", "Another"}}, {"date", "When can you start?", true, nil},
			{"multiple_choice", "Where would you work?", false, []string{"Berlin", "Madrid", "At home"}}, {"file_upload", "Your CV", true, nil},
			{"long_text", "Why you?", false, nil}, {"legal", "I agree that my data is kept", true, nil},
		}},
		{"Customer satisfaction", true, 22, []wanted{
			{"welcome", "How do you like it?", false, nil}, {"nps", "How likely are you to recommend us?", true, nil},
			{"single_choice", "How often do you use it?", false, []string{"Daily", "Weekly", "Rarely"}},
			{"opinion_scale", "How easy is it?", false, nil}, {"long_text", "What should we improve?", false, nil},
			{"email", "May we write to you?", false, nil}, {"ending", "Thank you", false, nil},
		}},
	} {
		t.Run(form.name, func(t *testing.T) {
			s := newOwners(t)
			b := s.ownersTab(1280, 900)
			c := &counted{window: b}
			h := s.hand(c, false)
			h.start("/", ".forms-page")
			h.pressNamed("forms.new")
			h.until(`document.activeElement.matches("dialog input")`)
			if form.single {
				h.click(`document.querySelectorAll("dialog [name=type]")[1]`)
			}
			h.write(`document.querySelector("dialog input.input")`, form.name)
			c.clicks-- // the field has the focus when the dialog opens
			h.key(kb.Enter)
			h.until(`document.querySelector(".pane-outline")`)
			for _, block := range form.blocks {
				h.buildsByMouse(block)
			}
			h.saved()
			b.shot("clicks-" + form.name)
			h.pressNamed("editor.publish")
			h.until(`document.querySelector("dialog[open] .primary")?.disabled === false`)
			h.press(`document.querySelector("dialog[open] .primary")`)
			h.until(`document.querySelector("dialog[open] .copied input")`)
			t.Logf("%d clicks", c.clicks)
			if c.clicks > form.most {
				t.Errorf("%d clicks are more than %d", c.clicks, form.most)
			}
		})
	}
}

func (h hand) buildsByMouse(w wanted) {
	h.t.Helper()
	often := `T.named(` + quote(strings.ReplaceAll(h.word("editor.add_this"), "{type}", h.word("props.type_"+w.kind))) + `)`
	was := ask[int](h, `T.ids().length`)
	if ask[bool](h, `!!`+often) {
		h.press(often)
	} else {
		h.click(`document.querySelector(".pane-head button")`)
		h.until(`document.activeElement.matches("dialog [role=combobox]")`)
		h.click(`document.getElementById("add-` + w.kind + `")`)
	}
	h.until(fmt.Sprintf(`T.ids().length === %d && document.querySelector("#panel-body").contains(document.activeElement)`, was+1))
	label := `T.control("/label")?.querySelector("[role=textbox]")`
	h.until(label)
	if !ask[bool](h, `T.mine(`+label+`)`) {
		h.click(label)
	}
	h.key("a", chromedp.ModifierCtrl)
	h.insert(w.label)
	for i, choice := range w.choices {
		input := fmt.Sprintf(`T.control("/choices").querySelectorAll("ol > li input")[%d]`, i)
		if i == 0 {
			h.press(input)
		} else {
			h.key(kb.Enter)
		}
		h.until(`T.mine(` + input + `)`)
		h.insert(choice)
		h.until(input + `.value === ` + quote(choice))
	}
	if w.required {
		h.turn(`T.control("/required").querySelector("[role=switch]")`, true)
	}
}
