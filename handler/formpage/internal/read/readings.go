package read

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/schema"
)

// Reading says how something typed is read, where the page tells that: below the field, as
// soon as it is left, when there is a script.
type Reading struct {
	Block             string
	Text              string
	NeedsConfirmation bool // nothing goes on before the page has told it
}

// Confirmation is the value by which a page says that it has shown the reading of an input.
func (r Reading) Confirmation(name string) string { return name + "=" + r.Text }

// addReading keeps the reading of an input: how it is read, and what else it may mean, if
// anything. Both are written from left to right.
func (r *reader) addReading(block, name string, ask bool, key, value, other string) {
	if r.Words != nil {
		text := r.Words.Get(key, "value", "\u2066"+value+"\u2069", "other", "\u2066"+other+"\u2069")
		r.readings[name] = Reading{block, text, ask}
	}
}

// number tells how a number was read that may be meant otherwise.
func (r *reader) number(block, name, number, other string) {
	if other == "" {
		return
	}
	written := func(literal string) string {
		if strings.Contains(literal, ".") {
			literal = strings.TrimRight(strings.TrimRight(literal, "0"), ".")
		}
		if r.Comma {
			literal = swapSeparators.Replace(literal)
		}
		return literal
	}
	key := "read.not"
	if other == number {
		key = "read.as"
	}
	r.addReading(block, name, true, key, written(number), written(other))
}

// phone returns the number that was typed into an input, of the country that stands beside
// it. What is no number there is refused by the service, which may know another country.
func (r *reader) phone(b *schema.Block, name, text, country string) string {
	own, _ := answertype.PhoneCountry(formblock.Properties(b).DefaultCountry)
	read, ok := answertype.ReadPhone(text, cmp.Or(country, own))
	if !ok {
		if country != "" && strings.ContainsFunc(text, unicode.IsDigit) && !strings.HasSuffix(text, " "+country) {
			return text + " " + country // with letters, it is none anywhere
		}
		return text
	}
	switch {
	case read.Other != "":
		r.addReading(b.ID, name, true, "read.not", read.Text, read.Other)
	case r.Words != nil:
		// The form's country is not the visitor's, who may not have looked at it.
		stranger := read.National && country == own && r.Words.Region != "" && r.Words.Region != country
		r.addReading(b.ID, name, stranger, "read.as", read.Text, "")
	}
	return read.Number
}

// providers have the mail of most people.
var providers = []string{
	"gmail.com", "googlemail.com", "hotmail.com", "outlook.com", "live.com", "yahoo.com", "icloud.com", "aol.com", "protonmail.com",
	"hotmail.co.uk", "yahoo.co.uk", "yahoo.co.in", "yahoo.co.jp", "yahoo.com.br", "hotmail.fr", "yahoo.fr", "orange.fr", "wanadoo.fr", "laposte.net",
	"t-online.de", "web.de", "gmx.de", "gmx.net", "gmx.at", "bluewin.ch", "libero.it", "hotmail.it", "yahoo.es", "hotmail.es",
	"yandex.ru", "mail.ru", "rediffmail.com", "naver.com", "uol.com.br", "comcast.net", "verizon.net",
}

// similarProviders are other providers, one letter from one of those.
var similarProviders = []string{"mail.com", "email.com", "ymail.com", "bol.com.br"}

// email reports an address whose domain is one slip from the domain of a provider.
func (r *reader) email(block, name, text string) {
	at := strings.LastIndexAny(text, "@＠")
	domain := strings.ToLower(strings.Trim(text[max(0, at):], "@＠> \t\r\n"))
	if at < 0 || slices.Contains(providers, domain) || slices.Contains(similarProviders, domain) {
		return
	}
	if i := slices.IndexFunc(providers, func(p string) bool { return isTypo(domain, p) && !inDifferentCountries(domain, p) }); i >= 0 {
		r.addReading(block, name, true, "read.mean", providers[i], "")
	}
}

// inDifferentCountries reports whether two domains are of two countries, as those of one provider are.
func inDifferentCountries(a, b string) bool {
	a, b = a[strings.LastIndexByte(a, '.')+1:], b[strings.LastIndexByte(b, '.')+1:]
	_, calling := answertype.PhoneCountry(a)
	return a != b && len(a) == 2 && len(b) == 2 && calling != 0
}

// isTypo reports whether a is b with a letter too many, too few or wrong, or with two that
// changed places.
func isTypo(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
