package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// Only options that are ticked count. A text next to an unticked option is asked about once.
func TestOnlyTickedOptionsCount(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	const a, own = `{"id":"a","label":"A"}`, `{"other":"mine"}`
	for _, kind := range []string{"MULTI", "SINGLE"} {
		for typ, several := range map[string]bool{"multiple_choice": true, "picture_choice": true, "single_choice": false, "dropdown": false} {
			block := fmt.Sprintf(`[{"id":"q","type":%q,"choices":[{"id":"a","label":"A"}],"properties":{"otherOption":true,"otherText":"Something else","multiSelection":%v}}]`, typ, several)
			for _, test := range []struct {
				name, chosen string
				ticked       []string
				want         string
			}{
				{"nothing ticked", "", nil, ""},
				{"another option", "", []string{"id:a"}, a},
				{"ticked", "", []string{"other"}, own},
			} {
				form := s.form(kind, block, "", "")
				p := s.open(form, "")
				p.values["a.q"] = test.ticked
				p.fill("o.q", "mine")
				sent := p.press("next")
				if asked := test.want != own; asked {
					if sent.status != http.StatusUnprocessableEntity || !strings.Contains(sent.text("fs-fields"), "only submitted if you choose “Something else”") || sent.values.Get("o.q") != "mine" || len(s.answers(form)) > 0 {
						t.Errorf("%s, %s, %s: %d %s", kind, typ, test.name, sent.status, sent.text("fs-fields"))
					}
					sent = sent.press("next")
				}
				want := test.want
				if several && want != "" {
					want = "[" + want + "]"
				}
				sent.about(kind, typ, test.name, want).expect(http.StatusOK, answered(form, "q", want))
			}
		}
	}
}

// A question that an answer of the same page calls for is shown before it is demanded, whatever else is
// wrong on the page.
func TestQuestionsAreShownBeforeTheyAreDemanded(t *testing.T) {
	t.Parallel()
	v := formpage.Turnstile(formpage.CaptchaKeys{SiteKey: "site", Secret: "secret"})
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	const rule = `"rule":{"show":{"==":[{"var":"answers.y"},true]}}`
	for name, block := range map[string]string{
		"a text":          `{"id":"x","type":"short_text","required":true,"properties":{` + rule + `}}`,
		"choices":         `{"id":"x","type":"multiple_choice","required":true,"choices":[{"id":"a"}],"properties":{"minVal":true,"min":1,` + rule + `}}`,
		"consent":         `{"id":"x","type":"legal","required":true,"properties":{` + rule + `}}`,
		"rows":            `{"id":"x","type":"matrix","required":true,"matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"c"}],"properties":{` + rule + `}}`,
		"in a group":      `{"id":"g","type":"group","properties":{` + rule + `},"children":[{"id":"x","type":"date","required":true}]}`,
		"a required part": `{"id":"x","type":"address","properties":{"addressOrContact":{"city":{"required":true}},` + rule + `},"required":true}`,
		"a captcha":       `{"id":"x","type":"captcha","properties":{"captchaType":"turnstile",` + rule + `}}`,
	} {
		form := s.form("MULTI", `[{"id":"y","type":"yes_no"},`+block+`,{"id":"n","type":"short_text","required":true}]`, "", "")
		fault := func(p *page) bool {
			return p.find(func(n *html.Node) bool { return attr(n, "data-b") == "x" && strings.Contains(attr(n, "class"), "bad") }) != nil
		}
		shown := func(p *page) bool { return p.find(func(n *html.Node) bool { return attr(n, "data-b") == "x" }) != nil }
		p := s.open(form, "").fill("a.y", "true", "a.n", "x").press("next")
		expect.That(t, p.status == http.StatusOK && shown(p) && !fault(p) && strings.Contains(p.text("summary"), "now has more questions"),
			"%s: %d %s", name, p.status, p.text("summary"))
		if p = p.press("next"); p.status != http.StatusUnprocessableEntity || !fault(p) || len(s.answers(form)) > 0 {
			t.Errorf("%s, passed over: %d %s", name, p.status, p.text("summary"))
		}
		// With another mistake on the page.
		p = s.open(form, "").fill("a.y", "true").press("next")
		expect.That(t, p.status == http.StatusUnprocessableEntity && shown(p) && !fault(p),
			"%s and a mistake: %d %s", name, p.status, p.text("summary"))
	}
}

