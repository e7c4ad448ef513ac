package formpage_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// typedLine is a line of testdata/typed.txt.
type typedLine struct {
	region, tag, kind, part, country, picked, text string

	shown  []string // what the page shows when it comes back
	stored string   // "" for a fault
}

var typedEscape = regexp.MustCompile(`\\u[0-9a-f]{4}`)

func typedLines(t *testing.T) []typedLine {
	t.Helper()
	file := expect.Must(os.Open("testdata/typed.txt"))
	defer file.Close()
	var list []typedLine
	for s := bufio.NewScanner(file); s.Scan(); {
		if s.Text() == "" || s.Text()[0] == '#' {
			continue
		}
		column := strings.Split(s.Text(), " | ")
		expect.Require(t, len(column) == 5, "%q has %d columns", s.Text(), len(column))
		l := typedLine{region: column[0], tag: column[1]}
		l.kind, l.country, _ = strings.Cut(column[2], ":")
		l.country, l.picked, _ = strings.Cut(l.country, ">")
		l.kind, l.part, _ = strings.Cut(l.kind, ".")
		l.text = typedEscape.ReplaceAllStringFunc(column[3], func(code string) string {
			n := expect.Must(strconv.ParseUint(code[2:], 16, 16))
			return string(rune(n))
		})
		shown, stored, _ := strings.Cut(column[4], "= ")
		if shown, asked := strings.CutPrefix(shown, "? "); asked {
			l.shown = strings.Split(strings.TrimSpace(shown), ", ")
		}
		l.stored = stored
		list = append(list, l)
	}
	return list
}

func (l *typedLine) block() string {
	kind, properties := l.kind, map[string]any{}
	if l.country != "" {
		properties["defaultCountry"] = l.country
	}
	switch l.kind {
	case "contact":
		kind = "contact_info"
	case "dmy", "mdy", "ymd":
		kind = "date"
		properties["dateFormat"] = map[string]string{"dmy": "DDMMYYYY", "mdy": "MMDDYYYY", "ymd": "YYYYMMDD"}[l.kind]
	}
	raw, _ := json.Marshal([]any{map[string]any{"id": "q", "type": kind, "label": "Q", "properties": properties}})
	return string(raw)
}

// typeIn fills in a page as the line says.
func (l *typedLine) typeIn(p *page) {
	switch l.kind {
	case "contact":
		p.fill("p."+l.part+".q", l.text)
		if l.picked != "" {
			p.fill("c.p."+l.part+".q", l.picked)
		}
	case "dmy", "mdy", "ymd":
		for i, text := range strings.Split(l.text, "/") {
			p.fill(l.kind[i:i+1]+".q", text)
		}
	default:
		p.fill("a.q", l.text)
		if l.picked != "" {
			p.fill("c.a.q", l.picked)
		}
	}
}

// readingOf is what the page shows of how an input is read.
func (p *page) readingOf() string {
	var list []string
	p.each(func(n *html.Node) {
		if attr(n, "class") == "fs-read" {
			list = append(list, textOf(n))
		}
	})
	return strings.TrimSpace(strings.NewReplacer("\u2066", "", "\u2069", "").Replace(strings.Join(list, " ")))
}

// Nothing is stored as something else than what was meant without being shown, on a page
// without a script.
func TestWhatPeopleTypeIsStoredAsMeant(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	lines, regions, forms := typedLines(t), map[string]bool{}, map[string]formsvc.Form{}
	for _, l := range lines {
		regions[l.region] = true
		definition := l.block()
		if _, there := forms[definition]; !there {
			forms[definition] = s.form("MULTI", definition, "", "")
		}
		form := forms[definition]
		before := len(s.answers(form))
		p := s.openAs(form, l.tag)
		l.typeIn(p)
		next := p.press("next")
		if l.shown != nil {
			said := next.readingOf()
			for _, want := range l.shown {
				expect.That(t, strings.Contains(said, want), "%+v: the page shows %q", l, said)
			}
			next.about(l).expect(http.StatusUnprocessableEntity, responses(form, before))
			next = next.press("next")
		}
		stored := s.answers(form)
		switch {
		case l.stored == "":
			expect.That(t, next.status == http.StatusUnprocessableEntity && strings.Contains(next.raw, "fs-fault") && len(stored) == before,
				"%+v: %d, want a fault: stored is %v", l, next.status, stored)
		case len(stored) != before+1:
			t.Errorf("%+v: %d %s %s", l, next.status, next.text("summary"), next.readingOf())
		default:
			got, want := stored[0]["q"], l.stored
			if l.part != "" {
				var parts map[string]json.RawMessage
				_ = json.Unmarshal([]byte(got), &parts)
				got = string(parts[l.part])
			}
			var text string
			if json.Unmarshal([]byte(want), &text) == nil {
				raw, _ := json.Marshal(text)
				want = string(raw)
			}
			expect.That(t, got == want, "%+v: stored is %s", l, got)
		}
	}
	expect.That(t, len(lines) >= 200 && len(regions) >= 30, "%d lines of %d countries", len(lines), len(regions))
}

