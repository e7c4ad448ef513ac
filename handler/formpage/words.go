package formpage

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
)

//go:embed words/*.json
var wordFiles embed.FS

// words are the page's own texts in one language.
type words struct {
	tag       string
	region    string       // of the visitor, "" when it is not known
	locale    language.Tag // the tag with the region: how numbers are written
	direction string
	texts     map[string]string
	printer   *message.Printer
	comma     bool          // numbers have a decimal comma
	countries func() string // made when it is first asked for
	callers   func() string // the same: countries with the codes of their phone numbers
}

// catalogue has the words of all languages.
type catalogue struct {
	list    []*words // English first: the matcher's fallback
	matcher language.Matcher
}

// newCatalogue reads the languages of this package and what a host adds to them.
func newCatalogue(more map[string]map[string]string) (catalogue, error) {
	files, err := wordFiles.ReadDir("words")
	if err != nil {
		return catalogue{}, err
	}
	texts := map[string]map[string]string{}
	for _, file := range files {
		raw, err := wordFiles.ReadFile("words/" + file.Name())
		own := map[string]string{}
		if err == nil {
			err = json.Unmarshal(raw, &own)
		}
		if err != nil {
			return catalogue{}, fmt.Errorf("%s: %w", file.Name(), err)
		}
		texts[strings.TrimSuffix(file.Name(), ".json")] = own
	}
	english := texts["en"]
	for tag, own := range more {
		parsed, err := language.Parse(tag)
		if err != nil {
			return catalogue{}, fmt.Errorf("in Words, %q is not a language tag", tag)
		}
		for key := range own {
			if _, known := english[key]; !known {
				return catalogue{}, fmt.Errorf("in Words, %s: there is no text with the key %q", tag, key)
			}
		}
		// A variant of a language has the words of the language where it adds none.
		base, _ := parsed.Base()
		merged := map[string]string{}
		maps.Copy(merged, texts[base.String()])
		maps.Copy(merged, texts[parsed.String()])
		maps.Copy(merged, own)
		texts[parsed.String()] = merged
	}
	var c catalogue
	var parsed []language.Tag
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(tag string) bool { return tag == "en" })
	for _, tag := range append([]string{"en"}, others...) {
		t := language.Make(tag)
		parsed = append(parsed, t)
		// One kind of digits on a page: those of dates, of phone numbers and of the script.
		numbers, _ := t.SetTypeForKey("nu", "latn") // the key and the type exist
		own := maps.Clone(texts["en"])              // for what a host's language lacks
		maps.Copy(own, texts[tag])
		c.list = append(c.list, &words{
			tag: tag, locale: t, direction: direction(t), texts: own, printer: message.NewPrinter(numbers), comma: writesComma(t),
			countries: sync.OnceValue(func() string { return countryOptions(t, false) }),
			callers:   sync.OnceValue(func() string { return countryOptions(t, true) }),
		})
	}
	c.matcher = language.NewMatcher(parsed)
	return c, nil
}

// direction is "rtl" for the scripts that are written from right to left.
func direction(t language.Tag) string {
	script, _ := t.Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}

// Languages returns the tags of the languages that pages can be shown in, English
// first.
func (h *Handler) Languages() []string {
	var tags []string
	for _, w := range h.words.list {
		tags = append(tags, w.tag)
	}
	return tags
}

// language chooses the words of a page: the host's choice, the address's, the
// visitor's.
func (h *Handler) language(r *http.Request, form formsvc.PublicForm) *words {
	wish := ""
	if h.config.Language != nil {
		wish = h.config.Language(r, form)
	}
	query, _ := pairs(r.URL.RawQuery, spareInputs)
	wish = cmp.Or(wish, query.Get(ctrlLanguage))
	tags := wishes(r.Header.Get("Accept-Language"))
	if wish != "" {
		w := h.words.byTag(wish, h.words.list[0])
		if w.region == "" && len(tags) > 0 {
			own, _ := w.locale.Base()
			if theirs, _ := tags[0].Base(); own == theirs { // who chose a language is still where they are
				return w.in(regionOf(tags[0]))
			}
		}
		return w
	}
	if len(tags) == 0 {
		return h.words.list[0]
	}
	_, i, confidence := h.words.matcher.Match(tags...)
	if confidence == language.No {
		i = 0
	}
	return h.words.list[i].in(regionOf(tags[0]))
}

