package formpage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
)

func readWords(t *testing.T, tag string) map[string]string {
	t.Helper()
	raw := must(os.ReadFile("internal/words/texts/" + tag + ".json"))
	var words map[string]string
	noError(t, json.Unmarshal(raw, &words))
	return words
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Words: map[string]map[string]string{"de-AT": {"yes": "Ja eh"}, "sv": {"yes": "Ja visst"}}})
	form := s.form("MULTI", `[{"id":"n","type":"number","properties":{"min":1.5,"minVal":true}},{"id":"y","type":"yes_no"},{"id":"c","type":"country"}]`, "", "")
	for header, want := range map[string][3]string{
		"de-DE,de;q=0.9": {"de", "Nein", "Deutschland"}, "ar": {"ar", "لا", "ألمانيا"}, "ja": {"ja", "いいえ", "ドイツ"}, "de-AT": {"de-AT", "Ja eh", "Deutschland"},
		"sv": {"sv", "Ja visst", "Tyskland"}, "tlh": {"en", "No", "Germany"}, "": {"en", "No", "Germany"}, "pt-BR": {"pt", "Não", "Alemanha"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID, nil)
		r.Header.Set("Accept-Language", header)
		p := s.do(r)
		if attr(p.find(func(n *html.Node) bool { return n.Data == "html" }), "lang") != want[0] || !strings.Contains(p.raw, want[1]) || !strings.Contains(p.raw, want[2]) {
			t.Errorf("%q: the page is not in %s", header, want)
		}
	}
	if p := s.open(form, "lang=ar"); !strings.Contains(p.raw, `dir="rtl"`) {
		t.Error("Arabic does not run from right to left")
	}
	// The language of the page, not of the request, says how numbers are read.
	p := s.open(form, "lang=de").fill("a.n", "1.234,5")
	s.wait(time.Minute)
	if end := p.press("next"); end.status != http.StatusOK || !strings.Contains(end.raw, "Vielen Dank!") {
		t.Errorf("%d %s", end.status, end.text("fs-main"))
	}
	if stored := s.answers(form); len(stored) != 1 || stored[0]["n"] != "1234.5" {
		t.Errorf("stored is %v", stored)
	}
	if p := s.open(form, "lang=de").fill("a.n", "1,25").press("next"); !strings.Contains(p.text("summary"), "1,5 oder mehr") {
		t.Errorf("the fault is %s", p.text("summary"))
	}
}

// A code without a text of its own would be shown as the English message in every language, and a
// type by its name.
func TestEveryCodeHasAText(t *testing.T) {
	t.Parallel()
	var d struct {
		Components struct {
			Schemas struct {
				ErrorDetail struct {
					Properties struct {
						Code struct {
							Words []string `json:"x-extensible-enum"`
						}
					}
				}
			}
		}
	}
	noError(t, json.Unmarshal(schema.OpenAPI(), &d))
	codes, english := d.Components.Schemas.ErrorDetail.Properties.Code.Words, readWords(t, "en")
	if len(codes) == 0 {
		t.Fatal("the description has no codes")
	}
	for _, code := range codes {
		if english["fault."+code] == "" {
			t.Errorf("there is no text fault.%s", code)
		}
	}
	for k := range schema.Kinds() {
		if k.TakesAnswer() && english["type."+k.Type] == "" {
			t.Errorf("there is no text type.%s", k.Type)
		}
	}
}

// Every language has every text with the same places in it.
func TestTheCatalogueIsWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	h := must(formpage.New(s.service, formpage.Config{}))
	english := readWords(t, "en")
	places := regexp.MustCompile(`\{\w+\}`)
	if n := len(h.Languages()); n < 10 {
		t.Errorf("%d languages, want at least 10", n)
	}
	for _, tag := range h.Languages() {
		own := readWords(t, tag)
		for key, text := range english {
			got, ok := own[key]
			if !ok || strings.TrimSpace(got) == "" {
				t.Errorf("%s lacks %s", tag, key)
				continue
			}
			for _, place := range places.FindAllString(text, -1) {
				if !strings.Contains(got, place) {
					t.Errorf("%s: %s lacks %s", tag, key, place)
				}
			}
			if len(places.FindAllString(got, -1)) != len(places.FindAllString(text, -1)) {
				t.Errorf("%s: %s has other places than the English text", tag, key)
			}
		}
		if len(own) != len(english) {
			t.Errorf("%s has %d texts, English has %d", tag, len(own), len(english))
		}
	}
}