// openAs opens a form as a browser does that is set to a language.
func (s *site) openAs(form formsvc.Form, tag string) *page {
	s.t.Helper()
	r := expect.Must(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID, nil))
	r.Header.Set("Accept-Language", tag)
	return s.do(r)
}

// The keys for decimals have no minus on iPhones: they are for numbers that cannot be negative.
func TestKeysForNumbersHaveAMinus(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for block, want := range map[string]string{
		`"type":"number"`: "",
		`"type":"number","properties":{"min":0,"minVal":true}`:                         "decimal",
		`"type":"number","properties":{"min":5,"minVal":true,"max":9,"maxVal":true}`:   "decimal",
		`"type":"number","properties":{"min":0}`:                                       "", // without its switch
		`"type":"number","properties":{"minVal":true}`:                                 "",
		`"type":"number","properties":{"min":-1,"minVal":true}`:                        "",
		`"type":"number","properties":{"max":100,"maxVal":true}`:                       "",
		`"type":"opinion_scale","properties":{"from":0,"to":100000,"scaleStep":0.5}`:   "decimal",
		`"type":"opinion_scale","properties":{"from":-1000,"to":1000,"scaleStep":0.5}`: "",
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			p := s.open(s.form(kind, `[{"id":"g","type":"group","children":[{"id":"q","label":"Q",`+block+`}]}]`, "", ""), "")
			field := p.find(func(n *html.Node) bool { return attr(n, "name") == "a.q" })
			expect.That(t, field != nil && attr(field, "inputmode") == want && attr(field, "type") == "text",
				"%s %s: inputmode %q, want %q", kind, block, attr(field, "inputmode"), want)
		}
	}
}

// Values that this package or a link's program wrote are read as such, whatever the
// language: the buttons of a scale send theirs with a point.
func TestNumbersThatProgramsWrote(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Translations: map[string]map[string]string{"sv": {"submit": "Skicka"}}})
	form := s.form("MULTI", `[{"id":"n","type":"number"},{"id":"s","type":"opinion_scale","properties":{"from":1,"to":2,"scaleStep":0.125}}]`, "", "")
	for _, c := range []struct{ query, typed, scale, n, s string }{
		{"lang=de", "", "1.125", "", "1.125"},
		{"lang=en", "", "1.125", "", "1.125"},
		{"lang=de&n=1.234", "", "", "1.234", ""},
		{"lang=de&n=-1.234&s=1.375", "", "", "-1.234", "1.375"},
		{"lang=en&n=1.234", "", "", "1.234", ""},
		{"lang=sv", "1,2345", "", "1.2345", ""},
	} {
		p := s.open(form, c.query)
		if c.typed != "" {
			p.fill("a.n", c.typed)
		}
		if c.scale != "" {
			p.fill("a.s", c.scale)
		}
		before := len(s.answers(form))
		if p = p.press("next"); p.status != http.StatusOK || len(s.answers(form)) != before+1 {
			t.Errorf("%+v: %d %s", c, p.status, p.text("summary"))
			continue
		}
		got := s.answers(form)[0]
		expect.That(t, got["n"] == c.n && got["s"] == c.s, "%+v: stored is %v", c, got)
	}
}

