package formpage_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
)

// A typed number is read by the language and region of the page.
func TestNumbersAreReadByTheRegionOfTheirPage(t *testing.T) {
	t.Parallel()
	var host string
	s := newSite(t, formpage.Config{MinFillTime: -1, Language: func(*http.Request, formsvc.PublicForm) string { return host }})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N","properties":{"min":1,"minVal":true,"max":9999.5,"maxVal":true}},{"id":"p","type":"phone","label":"P"}]`, "", "")
	for _, c := range []struct{ host, query, header, tag, help, country, reading string }{
		{"", "", "", "en", "9,999.5", "", "1500, not as 1.5"},
		{"", "", "es-MX,es;q=0.9,en;q=0.8", "es-MX", "9,999.5", "MX", "1500, no como 1.5"},
		{"", "", "es-ES", "es-ES", "9.999,5", "ES", "1,5, no como 1500"},
		{"", "", "de-CH", "de-CH", "9’999.5", "CH", "1500 gelesen, nicht als 1.5"},
		{"", "", "de", "de", "9.999,5", "", "1,5 gelesen"},
		{"", "", "sv-SE,sv;q=0.9,en-US;q=0.8", "en-SE", "9 999,5", "SE", "1,5, not as 1500"}, // no words in Swedish
		{"", "", "es-419", "es-419", "9,999.5", "", "1500, no"},
		{"", "lang=es-MX", "de-DE", "es-MX", "9,999.5", "MX", "1500, no"},
		{"", "lang=es", "es-MX", "es-MX", "9,999.5", "MX", "1500, no"},
		{"", "lang=es", "en-US", "es", "9.999,5", "", "1,5, no"},
		{"", "lang=de-u-rg-chzzzz", "", "de-CH", "9’999.5", "CH", "1500 gelesen"},
		{"", "lang=sv-SE", "", "en-SE", "9 999,5", "SE", "1,5, not"},
		{"de-AT", "lang=es-MX", "fr-FR", "de-AT", "", "AT", "1,5 gelesen"},
		{"", "lang=de-AQ", "", "de-AQ", "9.999,5", "", "1,5 gelesen"}, // nobody phones from there
		{"", "lang=xx-yy-zz", "", "en", "9,999.5", "", "1500, not"},
	} {
		host = c.host
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID+"?"+c.query, nil))
		if c.header != "" {
			r.Header.Set("Accept-Language", c.header)
		}
		p := s.do(r)
		help := strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(p.text("fs-help"))
		if p.values.Get("lang") != c.tag || p.values.Get("c.a.p") != c.country || !strings.Contains(help, c.help) {
			t.Errorf("%+v: lang %q, country %q, help %q", c, p.values.Get("lang"), p.values.Get("c.a.p"), help)
		}
		// The page is sent by a browser that says nothing of its language.
		again := p.fill("a.n", "1,500").press("next")
		if again.status != http.StatusUnprocessableEntity || !strings.Contains(again.readingOf(), c.reading) || again.values.Get("lang") != c.tag {
			t.Errorf("%+v: %d %q, lang %q", c, again.status, again.readingOf(), again.values.Get("lang"))
		}
	}
}

