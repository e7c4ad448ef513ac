package formpage_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
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

// fillEvery fills in a page of every, with a number as its language writes it.
func (p *page) fillEvery(number string) *page {
	return p.fill(
		"a.short", "word", "a.long", "one\r\n<two>", "a.email", "ada@Example.COM", "a.phone", "030 1234567", "a.site", "example.com",
		"a.number", number, "a.rating", "4", "a.scale", "1.5", "a.nps", "10", "a.yes", "false", "a.legal", "true",
		"a.one", "id:b", "a.pic", "id:y", "a.drop", "other", "o.drop", "Pie",
		"k.a.rank", "3", "k.b%2Ec.rank", "1", "k.c.rank", "2", "r.r%2E1.grid", "id:c2",
		"a.date", "2026-02-28", "d.parts", "3", "m.parts", "2", "y.parts", "2026", "a.when", "2026-02-28", "t.when", "09:30", "a.time", "00:00",
		"p.city.address", "Utrecht", "p.country.address", "NL", "p.firstName.contact", "Ada", "a.country", "JP", "a.inner", "within",
	).add("a.many", "id:c").add("a.many", "id:a")
}

func TestEveryBlockTypeIsFilledInAndStored(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", every, `{"showTitle":true,"numberedQuestions":true}`, "")
	p := s.open(form, "ref=x").require(http.StatusOK)
	for _, want := range []string{"Some prose", "Every block", "A tree", "Open the PDF", "Show content from maps.example", "Play the video", "9.50 EUR", "You cannot upload files on this page."} {
		p.expect(anyStatus, holds(want))
	}
	expect.That(t, !strings.Contains(p.raw, "Never shown") && !strings.Contains(p.raw, "ZgotmplZ") && !strings.Contains(p.raw, "<no value>"),
		"the page shows a hidden block or a fault of a template")
	p.fillEvery("1,234.5").fill("a.phone", "+49 30 1234567")
	second := p.press("next").about("the second page").require(http.StatusOK, hides("summary"))
	s.wait(time.Minute)
	end := second.fill("a.last", "z").press("next")
	end.about("the ending").require(http.StatusOK, holds("<h1>The end</h1>", `href="https://home.example/">Home`))
	want := map[string]string{
		"short": `"word"`, "long": `"one\n<two>"`, "email": `"ada@example.com"`, "site": `"https://example.com"`,
		"number": `1234.5`, "rating": `4`, "scale": `1.5`, "nps": `10`, "yes": `false`, "legal": `true`,
		"one": `{"id":"b","label":"Bread"}`, "many": `[{"id":"a","label":"Apple"},{"id":"c","label":"Cake"}]`,
		"pic": `{"id":"y","label":"Why"}`, "drop": `{"other":"Pie"}`,
		"rank": `[{"id":"b.c","label":"Bread"},{"id":"c","label":"Cake"},{"id":"a","label":"Apple"}]`,
		"grid": `{"r.1":{"id":"c2","label":"Good"}}`,
		"date": `"2026-02-28"`, "parts": `"2026-02-03"`, "time": `"00:00"`,
		"address": `{"city":"Utrecht","country":"NL"}`, "contact": `{"firstName":"Ada"}`, "country": `"JP"`, "inner": `"within"`, "last": `"z"`,
	}
	stored := s.answers(form)
	expect.Require(t, len(stored) == 1, "%d responses are stored, want 1", len(stored))
	for id, value := range want {
		s.stores(form, id, value)
	}
	at, err := time.Parse(`"`+time.RFC3339+`"`, stored[0]["when"])
	expect.That(t, err == nil && at.Equal(time.Date(2026, 2, 28, 9, 30, 0, 0, time.UTC)), "when is %s", stored[0]["when"])
	expect.That(t, stored[0]["phone"] == `"+49301234567"` || stored[0]["phone"] == `"+49 30 1234567"`,
		"phone is %s", stored[0]["phone"])
}

func TestMistakesComeBackWithEverythingFilledIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", every, "", "")
	wrong := func(p *page) *page {
		return p.fill("a.long", `<b>"x"</b>`+"\n\n& more ", "a.email", "nobody", "a.number", "12 000", "o.one", "Own text", "k.a.rank", "1", "k.c.rank", "1", "p.firstName.address", "Ada",
			"d.parts", "31", "m.parts", "2", "y.parts", "2026", "a.drop", "id:b", "a.yes", "true", "r.r2.grid", "id:c1", "a.time", "9").
			add("a.many", "id:a").add("a.many", "id:b").add("a.many", "id:c")
	}
	p := wrong(s.open(form, ""))
	again := p.press("next").require(http.StatusUnprocessableEntity)
	for name, values := range p.values {
		switch name {
		case "state", "viewed", "started", "took":
			continue
		}
		expect.That(t, strings.Join(again.values[name], "|") == strings.Join(values, "|"),
			"%s was %q and is %q", name, values, again.values[name])
	}
	// Each fault stands beside its field, and in the summary with a link that leads
	// to it.
	summary := again.text("summary")
	for _, want := range []string{
		"Short Please answer this question.", "Email Please enter an email address such as name@example.com.",
		"Number Please enter a number from 1 to 9,999.", "Legal Please accept this to continue.",
		"Many Please choose no more than 2.", "Rank Please give each item a different position.",
		"Parts Please enter a valid date with a day, month and four-digit year.", "Time Please enter a time such as 14:30.", "Address: City Please fill this in.",
	} {
		expect.That(t, strings.Contains(summary, want), "the summary lacks %q", want)
	}
	n := 0
	again.each(func(node *html.Node) {
		if target, ok := strings.CutPrefix(attr(node, "href"), "#q"); ok {
			n++
			expect.That(t, again.find(func(e *html.Node) bool { return attr(e, "id") == "q"+target }) != nil,
				"the summary links to #q%s, which is not there", target)
		}
		if node.Data != "p" || !strings.Contains(attr(node, "class"), "fs-fault") {
			return
		}
		id := attr(node, "id")
		expect.That(t, again.find(func(e *html.Node) bool { return strings.Contains(attr(e, "aria-describedby"), id) }) != nil,
			"the fault %s describes nothing", id)
	})
	expect.That(t, n == 9, "%d links in the summary, want 9: %s", n, summary)
	german := wrong(s.open(form, "lang=de")).press("next").require(http.StatusUnprocessableEntity, holds(`lang="de"`, "<title>Bitte prüfen: "))
	expect.That(t, strings.Count(german.text("summary"), "Bitte") >= 10 && !strings.Contains(german.text("fs-main"), "Please"), "in German: %s", german.text("fs-main"))
	grid := s.form("MULTI", `[{"id":"q","type":"matrix","label":"Grid","required":true,"matrix_rows":[{"id":"a"},{"id":"b"}],"matrix_columns":[{"id":"c"}]}]`, "", "")
	s.open(grid, "").fill("r.b.q", "id:c").press("next").about("a row is missing").expect(http.StatusUnprocessableEntity, shows("summary", "Grid Please answer every row."), value("r.b.q", "id:c"), responses(grid, 0))
	expect.That(t, len(s.answers(form)) == 0, "a response is stored")
}

// Ids of elements are unique, and everything that refers to one is right.
func TestEveryControlHasAName(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	p := s.open(s.form("MULTI", every, `{"singlePage":true}`, ""), "")
	seen := map[string]bool{}
	p.each(func(n *html.Node) {
		if id := attr(n, "id"); id != "" {
			expect.That(t, !seen[id], "the id %s is there twice", id)
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
			expect.That(t, named, "the control %s has no name", attr(n, "name"))
		}
		for id := range strings.FieldsSeq(attr(n, "aria-describedby")) {
			described[id] = true
			expect.That(t, seen[id], "aria-describedby names %s, which is not there", id)
		}
		if attr(n, "class") == "fs-read" {
			readings = append(readings, attr(n, "id"))
			expect.That(t, attr(n, "aria-live") == "polite", "the reading %s is not read out", attr(n, "id"))
		}
	})
	for _, id := range readings {
		expect.That(t, described[id], "the reading %s describes nothing", id)
	}
}

