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
	digits, ok := phoneDigits(text)
	if !ok {
		return "", false
	}
	number, err := phonenumbers.Parse(digits, t.country)
	if err != nil || !phonenumbers.IsValidNumber(number) {
		return "", false
	}
	return phonenumbers.Format(number, phonenumbers.E164), true
}

// maxDigits is more than any number has with the prefix of an international call: the
// library's cost grows with the length.
const maxDigits = 24

// phoneDigits returns the digits of a phone number, in any script, and the plus before
// them. A text with anything but these and what people set between them is none.
func phoneDigits(text string) (string, bool) {
	var b strings.Builder
	digits := 0
	for _, c := range text {
		switch {
		case unicode.Is(unicode.Nd, c):
			b.WriteRune(c)
			digits++
		case c == '+' || c == '＋':
			if b.Len() > 0 {
				return "", false
			}
			b.WriteByte('+')
		case strings.ContainsRune("-./()[]~（）［］．／～ー", c), unicode.Is(unicode.Pd, c), c == '\u2212', unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c):
		default:
			return "", false
		}
	}
	return b.String(), digits > 0 && digits <= maxDigits
}

func (t phoneRule) sample() string { return `"+31201234567"` }
