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

// maxPhone counts everything that people write between the digits.
var maxPhone = maxText(schema.TypePhone)

// PhoneRule checks a phone number by the data of libphonenumber.
type PhoneRule struct {
	country string // whose national numbers are accepted, "": none
}

func newPhone(b *schema.Block, _ ServiceConfig) Rule {
	return newPhoneRule(b.Properties.DefaultCountry)
}

// newPhoneRule takes the block's default country. One that has no numbers is none.
func newPhoneRule(defaultCountry string) PhoneRule {
	country, _ := PhoneCountry(defaultCountry)
	return PhoneRule{country}
}

// Check writes a number in E.164.
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

// Normalize returns a valid number in E.164. The library takes the part that looks like a
// number out of a text. Here the whole text must be a number, so that nothing typed is
// lost: neither an extension, for which E.164 has no place, nor a second number.
func (t PhoneRule) Normalize(text string) (string, bool) {
	number, ok := t.number(phoneDigits(text))
	if !ok {
		return "", false
	}
	return phonenumbers.Format(number, phonenumbers.E164), true
}

// number reads what phoneDigits returns, "" for none, as a valid number.
func (t PhoneRule) number(digits string) (*phonenumbers.PhoneNumber, bool) {
	if digits == "" {
		return nil, false
	}
	number, err := phonenumbers.Parse(digits, t.country)
	return number, err == nil && phonenumbers.IsValidNumber(number)
}

// Phone is how something typed is read as a phone number.
type Phone struct {
	Number string // as it is stored: E.164
	Text   string // as people write it, with the country's code
	// National: which number it is depends on the country that it was read for.
	National bool
	// Other is the number that the digits make with a plus in front, written as Text is;
	// "" when they make no number, or the same number.
	Other string
}

// ReadPhone reads text as an answer to a phone block with that defaultCountry is read.
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

// PhoneCountry returns the two-letter code of a country and the digits that its phone
// numbers begin with after the plus; "" and 0 for a country without phone numbers.
func PhoneCountry(country string) (code string, calling int) {
	code, _ = CountryCode(country)
	if calling = phonenumbers.GetCountryCodeForRegion(code); calling == 0 {
		code = ""
	}
	return code, calling
}

// maxDigits is more than any number has with the prefix of an international call: the
// library's cost grows with the length.
const maxDigits = 24

// phoneDigits returns the digits of a phone number, in any script, and the plus before
// them. A text with anything but these and what people set between them has none: "".
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
		case c == '\u202d' || c == '\u202e': // digits that are shown in another order
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

// Sample is a number that every rule accepts.
func (t PhoneRule) Sample() string { return `"+31201234567"` }

func (t PhoneRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	if b.Properties.DefaultCountry != "" && t.country == "" {
		warn("defaultCountry", Explanation{Reason: "country", Message: "this is not a country with phone numbers, so only international numbers are accepted"})
	}
}

func phoneIdentity(text string) string {
	if number, ok := (PhoneRule{}).Normalize(text); ok {
		return number
	}
	return foldText(text) // from before the service knew numbers
}