// A choice that need not be made is taken back by a button, also without a script.
func TestAChoiceIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	choices := `"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]`
	for block, chosen := range map[string]string{
		`"type":"single_choice","properties":{"otherOption":true},` + choices: "other", `"type":"picture_choice",` + choices: "id:a", `"type":"yes_no"`: "true", `"type":"rating"`: "3", `"type":"nps"`: "0",
		`"type":"opinion_scale"`: "5", `"type":"legal","properties":{"legalType":0}`: "true", `"type":"date","properties":{"specificDates":["2030-01-01T00:00:00Z"]}`: "2030-01-01",
	} {
		form := s.form("MULTI", `[{"id":"q",`+block+`},{"id":"n","type":"short_text"}]`, "", "")
		p := s.open(form, "").fill("a.q", chosen, "a.n", "stays")
		if strings.Contains(block, "other") {
			p.fill("o.q", "mine")
		}
		button := p.find(func(n *html.Node) bool { return attr(n, "name") == "clear" && attr(n, "value") == "a.q" })
		if button == nil || !strings.HasPrefix(textOf(button), "Clear: ") {
			t.Errorf("%s has no button", block)
			continue
		}
		p.values.Set("clear", "a.q")
		p = p.post(p.values).about(block).expect(http.StatusOK, value("a.q", ""), value("o.q", ""), value("a.n", "stays"),
			value("clear", ""))
		p.press("next")
		s.stores(form, "q", "")
		must := s.open(s.form("MULTI", `[{"id":"q","required":true,`+block+`}]`, "", ""), "")
		must.about(block).expect(anyStatus, lacks(`name="clear"`))
	}
	form := s.form("MULTI", `[{"id":"m","type":"matrix","matrix_rows":[{"id":"r.1","label":"One"},{"id":"r2","label":"Two"}],"matrix_columns":[{"id":"c","label":"C"}]}]`, "", "")
	p := s.open(form, "").fill("r.r%2E1.m", "id:c", "r.r2.m", "id:c")
	p.values.Set("clear", "r.r%2E1.m")
	p.post(p.values).press("next")
	s.stores(form, "m", `{"r2":{"id":"c","label":"C"}}`)
}

// A scale of many steps is a number to type, with the labels of its ends.
func TestALongScaleIsTyped(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	scale := func(properties string) string {
		return `[{"id":"q","type":"opinion_scale","label":"How much?","properties":{"leftLabel":true,"firstLabel":"Nothing","rightLabel":true,"thirdLabel":"All",` + properties + `}},
			{"id":"x","type":"short_text","properties":{"rule":{"show":{">":[{"var":"answers.q"},50]}}}}]`
	}
	for _, test := range []struct{ properties, mode, typed, want string }{
		{`"from":0,"to":100`, "decimal", "42", "42"}, {`"from":0,"to":100`, "decimal", "0", "0"}, {`"from":0,"to":100`, "decimal", "101", ""}, {`"from":0,"to":100`, "decimal", "4.5", ""},
		{`"from":-50,"to":50`, "", "-7", "-7"}, {`"from":0,"to":10,"scaleStep":0.1`, "decimal", "2.5", "2.5"}, {`"from":0,"to":100`, "decimal", "", ""},
	} {
		form := s.form("MULTI", scale(test.properties), "", "")
		p := s.open(form, "")
		in := p.find(func(n *html.Node) bool { return attr(n, "name") == "a.q" })
		if attr(in, "type") != "text" || attr(in, "inputmode") != test.mode || !strings.Contains(p.text("ends"), "Nothing") || !strings.Contains(p.text("ends"), "All") || p.text("fs-help") == "" {
			t.Errorf("%s: %s, %s", test.properties, attr(in, "type"), p.text("fs-in"))
		}
		p = p.fill("a.q", test.typed).press("next")
		stored := s.answers(form)
		if refused := test.want == "" && test.typed != ""; refused != (p.status == http.StatusUnprocessableEntity) || !refused && (len(stored) != 1 || stored[0]["q"] != test.want) {
			t.Errorf("%s, %q: %d, stored is %v", test.properties, test.typed, p.status, stored)
		}
	}
	if p := s.open(s.form("MULTI", scale(`"from":-10,"to":10`), "", ""), "").fill("a.q", "0"); strings.Count(p.raw, `type="radio"`) != 21 {
		t.Errorf("a scale of 21 steps has %d buttons", strings.Count(p.raw, `type="radio"`))
	}
	if p := s.open(s.form("MULTI", scale(`"from":0,"to":100`), "", ""), "").fill("a.q", "60").press("next"); p.status != http.StatusOK || p.find(func(n *html.Node) bool { return attr(n, "name") == "a.x" }) == nil {
		t.Errorf("the rule of a typed scale: %d", p.status)
	}
}

