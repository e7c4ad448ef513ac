package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// rule makes the rule of the block that is edited: by sentences what they say, the rest as JSON.
func (h hand) rule(rule map[string]any) {
	h.t.Helper()
	if show, ok := rule["show"]; ok {
		h.condition(h.part("show"), show)
	}
	if require, ok := rule["require"]; ok {
		h.condition(h.part("require"), require)
	}
	set, _ := rule["set"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		h.change(h.part("set"), name, set[name].(map[string]any))
	}
	jumps, _ := rule["next"].([]any)
	for i, jump := range jumps {
		j := jump.(map[string]any)
		at := h.part("next")
		if when, ok := j["if"]; ok {
			h.press(`T.named(` + quote(h.word("rules.add_rule")) + `, ` + at + `)`)
			card := fmt.Sprintf(`%s.querySelector(".rule-next > ol > li:nth-child(%d)")`, at, i+1)
			h.condition(card, when)
			h.choose(card+`.querySelector(":scope > .field select")`, j["to"].(string))
			continue
		}
		h.choose(at+`.querySelector(".rule-next > .field select")`, j["to"].(string))
	}
}

// part is a part of the editor of rules by its heading.
func (h hand) part(name string) string {
	h.t.Helper()
	at := `[...document.querySelectorAll("#panel-body .rule-section")].find(e => e.querySelector("h3").textContent === ` + quote(h.word("rules."+name)) + `)`
	h.open(at)
	return at
}

var comparisons = map[string]string{"==": "is", "!=": "isNot", "<": "below", "<=": "atMost", ">": "above", ">=": "atLeast"}

// condition makes a condition in an editor that has one or none.
func (h hand) condition(at string, logic any) {
	h.t.Helper()
	if !ask[bool](h, `!!`+at+`.querySelector(".rule-row")`) {
		h.press(`T.named(` + quote(h.word("rules.add_condition")) + `, ` + at + `)`)
	}
	row := at + `.querySelector(".rule-row")`
	h.until(row)
	op, path, value := leaf(logic)
	if op == "" {
		h.press(`T.named(` + quote(h.word("rules.edit_as_json")) + `, ` + at + `)`)
		raw, _ := json.MarshalIndent(logic, "", "  ")
		h.write(at+`.querySelector(".rule-json textarea")`, string(raw))
		return
	}
	h.choose(row+`.querySelector(":scope > .field select")`, path)
	h.choose(row+`.querySelector(".rule-pair > .field select")`, op)
	values := row + `.querySelector(".rule-pair")`
	one := func(selector string, v any) {
		field := values + `.querySelector(` + quote(selector) + `)`
		h.until(field)
		if ask[bool](h, field+`.matches("select")`) {
			h.choose(field, fmt.Sprint(v))
		} else {
			h.write(field, fmt.Sprint(v))
		}
	}
	switch list, isList := value.([]any); {
	case value == nil:
	case strings.HasSuffix(op, "between"):
		one(`:scope > .rule-pair > .field:nth-child(1) :is(input,select)`, list[0])
		one(`:scope > .rule-pair > .field:nth-child(2) :is(input,select)`, list[1])
	case isList:
		boxes := values + `.querySelectorAll(".rule-checks input")`
		h.until(boxes + `.length`)
		for i := range ask[int](h, boxes+`.length`) {
			choice := ask[string](h, fmt.Sprintf(`%s[%d].parentElement.textContent`, boxes, i))
			h.turn(fmt.Sprintf(`%s[%d]`, boxes, i), slices.ContainsFunc(list, func(v any) bool { return h.choiceLabels[fmt.Sprint(v)] == choice }))
		}
	default:
		one(`:scope > .field:nth-child(2) :is(input,select)`, value)
	}
}

// leaf is a comparison that a sentence says, as the page calls it; "" where there is none.
func leaf(logic any) (op, path string, value any) {
	object, ok := logic.(map[string]any)
	if !ok || len(object) != 1 {
		return "", "", nil
	}
	for name, operands := range object {
		if name == "!" {
			if inner, p, v := leaf(operands); inner == "between" || inner == "oneOf" {
				return "!" + inner, p, v
			}
			return "", "", nil
		}
		list, _ := operands.([]any)
		variable := func(i int) string {
			m, _ := list[i].(map[string]any)
			text, _ := m["var"].(string)
			return text
		}
		_, isList := any(nil), false
		if len(list) == 2 {
			_, isList = list[1].([]any)
		}
		switch {
		case name == "<=" && len(list) == 3 && variable(1) != "":
			return "between", variable(1), []any{list[0], list[2]}
		case len(list) != 2 || variable(0) == "" || comparisons[name] == "":
		case list[1] == nil && name == "==":
			return "unanswered", variable(0), nil
		case list[1] == nil:
			return "answered", variable(0), nil
		case isList && name == "==":
			return "exactly", variable(0), list[1]
		default:
			return comparisons[name], variable(0), list[1]
		}
	}
	return "", "", nil
}

