package formpage_test

import (
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
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// formWith publishes a form with variables.
func (s *site) formWith(kind, blocks, variables, settings string, hidden ...string) formsvc.Form {
	s.t.Helper()
	names, _ := json.Marshal(append([]string{}, hidden...))
	d := formsvc.Definition{Blocks: json.RawMessage(blocks), Variables: json.RawMessage(variables), Settings: json.RawMessage(settings), HiddenFields: names}
	client := s.service.As(s.owner)
	form := expect.Must(client.CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A form", Type: kind, Definition: d}))
	return expect.Must(client.PublishForm(s.t.Context(), form.ID))
}

const link = `<a href="https://a.example/p?x=1&amp;y=2" target="_blank" rel="noopener">`

func TestFormatsOnAPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	const marks = `**a** _b_ [c](https://a.example/p?x=1&y=2) \\*d <i>`
	const formatted = `<strong>a</strong> <em>b</em> ` + link + `c</a> *d &lt;i&gt;`
	const plain = `a b c *d &lt;i&gt;`
	for block, want := range map[string]string{
		`"type":"short_text","label":"M"`:                                                     `<label class="fs-label" for="q1">M</label>`,
		`"type":"short_text","label":"x","description":"M"`:                                   `<p class="fs-desc" id="q1-d">M</p>`,
		`"type":"rating","label":"M"`:                                                         `<legend>M</legend>`,
		`"type":"group","label":"M","description":"M"`:                                        `<legend>M</legend><p class="fs-desc">M</p>`,
		`"type":"statement","label":"M","description":"M"`:                                    "<h2>M</h2>\n<p class=\"fs-desc\">M</p>",
		`"type":"statement","label":"M","properties":{"quotationMarks":true}`:                 `<blockquote><p>M</p></blockquote>`,
		`"type":"text","label":"M"`:                                                           `<p class="fs-text">M</p>`,
		`"type":"welcome","label":"M"`:                                                        `<h2>M</h2>`,
		`"type":"file_upload","label":"M"`:                                                    `<p class="fs-label" id="q1">M</p>`,
		`"type":"legal","label":"x","properties":{"legalText":"M","legalType":1}`:             `<span class="lbl">M</span></label>`,
		`"type":"legal","label":"x","properties":{"legalText":"M","legalType":0}`:             `<p class="fs-help" id="q1-h">M</p>`,
		`"type":"legal","label":"x","properties":{"legalText":"{{today}} M"}`:                 `{{today}} M</p>`,
		`"type":"phone","label":"M"`:                                                          `aria-label="P: Country"`,
		`"type":"yes_no","label":"M"`:                                                         `<span class="vh">: P</span>`,
		`"type":"single_choice","label":"x","choices":[{"id":"a","label":"M"}]`:               `<span class="lbl">S</span>`,
		`"type":"short_text","label":"x","properties":{"placeholderText":"M"}`:                `placeholder="S"`,
		`"type":"statement","label":"x","properties":{"buttonText":"M"}`:                      `value="next">B</button>`,
		`"type":"matrix","label":"x","matrix_rows":[{"id":"r","label":"M"}]`:                  `<legend>S</legend>`,
		`"type":"opinion_scale","label":"x","properties":{"leftLabel":true,"firstLabel":"M"}`: `<span>S</span>`,
	} {
		source := strings.NewReplacer(`&lt;`, "<", `&gt;`, ">").Replace(marks)
		p := s.open(s.form("MULTI", `[{"id":"q",`+strings.ReplaceAll(block, `"M"`, `"`+source+`"`)+`}]`, "", ""), "")
		if strings.Contains(block, "{{today}}") {
			p = s.open(s.form("MULTI", `[{"id":"q",`+strings.ReplaceAll(block, " M", " "+source)+`}]`, "", ""), "")
		}
		literal := strings.NewReplacer(`\\`, `\`, "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(source)
		want = strings.ReplaceAll(want, "M", formatted)
		for mark, text := range map[string]string{"P": plain, "S": literal, "B": strings.Replace(literal, `\*`, "*", 1)} {
			for _, end := range []string{":", "<", `"`} {
				want = strings.ReplaceAll(want, mark+end, text+end)
			}
		}
		p.about(block).expect(http.StatusOK, holds(want))
	}
	// Titles, the summary of problems and other names of questions are plain.
	p := s.open(s.form("MULTI", `[{"id":"q","type":"short_text","label":"**Your** [name](https://a.example)","required":true}]`, "", ""), "").press("next")
	p.expect(http.StatusUnprocessableEntity, holds(`<a href="#q1">Your name</a>`))
	p = s.open(s.form("MULTI", `[{"id":"q","type":"short_text","label":"Q"}]`, `{"closed":true,"closedMessage":"**Closed** since {{today}}, see [us](https://a.example)<i>"}`, ""), "?lang=de")
	p.expect(http.StatusGone, holds(`<p class="fs-desc"><strong>Closed</strong> since <bdi>3 August 2026</bdi>, see <a href="https://a.example" target="_blank" rel="noopener">us</a>&lt;i&gt;</p>`))
	p = s.get(s.link(s.draft("MULTI", `[{"id":"q","type":"number","label":"**Q** {{answers.q}}","properties":{"minVal":true}}]`, "").ID))
	p.expect(http.StatusOK, shows("fs-preview", "Q {{answers.q}}: "))
}

