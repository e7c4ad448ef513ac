package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the test, wherever it runs

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// namedDays are days from 1 September 2026 on, a Tuesday, as a definition has them.
func namedDays(n int) string {
	var list []string
	for i := range n {
		list = append(list, `"`+time.Date(2026, 9, 1+i, 12, 0, 0, 0, time.UTC).Format(time.RFC3339)+`"`)
	}
	return strings.Join(list, ",")
}

// offered are the days that a page offers for block d, with their labels.
func (p *page) offered() (values []string, labels string) {
	p.each(func(n *html.Node) {
		switch {
		case n.Data == "input" && attr(n, "type") == "radio" && attr(n, "name") == "a.d":
			values = append(values, attr(n, "value"))
			labels += textOf(n.Parent) + "|"
		case n.Data == "option" && attr(n.Parent, "name") == "a.d" && attr(n, "value") != "":
			values = append(values, attr(n, "value"))
			labels += textOf(n) + "|"
		}
	})
	return values, labels
}

// The days that can be chosen are buttons, a list, or a sentence, and a fault names them.
func TestDaysThatCanBeChosen(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 14*3600)
	for _, kind := range []string{"SINGLE", "MULTI"} {
		s := newSite(t, formpage.Config{MinFillTime: -1}, formsvc.WithTimeZone(zone))
		ask := func(properties string) (*page, formsvc.Form) {
			form := s.form(kind, `[{"id":"d","type":"date","label":"Day","required":true,"properties":{`+properties+`}}]`, "", "")
			return s.open(form, "lang=de"), form
		}
		sent := func(form formsvc.Form, p *page, want string) {
			t.Helper()
			p.press("next").expect(http.StatusOK, responses(form, 1), answered(form, "d", want))
		}

		// 12:00 UTC is the next day in the service's zone. Of the ten named days the rest of the
		// rules leaves six: 2 September is too early, 11 too late, Sunday 6 and Monday 7 are off.
		p, form := ask(`"specificDates":[` + namedDays(10) + `],"afterDate":"2026-09-02T12:00:00Z","beforeDate":"2026-09-09T12:00:00Z","disabledDays":3`)
		days, labels := p.offered()
		if want := []string{"2026-09-03", "2026-09-04", "2026-09-05", "2026-09-08", "2026-09-09", "2026-09-10"}; !slices.Equal(days, want) || !strings.HasPrefix(labels, "Donnerstag, 03.09.2026|") {
			t.Errorf("%s: the buttons are %q %s", kind, days, labels)
		}
		p.press("next").about(kind).expect(anyStatus, shows("summary", "Bitte wählen Sie eine Antwort."))
		again := p.add("a.d", "2026-09-06").press("next") // by hand
		expect.That(t, strings.Contains(again.text("summary"), "Dieser Tag ist nicht möglich. Bitte wählen Sie einen von diesen: "),
			"%s: a day that is off: %s", kind, again.text("summary"))
		p.values.Set("a.d", "2026-09-08")
		sent(form, p, `"2026-09-08"`)
		s.open(form, "d=2026-09-04").about(kind).expect(anyStatus, value("a.d", "2026-09-04"))

		p, form = ask(`"specificDates":[` + namedDays(9) + `,` + namedDays(3) + `],"showTimePicker":true,"dateFormat":"DDMMYYYY"`)
		if days, _ := p.offered(); len(days) != 9 || p.find(func(n *html.Node) bool { return attr(n, "name") == "d.d" }) != nil {
			t.Errorf("%s: with a time, the buttons are %q", kind, days)
		}
		p.values.Set("a.d", "2026-09-05")
		sent(form, p.fill("t.d", "09:30"), `"2026-09-05T09:30:00+14:00"`)

		p, form = ask(`"specificDates":[` + namedDays(50) + `],"showTimePicker":true`)
		if days, _ := p.offered(); len(days) != 50 || p.find(func(n *html.Node) bool { return n.Data == "select" }) == nil {
			t.Errorf("%s: the list has %d days", kind, len(days))
		}
		sent(form, p.fill("a.d", "2026-10-21", "t.d", "09:30"), `"2026-10-21T09:30:00+14:00"`)

		p, _ = ask(`"specificDates":[` + namedDays(51) + `]`)
		if days, _ := p.offered(); len(days) != 0 || !strings.Contains(p.text("fs-help"), "Nur bestimmte Tage sind möglich. Der erste ist der 02.09.2026, der letzte der 22.10.2026.") {
			t.Errorf("%s: %d days, %s", kind, len(days), p.text("fs-help"))
		}
		if again := p.fill("a.d", "2026-12-24").press("next"); !strings.Contains(again.text("summary"), "Dieser Tag ist nicht möglich. Bitte wählen Sie einen anderen.") {
			t.Errorf("%s: %s", kind, again.text("summary"))
		}

		p, form = ask(`"disabledDays":65,"afterDate":"2026-09-01T12:00:00Z"`)
		if help := p.text("fs-help"); help != "02.09.2026 oder später. Verfügbare Tage: Montag, Dienstag, Mittwoch, Donnerstag, Freitag." {
			t.Errorf("%s: %s", kind, help)
		}
		again = p.fill("a.d", "2026-09-06").press("next")
		if !strings.Contains(again.text("summary"), "Bitte wählen Sie einen von diesen: Montag, Dienstag, Mittwoch, Donnerstag, Freitag.") {
			t.Errorf("%s: %s", kind, again.text("summary"))
		}
		var out struct{ Faults []struct{ Message string } }
		if code, _ := s.ask(http.MethodPost, s.server.URL+"/f/"+form.PublicID+"/path?lang=ja", "", map[string]any{"state": p.values.Get("state"), "answers": map[string]any{"d": "2026-09-06"}}, &out); code != http.StatusOK ||
			len(out.Faults) != 1 || !strings.Contains(out.Faults[0].Message, "月曜日、火曜日、水曜日、木曜日、金曜日") {
			t.Errorf("%s: in JSON: %d %+v", kind, code, out)
		}
	}
}