// The page asks about a value once, and asks again about another value. What the page
// told counts for that reading of that input alone.
func TestAValueIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N"},{"id":"m","type":"number","label":"M"},{"id":"b","type":"page_break"},{"id":"l","type":"short_text","label":"L"}]`, "", "")
	p := s.open(form, "lang=en").fill("a.n", "1,500").press("next")
	for i, typed := range []string{"2,500", "2.500", "2,500"} {
		if p = p.fill("a.n", typed).press("next"); p.status != http.StatusUnprocessableEntity {
			t.Fatalf("%d. %s was not asked about: %d", i, typed, p.status)
		}
	}
	if p = p.fill("a.m", "2,500").press("next"); p.status != http.StatusUnprocessableEntity {
		t.Fatalf("another input's reading counts: %d", p.status)
	}
	if got := len(p.values["shown"]); got != 2 {
		t.Errorf("the page carries %d readings, want 2: %v", got, p.values["shown"])
	}
	p = p.press("next")
	if p.status != http.StatusOK || len(p.values["shown"]) != 0 {
		t.Fatalf("%d %v", p.status, p.values["shown"])
	}
	// Back and forth asks nothing anew.
	if p = p.press("back").press("next"); p.status != http.StatusOK || p.text("summary") != "" {
		t.Errorf("%d %s", p.status, p.text("summary"))
	}
	// A link that a program wrote is shown before anything is sent.
	if p = s.open(form, "lang=de&n=1.234"); !strings.Contains(p.readingOf(), "1,234 gelesen, nicht als 1234") {
		t.Errorf("the first page shows %q", p.readingOf())
	}
	if p = p.press("next"); p.status != http.StatusOK || p.text("summary") != "" {
		t.Errorf("%d %s", p.status, p.text("summary"))
	}
}

// A host's own page that names its inputs as this package does is read in the same way.
func TestAnswersReadsCountriesAndRegions(t *testing.T) {
	t.Parallel()
	form := formsvc.PublicForm{Blocks: []schema.Block{
		{ID: "n", Type: schema.TypeNumber}, {ID: "p", Type: schema.TypePhone, Properties: &schema.Properties{DefaultCountry: "DE"}}, {ID: "c", Type: schema.TypeContactInfo},
	}}
	for _, c := range []struct{ typed, want string }{
		{"a.n=1,500&lang=es-MX", `{"n":1500}`},
		{"a.n=1,500&lang=es-ES", `{"n":1.500}`},
		{"a.n=1,500&lang=de-CH", `{"n":1500}`},
		{"a.p=030 123456", `{"p":"+4930123456"}`},
		{"a.p=06 12 34 56 78&c.a.p=FR", `{"p":"+33612345678"}`},
		{"a.p=%2B49 30 123456&c.a.p=FR", `{"p":"+4930123456"}`},
		{"a.p=030 123456&c.a.p=FR", `{"p":"030 123456 FR"}`}, // refused, though it is one of the block's country
		{"a.p= &c.a.p=FR", `{"p":" "}`},
		{"c.a.p=FR", `{}`},
		{"p.phone.c=06 12 34 56 78&c.p.phone.c=FR", `{"c":{"phone":"+33612345678"}}`},
		{"p.phone.c=06 12 34 56 78", `{"c":{"phone":"06 12 34 56 78"}}`},
	} {
		values := must(url.ParseQuery(c.typed))
		given := formpage.Answers(form, values)
		got, err := json.Marshal(given.Answers)
		if err != nil || string(got) != c.want || len(given.Unplaced) != 0 {
			t.Errorf("%s: %s, want %s: %v %v", c.typed, got, c.want, given.Unplaced, err)
		}
	}
}

// A country that the form has chosen does not make an answer of a contact that may be left
// out, whose other parts would be asked for then.
func TestAPresetCountryIsNoAnswer(t *testing.T) {
	t.Parallel()
	for properties, want := range map[string]string{
		`"addressOrContact":{"firstName":{"required":true}}`: "",
		`"addressOrContact":{"firstName":{"hide":true},"lastName":{"hide":true},"email":{"hide":true},"phone":{"hide":true},"company":{"hide":true},
			"address":{"hide":true},"address2":{"hide":true},"zip":{"hide":true},"city":{"hide":true},"state":{"hide":true}}`: `{"country":"DE"}`,
	} {
		s := newSite(t, formpage.Config{MinFillTime: -1})
		form := s.form("MULTI", `[{"id":"c","type":"contact_info","label":"C","properties":{"defaultCountry":"DE",`+properties+`}}]`, "", "")
		sent := s.open(form, "").press("next")
		if stored := s.answers(form); len(stored) != 1 || stored[0]["c"] != want {
			t.Errorf("%s: %d %s, stored is %v", properties, sent.status, sent.text("summary"), stored)
		}
	}
}