// regionOf returns the region that a tag names, "" when it names none.
func regionOf(t language.Tag) string {
	if override := t.TypeForKey("rg"); len(override) > 2 {
		return strings.ToUpper(override[:2])
	}
	if region, confidence := t.Region(); confidence == language.Exact {
		return region.String()
	}
	return ""
}

// in returns the words as they are in a region: a Swiss writes other numbers than a German.
func (w *words) in(region string) *words {
	parsed, err := language.ParseRegion(region)
	if err != nil {
		return w
	}
	own := *w
	own.region = parsed.String()
	own.locale, _ = language.Compose(w.locale, parsed) // both are tags already
	if comma := writesComma(own.locale); comma != w.comma {
		own.comma, own.printer = comma, message.NewPrinter(own.locale)
	}
	return &own
}

// wishes are the languages of an Accept-Language, the dearest first. One that cannot be
// read does not count, and drops no other.
func wishes(header string) []language.Tag {
	if len(header) > 1000 {
		header = header[:1000]
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err == nil {
		return tags
	}
	var readable []string
	for wish := range strings.SplitSeq(header, ",") {
		if _, _, err := language.ParseAcceptLanguage(wish); err == nil {
			readable = append(readable, wish)
		}
	}
	tags, _, _ = language.ParseAcceptLanguage(strings.Join(readable, ","))
	return tags
}

// byTag returns the words of the language that is nearest to a tag, in the tag's region.
func (c catalogue) byTag(tag string, fallback *words) *words {
	parsed, err := language.Parse(tag)
	if err != nil {
		return fallback
	}
	_, i, confidence := c.matcher.Match(parsed)
	if confidence == language.No {
		return fallback.in(regionOf(parsed))
	}
	return c.list[i].in(regionOf(parsed))
}

// get returns a text, its {places} filled with the parameters: names and values in
// turn. Numbers are written as the language does.
func (w *words) get(key string, params ...any) string {
	text := w.texts[key]
	for i := 0; i+1 < len(params); i += 2 {
		name, _ := params[i].(string)
		text = strings.ReplaceAll(text, "{"+name+"}", w.value(params[i+1]))
	}
	return text
}

// weekdays names days of the week, 0 is Sunday.
func (w *words) weekdays(days []int) string {
	var names []string
	for _, day := range days {
		names = append(names, w.get("weekday."+strconv.Itoa(day)))
	}
	return w.list(names)
}

// list joins names or days as the language does.
func (w *words) list(items []string) string {
	between := strings.TrimSuffix(strings.TrimPrefix(w.get("list"), "{a}"), "{b}")
	return strings.Join(items, between)
}

func (w *words) value(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return w.number(strconv.Itoa(v))
	case float64:
		return w.number(plain.Number(v))
	case json.Number:
		return w.number(string(v))
	}
	return fmt.Sprint(v)
}

// number writes a plain decimal number as the language does. One of three digits is the same
// in all of them.
func (w *words) number(plain string) string {
	if len(plain) <= 3 && strings.Trim(plain, "0123456789") == "" && (len(plain) == 1 || !strings.HasPrefix(plain, "0")) {
		return plain
	}
	n, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return plain
	}
	_, fraction, _ := strings.Cut(plain, ".")
	return w.printer.Sprint(number.Decimal(n, number.MaxFractionDigits(len(fraction)), number.MinFractionDigits(len(fraction))))
}

// date writes a day as the language does, "" when it is not a day.
func (w *words) date(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.Format(w.get("date.layout"))
}