// Each of several addresses or contacts is filled in on its own, and no program fills in the input that
// nobody sees.
func TestWhatBrowsersFillIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	tokens := func(blocks string) (list []string) {
		s.open(s.form("MULTI", blocks, "", ""), "").each(func(n *html.Node) {
			if strings.Contains(attr(n, "name"), "p.") && attr(n, "autocomplete") != "" {
				list = append(list, attr(n, "autocomplete"))
			}
		})
		return list
	}
	one := tokens(`[{"id":"a","type":"contact_info"}]`)
	two := tokens(`[{"id":"a","type":"contact_info"},{"id":"g","type":"group","children":[{"id":"b c","type":"address"}]}]`)
	expect.Require(t, len(one) == 12 && len(two) == 24, "%q, %q", one, two)
	for i, token := range two {
		section, rest, _ := strings.Cut(token, " ")
		expect.That(t, rest == one[i%12] && section == map[bool]string{true: "section-q1", false: "section-q3"}[i < 12],
			"%q, alone %q", token, one[i%12])
	}
	p := s.open(s.form("MULTI", `[{"id":"a","type":"email"}]`, "", ""), "")
	trap := p.find(func(n *html.Node) bool { return attr(n, "name") == "more_info" })
	for _, hint := range []string{"data-1p-ignore", "data-lpignore", "data-bwignore", "data-form-type", "data-protonpass-ignore"} {
		expect.That(t, has(trap, hint) && attr(trap, "autocomplete") == "off", "the input that nobody sees has no %s", hint)
	}
}

// What is sent again unchanged after going back is the response that is stored, and leads to its ending: also
// where the form has closed since, because that was its last one.
func TestGoingBackIsNoNewVisit(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	ends := `,{"id":"one","type":"ending","label":"The end","properties":{"rule":{"show":{"==":[{"var":"answers.a"},"x"]}}}},{"id":"two","type":"ending","label":"Another end"}]`
	for name, settings := range map[string]string{"a form": "", "a limit": `{"responseLimit":1}`, "no duplicates": `{"duplicateField":"a"}`} {
		form := s.form("MULTI", `[{"id":"a","type":"short_text"}`+ends, settings, "")
		p := s.open(form, "")
		expect.Equal(t, p.header.Get("Cache-Control"), "private, max-age=0, must-revalidate", "browsers keep the page as")
		first := p.fill("a.a", "x").press("next")
		again := p.press("next")
		if n := len(s.answers(form)); n != 1 || again.status != http.StatusOK || first.text("fs-done") != again.text("fs-done") || !strings.Contains(again.text("fs-done"), "end") {
			t.Errorf("%s: %d responses, %d %s, first %s", name, n, again.status, again.text("fs-main"), first.text("fs-done"))
		}
	}
	if p := s.open(s.form("MULTI", `[{"id":"a","type":"short_text","required":true}]`, "", ""), "").press("next"); p.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a page with answers is kept as %q", p.header.Get("Cache-Control"))
	}
}

// An ending leaves the frame that its page is in, and never leads on in the frame by itself.
func TestEndingsLeaveFrames(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"},{"id":"e","type":"ending","properties":{"buttonText":"Home","buttonLink":"https://home.example/"}}]`, `{"redirectUrl":"https://next.example/"}`, "")
	for name, test := range map[string]struct {
		query, dest string
		framed      bool
	}{"a page": {"", "document", false}, "asked to be embedded": {"embed=1", "", true}, "a frame of somebody": {"", "iframe", true}} {
		p := s.open(form, test.query)
		end := s.send(http.MethodPost, p.url, p.values.Encode()+"&a.a="+strings.ReplaceAll(name, " ", "+"), "Sec-Fetch-Dest", test.dest)
		links := 0
		end.each(func(n *html.Node) {
			if n.Data == "a" && attr(n, "target") == "_top" && (attr(n, "href") == "https://next.example/" || attr(n, "href") == "https://home.example/") {
				links++
			}
		})
		refresh := strings.Contains(end.raw, `http-equiv="refresh"`)
		expect.That(t, refresh != test.framed && links != 0, "%s: refreshed %v, %d links", name, refresh, links)
	}
	// The script sends its page as framed, and then the ending is shown there too.
	for header, want := range map[string]string{"1": "https://next.example/", "framed": "/done?"} {
		p := s.open(form, "")
		end := s.send(http.MethodPost, p.url, p.values.Encode()+"&a.a="+header, "Formpage-Script", header)
		got := end.header.Get("Formpage-Location")
		expect.That(t, strings.Contains(got, want), "%s leads to %q", header, got)
	}
}

