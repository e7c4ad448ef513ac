package e2e

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const readForm = `[{"id":"n","type":"number","label":"N"},{"id":"p","type":"phone","label":"P","properties":{"defaultCountry":"DE"}},{"id":"e","type":"email","label":"E"},
	{"id":"c","type":"contact_info","label":"C","properties":{"defaultCountry":"DE"}},{"id":"s","type":"short_text","label":"S"},{"id":"l","type":"long_text","label":"L"}]`

// What numbers, phones and addresses are read as is shown when they are left; without a
// script the page comes back once with it. The country beside a number is the one it has.
func TestReadingsAreShown(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, formpage.Config{MinFillTime: -1})
			b := newTabOf(t, script, 390, 800)
			form := s.publish("Read", "MULTI", formsvc.Definition{Blocks: json.RawMessage(readForm)})
			reads := func(input, text string) {
				t.Helper()
				b.until(`document.getElementById(document.querySelector(` + quote(field(input)) + `).id+"-s").textContent.includes(` + quote(text) + `)`)
			}
			b.open(s.url(form, "?lang=fr-FR"))
			b.until(`document.querySelector("[name='c.a.p']").value==="DE" && document.querySelector("[name='c.p.phone.c']").selectedOptions[0].textContent.includes("+49")`)
			b.set(field("a.p"), "06 12 34 56 78", field("a.n"), "1,500", field("a.e"), "ann@gmial.com", field("p.phone.c"), "49 151 23456789",
				field("a.s"), "\u202aAnn\u202c\u2028Smith", field("a.l"), "one\u2029two\vthree", field("p.email.c"), "Ann <ann@example.com>")
			if !script {
				b.press("next")
				b.until(`document.querySelector("#summary")`)
			}
			reads("a.p", "+49 6123 45678")
			reads("a.n", "1,5")
			reads("a.n", "1500")
			reads("a.e", "gmail.com")
			reads("p.phone.c", "+49 1512 3456789")
			b.shot("readings-" + map[bool]string{true: "script", false: "plain"}[script])
			n := len(s.answers(form))
			expect.Require(t, n == 0, "%d responses are stored before they were shown", n)
			// Who sees another country picks the right one.
			b.set(field("c.a.p"), "FR", field("a.e"), "ann@gmail.com")
			if script {
				reads("a.p", "+33 6 12 34 56 78")
				b.until(`document.getElementById(document.querySelector("[name='a.e']").id+"-s").textContent===""`)
			}
			b.press("next")
			b.until(`location.pathname.endsWith("/done")`)
			wantAnswers(t, s.answers(form), map[string]string{
				"p": `"+33612345678"`, "n": "1.5", "e": `"ann@gmail.com"`, "c": `{"email":"ann@example.com","phone":"+494915123456789","country":"DE"}`, "s": `"Ann Smith"`, "l": `"one\ntwo\nthree"`,
			})

			// The same number is another one in another region, and one question at a time
			// comes back once as well when a key sends it at once.
			single := s.publish("One", "SINGLE", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"n","type":"number","label":"N"},{"id":"m","type":"number","label":"M"}]`)})
			b.open(s.url(single, "?lang=es-MX"))
			b.until("document.querySelector(" + quote(field("a.n")) + ")")
			b.do(`const f=document.querySelector(".fs"), e=document.querySelector(` + quote(field("a.n")) + `); f.setAttribute("data-old","1"); e.value="1,500";
				for (const name of ["input","change"]) e.dispatchEvent(new Event(name,{bubbles:true})); // before a reading can come
				f.querySelector(".fs-actions [value=next]").click()`)
			b.until(`document.readyState==="complete" && document.querySelector(".fs:not([data-old])")`)
			reads("a.n", "1500")
			b.press("next")
			b.until(`document.querySelector("[name='a.m']:not([type=hidden])")`)
			b.set(field("a.m"), "12.5")
			b.press("next")
			b.until(`location.pathname.endsWith("/done")`)
			wantAnswers(t, s.answers(single), map[string]string{"n": "1500", "m": "12.5"})
		})
	}
}

// The browser's clock decides which times exist and which of two is meant, however the date is
// asked for. The service's zone is UTC here, where every time exists once.
func TestTheBrowserReportsItsClock(t *testing.T) {
	for _, c := range []struct{ zone, day, clock, want string }{
		{"Europe/Berlin", "2026-03-29", "02:30", ""},
		{"Europe/Berlin", "2026-10-25", "02:30", `"2026-10-25T02:30:00+02:00"`},
		{"America/New_York", "2026-07-01", "09:30", `"2026-07-01T09:30:00-04:00"`},
		{"Australia/Lord_Howe", "2026-10-04", "02:15", ""},
		{"Asia/Beirut", "2026-03-29", "00:30", ""},
	} {
		for kind, properties := range map[string]string{"SINGLE": ``, "MULTI": `,"dateFormat":"DDMMYYYY"`} {
			s := newSite(t, formpage.Config{})
			form := s.publish("Clocks", kind, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"q","type":"date","label":"When","properties":{"showTimePicker":true` + properties + `}}]`)})
			b := newTab(t, 390, 700)
			call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: c.zone})
			b.open(s.url(form, ""))
			if properties != "" {
				b.set(field("y.q"), c.day[:4], field("m.q"), c.day[5:7], field("d.q"), c.day[8:])
			} else {
				b.set(field("a.q"), c.day)
			}
			b.set(field("t.q"), c.clock)
			b.press("next")
			if c.want == "" {
				b.shows("this time does not exist")
				b.set(field("t.q"), "12:00")
				b.press("next")
			}
			b.shows("Thank you!")
			stored := s.answers(form)
			expect.That(t, c.want == "" || stored[0]["q"] == c.want, "%+v %s: %s", c, kind, stored[0]["q"])
		}
	}
}
