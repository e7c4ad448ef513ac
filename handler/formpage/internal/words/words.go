// Package words holds the form pages' texts in every language, and formats numbers, dates and country names.
package words

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
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

// Words holds a page's texts in one language.
type Words struct {
	Tag          string
	Region       string       // The respondent's region. Empty if unknown.
	Locale       language.Tag // The tag with the region, for number formats.
	Direction    string
	Texts        map[string]string
	printer      *message.Printer
	Comma        bool          // Whether the decimal separator is a comma.
	Countries    func() string // The HTML options for all countries.
	CallingCodes func() string // The HTML options for all calling codes.
	codes        func() map[string]string
}

// Catalog holds the texts in all languages.
type Catalog struct {
	list    []*Words // English comes first, because the matcher falls back to the first language.
	matcher language.Matcher
}

// NewCatalog loads this package's languages and the host's translations.
func NewCatalog(more map[string]map[string]string) (Catalog, error) {
	list, _ := files.ReadDir("texts") // The directory is embedded.
	texts := map[string]map[string]string{}
	for _, file := range list {
		raw, _ := files.ReadFile("texts/" + file.Name())
		own := map[string]string{}
		if err := json.Unmarshal(raw, &own); err != nil {
			return Catalog{}, fmt.Errorf("%s: %w", file.Name(), err)
		}
		texts[strings.TrimSuffix(file.Name(), ".json")] = own
	}
	english := texts["en"]
	for tag, own := range more {
		parsed, err := language.Parse(tag)
		if err != nil {
			return Catalog{}, fmt.Errorf("Config.Translations: %q is not a language tag", tag)
		}
		for key := range own {
			if _, known := english[key]; !known {
				return Catalog{}, fmt.Errorf("Config.Translations: %s: unknown key %q", tag, key)
			}
		}
		// A language variant inherits the texts that it does not define.
		base, _ := parsed.Base()
		merged := map[string]string{}
		maps.Copy(merged, texts[base.String()])
		maps.Copy(merged, texts[parsed.String()])
		maps.Copy(merged, own)
		texts[parsed.String()] = merged
	}
	var c Catalog
	var parsed []language.Tag
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(tag string) bool { return tag == "en" })
	for _, tag := range append([]string{"en"}, others...) {
		t := language.Make(tag)
		parsed = append(parsed, t)
		// Dates, phone numbers and the script use Latin digits, so all numbers must use them too.
		numbers, _ := t.SetTypeForKey("nu", "latn") // The key and the type are valid.
		own := maps.Clone(texts["en"])              // The fallback for missing texts.
		maps.Copy(own, texts[tag])
		c.list = append(c.list, &Words{
			Tag: tag, Locale: t, Direction: textDirection(t), Texts: own, Comma: HasDecimalComma(t),
			printer:      message.NewPrinter(numbers),
			Countries:    sync.OnceValue(func() string { return countryOptions(t, false) }),
			CallingCodes: sync.OnceValue(func() string { return countryOptions(t, true) }),
			codes:        sync.OnceValue(func() map[string]string { return countriesByName(t) }),
		})
	}
	c.matcher = language.NewMatcher(parsed)
	return c, nil
}

func textDirection(t language.Tag) string {
	script, _ := t.Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}

// Tags returns the language tags, English first.
func (c Catalog) Tags() []string {
	var tags []string
	for _, w := range c.list {
		tags = append(tags, w.Tag)
	}
	return tags
}

