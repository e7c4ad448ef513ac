package words

import (
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"

	"github.com/formsvc/formsvc/internal/answers/answertype"
)

// countryOptions returns the HTML options for all countries, sorted for the language. If calling is true, it
// returns only countries that have a calling code, and includes the code.
func countryOptions(tag language.Tag, calling bool) string {
	namer, by := display.Regions(tag), collate.New(tag)
	names := map[string]string{}
	codes := slices.Clone(answertype.Countries())
	for _, code := range codes {
		names[code] = cmp.Or(namer.Name(language.MustParseRegion(code)), code)
	}
	slices.SortFunc(codes, func(x, y string) int { return by.CompareString(names[x], names[y]) })
	var b strings.Builder
	for _, code := range codes {
		name := names[code]
		if calling {
			_, number := answertype.LookupPhoneCountry(code)
			if number == 0 {
				continue
			}
			name += " \u2066+" + strconv.Itoa(number) + "\u2069"
		}
		b.WriteString(`<option value="` + code + `">` + html.EscapeString(name) + "</option>")
	}
	return b.String()
}

// CountryName returns the name of a country in the page's language. It returns any other text unchanged.
func (w *Words) CountryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	return cmp.Or(display.Regions(language.Make(w.Tag)).Name(region), code)
}

// CountryCode finds a country by its code, or by its name in English or in the page's language. It returns any other
// text unchanged.
func (w *Words) CountryCode(text string) string {
	if code, ok := answertype.CountryCode(strings.ToUpper(strings.TrimSpace(text))); ok {
		return code
	}
	return cmp.Or(w.codes()[countryKey(text)], text)
}

// countryKey returns the same key for spellings that differ only in case, accents, spaces or punctuation.
func countryKey(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) {
			return unicode.ToLower(c)
		}
		return -1 // Drop accents, spaces and punctuation.
	}, norm.NFD.String(name))
}

func countriesByName(tag language.Tag) map[string]string {
	byName := map[string]string{}
	for _, in := range []language.Tag{language.English, tag} {
		namer := display.Regions(in)
		for _, code := range answertype.Countries() {
			byName[countryKey(namer.Name(language.MustParseRegion(code)))] = code
		}
	}
	return byName
}