// every type of answer, which the next page inserts.
const inserted = `[
	{"id":"text","type":"short_text","label":"x"},{"id":"long","type":"long_text","label":"x"},{"id":"n","type":"number","label":"x"},{"id":"yes","type":"yes_no","label":"x"},
	{"id":"legal","type":"legal","label":"x"},{"id":"date","type":"date","label":"x"},{"id":"when","type":"date","label":"x","properties":{"showTimePicker":true}},
	{"id":"time","type":"time","label":"x"},{"id":"country","type":"country","label":"x"},{"id":"who","type":"contact_info","label":"x"},
	{"id":"one","type":"single_choice","label":"x","choices":[{"id":"a","label":"**A**"},{"id":"b"}],"properties":{"otherOption":true}},
	{"id":"many","type":"multiple_choice","label":"x","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
	{"id":"rank","type":"ranking","label":"x","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
	{"id":"grid","type":"matrix","label":"x","matrix_rows":[{"id":"r","label":"R"}],"matrix_columns":[{"id":"c","label":"C"}]},
	{"id":"secret","type":"short_text","label":"x","properties":{"hide":true}},{"id":"a.b","type":"short_text","label":"x"},{"id":"bad","type":"email","label":"x"},
	{"id":"off","type":"short_text","label":"x","properties":{"rule":{"show":false}}},
	{"id":"set","type":"number","label":"x","properties":{"rule":{"set":{"sum":{"+":[{"var":"answers.n"},0.2]}}}}},
	{"id":"break","type":"page_break"},{"id":"last","type":"short_text","label":"%s"}]`