// change makes the change of a variable: a sum or a product of one term.
func (h hand) change(at, name string, logic map[string]any) {
	h.t.Helper()
	h.press(`T.named(` + quote(h.word("rules.add_change")) + `, ` + at + `)`)
	card := `[...` + at + `.querySelectorAll(".rule-set > .rule-card")].at(-1)`
	h.until(card)
	h.choose(card+`.querySelector(".rule-head select")`, name)
	for op, operands := range logic {
		list := operands.([]any)
		h.choose(card+`.querySelector(":scope > .field:nth-of-type(2) select")`, op)
		h.choose(card+`.querySelector(":scope > .field:nth-of-type(3) select")`, list[0].(map[string]any)["var"].(string))
		term := list[1]
		if when, ok := term.(map[string]any); ok && when["if"] != nil {
			parts := when["if"].([]any)
			h.press(`T.named(` + quote(h.word("rules.make_conditional")) + `, ` + card + `)`)
			h.condition(card+`.querySelector(".rule-line")`, parts[0])
			term = parts[1]
		}
		h.write(card+`.querySelector(".rule-line > .rule-pair input")`, fmt.Sprint(term))
	}
}

// A choice that a rule uses is deleted and added again: the editor says so at once, at the rule and
// when the form is published. A block that takes several choices afterwards keeps its rules.
func TestRulesThatLoseTheirChoice(t *testing.T) {
	s := newOwners(t)
	check := axe(t)
	t.Run("chromium", func(t *testing.T) {
		b := s.ownersTab(1280, 900)
		s.losesAChoice(s.hand(b, false), func(state string) {
			check(b, state)
			b.shot("rules-" + state)
			b.size(390, 844)
			b.shot("rules-" + state + "-narrow")
			b.size(1280, 900)
		})
	})
	t.Run("firefox", func(t *testing.T) {
		inFull(t)
		s.losesAChoice(s.hand(s.ownersFirefox(t, newFirefox(t)), false), func(string) {})
	})
}

func (s *site) losesAChoice(h hand, look func(state string)) {
	h.t.Helper()
	form := s.draft("Party", `[
		{"id":"come","type":"single_choice","label":"Will you come?","choices":[{"id":"y1","label":"Yes"},{"id":"n1","label":"No"}]},
		{"id":"sorry","type":"statement","label":"Sorry","properties":{"rule":{"show":{"==":[{"var":"answers.come"},"n1"]}}}},
		{"id":"unasked","type":"short_text"},
		{"id":"tel","type":"phone","label":"Phone"}]`)
	toast := `document.querySelector(".toast")?.textContent`
	note := `document.querySelector(".rule-note")?.textContent`
	h.start("/"+form.ID.String(), ".outline")
	h.until(`T.row("unasked").querySelector('[aria-label="Warning: The question has no text yet."]') && !T.row("tel").querySelector("[aria-label^=Warning]")`)

	h.edit("come")
	h.press(`T.named("Remove “No”")`)
	h.until(toast + `?.includes("Logic in 1 block uses this choice.")`)
	look("deleted")
	h.press(`document.querySelector(".toast button")`)
	h.until(`document.querySelector("[data-key=n1]")`)
	h.press(`T.named("Remove “No”")`)
	h.press(`T.named(` + quote(h.word("props.choices_add")) + `)`)
	h.until(`document.activeElement.matches("[data-key]")`)
	h.insert("No")
	h.saved()
	h.edit("sorry")
	h.until(note + `?.includes("This condition is never true because “Will you come?” no longer has the choice “No”.")`)
	look("never")
	h.pressNamed("editor.publish")
	h.until(`document.querySelector("dialog[open] .differences:last-child")?.textContent.includes("“Will you come?” no longer has the choice “No”.")`)
	look("publishing")
	h.pressNamed("app.cancel")

	// The rule is repaired. Then the question takes several choices, and a ranking, which no condition fits.
	rule := `document.querySelector(".rule-row")`
	h.choose(`[...`+rule+`.querySelectorAll(".rule-pair select")].at(-1)`, "y1")
	h.until(`!document.querySelector(".rule-note")`)
	h.edit("come")
	h.choose(`T.control("/type").querySelector("select")`, "multiple_choice")
	h.until(toast + `?.includes("Logic in 1 block was updated.")`)
	look("adapted")
	h.edit("sorry")
	h.until(rule + `.querySelector(".rule-pair select").value === "has" && !document.querySelector(".rule-note")`)
	h.edit("come")
	h.choose(`T.control("/type").querySelector("select")`, "ranking")
	h.until(toast + `?.includes("Logic in 1 block may no longer work. Check the conditions in this block.")`)
	h.edit("sorry")
	h.until(note + `?.includes("“Will you come?” now has a different type of answer.")`)
	look("unfit")
	h.press(`document.querySelector("[aria-label=Undo]")`)
	h.until(`T.control("/type").querySelector("select").value === "multiple_choice"`)
	h.press(`document.querySelector("[aria-label=Undo]")`) // the type and the rule are one step
	h.edit("sorry")
	h.until(rule + `.querySelector(".rule-pair select").value === "is"`)
	h.saved()
}
