package answertype

import (
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/schema"
)

var countryRule = countryCode{formatRule{sample: "NL", max: maxTextLength(schema.TypeCountry), normalize: func(text string, _ *Report) (string, Violation) {
	code, ok := CountryCode(text)
	if !ok {
		return "", ViolationBadFormat("country", "must be a country code, such as NL")
	}
	return code, Violation{}
}}}

type countryCode struct{ formatRule }

// Countries returns the two-letter codes of all countries.
var Countries = sync.OnceValue(func() (codes []string) {
	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			text := string([]rune{first, second})
			if code, ok := CountryCode(text); ok && code == text { // skip codes that map to a successor
				codes = append(codes, code)
			}
		}
	}
	return codes
})

// CountryCode returns the ISO 3166-1 alpha-2 code for a code of two or three letters. It accepts the 249 ISO countries
// and Kosovo (XK). It replaces codes that have a single successor in CLDR, such as UK and DD.
func CountryCode(text string) (code string, ok bool) {
	if len(text) != 2 && len(text) != 3 || strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 || c < 'A' }) {
		return "", false
	}
	region, err := language.ParseRegion(text)
	if err != nil {
		return "", false
	}
	region = region.Canonicalize()
	code = region.String()
	switch code {
	case "AN", "CS", "NT", "SU", "YU":
		return "", false // the country was split into several
	}
	// Regions without a UN number, such as the European Union, are not countries in ISO 3166.
	return code, region.IsCountry() && region.M49() != 0 && len(code) == 2
}