func TestInsertedValues(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{}, formsvc.WithTimeZone(time.FixedZone("+14", 14*3600)))
	typed := url.Values{
		"a.text": {"**x** [a](javascript:alert(1)) <b>"}, "a.long": {"one\r\n  two"}, "a.n": {"1234.1"}, "a.yes": {"true"},
		"a.date": {"2026-02-03"}, "a.when": {"2026-02-03"}, "t.when": {"14:30"}, "z.when": {"+02:00"}, "a.time": {"09:05"}, "a.country": {"DE"},
		"p.firstName.who": {"Ann"}, "p.lastName.who": {"Lee"}, "p.country.who": {"FR"}, "a.one": {"id:a"}, "a.many": {"id:a", "id:b"},
		"k.a.rank": {"2"}, "k.b.rank": {"1"}, "r.r.grid": {"id:c"}, "a.secret": {"forged"}, "a.a.b": {"dotted"}, "a.off": {"off"}, "a.bad": {""}, "h.ref": {"R&D"}, "h.other": {"x"},
	}
	for name, want := range map[string][2]string{ // in English and German
		"answers.text":          {"**x** [a](javascript:alert(1)) &lt;b&gt;"},
		"answers.long":          {"one two"},
		"answers.n":             {"1,234.1", "1.234,1"},
		"answers.n:0":           {"1,234", "1.234"},
		"answers.n:3":           {"1,234.100", "1.234,100"},
		"answers.yes":           {"Yes", "Ja"},
		"answers.legal":         {"I do not accept", "Ich stimme nicht zu"},
		"answers.date":          {"3 February 2026", "03.02.2026"},
		"answers.when":          {"3 February 2026 14:30", "03.02.2026 14:30"},
		"answers.time":          {"09:05"},
		"answers.country":       {"Germany", "Deutschland"},
		"answers.who.firstName": {"Ann"},
		"answers.who.country":   {"France", "Frankreich"},
		"answers.who":           {"Ann, Lee, France", "Ann, Lee, Frankreich"},
		"answers.who.city":      {"-"},
		"answers.text.city":     {"-"},
		"answers.one":           {"**A**"},
		"answers.many":          {"A, B"},
		"answers.rank":          {"B, A"},
		"answers.grid":          {"-"},
		"answers.secret":        {"-"},
		"answers.a.b":           {"dotted"},
		" answers.a.b ":         {"dotted"},
		"answers.off":           {"-"},
		"answers.last":          {"-"},
		"answers.nobody":        {"-"},
		"variables.sum":         {"1,234.3", "1.234,3"},
		"variables.sum:2":       {"1,234.30", "1.234,30"},
		"variables.start:1":     {"-2.5", "-2,5"},
		"variables.word":        {"w"},
		"variables.nobody":      {"-"},
		"hidden.ref":            {"R&amp;D"},
		"hidden.other":          {"-"},
		"today":                 {"4 August 2026", "04.08.2026"}, // in the service's zone
	} {
		form := s.formWith("MULTI", strings.Replace(inserted, "%s", "({{"+name+"}})", 1), `{"sum":0,"start":-2.45,"word":"w"}`, "{}", "ref")
		for i, tag := range []string{"en", "de"} {
			p := s.openAs(form, tag)
			for input, values := range typed {
				p.values[input] = values
			}
			p.fill("a.legal", "false")
			value := "<bdi>" + want[0] + "</bdi>"
			if i == 1 && want[1] != "" {
				value = "<bdi>" + want[1] + "</bdi>"
			} else if want[0] == "-" {
				value = ""
			}
			result := p.press("next").about(name, tag).expect(http.StatusOK, holds(">("+value+")</label>"))
			live := strings.HasPrefix(name, "variables.") && name != "variables.nobody" || name == "answers.last"
			expect.Equal(t, strings.Contains(result.raw, "data-live"), live, "%s: the page follows what is typed", name)
		}
	}
}