const threeQuestions = `[
{"id":"hello","type":"welcome","label":"Hello"},
{"id":"name","type":"short_text","label":"Name","required":true},
{"id":"note","type":"text","label":"A word before the color"},
{"id":"color","type":"single_choice","label":"Color","choices":[{"id":"r","label":"Red"},{"id":"g","label":"Green"}]},
{"id":"age","type":"number","label":"Age","properties":{"min":1,"minVal":true}},
{"id":"bye","type":"ending","label":"Thanks"}
]`

func TestOneQuestionAtATimeBackAndForth(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, `{"progressBar":true}`, "", "ref")
	p := s.open(form, "ref=r7&color=Green")
	p.about("the first page").require(anyStatus, holds("Hello"), hides("fs-main", "Name"))
	p = p.press("next")
	if p = p.press("next"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "Name") {
		t.Fatalf("a required question was passed over: %d %s", p.status, p.text("fs-main"))
	}
	p = p.fill("a.name", "Ada").press("next")
	p.about("the third page").require(anyStatus, holds("<title>A form – Page 3 of 4</title>"), shows("fs-main", "A word before the color", "Color"),
		hides("fs-main", "Age"))
	p.about("the prefilled color").expect(anyStatus, value("a.color", "id:g"))
	p = p.fill("a.color", "id:r").press("back")
	p.about("going back lost answers").expect(anyStatus, value("a.name", "Ada"), value("a.color", "id:r"))
	p = p.fill("a.name", "Grace").press("next").press("next")
	progress := p.find(func(n *html.Node) bool { return n.Data == "progress" })
	expect.That(t, progress != nil && attr(progress, "value") == "4" && attr(progress, "max") == "4", "the progress is wrong")
	s.wait(time.Minute)
	p.fill("a.age", "36").press("next").require(http.StatusOK, holds("Thanks"))
	s.stores(form, "name", `"Grace"`, "color", `{"id":"r","label":"Red"}`, "age", `36`, "ref", `"r7"`)
	// A jump applies again after going back, until its answer changes.
	for kind, pause := range map[string]string{"SINGLE": "", "MULTI": `{"id":"p%d","type":"page_break"},`} {
		to := map[string]string{"SINGLE": "c", "MULTI": "p2"}[kind]
		form := s.form(kind, `[{"id":"a","type":"yes_no","properties":{"rule":{"next":[{"if":{"var":"answers.a"},"to":"`+to+`"}]}}},`+strings.Replace(pause, "%d", "1", 1)+
			`{"id":"b","type":"short_text","label":"Second"},`+strings.Replace(pause, "%d", "2", 1)+`{"id":"c","type":"short_text","label":"Third"}]`, "", "")
		p := s.open(form, "").fill("a.a", "true").press("next").press("back").about(kind).require(http.StatusOK, value("a.a", "true"))
		p = p.press("next").about(kind).require(http.StatusOK, shows("fs-fields", "Third"), hides("fs-fields", "Second"))
		p.press("back").fill("a.a", "false").press("next").about(kind).expect(http.StatusOK, shows("fs-fields", "Second"))
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
		expect.Equal(t, focus(p), want, "%v the focus is on", i)
		if i == 4 {
			p.fill("a.d", "x")
		}
		p = p.press("next")
	}
	multi := s.form("MULTI", every, "", "")
	expect.Equal(t, focus(s.open(multi, "")), "", "the first page of a form has the focus on")
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
	fill().require(http.StatusOK)
	p := fill()
	p.expect(http.StatusConflict, shows("summary", "This answer was already submitted"), value("a.name", "Ada"))
}

