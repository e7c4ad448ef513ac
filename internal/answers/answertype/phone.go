package answertype

import (
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// maxPhone is the maximum length, including separators between the digits.
var maxPhone = maxTextLength(schema.TypePhone)

// PhoneRule checks phone numbers with libphonenumber's data.
type PhoneRule struct {
	country string // country whose national numbers are accepted; if empty, none is
}

func newPhone(b *schema.Block, _ ServiceConfig) Rule {
	return newPhoneRule(b.Properties.DefaultCountry)
}

// newPhoneRule ignores a default country that has no phone numbers.
func newPhoneRule(defaultCountry string) PhoneRule {
	country, _ := LookupPhoneCountry(defaultCountry)
	return PhoneRule{country}
}

// Check writes the number in E.164 format.
func (t PhoneRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	formatRule{max: maxPhone, normalize: t.normalizeText}.Check(w, n, r)
}

func (t PhoneRule) normalizeText(text string, _ *Report) (string, Violation) {
	number, ok := t.Normalize(text)
	switch {
	case ok:
		return number, Violation{}
	case t.country != "":
		return "", ViolationBadFormat("phone", "must be a phone number")
	}
	return "", ViolationBadFormat("international_phone", "must be a phone number that starts with + and its country code, such as +31 20 123 4567")
}

// Normalize returns a valid number in E.164 format. The whole text must be a number, because the library would
// otherwise extract a number from the text and lose an extension or a second number.
func (t PhoneRule) Normalize(text string) (string, bool) {
	number, ok := t.parseNumber(extractPhoneDigits(text))
	if !ok {
		return "", false
	}
	return phonenumbers.Format(number, phonenumbers.E164), true
}

// parseNumber parses the result of extractPhoneDigits. It returns false if the digits are not a valid number.
func (t PhoneRule) parseNumber(digits string) (*phonenumbers.PhoneNumber, bool) {
	if digits == "" {
		return nil, false
	}
	number, err := phonenumbers.Parse(digits, t.country)
	return number, err == nil && phonenumbers.IsValidNumber(number)
}

// Phone is a phone number parsed from text.
type Phone struct {
	Number   string // in E.164 format
	Text     string // in the readable international format
	National bool   // the number depends on the default country
	// Other is what the number would be with a plus sign before the digits, formatted like Text. It is empty if that
	// number is invalid or equal to Number.
	Other string
}

// ParsePhone parses text as it would an answer to a phone block whose defaultCountry is country.
func ParsePhone(text, country string) (Phone, bool) {
	t := newPhoneRule(country)
	text = textclean.Trim(removeEmbeddings(text))
	if violation.LongerThan(text, maxPhone) {
		return Phone{}, false
	}
	digits := extractPhoneDigits(text)
	number, ok := t.parseNumber(digits)
	if !ok {
		return Phone{}, false
	}
	p := Phone{Number: phonenumbers.Format(number, phonenumbers.E164), Text: phonenumbers.Format(number, phonenumbers.INTERNATIONAL)}
	if p.National = !strings.HasPrefix(digits, "+"); p.National {
		if other, ok := t.parseNumber("+" + digits); ok {
			if text := phonenumbers.Format(other, phonenumbers.INTERNATIONAL); text != p.Text {
				p.Other = text
			}
		}
	}
	return p, true
}

// LookupPhoneCountry returns the two-letter code of a country and its calling code without the plus sign. It returns ""
// and 0 if the country has no phone numbers.
func LookupPhoneCountry(country string) (code string, calling int) {
	code, _ = CountryCode(country)
	if calling = phonenumbers.GetCountryCodeForRegion(code); calling == 0 {
		code = ""
	}
	return code, calling
}

// maxDigits is longer than any phone number. The limit exists because the library gets slower as the text gets longer.
const maxDigits = 24

// extractPhoneDigits extracts the digits, in any script, and a leading plus sign. It returns "" if the text contains
// anything other than digits and common separators.
func extractPhoneDigits(text string) string {
	if len(text) > 4 && strings.EqualFold(text[:4], "tel:") {
		text = text[4:]
	}
	var b strings.Builder
	digits := 0
	for _, c := range text {
		switch {
		case unicode.Is(unicode.Nd, c):
			b.WriteString(ToASCIIDigits(string(c)))
			digits++
		case c == '+' || c == '＋':
			if b.Len() > 0 {
				return ""
			}
			b.WriteByte('+')
		case c == '\u202d' || c == '\u202e': // would display the digits in a different order than stored
			return ""
		case strings.ContainsRune("-./()[]（）［］．／ー", c), unicode.Is(unicode.Pd, c), c == '\u2212', unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c):
		default:
			return ""
		}
	}
	if digits == 0 || digits > maxDigits {
		return ""
	}
	return b.String()
}

// Sample returns a number that is valid for every default country.
func (t PhoneRule) Sample() string { return `"+31201234567"` }

func (t PhoneRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	if b.Properties.DefaultCountry != "" && t.country == "" {
		warn("defaultCountry", Explanation{Reason: "country", Message: "this country has no phone numbers, so only numbers with a country code are accepted"})
	}
}

func phoneIdentity(text string) string {
	if number, ok := (PhoneRule{}).Normalize(text); ok {
		return number
	}
	return foldText(text) // the answer was stored before phone numbers were checked
}
