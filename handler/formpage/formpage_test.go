package formpage_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// every has one block of each of the 38 types.
const every = `[
{"id":"welcome","type":"welcome","label":"Every block","description":"All of them","properties":{"buttonText":"Off we go"}},
{"id":"heading","type":"heading","label":"Words"},
{"id":"text","type":"text","label":"Some prose"},
{"id":"short","type":"short_text","label":"Short","required":true,"properties":{"maxChars":20,"placeholderText":"A word"}},
{"id":"long","type":"long_text","label":"Long","properties":{"maxChars":100}},
{"id":"email","type":"email","label":"Email"},
{"id":"phone","type":"phone","label":"Phone","properties":{"defaultCountry":"DE"}},
{"id":"site","type":"website","label":"Site"},
{"id":"divider","type":"divider"},
{"id":"number","type":"number","label":"Number","properties":{"min":1,"minVal":true,"max":9999,"maxVal":true}},
{"id":"rating","type":"rating","label":"Rating","properties":{"icon":"heart","to":5}},
{"id":"scale","type":"opinion_scale","label":"Scale","properties":{"from":0,"to":2,"scaleStep":0.5,"leftLabel":true,"firstLabel":"Low"}},
{"id":"nps","type":"nps","label":"NPS"},
{"id":"yes","type":"yes_no","label":"Yes?"},
{"id":"legal","type":"legal","label":"Legal","required":true,"properties":{"legalType":1,"legalText":"I agree"}},
{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Bread"}],"properties":{"otherOption":true,"badgeType":"letter"}},
{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Bread"},{"id":"c","label":"Cake"}],"properties":{"limit":2,"otherOption":true}},
{"id":"pic","type":"picture_choice","label":"Picture","choices":[{"id":"x","label":"Cross","image":{"url":"https://img.example/x.png"}},{"id":"y","label":"Why","image":"https://img.example/y.png"}]},
{"id":"drop","type":"dropdown","label":"Drop","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Bread"}],"properties":{"otherOption":true}},
{"id":"rank","type":"ranking","label":"Rank","choices":[{"id":"a","label":"Apple"},{"id":"b.c","label":"Bread"},{"id":"c","label":"Cake"}]},
{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r.1","label":"Row 1"},{"id":"r2","label":"Row 2"}],"matrix_columns":[{"id":"c1","label":"Bad"},{"id":"c2","label":"Good"}]},
{"id":"date","type":"date","label":"Date"},
{"id":"parts","type":"date","label":"Parts","description":"In three fields","properties":{"dateFormat":"DDMMYYYY","dateSeparator":"."}},
{"id":"when","type":"date","label":"When","properties":{"showTimePicker":true}},
{"id":"time","type":"time","label":"Time"},
{"id":"address","type":"address","label":"Address","properties":{"addressOrContact":{"company":{"hide":true},"city":{"required":true}}}},
{"id":"contact","type":"contact_info","label":"Contact"},
{"id":"country","type":"country","label":"Country"},
{"id":"file","type":"file_upload","label":"File"},
{"id":"sign","type":"signature","label":"Signature"},
{"id":"pay","type":"payment","label":"Payment","properties":{"amount":"9.50","currency":"EUR"}},
{"id":"group","type":"group","label":"Group","children":[{"id":"inner","type":"short_text","label":"Inner"}]},
{"id":"captcha","type":"captcha"},
{"id":"statement","type":"statement","label":"A statement","properties":{"quotationMarks":true}},
{"id":"image","type":"image","label":"An image","properties":{"image":{"url":"https://img.example/i.png"},"imageAlt":"A tree"}},
{"id":"video","type":"video","label":"A video","properties":{"videoLink":"https://www.youtube.com/watch?v=abc_-1"}},
{"id":"pdf","type":"pdf","label":"A paper","properties":{"pdfLink":"https://files.example/p.pdf"}},
{"id":"embed","type":"embed","label":"A map","properties":{"embedLink":"https://maps.example/x"}},
{"id":"break","type":"page_break"},
{"id":"hidden","type":"short_text","label":"Never shown","properties":{"hide":true}},
{"id":"last","type":"short_text","label":"Last"},
{"id":"end","type":"ending","label":"The end","description":"Bye","properties":{"buttonText":"Home","buttonLink":"https://home.example/"}}
]`