// What was typed into a form that was closed meanwhile, or into a block that was hidden, removed or
// given another type, is shown: it is nowhere else.
func TestWhatWasTypedIsShownWhenItHasNoPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	change := func(form formsvc.Form, d formsvc.Definition) {
		expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: d}))
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
	s.open(form, "").about("nothing was typed").expect(anyStatus, lacks("<dl>"))
	form = s.form("MULTI", `[{"id":"a","type":"long_text"},{"id":"g","type":"group","children":[{"id":"i","type":"short_text"}]},{"id":"b","type":"short_text"},
		{"id":"c","type":"short_text"},{"id":"d","type":"long_text"}]`, "", "")
	p = s.open(form, "").fill("a.a", "typed", "a.i", "within", "a.b", "kept", "a.c", "a word", "a.d", "a long text")
	change(form, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"long_text","properties":{"hide":true}},{"id":"g","type":"group","properties":{"hide":true},"children":[{"id":"i","type":"short_text"}]},
		{"id":"b","type":"short_text"},{"id":"c","type":"single_choice","choices":[{"id":"x","label":"X"}]}]`)})
	p = p.press("next").expect(http.StatusConflict, shows("summary", "typed", "within", "a word", "a long text"), hides("summary", "kept"))
	p.press("next").expect(http.StatusOK, answered(form, "b", `"kept"`))
}

// If the owner removes the page that the respondent is on, the next page follows. What was typed is shown.
func TestTheNextPageFollowsOneThatIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	const block, end = `{"id":"%[1]s","type":"short_text","label":"Question %[1]s"}`, `{"id":"pagebreak%[1]s","type":"page_break"},`
	for kind, blocks := range map[string]func(ids ...string) string{
		"SINGLE": func(ids ...string) string { return "[" + each(block, ids) + "]" },
		"MULTI":  func(ids ...string) string { return "[" + each(block, ids[:1]) + "," + each(end+block, ids[1:]) + "]" },
	} {
		for name, test := range map[string]struct {
			ids   []string // that stay
			shown string
		}{
			"in the middle":      {[]string{"a", "b", "d"}, "Question d"},
			"and a new one":      {[]string{"new", "a", "b", "d"}, "Question d"},
			"the last":           {[]string{"a", "b"}, "Question b"},
			"and the one before": {[]string{"a", "d"}, "Question a"},
		} {
			form := s.form(kind, blocks("a", "b", "c", "d"), "", "")
			p := s.open(form, "").fill("a.a", "1").press("next").fill("a.b", "2").press("next").fill("a.c", "three")
			s.redefine(form, blocks(test.ids...))
			p = p.press("next").about(kind, name).require(http.StatusConflict, shows("summary", "Question c", "three", "no longer has"), shows("fs-main", test.shown), hides("fs-main", "Because of your answers"))
			for i := 0; i < 5 && strings.Contains(p.raw, "data-step"); i++ {
				p = p.press("next")
			}
			p.about(kind, name, "at the end").expect(http.StatusOK, answered(form, "a", `"1"`))
		}
	}
}

func each(format string, ids []string) string {
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprintf(format, id))
	}
	return strings.Join(all, ",")
}

// outage is a store that cannot read forms while it is down.
type outage struct {
	storage.Storage
	down atomic.Bool
}

func (o *outage) FormByPublicID(ctx context.Context, id string) (storage.Form, error) {
	if o.down.Load() {
		return storage.Form{}, storage.ErrUnavailable
	}
	return o.Storage.FormByPublicID(ctx, id)
}

// While forms cannot be read, a page comes back with its input, and can be sent again later.
func TestAnOutageKeepsTheInput(t *testing.T) {
	t.Parallel()
	dir, _ := newDir(t)
	store := &outage{Storage: memory.New()}
	s := newSite(t, formpage.Config{MinFillTime: -1, Files: dir, Secret: secret}, formsvc.WithStorage(store))
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Name"},{"id":"p","type":"page_break"},{"id":"b","type":"long_text","label":"Story"},{"id":"f","type":"file_upload"}]`, "", "")
	p := s.open(form, "lang=de").fill("a.a", "<Ada>")
	down := func(press func() *page) *page {
		store.down.Store(true)
		defer store.down.Store(false)
		return press()
	}
	p = down(func() *page { return p.press("next") }).require(http.StatusServiceUnavailable, shows("fs-main", "nicht speichern", "Name", "<Ada>"))
	p = p.post(p.values).require(http.StatusOK, shows("fs-main", "Story")).fill("a.b", "a long\ntext")
	p = down(func() *page { return p.attach("next", [3]string{"u.f", "my.png", pngBytes}) }).require(http.StatusServiceUnavailable, shows("fs-main", "a long", "my.png"))
	p = down(func() *page { return p.post(p.values) }).require(http.StatusServiceUnavailable, shows("fs-main", "a long"))
	p.post(p.values).require(http.StatusOK, answered(form, "a", `"<Ada>"`, "b", `"a long\ntext"`))
}