// Nothing is demanded that the page cannot take: a form that cannot be sent says so at once.
func TestNothingIsDemandedThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	const vain = "This form cannot be submitted from this page. Please contact the person who gave you the link."
	paid := false
	host := func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) {
		if !paid {
			return nil, nil
		}
		return map[string]json.RawMessage{"x": json.RawMessage(`{"amount":"9.50","currency":"EUR","status":"paid","gateway":"test"}`)}, nil
	}
	for _, c := range []struct {
		block  string
		config formpage.Config
		vain   bool
		help   string // before it is sent
		fault  string
	}{
		{`"type":"payment","required":true`, formpage.Config{}, true, "You cannot pay on this page. " + vain, vain},
		{`"type":"payment"`, formpage.Config{}, false, "You cannot pay on this page.", ""},
		{`"type":"payment","required":true`, formpage.Config{HostAnswers: host}, false, "You cannot pay on this page. You can submit the form once you have paid.", "We have not received your payment yet. Please pay first, then submit the form."},
		{`"type":"file_upload","required":true`, formpage.Config{}, true, "You cannot upload files on this page. " + vain, vain},
		{`"type":"signature","required":true`, formpage.Config{}, true, "You cannot upload files on this page. " + vain, vain},
		{`"type":"signature"`, formpage.Config{}, false, "You cannot upload files on this page.", ""},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			paid = false
			c.config.MinFillTime = -1
			s := newSite(t, c.config)
			form := s.form(kind, `[{"id":"n","type":"short_text","label":"N"},{"id":"break","type":"page_break"},{"id":"g","type":"group","children":[{"id":"x","label":"X",`+c.block+`,"properties":{"amount":"9.50","currency":"EUR"}}]}]`, "", "")
			public := expect.Must(s.service.PublicForm(t.Context(), form.PublicID))
			if lacks := fmt.Sprint(s.pages.MissingFeatures(public)); strings.Contains(lacks, "no response can be stored") != c.vain {
				t.Errorf("%s %s: the host is told %s", kind, c.block, lacks)
			}
			p := s.open(form, "")
			got := p.text("summary")
			expect.That(t, (got == vain) == c.vain && (c.vain || got == ""), "%s %s: the first page says %q", kind, c.block, got)
			p = p.fill("a.n", "kept").press("next")
			if help := p.text("fs-help"); help != c.help {
				t.Errorf("%s %s: %q, want %q", kind, c.block, help, c.help)
			}
			expect.That(t, !c.vain || !strings.Contains(p.raw, `class="req"`), "%s %s: it is demanded", kind, c.block)
			end := p.press("next")
			if c.fault == "" {
				end.about(kind, c.block).expect(http.StatusOK, responses(form, 1))
				continue
			}
			end.about(kind, c.block).expect(http.StatusUnprocessableEntity, shows("summary", c.fault),
				lacks("answer this question"), value("a.n", "kept"))
			if paid = true; c.config.HostAnswers != nil {
				end.press("next").about(kind, c.block).expect(http.StatusOK, responses(form, 1))
			}
		}
	}
}

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
		zone := expect.Must(time.LoadLocation(c.zone))
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
				end.about(c, kind).expect(http.StatusUnprocessableEntity, shows("summary", skipped), value("t.q", c.clock))
				continue
			}
			s.stores(form, "q", c.want)
		}
	}
}

// A year with a zero in front is no year that somebody meant, wherever a date is read.
func TestYearsOfFourDigits(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	const year = "Please enter all four digits of the year"
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
			p.press("next").about(c, kind).expect(http.StatusUnprocessableEntity, shows("summary", year))
		}
	}
}
