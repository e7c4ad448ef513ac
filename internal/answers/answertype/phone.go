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

// maxPhone includes the separators between the digits.
var maxPhone = maxText(schema.TypePhone)

// PhoneRule checks phone numbers with the data of libphonenumber.
type PhoneRule struct {
	country string // whose national numbers are accepted; empty for none
}

func newPhone(b *schema.Block, _ ServiceConfig) Rule {
	return newPhoneRule(b.Properties.DefaultCountry)
}

// newPhoneRule ignores a default country that has no phone numbers.
func newPhoneRule(defaultCountry string) PhoneRule {
	country, _ := PhoneCountry(defaultCountry)
	return PhoneRule{country}
}

// Check writes the number in E.164.
func (t PhoneRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	formatRule{max: maxPhone, normalize: t.normalizeText}.Check(w, n, r)
}

func (t PhoneRule) normalizeText(text string, _ *Report) (string, Violation) {
	number, ok := t.Normalize(text)
	switch {
	case ok:
		return number, Violation{}
	case t.country != "":
		return "", BadFormat("phone", "must be a phone number")
	}
	return "", BadFormat("international_phone", "must be a phone number that starts with + and its country code, such as +31 20 123 4567")
}

// Normalize returns a valid number in E.164. The whole text must be a number. By itself, the library would extract a
// number from the text and lose an extension or a second number.
func (t PhoneRule) Normalize(text string) (string, bool) {
	number, ok := t.number(phoneDigits(text))
	if !ok {
		return "", false
	}
	return phonenumbers.Format(number, phonenumbers.E164), true
}

// number parses the digits of phoneDigits. It returns false if they are not a valid number.
func (t PhoneRule) number(digits string) (*phonenumbers.PhoneNumber, bool) {
	if digits == "" {
		return nil, false
	}
	number, err := phonenumbers.Parse(digits, t.country)
	return number, err == nil && phonenumbers.IsValidNumber(number)
}

// Phone is a phone number that was read from text.
type Phone struct {
	Number   string // in E.164
	Text     string // in the readable international format
	National bool   // the number depends on the default country
	// Other is the number with the same digits after a plus sign, like Text. It is empty if it is invalid or the same.
	Other string
}

// ReadPhone reads text like an answer to a phone block with this defaultCountry.
func ReadPhone(text, country string) (Phone, bool) {
	t := newPhoneRule(country)
	text = textclean.Trim(removeEmbeddings(text))
	if violation.LongerThan(text, maxPhone) {
		return Phone{}, false
	}
	digits := phoneDigits(text)
	number, ok := t.number(digits)
	if !ok {
		return Phone{}, false
	}
	p := Phone{Number: phonenumbers.Format(number, phonenumbers.E164), Text: phonenumbers.Format(number, phonenumbers.INTERNATIONAL)}
	if p.National = !strings.HasPrefix(digits, "+"); p.National {
		if other, ok := t.number("+" + digits); ok {
			if text := phonenumbers.Format(other, phonenumbers.INTERNATIONAL); text != p.Text {
				p.Other = text
			}
		}
	}
	return p, true
}

// PhoneCountry returns the two-letter code of a country and its calling code without the plus sign. It returns "" and
// 0 if the country has no phone numbers.
func PhoneCountry(country string) (code string, calling int) {
	code, _ = CountryCode(country)
	if calling = phonenumbers.GetCountryCodeForRegion(code); calling == 0 {
		code = ""
	}
	return code, calling
}

// maxDigits exceeds the length of every number. The limit exists because the library gets slower with longer texts.
const maxDigits = 24

// phoneDigits returns the digits in any script and the plus sign before them. It returns "" if the text contains
// anything but digits and common separators.
func phoneDigits(text string) string {
	if len(text) > 4 && strings.EqualFold(text[:4], "tel:") {
		text = text[4:]
	}
	var b strings.Builder
	digits := 0
	for _, c := range text {
		switch {
		case unicode.Is(unicode.Nd, c):
			b.WriteString(ASCIIDigits(string(c)))
			digits++
		case c == '+' || c == '＋':
			if b.Len() > 0 {
				return ""
			}
			b.WriteByte('+')
		case c == '\u202d' || c == '\u202e': // displays digits in another order
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
	return foldText(text) // stored before phone numbers were checked
}