// Before its opening time, a form says when it opens, and takes nothing.
func TestAFormThatIsNotOpenYet(t *testing.T) {
	t.Parallel()
	berlin := expect.Must(time.LoadLocation("Europe/Berlin"))
	for _, kind := range []string{"SINGLE", "MULTI"} {
		s := newSite(t, formpage.Config{MinFillTime: -1}, formsvc.WithTimeZone(berlin))
		const settings = `{"openAt":"2026-08-03T22:30:00Z","closedMessage":"Sorry"}` // the next day in Berlin
		form := s.form(kind, `[{"id":"a","type":"long_text","label":"Story"},{"id":"break","type":"page_break"},{"id":"b","type":"short_text"}]`, "", "")
		first := s.open(form, "").fill("a.a", "typed <before>")
		last := first.press("next").require(http.StatusOK).fill("a.b", "more")
		expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(settings)}}))
		for name, p := range map[string]*page{"first": first.press("next"), "last": last.press("next")} {
			p.about("the "+name+" page, posted").expect(http.StatusForbidden, shows("fs-main", "This form is not open yet", "It opens on 4 August 2026 at 00:30 (Europe/Berlin).", "typed <before>"), hides("fs-main", "Sorry"))
		}
		for tag, want := range map[string]string{"en": "It opens on 4 August 2026 at 00:30 (Europe/Berlin).", "de": "Es öffnet am 04.08.2026 um 00:30 Uhr (Europe/Berlin).", "ar": "(Europe/Berlin)", "ja": "00:30（Europe/Berlin）"} {
			p := s.open(form, "lang="+tag).expect(http.StatusForbidden, shows("fs-main", want), lacks("<dl>"))
			expect.Equal(t, p.header.Get("Cache-Control"), "no-store", tag)
		}
		expect.That(t, len(s.answers(form)) == 0, "a response is stored")
		s.wait(12*time.Hour + 30*time.Minute - time.Nanosecond)
		s.open(form, "").expect(http.StatusForbidden)
		s.wait(time.Nanosecond)
		s.open(form, "").expect(http.StatusOK, holds("Story"))
		last.press("next").expect(http.StatusOK, answered(form, "b", `"more"`))
	}
}

func TestAssetsAreOnlyRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for method, want := range map[string]int{
		http.MethodGet: http.StatusOK, http.MethodHead: http.StatusOK, http.MethodOptions: http.StatusNoContent,
		http.MethodPost: http.StatusMethodNotAllowed, http.MethodDelete: http.StatusMethodNotAllowed,
	} {
		w := s.serve(method, "/f/-/page.js", "")
		expect.That(t, w.Code == want && (want <= http.StatusOK || w.Header().Get("Allow") == "GET, HEAD, OPTIONS"),
			"%s: %d %v", method, w.Code, w.Header())
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
	expect.That(t, len(s.answers(form)) == 0, "a response is stored")
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for name, config := range map[string]formpage.Config{
		"a short secret":               {Secret: []byte("short")},
		"a variable that is not set":   {Secret: []byte("")},
		"an address without a limiter": {ClientIP: func(*http.Request) string { return "x" }},
		"a negative body":              {MaxBody: -1},
		"an ancestor with a directive": {FrameAncestors: []string{"https://a.example; script-src *"}},
		"a language that is none":      {Translations: map[string]map[string]string{"not a tag": {}}},
		"a short former secret":        {Secret: secret, PreviousSecrets: [][]byte{nil}},
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
		"a word that is none":          {Translations: map[string]map[string]string{"en": {"typo": "x"}}},
	} {
		_, err := formpage.New(s.service, config)
		expect.That(t, err != nil, "%s: no error", name)
	}
	_, err := formpage.New(nil, formpage.Config{})
	expect.That(t, err != nil, "no service: no error")
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
	n := len(p.raw)
	expect.That(t, n <= 50_000, "the page has %d bytes, more than 50,000", n)
	for file, most := range map[string]int{"page.css": 21_600, "page.js": 26_000, "embed.js": 3_000} {
		n := len(s.get(s.server.URL + "/f/-/" + file).raw)
		expect.That(t, n <= most && n != 0, "%s has %d bytes, at most %d", file, n, most)
	}
}

