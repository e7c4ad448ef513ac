// Package words contains the texts of form pages in every language. It also formats numbers, dates and
// country names for each language.
package words

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

//go:embed texts/*.json
var files embed.FS

// Words are the page's own texts in one language.
type Words struct {
	Tag          string
	Region       string       // of the visitor, "" when it is not known
	Locale       language.Tag // the tag with the region: how numbers are written
	Direction    string
	Texts        map[string]string
	printer      *message.Printer
	Comma        bool          // numbers have a decimal comma
	Countries    func() string // made when it is first asked for
	CallingCodes func() string // the same: countries with the codes of their phone numbers
	codes        func() map[string]string
}

// Catalogue has the words of all languages.
type Catalogue struct {
	list    []*Words // English first: the matcher's fallback
	matcher language.Matcher
}

// NewCatalogue reads the languages of this package and the texts that a host adds to
// them.
func NewCatalogue(more map[string]map[string]string) (Catalogue, error) {
	list, _ := files.ReadDir("texts") // is embedded, and so are its files
	texts := map[string]map[string]string{}
	for _, file := range list {
		raw, _ := files.ReadFile("texts/" + file.Name())
		own := map[string]string{}
		if err := json.Unmarshal(raw, &own); err != nil {
			return Catalogue{}, fmt.Errorf("%s: %w", file.Name(), err)
		}
		texts[strings.TrimSuffix(file.Name(), ".json")] = own
	}
	english := texts["en"]
	for tag, own := range more {
		parsed, err := language.Parse(tag)
		if err != nil {
			return Catalogue{}, fmt.Errorf("Config.Translations: %q is not a language tag", tag)
		}
		for key := range own {
			if _, known := english[key]; !known {
				return Catalogue{}, fmt.Errorf("Config.Translations: %s: unknown key %q", tag, key)
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
	var c Catalogue
	var parsed []language.Tag
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(tag string) bool { return tag == "en" })
	for _, tag := range append([]string{"en"}, others...) {
		t := language.Make(tag)
		parsed = append(parsed, t)
		// A page has one kind of digits: dates, phone numbers and the script use the same.
		numbers, _ := t.SetTypeForKey("nu", "latn") // the key and the type exist
		own := maps.Clone(texts["en"])              // for texts that a host's language lacks
		maps.Copy(own, texts[tag])
		c.list = append(c.list, &Words{
			Tag: tag, Locale: t, Direction: direction(t), Texts: own, Comma: HasDecimalComma(t),
			printer:      message.NewPrinter(numbers),
			Countries:    sync.OnceValue(func() string { return countryOptions(t, false) }),
			CallingCodes: sync.OnceValue(func() string { return countryOptions(t, true) }),
			codes:        sync.OnceValue(func() map[string]string { return countriesByName(t) }),
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

// Tags are the tags of the languages, English first.
func (c Catalogue) Tags() []string {
	var tags []string
	for _, w := range c.list {
		tags = append(tags, w.Tag)
	}
	return tags
}

// Choose returns the words of a page in the wished language ("" for none), else in a
// language of an Accept-Language.
func (c Catalogue) Choose(wish, accept string) *Words {
	tags := parseAcceptLanguage(accept)
	if wish != "" {
		w := c.ByTag(wish, c.list[0])
		if w.Region == "" && len(tags) > 0 {
			own, _ := w.Locale.Base()
			if theirs, _ := tags[0].Base(); own == theirs { // who chose a language is still where they are
				return w.inRegion(regionOf(tags[0]))
			}
		}
		return w
	}
	if len(tags) == 0 {
		return c.list[0]
	}
	_, i, confidence := c.matcher.Match(tags...)
	if confidence == language.No {
		i = 0
	}
	return c.list[i].inRegion(regionOf(tags[0]))
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

// inRegion returns the words as they are in a region: a Swiss writes other numbers than a German.
func (w *Words) inRegion(region string) *Words {
	parsed, err := language.ParseRegion(region)
	if err != nil {
		return w
	}
	own := *w
	own.Region = parsed.String()
	own.Locale, _ = language.Compose(w.Locale, parsed) // both are tags already
	if comma := HasDecimalComma(own.Locale); comma != w.Comma {
		own.Comma, own.printer = comma, message.NewPrinter(own.Locale)
	}
	return &own
}

// parseAcceptLanguage are the languages of an Accept-Language, the dearest first. One that cannot be
// read does not count, and drops no other.
func parseAcceptLanguage(header string) []language.Tag {
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

// ByTag returns the words of the language that is nearest to a tag, in the tag's region.
func (c Catalogue) ByTag(tag string, fallback *Words) *Words {
	parsed, err := language.Parse(tag)
	if err != nil {
		return fallback
	}
	_, i, confidence := c.matcher.Match(parsed)
	if confidence == language.No {
		return fallback.inRegion(regionOf(parsed))
	}
	return c.list[i].inRegion(regionOf(parsed))
}

// Get returns a text, its {places} filled with the parameters: names and values in
// turn. Numbers are written as the language does.
func (w *Words) Get(key string, params ...any) string {
	text := w.Texts[key]
	for i := 0; i+1 < len(params); i += 2 {
		name, _ := params[i].(string)
		text = strings.ReplaceAll(text, "{"+name+"}", w.formatValue(params[i+1]))
	}
	return text
}

// Weekdays names days of the week, 0 is Sunday.
func (w *Words) Weekdays(days []int) string {
	var names []string
	for _, day := range days {
		names = append(names, w.Get("weekday."+strconv.Itoa(day)))
	}
	return w.List(names)
}

// List joins names or days as the language does.
func (w *Words) List(items []string) string {
	between := strings.TrimSuffix(strings.TrimPrefix(w.Get("list"), "{a}"), "{b}")
	return strings.Join(items, between)
}

func (w *Words) formatValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return w.Number(strconv.Itoa(v))
	case float64:
		return w.Number(FormatPlain(v))
	case json.Number:
		return w.Number(string(v))
	}
	return fmt.Sprint(v)
}

// Number writes a plain decimal number as the language does. One of three digits is the same
// in all of them.
func (w *Words) Number(plain string) string {
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

// FormatPlain writes a number without the traces of its binary fraction.
func FormatPlain(n float64) string {
	return strconv.FormatFloat(math.Round(n*1e9)/1e9, 'f', -1, 64)
}

// Date writes a day as the language does, "" when it is not a day.
func (w *Words) Date(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.Format(w.Get("date.layout"))
}

// HasDecimalComma reports whether a language has a decimal comma, in the region of the tag.
func HasDecimalComma(t language.Tag) bool {
	return strings.Contains(message.NewPrinter(t).Sprint(number.Decimal(1.5)), ",")
}

// Megabytes is a number of bytes as a person is told it, rounded down where that leaves
// something.
func Megabytes(bytes int64) float64 {
	n := float64(bytes) / (1 << 20)
	if n >= 1 {
		return math.Floor(n)
	}
	return max(0.01, math.Floor(n*100)/100)
}

// BoundsSuffix is how the keys of the texts on bounds end, "" where there are none.
func BoundsSuffix(low, high bool) string {
	switch {
	case low && high:
		return "between"
	case low:
		return "min"
	case high:
		return "max"
	}
	return ""
}
