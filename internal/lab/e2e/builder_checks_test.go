package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const bookings = `[{"id":"start","type":"date","label":"First day","required":true},{"id":"end","type":"date","label":"Last day","required":true},
	{"id":"code","type":"short_text","label":"Booking code","properties":{"rule":{"show":{"==":[{"var":"hidden.from"},"mail"]},"require":{"cat":["x"]},
		"next":[{"if":{"==":[{"var":"answers.code"},"STOP"]},"to":"end"}]}}},
	{"id":"party","type":"group","label":"Party","children":[{"id":"adults","type":"number","label":"Adults"},{"id":"children","type":"number","label":"Children"}]},
	{"id":"bye","type":"ending","label":"See you"}]`

func (s *site) bookings() formsvc.Form {
	return s.draft("Bookings", bookings, func(c *formsvc.FormCreate) { c.Definition.HiddenFields = json.RawMessage(`["from","unused"]`) })
}

// check is the last check of the block that is edited.
const check = `[...document.querySelectorAll("#panel-body .answer-checks > ol > .rule-card")].at(-1)`

// addCheck adds a check by its name, after as many others.
func (h hand) addCheck(name string, others int) {
	h.t.Helper()
	h.press(`T.named(` + quote(h.word("rules.add_check")) + `, ` + h.part("check") + `)`)
	h.press(`[...document.querySelectorAll("[role=menuitem]")].find(e => e.textContent === ` + quote(h.word("rules.check."+name)) + `)`)
	h.until(fmt.Sprintf(`%s.querySelectorAll(".rule-card").length === %d && %s.querySelector("strong").textContent === %q`, h.part("check"), others+1, check, h.word("rules.check."+name)))
}

// say waits until the last check has a message.
func (h hand) says(message string) {
	h.t.Helper()
	h.until(`(m => m.value ?? m.textContent)([...` + check + `.querySelectorAll("textarea, [role=textbox]")].at(-1)) === ` + quote(message))
}