// Links are relative: they work below any prefix, with and without it in the path, and
// after a slash at the end.
func TestMounts(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, "", "")
	pages := expect.Must(formpage.New(s.service, formpage.Config{Clock: s.clock}))
	escaped := expect.Must(formpage.New(s.service, formpage.Config{Clock: s.clock, MinFillTime: -1, Secret: secret, BasePath: "/a café?#%"}))
	deep := expect.Must(formpage.New(s.service, formpage.Config{Clock: s.clock, BasePath: "/app/forms"}))
	mux := http.NewServeMux()
	mux.Handle("/f/", pages)
	mux.Handle("/stripped/here/", http.StripPrefix("/stripped/here", pages))
	mux.Handle("/app/forms/", deep)
	mux.Handle("/a%20caf%C3%A9%3F%23%25/", escaped)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, prefix := range []string{"/f/", "/stripped/here/", "/app/forms/", "/a%20caf%C3%A9%3F%23%25/"} {
		for _, end := range []string{"", "/"} {
			before := len(s.answers(form))
			p := s.get(server.URL + prefix + form.PublicID + end)
			sheet := p.press("stay").find(func(n *html.Node) bool { return n.Data == "link" })
			base, _ := url.Parse(p.url)
			address, err := base.Parse(attr(sheet, "href"))
			expect.That(t, err == nil && s.get(address.String()).status == http.StatusOK,
				"%s: the style sheet is not at %s", p.url, address)
			s.wait(time.Minute)
			p.press("next").about(p.url).expect(http.StatusOK, at(prefix+form.PublicID+"/done"), responses(form, before+1))
		}
	}
	soon := s.clock().Add(time.Hour)
	for _, path := range []string{
		escaped.Path(form.PublicID), expect.Must(escaped.PreviewPath(form.ID, soon)), expect.Must(escaped.EditPath(form.ID, s.respond(form, formsvc.SubmitParams{}).ID, soon)),
	} {
		s.get(server.URL+path).about(path).press("next").expect(http.StatusOK, at("/a%20caf%C3%A9%3F%23%25/"))
	}
}

