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

	"github.com/formsvc/formsvc/handler/formpage"
)

func readWords(t *testing.T, tag string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("words/" + tag + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var words map[string]string
	if err := json.Unmarshal(raw, &words); err != nil {
		t.Fatal(err)
	}
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

// Every language has every text with the same places in it.
func TestTheCatalogueIsWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	h, err := formpage.New(s.service, formpage.Config{})
	if err != nil {
		t.Fatal(err)
	}
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
	s = newSite(t, formpage.Config{Language: func(*http.Request, formpage.PublicForm) string { return "de" }})
	p := s.open(s.form("MULTI", `[{"id":"a","type":"short_text","required":true}]`, "", ""), "")
	p.values.Set("lang", "ar")
	if p = p.press("next"); p.values.Get("lang") != "de" {
		t.Errorf("the page came back in %s", p.values.Get("lang"))
	}
}
