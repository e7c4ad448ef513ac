package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// Days that can be chosen are shown, with a time and one question at a time too, and a day
// that cannot is refused with the ones that can.
func TestDaysAreShown(t *testing.T) {
	var days []string
	for i := range 30 { // from Tuesday, 1 September 2026
		days = append(days, time.Date(2026, 9, 1+i, 0, 0, 0, 0, time.UTC).Format(`"`+time.RFC3339+`"`))
	}
	blocks := `[
		{"id":"few","type":"date","label":"One of few","required":true,"properties":{"specificDates":[` + strings.Join(days[:10], ",") + `],"disabledDays":1,"showTimePicker":true}},
		{"id":"list","type":"date","label":"One of more","required":true,"properties":{"specificDates":[` + strings.Join(days, ",") + `]}},
		{"id":"week","type":"date","label":"On a working day","properties":{"disabledDays":65}}]`
	for _, script := range []bool{true, false} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			s := newSite(t, formpage.Config{})
			form := s.publish("Days", kind, formsvc.Definition{Blocks: json.RawMessage(blocks)})
			b := newTab(t, 390, 700)
			if !script {
				b.noScript()
			}
			next := func() {
				if kind == "SINGLE" {
					b.press("next")
				}
			}
			// In winter the visitor's clock has another offset than on the day in September.
			call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"})
			b.open(s.url(form, ""))
			b.until(`document.querySelectorAll("[name='a.few'][type=radio]").length === 9`)
			b.shows("Tuesday, 1 September 2026")
			b.set(choice("a.few", "2026-09-05"), "", field("t.few"), "09:30")
			b.shot(fmt.Sprintf("days-%s-%v", kind, script))
			next()
			b.until(`document.querySelectorAll("[name='a.list'] option").length === 31`)
			b.set(field("a.list"), "2026-09-30")
			next()
			b.shows("Possible days: Monday, Tuesday, Wednesday, Thursday, Friday.")
			b.set(field("a.week"), "2026-09-06")
			b.press("next")
			b.shows("This day is not available. Please choose one of these: Monday, Tuesday, Wednesday, Thursday, Friday.")
			b.set(field("a.week"), "2026-09-07")
			b.press("next")
			b.shows("Thank you!")
			stored := s.answers(form)
			wantAnswers(t, stored, map[string]string{"list": `"2026-09-30"`, "week": `"2026-09-07"`})
			if want := map[bool]string{true: `"2026-09-05T09:30:00-04:00"`, false: `"2026-09-05T09:30:00Z"`}[script]; stored[0]["few"] != want {
				t.Errorf("script %v, %s: few is %s, want %s", script, kind, stored[0]["few"], want)
			}
		}
	}
}

// A form that asks for what nobody can give says so at once, and what was typed stays.
func TestAFormThatCannotBeSentSaysSo(t *testing.T) {
	for _, script := range []bool{true, false} {
		s := newSite(t, formpage.Config{})
		form := s.publish("Pay", "SINGLE", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"n","type":"short_text","label":"Name"},
			{"id":"p","type":"payment","label":"Fee","required":true,"properties":{"amount":"9.50","currency":"EUR"}}]`)})
		b := newTab(t, 390, 700)
		if !script {
			b.noScript()
		}
		const vain = "This form cannot be sent from this page. Please tell whoever gave you the link."
		b.open(s.url(form, ""))
		b.shows(vain)
		b.shot("pay-0")
		b.set(field("a.n"), "Ada")
		b.press("next")
		b.shows("You cannot pay on this page. " + vain + " 9.50 EUR")
		b.until(`!document.querySelector(".req")`)
		b.press("next")
		b.until(`document.querySelector("#summary li span").textContent === ` + quote(vain))
		b.shot("pay-1")
		b.press("back")
		b.until(`document.querySelector("[name='a.n']").value === "Ada"`)
	}
}
