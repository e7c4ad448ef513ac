package e2e

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

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
			if stored := s.answers(form); c.want != "" && stored[0]["q"] != c.want {
				t.Errorf("%+v %s: %s", c, kind, stored[0]["q"])
			}
		}
	}
}
