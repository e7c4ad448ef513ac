package formpage

import (
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/formsvc/formsvc/internal/answers"
)

// countries are the options of a country field in the language's order, as HTML: 250 of
// them through a template would cost more than the rest of a page.
func (b *builder) countries(list, name, preset string) string {
	chosen := strings.ToUpper(strings.TrimSpace(b.value(name)))
	if len(b.posted(name)) == 0 {
		chosen = strings.ToUpper(preset)
	}
	if chosen == "" {
		return list
	}
	value := `value="` + html.EscapeString(chosen) + `"`
	if strings.Contains(list, value) {
		list = strings.Replace(list, value, value+" selected", 1)
	} else { // typed elsewhere; the service says what is wrong
		list += "<option " + value + " selected>" + html.EscapeString(chosen) + "</option>"
	}
	return list
}

// callers are the same with the codes of phone numbers, for the country of the number in
// the input with a name. There is an option for none where no country is preset.
func (b *builder) callers(name, preset string) string {
	own, _ := answers.PhoneCountry(preset)
	here, _ := answers.PhoneCountry(b.c.words.region)
	list := b.c.words.callers()
	if own = cmp.Or(own, here); own == "" {
		list = `<option value="">+</option>` + list
	}
	return b.countries(list, nameWhose+name, own)
}

// countryOptions names all countries in a language, in its order, or those that have
// phone numbers, with their codes.
func countryOptions(tag language.Tag, calling bool) string {
	namer, by := display.Regions(tag), collate.New(tag)
	names := map[string]string{}
	codes := countryCodes()
	for _, code := range codes {
		names[code] = cmp.Or(namer.Name(language.MustParseRegion(code)), code)
	}
	slices.SortFunc(codes, func(x, y string) int { return by.CompareString(names[x], names[y]) })
	var b strings.Builder
	for _, code := range codes {
		name := names[code]
		if calling {
			_, number := answers.PhoneCountry(code)
			if number == 0 {
				continue
			}
			name += " \u2066+" + strconv.Itoa(number) + "\u2069"
		}
		b.WriteString(`<option value="` + code + `">` + html.EscapeString(name) + "</option>")
	}
	return b.String()
}

// countryCodes are the two-letter codes of all countries, those that the service takes.
func countryCodes() []string {
	var list []string
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			text := string(a) + string(b)
			if code, ok := answers.CountryCode(text); ok && code == text { // others became that
				list = append(list, code)
			}
		}
	}
	return list
}
