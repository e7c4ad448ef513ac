package formpage_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// checkedStay has a check of a block, of a group and of a block in the group.
const checkedStay = `[
	{"id":"code","type":"short_text","label":"Code","properties":{"rule":{"check":[{"if":{"!":{"match":[{"var":"answers.code"},"[A-Z]{3}"]}},"say":"Enter **three** <letters>."}]}}},
	{"id":"break","type":"page_break"},
	{"id":"stay","type":"group","label":"Your stay","properties":{"rule":{"check":[{"if":{"<":[{"var":"answers.to"},{"var":"answers.from"}]},"say":"The end is before the start."}]}},"children":[
		{"id":"from","type":"date","label":"From","required":true,"properties":{"rule":{"check":[{"if":{"<":[{"days":[{"today":[]},{"var":"answers.from"}]},0]},"say":"This day is in the past."}]}}},
		{"id":"to","type":"date","label":"To","required":true}]},
	{"id":"break2","type":"page_break"},
	{"id":"last","type":"short_text","label":"Last"}]`

// A page comes back with the message of the check at its step, with and without the page's script.
func TestChecksAreShownAtTheirStep(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{"no script": nil, "script": {"Formpage-Script", "1"}} {
		s := newSite(t, formpage.Config{})
		form := s.form("MULTI", checkedStay, "", "")
		next := func(p *page) *page {
			values := url.Values{}
			for name, list := range p.values {
				values[name] = list
			}
			values.Set("go", "next")
			return s.send(http.MethodPost, p.action(), values.Encode(), headers...).about(name)
		}
		p := s.open(form, "").fill("a.code", "ab")
		p = next(p)
		p.expect(http.StatusUnprocessableEntity, shows("summary", "Code", "Enter three <letters>."), shows("fs-fault", "Enter three <letters>."), value("a.code", "ab"), holds("Enter <strong>three</strong> &lt;letters&gt;."), lacks("<letters>"))
		p = next(p.fill("a.code", "ABC"))
		p.require(http.StatusOK, hides("summary"), shows("fs-main", "Your stay"))
		p = next(p.fill("a.from", "2026-08-05", "a.to", "2026-08-04"))
		p.expect(http.StatusUnprocessableEntity, shows("summary", "Your stay", "The end is before the start."), holds(`aria-describedby="`, `class="q group"`), value("a.to", "2026-08-04"))
		group := p.find(func(n *html.Node) bool { return n.Data == "fieldset" })
		expect.That(t, strings.Contains(p.raw, `href="#`+attr(group, "id")+`"`) && attr(group, "tabindex") == "-1", "%s: the summary does not lead to the group", name)
		expect.Equal(t, strings.TrimSpace(p.text(attr(group, "aria-describedby"))), "The end is before the start.", "%s: the description of the group", name)
		p = next(p.fill("a.from", "2026-08-02"))
		p.expect(http.StatusUnprocessableEntity, shows("summary", "From", "This day is in the past."), hides("summary", "before the start"))
		s.wait(-24 * time.Hour)
		p = next(p) // the day is no longer in the past
		p.require(http.StatusOK, shows("fs-main", "Last"))
		s.wait(48 * time.Hour)
		back := next(p) // submitted on a later day: the step with the violation comes back
		back.expect(http.StatusUnprocessableEntity, shows("summary", "From", "This day is in the past."), responses(form, 0))
		p = next(back.fill("a.from", "2026-08-04"))
		p.require(http.StatusOK, shows("fs-main", "Last"))
		next(p).about(name).expect(anyStatus, responses(form, 1))
		s.stores(form, "code", `"ABC"`, "from", `"2026-08-04"`)
	}
}

// A check of a group without a label has a link in the summary, and questions that a respondent has not seen do not
// cause its violation.
func TestChecksOfGroups(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"y","type":"yes_no","label":"Y"},
		{"id":"g","type":"group","properties":{"rule":{"show":{"var":"answers.y"},"check":[{"if":{"missing":["answers.mail"]},"say":"Give an address."}]}},"children":[{"id":"mail","type":"email","label":"Mail"}]}]`, "", "")
	s.wait(time.Minute)
	p := s.open(form, "")
	s.wait(time.Minute)
	p = p.fill("a.y", "true").press("next")
	p.require(http.StatusOK, shows("fs-main", "Mail"), lacks("Give an address."))
	p = p.press("next")
	p.require(http.StatusUnprocessableEntity, shows("summary", "Give an address."))
	expect.That(t, strings.Count(p.text("summary"), "Give an address.") == 1 && strings.Contains(p.raw, `">Give an address.</a>`), "the summary is %s", p.text("summary"))
	p.fill("a.mail", "a@example.com").press("next").expect(anyStatus, responses(form, 1))
}

// A preview, and a front end of the host's own, have the messages too.
func TestChecksOfPreviewsAndFrontEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, AllowedOrigins: []string{"https://app.example"}})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N","properties":{"rule":{"check":[{"if":{">":[{"var":"answers.n"},3]},"say":"At most _three_."}]}}}]`, "", "")
	path := expect.Must(s.pages.PreviewPath(form.ID, s.clock().Add(time.Hour)))
	s.get(s.server.URL+path).fill("a.n", "4").press("next").expect(http.StatusUnprocessableEntity, shows("summary", "At most three."))
	var page struct{ State string }
	base := s.server.URL + "/f/" + form.PublicID
	s.ask(http.MethodGet, base+"/form.json", "https://app.example", nil, &page)
	s.wait(time.Minute)
	type fault struct{ Field, Path, Code, Message string }
	for path, status := range map[string]int{"/path": http.StatusOK, "/submit": http.StatusUnprocessableEntity} {
		var got struct{ Faults []fault }
		returned, _ := s.ask(http.MethodPost, base+path, "https://app.example", map[string]any{"state": page.State, "answers": map[string]any{"n": 4}}, &got)
		expect.Equal(t, returned, status, "%s", path)
		expect.Same(t, []fault{{"n", "/answers/n", schema.CodeCheckFailed, "At most three."}}, got.Faults, path)
	}
}

// A rule that only has checks does not make a page ask for other blocks while a respondent types.
func TestChecksDoNotMakePagesReactive(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for rule, want := range map[string]bool{
		`{"check":[{"if":{"var":"answers.q"},"say":"x"}]}`: false, `{}`: false, `{"check":[]}`: false,
		`{"show":true}`: true, `{"check":[{"if":true,"say":"x"}],"show":true}`: true, `{"set":{"check":1}}`: true,
	} {
		form := s.form("MULTI", `[{"id":"q","type":"short_text","label":"Q","properties":{"rule":`+rule+`}}]`, "", "")
		raw := s.open(form, "").raw
		expect.That(t, strings.Contains(raw, "data-reactive") == want, "%s: reactive: %v", rule, !want)
	}
}