func TestEveryBlockTypeIsFilledInAndStored(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", every, `{"showTitle":true,"numberedQuestions":true}`, "")
	p := s.open(form, "ref=x")
	if p.status != http.StatusOK {
		t.Fatalf("status %d", p.status)
	}
	for _, want := range []string{"Some prose", "Every block", "A tree", "Open the PDF", "Show content from maps.example", "Play the video", "9.50 EUR", "You cannot upload files on this page."} {
		if !strings.Contains(p.raw, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(p.raw, "Never shown") || strings.Contains(p.raw, "ZgotmplZ") || strings.Contains(p.raw, "<no value>") {
		t.Error("the page shows a hidden block or a fault of a template")
	}
	p.fill(
		"a.short", "word", "a.long", "one\r\ntwo", "a.email", "ada@Example.COM", "a.phone", "+49 30 1234567", "a.site", "example.com",
		"a.number", "1,234.5", "a.rating", "4", "a.scale", "1.5", "a.nps", "10", "a.yes", "false", "a.legal", "true",
		"a.one", "id:b", "a.pic", "id:y", "a.drop", "other", "o.drop", "Pie",
		"k.a.rank", "3", "k.b%2Ec.rank", "1", "k.c.rank", "2", "r.r%2E1.grid", "id:c2",
		"a.date", "2026-02-28", "d.parts", "3", "m.parts", "2", "y.parts", "2026", "a.when", "2026-02-28", "t.when", "09:30", "a.time", "14:05",
		"p.city.address", "Utrecht", "p.country.address", "NL", "p.firstName.contact", "Ada", "a.country", "JP", "a.inner", "within",
	).add("a.many", "id:c").add("a.many", "id:a")
	second := p.press("next")
	if second.status != http.StatusOK || second.text("summary") != "" {
		t.Fatalf("the second page: %d %s", second.status, second.text("summary"))
	}
	s.wait(time.Minute)
	end := second.fill("a.last", "z").press("next")
	if end.status != http.StatusOK || !strings.Contains(end.raw, "<h1>The end</h1>") || !strings.Contains(end.raw, `href="https://home.example/">Home`) {
		t.Fatalf("the ending: %d %s", end.status, end.text("fs-main"))
	}
	want := map[string]string{
		"short": `"word"`, "long": `"one\ntwo"`, "email": `"ada@example.com"`, "site": `"https://example.com"`,
		"number": `1234.5`, "rating": `4`, "scale": `1.5`, "nps": `10`, "yes": `false`, "legal": `true`,
		"one": `{"id":"b","label":"Bread"}`, "many": `[{"id":"a","label":"Apple"},{"id":"c","label":"Cake"}]`,
		"pic": `{"id":"y","label":"Why"}`, "drop": `{"other":"Pie"}`,
		"rank": `[{"id":"b.c","label":"Bread"},{"id":"c","label":"Cake"},{"id":"a","label":"Apple"}]`,
		"grid": `{"r.1":{"id":"c2","label":"Good"}}`,
		"date": `"2026-02-28"`, "parts": `"2026-02-03"`, "time": `"14:05"`,
		"address": `{"city":"Utrecht","country":"NL"}`, "contact": `{"firstName":"Ada"}`, "country": `"JP"`, "inner": `"within"`, "last": `"z"`,
	}
	stored := s.answers(form)
	if len(stored) != 1 {
		t.Fatalf("%d responses are stored, want 1", len(stored))
	}
	for id, value := range want {
		if stored[0][id] != value {
			t.Errorf("%s is %s, want %s", id, stored[0][id], value)
		}
	}
	if at, err := time.Parse(`"`+time.RFC3339+`"`, stored[0]["when"]); err != nil || !at.Equal(time.Date(2026, 2, 28, 9, 30, 0, 0, time.UTC)) {
		t.Errorf("when is %s", stored[0]["when"])
	}
	if stored[0]["phone"] != `"+49301234567"` && stored[0]["phone"] != `"+49 30 1234567"` {
		t.Errorf("phone is %s", stored[0]["phone"])
	}
}

func TestMistakesComeBackWithEverythingFilledIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", every, "", "")
	p := s.open(form, "")
	p.fill("a.long", `<b>"x"</b>`+"\n\n& more ", "a.email", "nobody", "a.number", "12 000", "o.one", "Own text", "k.a.rank", "1", "k.c.rank", "1", "p.firstName.address", "Ada",
		"d.parts", "31", "m.parts", "2", "y.parts", "2026", "a.drop", "id:b", "a.yes", "true", "r.r2.grid", "id:c1", "a.time", "9").
		add("a.many", "id:a").add("a.many", "id:b").add("a.many", "id:c")
	again := p.press("next")
	if again.status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d, want 422", again.status)
	}
	for name, values := range p.values {
		switch name {
		case "state", "viewed", "started", "took":
			continue
		}
		if strings.Join(again.values[name], "|") != strings.Join(values, "|") {
			t.Errorf("%s was %q and is %q", name, values, again.values[name])
		}
	}
	// Each fault stands beside its field, and in the summary with a link that leads
	// to it.
	summary := again.text("summary")
	for _, want := range []string{
		"Short Please answer this question.", "Email Please enter an email address such as name@example.com.",
		"Number Please enter a number from 1 to 9,999.", "Legal Please accept this to continue.",
		"Many Please choose no more than 2.", "Rank Please give each item a different place.",
		"Parts Please enter a real date with a day, month and four-digit year.", "Time Please enter a time such as 14:30.", "Address: City Please fill this in.",
	} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q", want)
		}
	}
	n := 0
	again.each(func(node *html.Node) {
		if target, ok := strings.CutPrefix(attr(node, "href"), "#q"); ok {
			n++
			if again.find(func(e *html.Node) bool { return attr(e, "id") == "q"+target }) == nil {
				t.Errorf("the summary links to #q%s, which is not there", target)
			}
		}
		if node.Data != "p" || !strings.Contains(attr(node, "class"), "fs-fault") {
			return
		}
		id := attr(node, "id")
		if again.find(func(e *html.Node) bool { return strings.Contains(attr(e, "aria-describedby"), id) }) == nil {
			t.Errorf("the fault %s describes nothing", id)
		}
	})
	if n != 9 {
		t.Errorf("%d links in the summary, want 9: %s", n, summary)
	}
	if len(s.answers(form)) != 0 {
		t.Error("a response is stored")
	}
}