// French has a space that does not break before the signs of two parts, other languages
// have none; an ellipsis stands apart in German alone; apostrophes are those of print.
func TestPunctuationOfLanguages(t *testing.T) {
	t.Parallel()
	faults := map[string]*regexp.Regexp{
		"fr": regexp.MustCompile(`[^\x{a0}\x{202f}\d][:;!?]|\x{202f}:|\x{a0}[;!?]|\s…|\pL'`),
		"de": regexp.MustCompile(`\s[:;!?,.]|\S…|\pL'`),
		"":   regexp.MustCompile(`\s[:;!?,.…]|\pL'`),
	}
	for _, tag := range []string{"ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt"} {
		fault := faults[""]
		if own, ok := faults[tag]; ok {
			fault = own
		}
		for key, text := range readWords(t, tag) {
			if at := fault.FindString(text); at != "" || strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
				t.Errorf("%s %s: %q in %q", tag, key, at, text)
			}
		}
	}
}

// One wish that cannot be read drops no other.
func TestLanguagesThatAreWishedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[]`, "", "")
	for header, want := range map[string]string{
		"xx,fr;q=0.1": "fr", "de-DE-1996,%%%": "de", "%%%": "en", "": "en", "en;q=0.1,%%,nl;q=0.9": "nl", strings.Repeat("%,", 10_000) + "de": "en",
	} {
		r := httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil)
		r.Header.Set("Accept-Language", header)
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), `lang="`+want+`"`) {
			t.Errorf("%.30q does not lead to %s", header, want)
		}
	}
	// The host's choice stays its choice when the page is sent.
	s = newSite(t, formpage.Config{Language: func(*http.Request, formsvc.PublicForm) string { return "de" }})
	p := s.open(s.form("MULTI", `[{"id":"a","type":"short_text","required":true}]`, "", ""), "")
	p.values.Set("lang", "ar")
	if p = p.press("next"); p.values.Get("lang") != "de" {
		t.Errorf("the page came back in %s", p.values.Get("lang"))
	}
}

// A fault says what to do. Of two there is nothing to be done.
func TestFaultsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for tag, please := range map[string]string{"en": "Please ", "de": "Bitte "} {
		for key, text := range readWords(t, tag) {
			if strings.HasPrefix(key, "fault.") && key != "fault.KNOWN" && key != "fault.UNKNOWN_FIELD" &&
				!strings.Contains(text, please) && !strings.Contains(text, strings.ToLower(please)) {
				t.Errorf("%s %s does not say what to do: %s", tag, key, text)
			}
		}
	}
}

// All digits on a page are of one kind: of questions, helps, faults, dates, sizes and
// progress.
func TestDigitsAreOfOneKind(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", strings.Replace(every, `"label":"Date"}`, `"label":"Date","properties":{"afterDate":"2026-01-02T00:00:00Z","disabledDays":3}}`, 1),
		`{"numberedQuestions":true,"navigation":true,"progressBar":true}`, "")
	p := s.open(form, "lang=ar")
	faults := p.fill("a.number", "123456", "a.date", "2025-01-01", "a.long", strings.Repeat("x", 101)).press("next")
	if faults.status != http.StatusUnprocessableEntity {
		t.Fatalf("%d", faults.status)
	}
	digits := regexp.MustCompile(`\p{Nd}`)
	for name, page := range map[string]*page{"plain": p, "with faults": faults, "the last": s.open(form, "lang=ar").fill("a.short", "x", "a.legal", "true").press("next")} {
		kinds := map[rune]string{}
		text := page.text("fs-main")
		for _, d := range digits.FindAllString(text, -1) {
			kinds[[]rune(d)[0]&^15] += d
		}
		if len(kinds) != 1 || !strings.Contains(text, "2") {
			t.Errorf("%s: digits %q of %s", name, kinds, text)
		}
	}
}

// Where the name of the family comes first, it is asked for first.
func TestNamesAreInTheOrderOfTheLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Words: map[string]map[string]string{"hu": {"part.lastName": "Vezetéknév"}}})
	form := s.form("MULTI", `[{"id":"c","type":"contact_info","properties":{"addressOrContact":{"lastName":{"required":true}}}}]`, "", "")
	for tag, want := range map[string]string{"en": "given-name family-name email", "ja": "family-name given-name email", "hu": "family-name given-name email"} {
		p := s.open(form, "lang="+tag)
		var order []string
		p.each(func(n *html.Node) {
			if complete := attr(n, "autocomplete"); n.Data == "input" && strings.HasPrefix(attr(n, "name"), "p.") && len(order) < 3 {
				order = append(order, complete)
			}
		})
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
	p := s.open(form, "lang=ja").fill("p.firstName.c", "花子")
	if again := p.press("next"); !strings.Contains(again.text("summary"), "姓 入力してください") {
		t.Errorf("the fault stands at another part: %s", again.text("summary"))
	}
	if end := p.fill("p.lastName.c", "山田").press("next"); end.status != http.StatusOK || s.answers(form)[0]["c"] != `{"firstName":"花子","lastName":"山田"}` {
		t.Errorf("%d, stored is %v", end.status, s.answers(form))
	}
}