// Choices that are mixed have one order within a visit, and another one in other visits.
func TestChoicesAreMixedForEachVisit(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	var choices []string
	for i := range 12 {
		choices = append(choices, fmt.Sprintf(`{"id":"c%d","label":"Choice"}`, i))
	}
	form := s.form("MULTI", `[{"id":"m","type":"single_choice","choices":[`+strings.Join(choices, ",")+`],"properties":{"randomize":true}},{"id":"n","type":"short_text","required":true}]`, "", "")
	order := func(p *page) (all string) {
		p.each(func(n *html.Node) {
			if attr(n, "name") == "a.m" {
				all += attr(n, "value") + " "
			}
		})
		return all
	}
	orders := map[string]bool{}
	for range 5 {
		p := s.open(form, "")
		orders[order(p)] = true
		again := p.press("next")
		expect.That(t, order(again) == order(p), "one visit has %s and %s", order(p), order(again))
	}
	expect.That(t, len(orders) >= 2, "five visits have the same order")
}

// Nobody is asked for a postal code or a state that addresses of the country do not have.
func TestPartsThatACountryDoesNotHave(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	for _, c := range []struct {
		preset  string
		fill    []string
		demands []string // shown as required on the first page
		missing string
	}{
		{"", []string{"p.city.q", "Hong Kong", "p.country.q", "HK"}, []string{"zip", "state"}, ""},
		{"HK", []string{"p.city.q", "Hong Kong", "p.country.q", "HK"}, nil, ""},
		{"", []string{"p.city.q", "Nassau", "p.country.q", "BS"}, []string{"zip", "state"}, "State or region"},
		{"SG", []string{"p.city.q", "Singapore", "p.country.q", "SG"}, []string{"zip"}, "Postal code"},
		{"US", []string{"p.city.q", "Kingstown", "p.zip.q", "VC0100", "p.country.q", "VC"}, []string{"zip", "state"}, ""},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			for _, typ := range []string{"address", "contact_info"} {
				form := s.form(kind, `[{"id":"q","type":"`+typ+`","label":"Q","properties":{"defaultCountry":"`+c.preset+`","addressOrContact":{"zip":{"required":true},"state":{"required":true}}}}]`, "", "")
				p := s.open(form, "")
				for _, part := range []string{"zip", "state"} {
					field := p.find(func(n *html.Node) bool { return attr(n, "name") == "p."+part+".q" })
					want := strings.Contains(strings.Join(c.demands, " "), part)
					expect.That(t, hasAttr(field, "required") == want, "%+v %s: %s is shown as required: %v", c, typ, part, !want)
				}
				end := p.fill(c.fill...).press("next")
				stored := len(s.answers(form))
				if c.missing == "" && stored != 1 || c.missing != "" && (end.status != http.StatusUnprocessableEntity || stored != 0 || !strings.Contains(end.text("summary"), c.missing)) {
					t.Errorf("%+v %s %s: %d %s", c, kind, typ, end.status, end.text("summary"))
				}
			}
		}
	}
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// Every country that a page offers is one that the service takes.
func TestCountriesAreThoseOfTheService(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"c","type":"country","label":"Country"}]`, "", "")
	codes := regexp.MustCompile(`<option value="([A-Z]+)">`).FindAllStringSubmatch(s.open(form, "").raw, -1)
	expect.That(t, len(codes) == 250, "%d countries, want the 249 of ISO and Kosovo", len(codes))
	for _, code := range codes {
		path, err := s.service.Path(t.Context(), form.ID, map[string]json.RawMessage{"c": json.RawMessage(`"` + code[1] + `"`)}, nil)
		expect.That(t, err == nil && len(path.Violations) == 0, "%s: %v %v", code[1], path.Violations, err)
	}
}