// Ids of elements are unique, and everything that refers to one is right.
func TestEveryControlHasAName(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	p := s.open(s.form("MULTI", every, `{"singlePage":true}`, ""), "")
	seen := map[string]bool{}
	p.each(func(n *html.Node) {
		if id := attr(n, "id"); id != "" {
			if seen[id] {
				t.Errorf("the id %s is there twice", id)
			}
			seen[id] = true
		}
	})
	var readings []string
	described := map[string]bool{}
	p.each(func(n *html.Node) {
		switch n.Data {
		case "input", "select", "textarea":
			if attr(n, "type") == "hidden" {
				return
			}
			named := attr(n, "aria-label") != ""
			for up := n.Parent; up != nil; up = up.Parent {
				named = named || up.Data == "label"
			}
			id := attr(n, "id")
			named = named || id != "" && p.find(func(l *html.Node) bool { return l.Data == "label" && attr(l, "for") == id }) != nil
			if !named {
				t.Errorf("the control %s has no name", attr(n, "name"))
			}
		}
		for id := range strings.FieldsSeq(attr(n, "aria-describedby")) {
			described[id] = true
			if !seen[id] {
				t.Errorf("aria-describedby names %s, which is not there", id)
			}
		}
		if attr(n, "class") == "fs-read" {
			readings = append(readings, attr(n, "id"))
			if attr(n, "aria-live") != "polite" {
				t.Errorf("the reading %s is not read out", attr(n, "id"))
			}
		}
	})
	for _, id := range readings {
		if !described[id] {
			t.Errorf("the reading %s describes nothing", id)
		}
	}
}

const threeQuestions = `[
{"id":"hello","type":"welcome","label":"Hello"},
{"id":"name","type":"short_text","label":"Name","required":true},
{"id":"note","type":"text","label":"A word before the colour"},
{"id":"color","type":"single_choice","label":"Colour","choices":[{"id":"r","label":"Red"},{"id":"g","label":"Green"}]},
{"id":"age","type":"number","label":"Age","properties":{"min":1,"minVal":true}},
{"id":"bye","type":"ending","label":"Thanks"}
]`

