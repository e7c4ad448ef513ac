package answertype

import (
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/schema"
)

// countryRule checks the code of a country.
var countryRule = countryCode{formatRule{sample: "NL", max: maxText(schema.TypeCountry), normalize: func(text string, _ *Report) (string, Violation) {
	code, ok := CountryCode(text)
	if !ok {
		return "", BadFormat("country", "must be a country code, such as NL")
	}
	return code, Violation{}
}}}

type countryCode struct{ formatRule }

// Countries returns the two-letter codes of all countries that there are.
var Countries = sync.OnceValue(func() (codes []string) {
	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			text := string([]rune{first, second})
			if code, ok := CountryCode(text); ok && code == text { // others became that
				codes = append(codes, code)
			}
		}
	}
	return codes
})

// CountryCode returns the ISO 3166-1 alpha-2 code of a country that there is by
// CLDR's data: the 249 of ISO and Kosovo (XK). It takes a code of two or three
// letters. One that CLDR knows a single successor of (UK, DD) becomes that.
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
		return "", false // they no longer exist, and became several
	}
	// Regions without a number of the United Nations are not countries of ISO: the
	// European Union, the Canary Islands.
	return code, region.IsCountry() && region.M49() != 0 && len(code) == 2
}
