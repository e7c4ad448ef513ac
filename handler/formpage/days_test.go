package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
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
			if end := p.press("next"); end.status != http.StatusOK || len(s.answers(form)) != 1 || s.answers(form)[0]["d"] != want {
				t.Errorf("%d %s, stored is %v", end.status, end.text("summary"), s.answers(form))
			}
		}

		// 12:00 UTC is the next day in the service's zone. Of the ten named days the rest of the
		// rules leaves six: 2 September is too early, 11 too late, Sunday 6 and Monday 7 are off.
		p, form := ask(`"specificDates":[` + namedDays(10) + `],"afterDate":"2026-09-02T12:00:00Z","beforeDate":"2026-09-09T12:00:00Z","disabledDays":3`)
		days, labels := p.offered()
		if want := []string{"2026-09-03", "2026-09-04", "2026-09-05", "2026-09-08", "2026-09-09", "2026-09-10"}; !slices.Equal(days, want) || !strings.HasPrefix(labels, "Donnerstag, 03.09.2026|") {
			t.Errorf("%s: the buttons are %q %s", kind, days, labels)
		}
		if again := p.press("next"); !strings.Contains(again.text("summary"), "Bitte wählen Sie eine Antwort.") {
			t.Errorf("%s: none is chosen: %s", kind, again.text("summary"))
		}
		again := p.add("a.d", "2026-09-06").press("next") // by hand
		if !strings.Contains(again.text("summary"), "Dieser Tag ist nicht möglich. Bitte wählen Sie einen von diesen: ") {
			t.Errorf("%s: a day that is off: %s", kind, again.text("summary"))
		}
		p.values.Set("a.d", "2026-09-08")
		sent(form, p, `"2026-09-08"`)
		if p := s.open(form, "d=2026-09-04"); p.values.Get("a.d") != "2026-09-04" {
			t.Errorf("%s: a link chose %q", kind, p.values["a.d"])
		}

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
		if help := p.text("fs-help"); help != "02.09.2026 oder später. Mögliche Tage: Montag, Dienstag, Mittwoch, Donnerstag, Freitag." {
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
	const vain = "This form cannot be sent from this page. Please tell whoever gave you the link."
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
		{`"type":"payment","required":true`, formpage.Config{HostAnswers: host}, false, "You cannot pay on this page. The form can be sent once you have paid.", "We have not received your payment yet. Please pay first, then send the form."},
		{`"type":"file_upload","required":true`, formpage.Config{}, true, "You cannot upload files on this page. " + vain, vain},
		{`"type":"signature","required":true`, formpage.Config{}, true, "You cannot upload files on this page. " + vain, vain},
		{`"type":"signature"`, formpage.Config{}, false, "You cannot upload files on this page.", ""},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			paid = false
			c.config.MinFillTime = -1
			s := newSite(t, c.config)
			form := s.form(kind, `[{"id":"n","type":"short_text","label":"N"},{"id":"break","type":"page_break"},{"id":"g","type":"group","children":[{"id":"x","label":"X",`+c.block+`,"properties":{"amount":"9.50","currency":"EUR"}}]}]`, "", "")
			public := must(s.service.PublicForm(t.Context(), form.PublicID))
			if lacks := fmt.Sprint(s.pages.Lacks(public)); strings.Contains(lacks, "no response can be stored") != c.vain {
				t.Errorf("%s %s: the host is told %s", kind, c.block, lacks)
			}
			p := s.open(form, "")
			if got := p.text("summary"); (got == vain) != c.vain || !c.vain && got != "" {
				t.Errorf("%s %s: the first page says %q", kind, c.block, got)
			}
			p = p.fill("a.n", "kept").press("next")
			if help := p.text("fs-help"); help != c.help {
				t.Errorf("%s %s: %q, want %q", kind, c.block, help, c.help)
			}
			if c.vain && strings.Contains(p.raw, `class="req"`) {
				t.Errorf("%s %s: it is demanded", kind, c.block)
			}
			end := p.press("next")
			if c.fault == "" {
				if end.status != http.StatusOK || len(s.answers(form)) != 1 {
					t.Errorf("%s %s: %d %s", kind, c.block, end.status, end.text("summary"))
				}
				continue
			}
			if end.status != http.StatusUnprocessableEntity || !strings.Contains(end.text("summary"), c.fault) || strings.Contains(end.raw, "answer this question") || end.values.Get("a.n") != "kept" {
				t.Errorf("%s %s: %d %s", kind, c.block, end.status, end.text("summary"))
			}
			if paid = true; c.config.HostAnswers != nil {
				if end = end.press("next"); end.status != http.StatusOK || len(s.answers(form)) != 1 {
					t.Errorf("%s %s: once paid: %d %s", kind, c.block, end.status, end.text("summary"))
				}
			}
		}
	}
}