func TestOneQuestionAtATimeBackAndForth(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, `{"progressBar":true}`, "", "ref")
	p := s.open(form, "ref=r7&color=Green")
	if !strings.Contains(p.raw, "Hello") || strings.Contains(p.text("fs-main"), "Name") {
		t.Fatalf("the first page is %s", p.text("fs-main"))
	}
	p = p.press("next")
	if p = p.press("next"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "Name") {
		t.Fatalf("a required question was passed over: %d %s", p.status, p.text("fs-main"))
	}
	p = p.fill("a.name", "Ada").press("next")
	if text := p.text("fs-main"); !strings.Contains(text, "A word before the colour") || !strings.Contains(text, "Colour") || strings.Contains(text, "Age") {
		t.Fatalf("the third page is %s", text)
	}
	if p.values.Get("a.color") != "id:g" {
		t.Errorf("the prefilled colour is %q", p.values.Get("a.color"))
	}
	p = p.fill("a.color", "id:r").press("back")
	if p.values.Get("a.name") != "Ada" || p.values.Get("a.color") != "id:r" {
		t.Errorf("going back lost answers: %v", p.values)
	}
	p = p.fill("a.name", "Grace").press("next").press("next")
	if progress := p.find(func(n *html.Node) bool { return n.Data == "progress" }); progress == nil || attr(progress, "value") != "4" || attr(progress, "max") != "4" {
		t.Error("the progress is wrong")
	}
	s.wait(time.Minute)
	p = p.fill("a.age", "36").press("next")
	if p.status != http.StatusOK || !strings.Contains(p.raw, "Thanks") {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	stored := s.answers(form)
	if len(stored) != 1 || stored[0]["name"] != `"Grace"` || stored[0]["color"] != `{"id":"r","label":"Red"}` || stored[0]["age"] != `36` || stored[0]["ref"] != `"r7"` {
		t.Errorf("stored is %v", stored)
	}
}

// Without a script a page after the first one puts the focus on its question, but never past
// something to read.
func TestTheFocusIsOnTheQuestion(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	focus := func(p *page) string {
		n := p.find(func(n *html.Node) bool { return has(n, "autofocus") })
		if n == nil {
			return ""
		}
		return n.Data + " " + cmp.Or(attr(n, "name"), attr(n, "id"))
	}
	form := s.form("SINGLE", `[{"id":"a","type":"short_text","label":"A"},{"id":"b","type":"short_text","label":"B"},{"id":"c","type":"yes_no","label":"C"},
		{"id":"words","type":"text","label":"Read this"},{"id":"d","type":"long_text","label":"D","required":true},
		{"id":"g","type":"group","label":"G","children":[{"id":"e","type":"email","label":"E"}]}]`, "", "")
	p := s.open(form, "")
	for i, want := range []string{"", "input a.b", "fieldset q3", "", "div summary", "input a.e"} {
		if got := focus(p); got != want {
			t.Errorf("page %d: the focus is on %q, want %q", i, got, want)
		}
		if i == 4 {
			p.fill("a.d", "x")
		}
		p = p.press("next")
	}
	multi := s.form("MULTI", every, "", "")
	if got := focus(s.open(multi, "")); got != "" {
		t.Errorf("the first page of a form has the focus on %q", got)
	}
}

// A fault that only shows at the end leads back to the page with the question.
func TestAFaultAtTheEndLeadsToItsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, `{"duplicateField":"name"}`, "")
	fill := func() *page {
		p := s.open(form, "").press("next").fill("a.name", "Ada").press("next").press("next")
		s.wait(time.Minute)
		return p.press("next")
	}
	if p := fill(); p.status != http.StatusOK {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	p := fill()
	if p.status != http.StatusConflict || !strings.Contains(p.text("summary"), "We already have a response") || p.values.Get("a.name") != "Ada" {
		t.Errorf("%d %s", p.status, p.text("fs-main"))
	}
}

func TestAFormThatChangedShowsWhatHasNoPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"},{"id":"b","type":"long_text"},{"id":"c","type":"short_text"}]`, "", "")
	p := s.open(form, "").fill("a.a", "kept", "a.b", "a long text", "a.c", "typed")
	s.wait(time.Minute)
	must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{
		Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text"},{"id":"c","type":"single_choice","choices":[{"id":"x","label":"X"}]}]`)},
	}))
	p = p.press("next")
	if note := p.text("summary"); p.status != http.StatusConflict || !strings.Contains(note, "a long text") || !strings.Contains(note, "typed") || strings.Contains(note, "kept") {
		t.Fatalf("%d %s", p.status, note)
	}
	if p = p.press("next"); p.status != http.StatusOK {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	if stored := s.answers(form); len(stored) != 1 || stored[0]["a"] != `"kept"` {
		t.Errorf("stored is %v", stored)
	}
}

