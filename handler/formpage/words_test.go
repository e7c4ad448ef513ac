package formpage_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func readWords(t *testing.T, tag string) map[string]string {
	t.Helper()
	raw := expect.Must(os.ReadFile("internal/words/texts/" + tag + ".json"))
	var words map[string]string
	expect.NoError(t, json.Unmarshal(raw, &words))
	return words
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Translations: map[string]map[string]string{"de-AT": {"yes": "Ja eh"}, "sv": {"yes": "Ja visst"}}})
	form := s.form("MULTI", `[{"id":"n","type":"number","properties":{"min":1.5,"minVal":true}},{"id":"y","type":"yes_no"},{"id":"c","type":"country"}]`, "", "")
	for header, want := range map[string][3]string{
		"de-DE,de;q=0.9": {"de", "Nein", "Deutschland"}, "ar": {"ar", "لا", "ألمانيا"}, "ja": {"ja", "いいえ", "ドイツ"}, "de-AT": {"de-AT", "Ja eh", "Deutschland"},
		"sv": {"sv", "Ja visst", "Tyskland"}, "tlh": {"en", "No", "Germany"}, "": {"en", "No", "Germany"}, "pt-BR": {"pt", "Não", "Alemanha"},
		// One wish that cannot be read drops no other.
		"xx,fr;q=0.1": {"fr", "Non", "Allemagne"}, "de-DE-1996,%%%": {"de", "Nein", "Deutschland"}, "%%%": {"en", "No", "Germany"},
		"en;q=0.1,%%,nl;q=0.9": {"nl", "Nee", "Duitsland"}, strings.Repeat("%,", 10_000) + "de": {"en", "No", "Germany"},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID, nil)
		r.Header.Set("Accept-Language", header)
		p := s.do(r)
		if attr(p.find(func(n *html.Node) bool { return n.Data == "html" }), "lang") != want[0] || !strings.Contains(p.raw, want[1]) || !strings.Contains(p.raw, want[2]) {
			t.Errorf("%q: the page is not in %s", header, want)
		}
	}
	s.open(form, "lang=ar").about("Arabic does not run from right to left").expect(anyStatus, holds(`dir="rtl"`))
	// The language of the page, not of the request, says how numbers are read.
	p := s.open(form, "lang=de").fill("a.n", "1.234,5")
	s.wait(time.Minute)
	p.press("next").expect(http.StatusOK, holds("Vielen Dank!"))
	s.stores(form, "n", "1234.5")
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
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &d))
	codes, english := d.Components.Schemas.ErrorDetail.Properties.Code.Words, readWords(t, "en")
	expect.Require(t, len(codes) != 0, "the description has no codes")
	for _, code := range codes {
		expect.That(t, english["error."+code] != "", "internal/words/texts/en.json has no text error.%s", code)
	}
	for k := range schema.BlockTypes() {
		expect.That(t, !k.TakesAnswer() || english["type."+k.Type] != "", "there is no text type.%s", k.Type)
	}
}

// Every language has every text with the same places in it.
func TestTheCatalogueIsWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	h := expect.Must(formpage.New(s.service, formpage.Config{}))
	english := readWords(t, "en")
	places := regexp.MustCompile(`\{\w+\}`)
	n := len(h.Languages())
	expect.That(t, n >= 10, "%d languages, want at least 10", n)
	for _, tag := range h.Languages() {
		own := readWords(t, tag)
		for key, text := range english {
			got, ok := own[key]
			if !ok || strings.TrimSpace(got) == "" {
				t.Errorf("%s lacks %s", tag, key)
				continue
			}
			for _, place := range places.FindAllString(text, -1) {
				expect.That(t, strings.Contains(got, place), "%s: %s lacks %s", tag, key, place)
			}
			expect.That(t, len(places.FindAllString(got, -1)) == len(places.FindAllString(text, -1)),
				"%s: %s has other places than the English text", tag, key)
		}
		expect.That(t, len(own) == len(english), "%s has %d texts, English has %d", tag, len(own), len(english))
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

// The host's choice stays its choice when the page is sent.
func TestLanguagesThatAreWishedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Language: func(*http.Request, formsvc.PublicForm) string { return "de" }})
	p := s.open(s.form("MULTI", `[{"id":"a","type":"short_text","required":true}]`, "", ""), "")
	p.values.Set("lang", "ar")
	p.press("next").about("the page that came back").expect(anyStatus, value("lang", "de"))
}

// A fault says what to do. Of two there is nothing to be done.
func TestFaultsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for tag, please := range map[string]string{"en": "Please ", "de": "Bitte "} {
		for key, text := range readWords(t, tag) {
			if strings.HasPrefix(key, "error.") && key != "error.KNOWN" && key != "error.UNKNOWN_FIELD" &&
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
	faults.require(http.StatusUnprocessableEntity)
	digits := regexp.MustCompile(`\p{Nd}`)
	for name, page := range map[string]*page{"plain": p, "with faults": faults, "the last": s.open(form, "lang=ar").fill("a.short", "x", "a.legal", "true").press("next")} {
		kinds := map[rune]string{}
		text := page.text("fs-main")
		for _, d := range digits.FindAllString(text, -1) {
			kinds[[]rune(d)[0]&^15] += d
		}
		expect.That(t, len(kinds) == 1 && strings.Contains(text, "2"), "%s: digits %q of %s", name, kinds, text)
	}
}

// Where the name of the family comes first, it is asked for first.
func TestNamesAreInTheOrderOfTheLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Translations: map[string]map[string]string{"hu": {"part.lastName": "Vezetéknév"}}})
	form := s.form("MULTI", `[{"id":"c","type":"contact_info","properties":{"addressOrContact":{"lastName":{"required":true}}}}]`, "", "")
	for tag, want := range map[string]string{"en": "given-name family-name email", "ja": "family-name given-name email", "hu": "family-name given-name email"} {
		p := s.open(form, "lang="+tag)
		var order []string
		p.each(func(n *html.Node) {
			if complete := attr(n, "autocomplete"); n.Data == "input" && strings.HasPrefix(attr(n, "name"), "p.") && len(order) < 3 {
				order = append(order, complete)
			}
		})
		expect.Equal(t, strings.Join(order, " "), want, "%v", tag)
	}
	p := s.open(form, "lang=ja").fill("p.firstName.c", "花子")
	p.press("next").about("the fault of the part").expect(anyStatus, shows("summary", "姓 入力してください"))
	if end := p.fill("p.lastName.c", "山田").press("next"); end.status != http.StatusOK || s.answers(form)[0]["c"] != `{"firstName":"花子","lastName":"山田"}` {
		t.Errorf("%d, stored is %v", end.status, s.answers(form))
	}
}