// What is typed into a form that its owner takes away meanwhile is shown, to be copied; so
// are the names of the files. To all others there is no form, as if there never had been one.
func TestWhatWasTypedIsShownWhenTheFormIsGone(t *testing.T) {
	t.Parallel()
	draft := formsvc.StatusDraft
	for name, end := range map[string]func(*site, formsvc.Form) error{
		"a draft": func(s *site, form formsvc.Form) error {
			_, err := s.service.AsHost().UpdateForm(s.t.Context(), form.ID, formsvc.FormUpdate{
				Status: &draft, Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"s","type":"long_text","label":"Not yet public"}]`)},
			})
			return err
		},
		"in the trash": func(s *site, form formsvc.Form) error { return s.service.AsHost().TrashForm(s.t.Context(), form.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := newDir(t)
			s := newSite(t, formpage.Config{Files: dir, Secret: secret})
			form := s.form("MULTI", `[{"id":"s","type":"long_text","label":"Your story"},{"id":"y","type":"yes_no","label":"Yes?"},{"id":"w","type":"opinion_scale","label":"Weight","properties":{"from":0,"to":500}},{"id":"f","type":"file_upload","label":"File"}]`, "", "")
			p := s.open(form, "lang=de").attach("upload", [3]string{"u.f", "my paper.png", pngBytes}).fill("a.s", "a <long> text", "a.y", "true", "a.w", "137")
			other := s.open(s.form("MULTI", `[{"id":"o","type":"short_text"}]`, "", ""), "")
			expect.NoError(t, end(s, form))
			before := expect.Must(os.ReadDir(path))
			s.wait(30 * 24 * time.Hour) // however old the page is
			for _, got := range []*page{p.press("next"), p.attach("next", [3]string{"u.f", "another.png", pngBytes})} {
				text := got.text("fs-main")
				for _, want := range []string{"Dieses Formular ist geschlossen", "Your story", "a <long> text", "Weight", "137", "my paper.png"} {
					expect.That(t, got.status == http.StatusGone && strings.Contains(text, want),
						"%d, the page lacks %q: %s", got.status, want, text)
				}
				expect.That(t, !strings.Contains(text, "true") && !strings.Contains(got.raw, "Not yet public"),
					"the page shows what was not typed: %s", text)
			}
			if text := p.attach("next", [3]string{"u.f", "another.png", pngBytes}).text("fs-main"); !strings.Contains(text, "another.png") {
				t.Errorf("the second file is not named: %s", text)
			}
			if after, err := os.ReadDir(path); err != nil || len(after) != len(before) || len(before) == 0 {
				t.Errorf("%d entries in the place for files, %v, want %d as before", len(after), err, len(before))
			}

			absent := strings.Repeat("0", len(form.PublicID))
			ask := func(method, id, state string) string {
				r := httptest.NewRequest(method, "/f/"+id, strings.NewReader(url.Values{"state": {state}, "a.s": {"typed"}, "go": {"next"}}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				s.pages.ServeHTTP(w, r)
				body, header := w.Body.String(), fmt.Sprint(w.Header())
				if found := inPolicy.FindStringSubmatch(header); found != nil {
					body, header = strings.ReplaceAll(body, found[1], ""), strings.ReplaceAll(header, found[1], "")
				}
				return fmt.Sprint(w.Code, header, body)
			}
			state := p.values.Get("state")
			payload, signature, _ := strings.Cut(state, ".")
			for _, given := range [][2]string{
				{http.MethodGet, ""}, {http.MethodGet, state}, {http.MethodPost, ""}, {http.MethodPost, "x.y"}, {http.MethodPost, payload + "." + strings.ToUpper(signature)},
				{http.MethodPost, p.values.Get("f.f")},
			} {
				if got, want := ask(given[0], form.PublicID, given[1]), ask(given[0], absent, given[1]); got != want {
					t.Errorf("%s with %q is told from a form that never was:\n%s\n%s", given[0], given[1], got, want)
				}
			}
			// A visit to another form has no labels of this one.
			if got := ask(http.MethodPost, form.PublicID, other.values.Get("state")); strings.Contains(got, "Your story") || !strings.Contains(got, "typed") {
				t.Errorf("a visit to another form: %s", got)
			}

			// Another process, and one in which the owner had a preview of the draft.
			pages := expect.Must(formpage.New(s.service, formpage.Config{Clock: s.clock, Secret: secret}))
			s.pages = pages
			if got := ask(http.MethodPost, form.PublicID, state); !strings.Contains(got, "<dt>s</dt><dd>typed</dd>") {
				t.Errorf("another process: %s", got)
			}
			if name == "a draft" {
				preview := s.link(form.ID)[len(s.server.URL):]
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, preview, nil))
				if got := ask(http.MethodPost, form.PublicID, state); !strings.Contains(w.Body.String(), "Not yet public") || strings.Contains(got, "Not yet public") || !strings.Contains(got, "<dt>s</dt><dd>typed</dd>") {
					t.Errorf("after a preview: %s", got)
				}
			}
		})
	}
}