// A typed number is read by the language and region of the page.
func TestNumbersAreReadByTheRegionOfTheirPage(t *testing.T) {
	t.Parallel()
	var host string
	s := newSite(t, formpage.Config{MinFillTime: -1, Language: func(*http.Request, formsvc.PublicForm) string { return host }})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N","properties":{"min":1,"minVal":true,"max":9999.5,"maxVal":true}},{"id":"p","type":"phone","label":"P"}]`, "", "")
	for _, c := range []struct{ host, query, header, tag, help, country, reading string }{
		{"", "", "", "en", "9,999.5", "", "1500, not 1.5"},
		{"", "", "es-MX,es;q=0.9,en;q=0.8", "es-MX", "9,999.5", "MX", "1500, no como 1.5"},
		{"", "", "es-ES", "es-ES", "9.999,5", "ES", "1,5, no como 1500"},
		{"", "", "de-CH", "de-CH", "9’999.5", "CH", "1500 gelesen, nicht als 1.5"},
		{"", "", "de", "de", "9.999,5", "", "1,5 gelesen"},
		{"", "", "sv-SE,sv;q=0.9,en-US;q=0.8", "en-SE", "9 999,5", "SE", "1,5, not 1500"}, // no words in Swedish
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
		r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID+"?"+c.query, nil))
		if c.header != "" {
			r.Header.Set("Accept-Language", c.header)
		}
		p := s.do(r)
		help := strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(p.text("fs-help"))
		expect.That(t, p.values.Get("lang") == c.tag && p.values.Get("c.a.p") == c.country && strings.Contains(help, c.help),
			"%+v: lang %q, country %q, help %q", c, p.values.Get("lang"), p.values.Get("c.a.p"), help)
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
		p = p.fill("a.n", typed).press("next").about(i, typed).require(http.StatusUnprocessableEntity)
	}
	p = p.fill("a.m", "2,500").press("next").about("another input's reading counts").require(http.StatusUnprocessableEntity)
	expect.Equal(t, len(p.values["shown"]), 2, "%v the page carries", p.values["shown"])
	p = p.press("next")
	expect.Require(t, p.status == http.StatusOK && len(p.values["shown"]) == 0, "%d %v", p.status, p.values["shown"])
	// Back and forth asks nothing anew.
	p.press("back").press("next").expect(http.StatusOK, hides("summary"))
	// A link that a program wrote is shown before anything is sent.
	p = s.open(form, "lang=de&n=1.234")
	expect.That(t, strings.Contains(p.readingOf(), "1,234 gelesen, nicht als 1234"), "the first page shows %q", p.readingOf())
	p.press("next").expect(http.StatusOK, hides("summary"))
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
		values := expect.Must(url.ParseQuery(c.typed))
		given := formpage.ParseAnswers(form, values)
		got, err := json.Marshal(given.Answers)
		expect.That(t, err == nil && string(got) == c.want && len(given.Unmatched) == 0,
			"%s: %s, want %s: %v %v", c.typed, got, c.want, given.Unmatched, err)
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
		s.open(form, "").press("next")
		s.stores(form, "c", want)
	}
}