// What is typed on a page is inserted into the texts of this page, of the button and of other pages.
func TestTextsDependOnAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.formWith("MULTI", `[{"id":"n","type":"short_text","label":"Name"},{"id":"g","type":"group","label":"Of {{answers.n}}","description":"{{answers.n}}","children":[{"id":"m","type":"number","label":"Mine"}]},
		{"id":"h","type":"heading","label":"{{answers.m}}"},{"id":"break","type":"page_break"},{"id":"q","type":"phone","label":"{{answers.n}}","required":true}]`, "{}", `{"submitLabel":"Send, **{{answers.n}}**"}`)
	p := s.open(form, "")
	p.expect(http.StatusOK, holds(" data-live", "<legend>Of </legend>", `<p class="fs-desc"></p>`, "<h2></h2>"))
	p = p.fill("a.n", `"Ann" <b>`, "a.m", "3").press("stay")
	p.expect(http.StatusOK, holds(" data-live", "<legend>Of <bdi>&#34;Ann&#34; &lt;b&gt;</bdi></legend>", "<h2><bdi>3</bdi></h2>"))
	p = p.press("next")
	p.expect(http.StatusOK, holds(`value="next">Send, **&#34;Ann&#34; &lt;b&gt;**</button>`, `aria-label="&#34;Ann&#34; &lt;b&gt;: Country"`), lacks("data-live"))
	p.press("next").expect(http.StatusUnprocessableEntity, holds(`<a href="#q6">&#34;Ann&#34; &lt;b&gt;</a>`))
	// Without a value, the question keeps a name.
	p = s.open(form, "").press("next")
	p.expect(http.StatusOK, holds(`<label class="fs-label" for="q6">Phone number<span`))
	// Rules change variables.
	const ruled = `[{"id":"n","type":"number","label":"N","properties":{"rule":{"set":{"v":{"var":"answers.n"}}}}},{"id":"t","type":"text","label":"{{variables.v:1}}"}]`
	p = s.open(s.formWith("SINGLE", ruled, `{"v":0}`, "{}"), "")
	p.expect(http.StatusOK, holds(" data-live", `<p class="fs-text"><bdi>0.0</bdi></p>`))
	p.fill("a.n", "2").press("stay").expect(http.StatusOK, holds(`<p class="fs-text"><bdi>2.0</bdi></p>`))
	p = s.open(s.formWith("SINGLE", strings.Replace(ruled, `"set"`, `"unset"`, 1), `{"v":0}`, "{}", "h"), "")
	p.about("nothing sets the variable").expect(http.StatusOK, holds(" data-reactive")) // the rule is not empty
	p = s.open(s.formWith("MULTI", `[{"id":"t","type":"text","label":"{{variables.v}} {{hidden.h}} {{today}}"}]`, `{"v":0}`, "{}", "h"), "h.h=x")
	p.expect(http.StatusOK, lacks("data-live"))
}

func TestAnEndingShowsTheStoredSubmission(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	const blocks = `[{"id":"name","type":"short_text","label":"Name"},{"id":"n","type":"number","label":"N","properties":{"rule":{"set":{"score":{"*":[{"var":"answers.n"},2]}}}}},
		{"id":"end","type":"ending","label":"Thanks, **{{answers.name}}**","description":"{{variables.score}} points","properties":{"buttonText":"{{answers.name}}","buttonLink":"https://a.example/{{answers.name}}"}}]`
	form := s.formWith("MULTI", blocks, `{"score":1}`, "{}")
	fill := func(p *page) *page { return p.fill("a.name", "Ann<b>", "a.n", "21") }
	const want, points = `<h1>Thanks, <strong><bdi>Ann&lt;b&gt;</bdi></strong></h1><p class="fs-desc">`, `<bdi>42</bdi> points</p>`
	p := fill(s.open(form, ""))
	s.wait(time.Minute)
	done := p.press("next").require(http.StatusOK, holds(want+points, `href="https://a.example/{{answers.name}}">Ann&lt;b&gt;</a>`), at("/done?"))
	expect.Equal(t, done.header.Get("Cache-Control"), "no-store", "the header")
	// The link works as long as its token, and only for its form. Others see the standard ending.
	s.get(done.url).expect(http.StatusOK, holds(points))
	address := expect.Must(url.Parse(done.url))
	other := s.formWith("MULTI", blocks, `{"score":1}`, "{}")
	for what, u := range map[string]string{
		"no token": strings.Split(done.url, "?")[0], "a broken token": strings.Replace(done.url, "sent=", "sent=x", 1),
		"another form": s.server.URL + "/f/" + other.PublicID + "/done?" + address.RawQuery,
	} {
		s.get(u).about(what).expect(http.StatusOK, lacks("Ann", points))
	}
	s.wait(8 * 24 * time.Hour)
	s.get(done.url).about("an old token").expect(http.StatusOK, lacks("Ann", points))

	// A deleted submission inserts nothing, but the variables that the form begins with.
	s.wait(time.Hour)
	p = fill(s.open(form, ""))
	p.values.Set("a.n", "4")
	s.wait(time.Minute)
	done = p.press("next").require(http.StatusOK, holds("<bdi>8</bdi> points"))
	for submission, err := range s.service.AsHost().Submissions(t.Context(), form.ID, formsvc.SubmissionQuery{}) {
		expect.NoError(t, err)
		expect.NoError(t, s.service.AsHost().DeleteSubmission(t.Context(), form.ID, submission.ID))
	}
	s.get(done.url).about("deleted").expect(http.StatusOK, holds(`<h1>Thanks, <strong></strong></h1><p class="fs-desc"><bdi>1</bdi> points</p>`))

	// Without JavaScript, the ending of a form with a redirect is the response to the page.
	direct := s.formWith("MULTI", blocks, `{"score":1}`, `{"redirectUrl":"https://b.example/"}`)
	p = fill(s.open(direct, ""))
	s.wait(time.Minute)
	p.press("next").expect(http.StatusOK, holds(want+points, `content="0;url=https://b.example/"`))

	// A preview has no submission. It shows what was typed.
	preview := s.get(s.link(form.ID))
	fill(preview).press("next").expect(http.StatusOK, holds(want+points), shows("fs-preview", "Nothing was stored"))
	fill(s.get(s.link(form.ID))).byScript().expect(http.StatusOK, holds(want+points, `data-kind="ending"`))
}

