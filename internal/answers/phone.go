package answers

import (
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
)

const maxPhone = 64 // characters, with everything that people write between the digits

// phoneRule checks a phone number by the data of libphonenumber.
type phoneRule struct {
	country string // whose national numbers are accepted, "": none
}

// newPhoneRule takes the block's default country. One that has no numbers is none.
func newPhoneRule(defaultCountry string) phoneRule {
	country, _ := normalCountry(defaultCountry)
	if phonenumbers.GetCountryCodeForRegion(country) == 0 {
		country = ""
	}
	return phoneRule{country}
}

func (t phoneRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	text, ok := trimmed(n, r)
	if !ok {
		return
	}
	if faults.LongerThan(text, maxPhone) {
		r.add(n, tooLong(maxPhone))
		return
	}
	number, ok := t.normal(text)
	switch {
	case ok:
		w.String(number)
	case t.country != "":
		r.add(n, badFormat("phone", "must be a phone number"))
	default:
		r.add(n, badFormat("international_phone", "must be a phone number that begins with + and the code of its country, such as +31 20 123 4567"))
	}
}

// normal returns a valid number in E.164. The library takes whatever looks like a
// number out of a text; here the whole text must be one, so that nothing that somebody
// typed is lost: neither an extension, which E.164 has no place for, nor a second
// number.
func (t phoneRule) normal(text string) (string, bool) {
	if len(text) > 4 && strings.EqualFold(text[:4], "tel:") {
		text = text[4:]
	}
	if !isPhoneText(text) {
		return "", false
	}
	number, err := phonenumbers.Parse(text, t.country)
	if err != nil || number.GetExtension() != "" || !phonenumbers.IsValidNumber(number) {
		return "", false
	}
	return phonenumbers.Format(number, phonenumbers.E164), true
}

// isPhoneText reports whether a text has only the digits of a phone number, in any
// script, and what people set between them.
func isPhoneText(text string) bool {
	digits := 0
	for _, c := range text {
		switch {
		case unicode.Is(unicode.Nd, c):
			digits++
		case c == '+' || c == '＋':
			if digits > 0 {
				return false
			}
		case strings.ContainsRune("-./()[]~（）［］．／～ー", c), unicode.Is(unicode.Pd, c), c == '\u2212', unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c):
		default:
			return false
		}
	}
	return digits > 0
}

func (t phoneRule) sample() string { return `"+31201234567"` }