// A link fills in what its author meant, in the words that authors write and with a plus that
// was not encoded.
func TestLinksFillIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	choices := `"choices":[{"id":"r","label":"Rouge"},{"id":"c","label":"Caf\u00e9"},{"id":"b","label":"Bed, breakfast"},{"id":"d","label":"r"}]`
	for _, c := range []struct{ block, lang, link, want string }{
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=+4915123456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=%2B4915123456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=+49+151+23456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"FR"}`, "", "q=+1+(212)+555-1234", `"+12125551234"`},
		{`"type":"phone"`, "", "q=%20447911123456", `"+447911123456"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=+0151+23456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=015123456789", `"+4915123456789"`},
		{`"type":"email"`, "", "q=ann+news@example.com", `"ann+news@example.com"`},
		{`"type":"email"`, "", "q=a+b+c@example.com", `"a+b+c@example.com"`},
		{`"type":"email"`, "", "q=Ann+Lee+<ann@example.com>", `"ann@example.com"`},
		{`"type":"short_text"`, "", "q=+a+b", `"a b"`}, {`"type":"short_text"`, "", "q=Yew+%23Tee+%26+Co+%2B+50%25+=+ok?", `"Yew #Tee & Co + 50% = ok?"`}, {`"type":"long_text"`, "", "q=a%zz", ``},
		{`"type":"yes_no"`, "", "q=yes", `true`}, {`"type":"yes_no"`, "", "q=NO", `false`}, {`"type":"yes_no"`, "", "q=1", `true`}, {`"type":"yes_no"`, "", "q=0", `false`},
		{`"type":"yes_no"`, "de", "q=Ja", `true`}, {`"type":"yes_no"`, "de", "q=nein", `false`}, {`"type":"yes_no"`, "pl", "q=tak", `true`}, {`"type":"yes_no"`, "de", "q=True", `true`},
		{`"type":"yes_no"`, "", "q=maybe", ``},
		{`"type":"country"`, "", "q=Germany", `"DE"`}, {`"type":"country"`, "de", "q=Deutschland", `"DE"`}, {`"type":"country"`, "de", "q=germany", `"DE"`}, {`"type":"country"`, "", "q=deu", `"DE"`},
		{`"type":"country"`, "fr", "q=C%C3%B4te+d'Ivoire", `"CI"`}, {`"type":"country"`, "", "q=united+states", `"US"`}, {`"type":"country"`, "ja", "q=%E6%97%A5%E6%9C%AC", `"JP"`},
		{`"type":"single_choice",` + choices, "", "q=Cafe%CC%81", `"c"`}, {`"type":"dropdown",` + choices, "", "q=CAF%C3%89", `"c"`}, {`"type":"single_choice",` + choices, "", "q=bed,+breakfast", `"b"`},
		{`"type":"single_choice",` + choices, "", "q=r", `"r"`}, {`"type":"single_choice",` + choices, "", "q=r,c", ``},
		{`"type":"picture_choice",` + choices, "", "q=rouge", `"r"`},
		{`"type":"multiple_choice",` + choices, "", "q=Rouge&q=c", `["r","c"]`}, {`"type":"multiple_choice",` + choices, "", "q=Rouge,c", `["r","c"]`},
		{`"type":"multiple_choice",` + choices, "", "q=Bed,+breakfast,+Cafe%CC%81", `["c","b"]`}, {`"type":"multiple_choice",` + choices, "", "q=r,nothing", `["r"]`},
		{`"type":"multiple_choice","properties":{"otherOption":true},` + choices, "", "q=c,mine", `["c",{"other":"mine"}]`},
		{`"type":"picture_choice","properties":{"multiSelection":true},` + choices, "", "q=c,r", `["r","c"]`},
		{`"type":"ranking",` + choices, "", "q=c,b,r,d", `["c","b","r","d"]`},
		{`"type":"legal","properties":{"legalType":1}`, "", "q=true", ``}, // a link consents to nothing
		{`"type":"date","properties":{"showTimePicker":true}`, "", "q=2026-11-22T10:00:00%2B09:00", ``},
		{`"type":"date","properties":{"showTimePicker":true}`, "", "q=2026-11-22T10:00", `"2026-11-22T10:00:00Z"`},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			form := s.form(kind, `[{"id":"q","label":"Q",`+c.block+`}]`, "", "")
			p := s.open(form, c.link+"&lang="+c.lang)
			end := p.press("next")
			if end.readingOf() != "" {
				end = end.press("next") // what the page asks about the number
			}
			stored := s.answers(form)
			if len(stored) != 1 || chosen(stored[0]["q"]) != c.want {
				t.Errorf("%s %s %s: %d %s, stored is %v, want %s", kind, c.block, c.link, end.status, end.text("summary"), stored, c.want)
			}
		}
	}
	// A hidden field takes what the service takes.
	hidden := s.form("MULTI", `[]`, "", "", "ref")
	for text, taken := range map[string]bool{strings.Repeat("x", 10_001): false, strings.Repeat("é", 10_000): true} {
		p := s.open(hidden, url.Values{"ref": {text}}.Encode())
		expect.Equal(t, p.values.Has("h.ref"), taken, "%.9s of %d bytes is taken", text, len(text))
		p.press("next").expect(http.StatusOK)
	}
	// A link that cannot be read is shown, not lost without a word.
	p := s.open(s.form("MULTI", `[{"id":"q","label":"Q","type":"country"}]`, "", ""), url.Values{"q": {"Atlantis"}}.Encode())
	p.about("the country").expect(anyStatus, value("a.q", "ATLANTIS"))
}

// chosen leaves the ids of choices that an answer has.
func chosen(raw string) string {
	var one struct{ ID string }
	if json.Unmarshal([]byte(raw), &one) == nil && one.ID != "" {
		return `"` + one.ID + `"`
	}
	var list []map[string]string
	if json.Unmarshal([]byte(raw), &list) != nil {
		return raw
	}
	var ids []any
	for _, c := range list {
		if c["id"] != "" {
			ids = append(ids, c["id"])
		} else {
			ids = append(ids, c)
		}
	}
	out, _ := json.Marshal(ids)
	return string(out)
}