// The message of a check has formats and inserts answers. The summary is plain.
func TestMessagesOfChecks(t *testing.T) {
	t.Parallel()
	s, refuse, _ := refusing(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"q","type":"short_text","label":"**Q**"}]`, "", "")
	refuse(&formsvc.Error{Violations: []schema.Violation{{Field: "q", Path: "/answers/q", Code: "CHECK_FAILED", Message: "No {{answers.q}}", Params: map[string]any{"say": "**No** {{answers.q}}"}}}})
	p := s.open(form, "").fill("a.q", "<b>")
	s.wait(time.Minute)
	p.press("next").expect(http.StatusUnprocessableEntity, holds(`id="q1-e"><strong>No</strong> <bdi>&lt;b&gt;</bdi></p>`, `<a href="#q1">Q</a> <span>No &lt;b&gt;</span>`))
}

// Only the elements of texts come out of hostile texts and answers, wherever they are.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	c := newCosts(t)
	for _, payload := range []string{
		`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, `[x](data:text/html,<script>alert(1)</script>)`, `[x](vbscript:x)`, `[x](//a.example)`, `[x](/relative)`, `[x]( https://a.example)`,
		`[x](https://a.example"onclick="alert(1))`, `[x](https://a.example/'><script>alert(1)</script>)`, `[x](https://u:p@a.example)`, "[x](java\tscript:alert(1))", `[<img src=x onerror=alert(1)>](https://a.example)`,
		`**<script>alert(1)</script>**`, `_"><svg onload=alert(1)>_`, `{{answers.n}}`, `[{{answers.n}}](https://a.example/{{answers.n}})`, `{{hidden.h}}`, `**{{hidden.h}}`, `{{answers.<script>}}`, `{{"><script>}}`,
		`[a](https://a.example/\" onclick=alert(1))`, "[x](https://a.example)\u202e{{answers.n}}", `&lt;script&gt;`, `\<script>`, `*{{*answers.n}}`, "\u0000**\u0000**",
	} {
		raw, _ := json.Marshal(payload)
		blocks := strings.ReplaceAll(`[{"id":"n","type":"short_text","label":P,"description":P},{"id":"s","type":"statement","label":P,"description":P},{"id":"l","type":"legal","label":P,"properties":{"legalText":P,"legalType":1}},
			{"id":"r","type":"rating","label":P,"description":P},{"id":"g","type":"group","label":P,"description":P},{"id":"t","type":"text","label":P}]`, "P", strings.ReplaceAll(string(raw), `\u0000`, ""))
		form := c.stored(blocks)
		for _, answer := range []string{payload, `"><script>alert(1)</script>`, `</bdi></strong></a><img src=x onerror=alert(1)>`} {
			body := url.Values{"state": {c.state(form)}, "a.n": {answer}, "h.h": {answer}, "go": {"stay"}}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(body.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			c.pages.ServeHTTP(w, r)
			root := expect.Must(html.Parse(w.Body))
			search(root, func(n *html.Node) bool {
				switch {
				case n.Type != html.ElementNode:
				case n.Data == "script" && (attr(n, "src") == "" || !has(n, "defer")), n.Data == "img", n.Data == "svg" && has(n, "onload"):
					t.Errorf("%q with %q: an element <%s>", payload, answer, n.Data)
				case n.Data == "a" && attr(n, "target") == "_blank":
					u, err := url.Parse(attr(n, "href"))
					expect.That(t, err == nil && u.Scheme == "https" && u.Host == "a.example" && u.User == nil && attr(n, "rel") == "noopener" && len(n.Attr) == 3, "%q: %+v", payload, n.Attr)
				}
				for _, a := range n.Attr {
					expect.That(t, !strings.HasPrefix(a.Key, "on"), "%q: the attribute %s", payload, a.Key)
				}
				return false
			})
		}
	}
}