// makesChecks adds checks to a form, publishes it, and returns it.
func (s *site) makesChecks(h hand, look func(state string)) formsvc.Form {
	h.t.Helper()
	form := s.bookings()
	h.start("/"+form.ID.String(), ".outline")
	h.edit("start")
	h.addCheck("notBeforeToday", 0)
	h.until(check + `.contains(document.activeElement)`)
	h.says("Choose today or a later date.")
	h.edit("end")
	h.addCheck("compare", 0)
	h.says("Must be after “First day”.")
	h.choose(check+`.querySelector("select")`, "below")
	h.says("Must not be before “First day”.")
	h.choose(check+`.querySelector("select")`, "atMost")
	h.says("Must be after “First day”.")
	look("check")

	h.edit("code")
	h.addCheck("pattern", 0)
	pattern := check + `.querySelector("input")`
	example := check + `.querySelectorAll("input")[1]`
	h.write(pattern, `[A-Z]{3`)
	h.write(example, "ABC")
	h.until(check + `.querySelector("[role=status]").textContent.includes(` + quote(h.word("rules.example_accepted")) + `) === false`)
	h.write(pattern, `[A-Z`)
	h.until(pattern + `.ariaInvalid === "true" && ` + check + `.querySelector(".fault").textContent !== "" && ` + check + `.querySelector("[role=status]").textContent.includes(` + quote(h.word("rules.example_invalid")) + `)`)
	look("invalid-pattern")
	h.write(pattern, `[A-Z]{3}`)
	h.until(pattern + `.ariaInvalid !== "true" && ` + check + `.querySelector("[role=status]").textContent.includes(` + quote(h.word("rules.example_accepted")) + `)`)
	h.addCheck("custom", 1)
	h.until(check + `.querySelector(".rule-row")`)
	h.write(check+`.querySelector(".rule-row input")`, "ZZZ")
	row := h.part("next") + `.querySelector(".rule-row")`
	h.press(`T.named(` + quote(h.word("rules.compare_answer")) + `, ` + row + `)`)
	h.choose(`[...`+row+`.querySelectorAll("select")].at(-1)`, "hidden.unused")
	h.press(`T.named(` + quote(h.word("rules.compare_value")) + `, ` + row + `)`)
	h.write(row+`.querySelector("input")`, "END")
	look("custom")

	// Inside a group.
	h.edit("children")
	h.addCheck("whole", 0)
	h.press(`T.named(` + quote(h.word("rules.add_condition")) + `, ` + check + `)`)
	h.until(check + `.querySelectorAll(".rule-row").length === 2 && ` + check + `.querySelector("strong").textContent === ` + quote(h.word("rules.check.custom")))
	h.press(`[...` + check + `.querySelectorAll(".rule-row")].at(-1).querySelector(".rule-tools button:last-child")`)
	h.until(check + `.querySelector("strong").textContent === ` + quote(h.word("rules.check.whole")))
	h.addCheck("compare", 1)
	h.choose(check+`.querySelector("select")`, "above")
	h.until(`!document.querySelector("#panel-body .rule-section .rule-set")`)
	h.edit("party")
	h.addCheck("custom", 0)
	h.saved()

	h.tab("logic")
	h.until(`document.querySelector(".logic-view").innerText.includes(` + quote("Refused when “First day” is before today: “Choose today or a later date.”") + `)`)
	look("logic")
	h.press(`T.all(".logic-block").find(e => e.textContent.includes("Children"))`)
	h.until(`T.chosen() === "children" && document.querySelector("#logic").open && document.activeElement.closest("#logic")`)
	h.press(`T.named(` + quote(h.word("editor.publish")) + `)`)
	h.until(`document.querySelector("dialog[open] .primary")?.disabled === false`)
	h.press(`document.querySelector("dialog[open] .primary")`)
	h.until(`document.querySelector("dialog[open] .copied input")`)
	return s.stored(form)
}

// Checks are made by name, shown as sentences, and refuse answers on the form page.
func TestChecksAreMade(t *testing.T) {
	s := newOwners(t)
	b := s.ownersTab(1280, 900)
	form := s.makesChecks(s.hand(b, false), func(state string) { b.shot("checks-" + state) })
	var blocks []struct {
		ID         string
		Properties struct{ Rule struct{ Check any } }
	}
	expect.NoError(t, json.Unmarshal(form.Blocks, &blocks))
	for i, want := range []string{
		`[{"if":{"<":[{"days":[{"today":[]},{"var":"answers.start"}]},0]},"say":"Choose today or a later date."}]`,
		`[{"if":{"<=":[{"var":"answers.end"},{"var":"answers.start"}]},"say":"Must be after “First day”."}]`,
	} {
		var checks any
		expect.NoError(t, json.Unmarshal([]byte(want), &checks))
		expect.Same(t, checks, blocks[i].Properties.Rule.Check, "the checks of %s", blocks[i].ID)
	}
	expect.That(t, strings.Contains(string(form.Blocks), `{"==":[{"var":"answers.code"},"ZZZ"]}`) && strings.Contains(string(form.Blocks), `{"==":[{"var":"answers.code"},"END"]}`), "the checks of code: %s", form.Blocks)
	b = newTab(t, 390, 800)
	date := func(id, year string) {
		b.set(field("a."+id), year+"-11-02")
	}
	b.open(s.url(form, ""))
	date("start", "2020")
	date("end", "2020")
	b.press("next")
	b.shows("Choose today or a later date.")
	date("start", "2090")
	b.press("next")
	b.shows("Must be after “First day”.")
	date("end", "2091")
	b.set(field("a.adults"), "1", field("a.children"), "2")
	b.press("next")
	b.shows("Must be at most “Adults”.")
	b.set(field("a.children"), "1")
	b.press("next")
	b.shows("See you")

	t.Run("firefox", func(t *testing.T) {
		inFull(t)
		s := newOwners(t)
		s.makesChecks(s.hand(s.ownersFirefox(t, newFirefox(t)), false), func(string) {})
	})
}

