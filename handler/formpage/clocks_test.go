package formpage_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the test, wherever it runs

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// A time that the clocks of the respondent skip is refused with a sentence, and of a time that
// comes twice the first is stored. Without a script the zone is the service's, and a script
// reports the offset, or that there is no such time.
func TestTimesAtWhichClocksChange(t *testing.T) {
	t.Parallel()
	const skipped = "this time does not exist"
	for _, c := range []struct{ zone, day, clock, browser, want string }{
		{"Europe/Berlin", "2026-03-29", "02:30", "", skipped},
		{"Europe/Berlin", "2026-03-29", "02:00", "", skipped},
		{"Europe/Berlin", "2026-03-29", "01:59", "", `"2026-03-29T01:59:00+01:00"`},
		{"Europe/Berlin", "2026-03-29", "03:00", "", `"2026-03-29T03:00:00+02:00"`},
		{"Europe/Berlin", "2026-10-25", "02:30", "", `"2026-10-25T02:30:00+02:00"`},
		{"Europe/Berlin", "2026-10-25", "03:00", "", `"2026-10-25T03:00:00+01:00"`},
		{"America/New_York", "2026-03-08", "02:15", "", skipped},
		{"America/New_York", "2026-11-01", "01:30", "", `"2026-11-01T01:30:00-04:00"`},
		{"Australia/Lord_Howe", "2026-10-04", "02:15", "", skipped},
		{"Australia/Lord_Howe", "2026-10-04", "02:30", "", `"2026-10-04T02:30:00+11:00"`},
		{"Australia/Lord_Howe", "2026-04-05", "01:45", "", `"2026-04-05T01:45:00+11:00"`},
		{"Asia/Beirut", "2026-03-29", "00:30", "", skipped},
		{"Africa/Casablanca", "2026-02-15", "02:30", "", `"2026-02-15T02:30:00+01:00"`},
		{"Pacific/Apia", "2011-12-30", "12:00", "", skipped},
		{"UTC", "2026-03-29", "02:30", "", `"2026-03-29T02:30:00Z"`},
		// The browser's clock decides where it reports one.
		{"Europe/Berlin", "2026-03-29", "02:30", "-04:00", `"2026-03-29T02:30:00-04:00"`},
		{"UTC", "2026-03-29", "02:30", "none", skipped},
	} {
		zone := must(time.LoadLocation(c.zone))
		s := newSite(t, formpage.Config{MinFillTime: -1}, formsvc.WithTimeZone(zone))
		for kind, properties := range map[string]string{"SINGLE": ``, "MULTI": `,"dateFormat":"DDMMYYYY"`} {
			form := s.form(kind, `[{"id":"q","type":"date","label":"When","properties":{"showTimePicker":true`+properties+`}}]`, "", "")
			p := s.open(form, "").fill("t.q", c.clock)
			if year, month, day := c.day[:4], c.day[5:7], c.day[8:]; properties != "" {
				p.fill("y.q", year, "m.q", month, "d.q", day)
			} else {
				p.fill("a.q", c.day)
			}
			if c.browser != "" {
				p.values.Set("z.q", c.browser)
			}
			end := p.press("next")
			if c.want == skipped {
				if end.status != http.StatusUnprocessableEntity || !strings.Contains(end.text("summary"), skipped) || end.values.Get("t.q") != c.clock {
					t.Errorf("%+v %s: %d %s", c, kind, end.status, end.text("summary"))
				}
				continue
			}
			if stored := s.answers(form); len(stored) != 1 || stored[0]["q"] != c.want {
				t.Errorf("%+v %s: %d %s, stored is %v", c, kind, end.status, end.text("summary"), stored)
			}
		}
	}
}

// A year with a zero in front is no year that somebody meant, wherever a date is read.
func TestYearsOfFourDigits(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	const year = "Please enter the whole year"
	for _, c := range []struct {
		properties string
		fill       []string
		link       string
	}{
		{``, []string{"a.q", "0085-02-03"}, ""},
		{``, []string{"a.q", "0203-08-05"}, ""},
		{``, []string{"a.q", "0999-12-31"}, ""},
		{``, nil, "q=0085-02-03"},
		{`"showTimePicker":true`, []string{"a.q", "0085-02-03", "t.q", "10:00"}, ""},
		{`"showTimePicker":true`, []string{"a.q", "0085-02-03", "t.q", "10:00", "z.q", "+02:00"}, ""},
		{`"dateFormat":"DDMMYYYY"`, []string{"d.q", "3", "m.q", "2", "y.q", "0085"}, ""},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			form := s.form(kind, `[{"id":"q","type":"date","label":"Born","properties":{`+c.properties+`}}]`, "", "")
			p := s.open(form, c.link)
			for i := 0; i < len(c.fill); i += 2 {
				p.values.Set(c.fill[i], c.fill[i+1])
			}
			if end := p.press("next"); end.status != http.StatusUnprocessableEntity || !strings.Contains(end.text("summary"), year) {
				t.Errorf("%+v %s: %d %s, stored is %v", c, kind, end.status, end.text("summary"), s.answers(form))
			}
		}
	}
}