// Formats count towards the size of a page, and beyond it texts are shown without.
func TestFormatsOfALargePage(t *testing.T) {
	t.Parallel()
	c := newCosts(t)
	label := strings.Repeat("[a](https://a.example) ", 200)
	var blocks []string
	for range 400 {
		blocks = append(blocks, `{"id":"b`+string(rune('0'+len(blocks)%10))+strings.Repeat("x", len(blocks)/10)+`","type":"short_text","label":"`+label+`","description":"`+label+`"}`)
	}
	form := c.stored("[" + strings.Join(blocks, ",") + "]")
	w := httptest.NewRecorder()
	c.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	page := w.Body.String()
	expect.That(t, len(page) > 3<<20 && len(page) < 9<<19, "the page has %d bytes", len(page))
	expect.Equal(t, strings.Count(page, "<a href"), strings.Count(page, "a</a>"), "closed links")
	expect.That(t, strings.Contains(page, "fs-note"), "the page does not say that it is incomplete")
}

// A page full of marks allocates no more than others, and long answers are shortened before they are inserted.
func TestWhatMarksCost(t *testing.T) {
	c := newCosts(t)
	for name, unit := range map[string]string{
		"strong": "**a**", "emphasis": "_a_.", "links": "[a](https://a.example/x)", "unpaired": "**a ", "brackets": "[[a](", "insertions": strings.Repeat("{{answers.b0}} ", 20) + strings.Repeat("x", 4000),
	} {
		if (raceDetector || testing.Short()) && name != "emphasis" {
			continue // the others take long
		}
		label := strings.Repeat(unit, 5000/len(unit))
		var blocks []string
		for i := range 380 {
			blocks = append(blocks, fmt.Sprintf(`{"id":"b%d","type":"long_text","label":"%s","description":"%s"}`, i, label, label))
		}
		form := c.form("[" + strings.Join(blocks, ",") + "]")
		body := "state=" + c.state(form) + "&go=stay&a.b0=" + strings.Repeat("x+", 45_000)
		visit := sent{http.MethodPost, "", "application/x-www-form-urlencoded", body}
		c.serve(form, visit)
		var w *sink
		bytes := allocated(func() { w = c.serve(form, visit) })
		most := uint64(mostAllocated)
		if name == "links" { // each URL is parsed
			most += most / 2
		}
		expect.That(t, w.status == http.StatusOK && (bytes <= most || raceDetector) && w.size <= 4<<20+2*len(body),
			"%s: status %d, %d bytes sent, %d allocated", name, w.status, w.size, bytes)
	}
}

// A canvas shows formats, and the insertions as they are.
func TestTextsOfACanvas(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := publicForm(t, "SINGLE", `[{"id":"n","type":"short_text","label":"**N** {{answers.n}}","properties":{"buttonText":"To {{today}}"}},{"id":"e","type":"ending","label":"{{answers.n}}"}]`)
	p, _ := s.canvas(form)
	var b strings.Builder
	expect.NoError(t, html.Render(&b, p.root))
	for _, want := range []string{"<strong>N</strong> {{answers.n}}", ">To {{today}}<", "<h1>{{answers.n}}</h1>"} {
		expect.That(t, strings.Contains(b.String(), want), "the canvas lacks %s", want)
	}
}