// Choose returns the texts in the language wish or, if wish is empty, in the best match for the Accept-Language header.
func (c Catalog) Choose(wish, accept string) *Words {
	tags := parseAcceptLanguage(accept)
	if wish != "" {
		w := c.ByTag(wish, c.list[0])
		if w.Region == "" && len(tags) > 0 {
			own, _ := w.Locale.Base()
			if theirs, _ := tags[0].Base(); own == theirs { // A language chosen by the host or the URL does not change the region.
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

func regionOf(t language.Tag) string {
	if override := t.TypeForKey("rg"); len(override) > 2 {
		return strings.ToUpper(override[:2])
	}
	if region, confidence := t.Region(); confidence == language.Exact {
		return region.String()
	}
	return ""
}

// inRegion returns the texts with a region's formats. For example, numbers are written differently in Switzerland and
// Germany.
func (w *Words) inRegion(region string) *Words {
	parsed, err := language.ParseRegion(region)
	if err != nil {
		return w
	}
	own := *w
	own.Region = parsed.String()
	own.Locale, _ = language.Compose(w.Locale, parsed) // Both parts are valid.
	if comma := HasDecimalComma(own.Locale); comma != w.Comma {
		own.Comma, own.printer = comma, message.NewPrinter(own.Locale)
	}
	return &own
}

// parseAcceptLanguage returns the valid languages in an Accept-Language header, in order of preference.
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

// ByTag returns the texts in the language closest to a tag, with the formats of the tag's region.
func (c Catalog) ByTag(tag string, fallback *Words) *Words {
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

// Get returns a text. It replaces {placeholders} with params, pairs of names and values, and formats numbers.
func (w *Words) Get(key string, params ...any) string {
	text := w.Texts[key]
	for i := 0; i+1 < len(params); i += 2 {
		name, _ := params[i].(string)
		text = strings.ReplaceAll(text, "{"+name+"}", w.formatValue(params[i+1]))
	}
	return text
}

// FormatWeekdays returns a list of weekday names. 0 is Sunday.
func (w *Words) FormatWeekdays(days []int) string {
	var names []string
	for _, day := range days {
		names = append(names, w.Get("weekday."+strconv.Itoa(day)))
	}
	return w.JoinList(names)
}

// JoinList joins items into a list, as the language writes it.
func (w *Words) JoinList(items []string) string {
	between := strings.TrimSuffix(strings.TrimPrefix(w.Get("list"), "{a}"), "{b}")
	return strings.Join(items, between)
}

func (w *Words) formatValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return w.FormatNumber(strconv.Itoa(v))
	case float64:
		return w.FormatNumber(FormatPlain(v))
	case json.Number:
		return w.FormatNumber(string(v))
	}
	return fmt.Sprint(v)
}

// FormatNumber formats a decimal number for the language. Numbers of up to three digits look the same in every
// language.
func (w *Words) FormatNumber(plain string) string {
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

// Decimal formats a number for the language, with a number of decimals, or the fewest that are needed if decimals is
// negative. A number that is not whole has at most 15 digits, so that 0.1 + 0.2 becomes 0.3.
func (w *Words) Decimal(n float64, decimals int) string {
	plain := strconv.FormatFloat(n, 'f', -1, 64)
	if n != math.Trunc(n) {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64) // it was formatted
		plain = strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	if exact, ok := new(big.Rat).SetString(plain); ok && decimals >= 0 {
		plain = exact.FloatString(decimals)
	}
	if strings.Trim(plain, "-0.") == "" {
		plain = strings.TrimPrefix(plain, "-")
	}
	return w.FormatNumber(plain)
}

// FormatPlain formats a number without the rounding errors that binary fractions cause.
func FormatPlain(n float64) string {
	return strconv.FormatFloat(math.Round(n*1e9)/1e9, 'f', -1, 64)
}

// Isolate encloses a text of unknown direction, so that it does not change the direction of the text around it.
func Isolate(text string) string { return "\u2068" + text + "\u2069" }

// FormatDate formats a date for the language. It returns "" if day is not a valid date.
func (w *Words) FormatDate(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.Format(w.Get("date.layout"))
}

// HasDecimalComma reports whether numbers have a decimal comma in a tag's language and region.
func HasDecimalComma(t language.Tag) bool {
	return strings.Contains(message.NewPrinter(t).Sprint(number.Decimal(1.5)), ",")
}

// ToMegabytes converts a size to megabytes for display. It rounds down, but never to zero.
func ToMegabytes(bytes int64) float64 {
	n := float64(bytes) / (1 << 20)
	if n >= 1 {
		return math.Floor(n)
	}
	return max(0.01, math.Floor(n*100)/100)
}

// BoundsSuffix returns the key suffix for texts about a minimum and a maximum, or "" if there are no limits.
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