// What was typed into a form that was closed meanwhile, or into a block that was hidden, is
// shown: it is nowhere else.
func TestWhatWasTypedIsShownWhenItHasNoPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	change := func(form formsvc.Form, d formsvc.Definition) {
		must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: d}))
	}
	form := s.form("SINGLE", `[{"id":"a","type":"long_text","label":"Story"},{"id":"y","type":"yes_no","label":"Yes?"},{"id":"b","type":"short_text"}]`, "", "")
	p := s.open(form, "lang=de").fill("a.a", "a <long> text").press("next").fill("a.y", "true")
	last := p.press("next").fill("a.b", "more")
	change(form, formsvc.Definition{Settings: json.RawMessage(`{"closed":true,"closedMessage":"Sorry"}`)})
	for _, got := range []*page{p.press("next"), last.press("next")} {
		text := got.text("fs-main")
		if got.status != http.StatusGone || !strings.Contains(text, "Sorry") || !strings.Contains(text, "Story") || !strings.Contains(text, "a <long> text") || strings.Contains(text, "true") || !strings.Contains(text, "Was Sie eingegeben haben") {
			t.Errorf("%d %s", got.status, text)
		}
	}
	if got := s.open(form, ""); strings.Contains(got.raw, "<dl>") {
		t.Errorf("nothing was typed: %s", got.raw)
	}
	form = s.form("MULTI", `[{"id":"a","type":"long_text"},{"id":"g","type":"group","children":[{"id":"i","type":"short_text"}]},{"id":"b","type":"short_text"}]`, "", "")
	p = s.open(form, "").fill("a.a", "typed", "a.i", "within", "a.b", "kept")
	change(form, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"long_text","properties":{"hide":true}},{"id":"g","type":"group","properties":{"hide":true},"children":[{"id":"i","type":"short_text"}]},{"id":"b","type":"short_text"}]`)})
	p = p.press("next")
	if note := p.text("summary"); p.status != http.StatusConflict || !strings.Contains(note, "typed") || !strings.Contains(note, "within") || strings.Contains(note, "kept") {
		t.Errorf("%d %s", p.status, note)
	}
	if p = p.press("next"); p.status != http.StatusOK || len(s.answers(form)) != 1 {
		t.Errorf("%d %s", p.status, p.text("fs-main"))
	}
}

// What a link may fill in.
func TestLinksConsentToNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"l","type":"legal","properties":{"legalType":1}},{"id":"d","type":"date","properties":{"showTimePicker":true}}]`, "", "", "ref")
	p := s.open(form, "l=true&d=2026-11-22T10:00:00%2B09:00&ref="+strings.Repeat("x", 10_001))
	if p.values.Get("a.l") != "" || p.values.Get("a.d") != "" || p.values.Get("t.d") != "" || p.values.Has("h.ref") {
		t.Errorf("the page is filled in: %.200v", p.values)
	}
	if p = p.press("next"); p.status != http.StatusOK || len(s.answers(form)[0]) != 0 {
		t.Errorf("%d %s", p.status, p.text("summary"))
	}
	p = s.open(form, "d=2026-11-22T10:00&ref="+strings.Repeat("é", 10_000))
	if p.values.Get("a.d") != "2026-11-22" || p.values.Get("t.d") != "10:00" {
		t.Errorf("the page is not filled in: %.200v", p.values)
	}
	if p = p.press("next"); p.status != http.StatusOK || len(s.answers(form)) != 2 {
		t.Errorf("%d %s", p.status, p.text("summary"))
	}
}

func TestAssetsAreOnlyRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for method, want := range map[string]int{
		http.MethodGet: http.StatusOK, http.MethodHead: http.StatusOK, http.MethodOptions: http.StatusNoContent,
		http.MethodPost: http.StatusMethodNotAllowed, http.MethodDelete: http.StatusMethodNotAllowed,
	} {
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, httptest.NewRequest(method, "/f/-/page.js", nil))
		if w.Code != want || want > http.StatusOK && w.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