// Checks of each kind, and the list of all logic, are accessible and fit into a telephone.
func TestChecksAreAccessible(t *testing.T) {
	axeFinds := axe(t)
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{390, 1280} {
			if !full() && dark != (width == 390) {
				continue
			}
			s := newOwners(t)
			form := s.draft("Checks", checked, func(c *formsvc.FormCreate) { c.Definition.Variables = json.RawMessage(`{"limit":5,"unused":1}`) })
			b := s.ownersTab(width, 900)
			h := s.hand(b, false)
			b.dark(dark)
			look := func(state string) {
				t.Helper()
				axeFinds(b, state)
				b.until(`document.documentElement.scrollWidth <= innerWidth && document.querySelector("#panel-body").scrollWidth <= document.querySelector("#panel-body").clientWidth + 1`)
				b.shot(fmt.Sprintf("checks-%d-%v-%s", width, dark, state))
			}
			h.start("/"+form.ID.String(), ".editor")
			b.until(`document.querySelector(".canvas-frame")?.contentDocument?.querySelector("[data-logic]")`)
			if width < 760 {
				look("canvas")
				b.named(h.word("editor.pane_panel"))
			}
			b.do(`document.getElementById("tab-logic").click()`)
			h.until(`document.querySelectorAll(".logic-block").length === 4`)
			look("logic")
			for _, label := range []string{"Code", "Arrival", "Inner"} {
				b.do(`document.getElementById("tab-logic").click()`)
				h.until(`document.querySelector(".logic-block")`)
				h.press(`T.all(".logic-block").find(e => e.textContent.includes(` + quote(label) + `))`)
				h.until(`document.querySelector("#logic").open && document.querySelector("#logic .rule-card")`)
				b.do(`document.querySelector(".answer-checks").scrollIntoView()`)
				if label == "Code" { // each warning is at its check
					h.until(`(found => found.length === 1 && ` + check + `.contains(found[0]))([...document.querySelectorAll("#logic .notice")].filter(e => e.textContent.includes(` + quote(h.word("errors.ALWAYS_HOLDS")) + `)))`)
				}
				look(label)
			}
		}
	}
}

const checked = `[{"id":"code","type":"short_text","label":"Code","properties":{"rule":{"check":[
		{"if":{"<":[{"length":[{"var":"answers.code"}]},3]},"say":"Too short."},{"if":{"!":{"match":[{"var":"answers.code"},"[A-Z]+"]}},"say":"Use capital letters."},
		{"if":{"or":[{"==":[{"var":"answers.code"},"AAA"]},{"==":[{"var":"answers.code"},"BBB"]}]},"say":"Taken."},{"if":{"cat":["x"]},"say":"Never."}],
		"set":{"limit":{"+":[{"var":"variables.limit"},1]}}}}},
	{"id":"arrival","type":"date","label":"Arrival","properties":{"rule":{"check":[{"if":{"<":[{"days":[{"today":[]},{"var":"answers.arrival"}]},0]},"say":"Too early."}]}}},
	{"id":"departure","type":"date","label":"Departure","properties":{"rule":{"show":{"!=":[{"var":"answers.arrival"},null]},"check":[{"if":{"<=":[{"var":"answers.departure"},{"var":"answers.arrival"}]},"say":"Too early."}]}}},
	{"id":"group","type":"group","label":"More","children":[{"id":"inner","type":"number","label":"Inner","properties":{"rule":{"check":[
		{"if":{"!":{"==":[{"round":[{"var":"answers.inner"}]},{"var":"answers.inner"}]}},"say":"Whole numbers only."},{"if":{">":[{"var":"answers.inner"},{"var":"variables.limit"}]},"say":"Too many."}]}}}]}]`