func TestABodyThatIsTooLargeComesBackAsThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MaxBody: 2000})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"},{"id":"b","type":"long_text"}]`, "", "")
	p := s.open(form, "").fill("a.a", "kept", "a.b", strings.Repeat("€", 3000))
	again := p.press("next")
	if again.status != http.StatusRequestEntityTooLarge || again.values.Get("a.a") != "kept" || !strings.HasPrefix(again.values.Get("a.b"), "€€€") {
		t.Errorf("%d, a is %q, b begins %.20q", again.status, again.values.Get("a.a"), again.values.Get("a.b"))
	}
	if len(s.answers(form)) != 0 {
		t.Error("a response is stored")
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for name, config := range map[string]formpage.Config{
		"a short secret":               {Secret: []byte("short")},
		"a variable that is not set":   {Secret: []byte("")},
		"an address without a limiter": {Address: func(*http.Request) string { return "x" }},
		"a negative body":              {MaxBody: -1},
		"an ancestor with a directive": {FrameAncestors: []string{"https://a.example; script-src *"}},
		"a language that is none":      {Words: map[string]map[string]string{"not a tag": {}}},
		"a short former secret":        {Secret: secret, FormerSecrets: [][]byte{nil}},
		"a base path of a slash":       {BasePath: "/"},
		"a base path with a slash":     {BasePath: "/forms/"},
		"a base path without one":      {BasePath: "forms"},
		"a base path with two":         {BasePath: "/a//forms"},
		"an origin with a path":        {AllowedOrigins: []string{"https://a.example/"}},
		"an origin without a scheme":   {AllowedOrigins: []string{"app.example"}},
		"an origin of large letters":   {AllowedOrigins: []string{"https://App.example"}},
		"no ancestors and one":         {FrameAncestors: []string{"'none'", "https://a.example"}},
		"a verifier of no captcha":     {Verifiers: map[string]formpage.Verifier{"Turnstile": sums{}}},
		"a verifier that is nil":       {Verifiers: map[string]formpage.Verifier{"turnstile": nil}},
		"a word that is none":          {Words: map[string]map[string]string{"en": {"typo": "x"}}},
	} {
		if _, err := formpage.New(s.service, config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := formpage.New(nil, formpage.Config{}); err == nil {
		t.Error("no service: no error")
	}
}

// twentyQuestions are the form that the weight and the speed of a page are measured with.
func twentyQuestions() string {
	var blocks []string
	for i := range 20 {
		kind := []string{"short_text", "long_text", "email", "rating", "nps", "yes_no", "date", "number"}[i%8]
		blocks = append(blocks, fmt.Sprintf(`{"id":"question_%d","type":%q,"label":"What do you think of number %d?","description":"Take your time.","required":true}`, i, kind, i))
	}
	blocks = append(blocks[:18], `{"id":"c1","type":"single_choice","label":"Which one?","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Bread"},{"id":"c","label":"Cake"}]}`,
		`{"id":"c2","type":"multiple_choice","label":"Which ones?","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Bread"},{"id":"c","label":"Cake"}]}`)
	return "[" + strings.Join(blocks, ",") + "]"
}

func TestAPageOfTwentyQuestionsIsLight(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	p := s.open(s.form("MULTI", twentyQuestions(), "", ""), "")
	// With its style, which is all that stands before the first paint: a second of 50 kB/s.
	if n := len(p.raw); n > 50_000 {
		t.Errorf("the page has %d bytes, more than 50,000", n)
	}
	for file, most := range map[string]int{"page.css": 21_500, "page.js": 23_500, "embed.js": 3_000} {
		if n := len(s.get(s.server.URL + "/f/-/" + file).raw); n > most || n == 0 {
			t.Errorf("%s has %d bytes, at most %d", file, n, most)
		}
	}
}

// Links are relative: they work below any prefix, with and without it in the path, and
// after a slash at the end.
func TestMounts(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, "", "")
	pages := must(formpage.New(s.service, formpage.Config{Clock: s.clock}))
	deep := must(formpage.New(s.service, formpage.Config{Clock: s.clock, BasePath: "/app/forms"}))
	mux := http.NewServeMux()
	mux.Handle("/f/", pages)
	mux.Handle("/stripped/here/", http.StripPrefix("/stripped/here", pages))
	mux.Handle("/app/forms/", deep)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, prefix := range []string{"/f/", "/stripped/here/", "/app/forms/"} {
		for _, end := range []string{"", "/"} {
			before := len(s.answers(form))
			p := s.get(server.URL + prefix + form.PublicID + end)
			sheet := p.press("stay").find(func(n *html.Node) bool { return n.Data == "link" })
			base, _ := url.Parse(p.url)
			address, err := base.Parse(attr(sheet, "href"))
			if err != nil || s.get(address.String()).status != http.StatusOK {
				t.Errorf("%s: the style sheet is not at %s", p.url, address)
			}
			s.wait(time.Minute)
			if done := p.press("next"); done.status != http.StatusOK || !strings.Contains(done.url, prefix+form.PublicID+"/done") || len(s.answers(form)) != before+1 {
				t.Errorf("%s leads to %s: %d", p.url, done.url, done.status)
			}
		}
	}
}
