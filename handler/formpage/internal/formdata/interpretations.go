package formdata

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/schema"
)

// Interpretation describes how entered text was interpreted. The page shows it below the field. With JavaScript, it
// appears when the respondent leaves the field.
type Interpretation struct {
	Block             string
	Text              string
	NeedsConfirmation bool // Whether the respondent must see it before continuing.
}

// Confirmation returns the value for the hidden input that reports that the page has shown the interpretation.
func (r Interpretation) Confirmation(name string) string { return name + "=" + r.Text }

// addInterpretation stores how an input was interpreted. Bidirectional isolates keep the values left-to-right.
func (r *parser) addInterpretation(block, name string, ask bool, key, value, other string) {
	if r.Words != nil {
		text := r.Words.Get(key, "value", "\u2066"+value+"\u2069", "other", "\u2066"+other+"\u2069")
		r.interpretations[name] = Interpretation{block, text, ask}
	}
}

// addNumberInterpretation adds an interpretation if a number could also mean something else.
func (r *parser) addNumberInterpretation(block, name, number, other string) {
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
	key := "interpreted.instead_of"
	if other == number {
		key = "interpreted.as"
	}
	r.addInterpretation(block, name, true, key, written(number), written(other))
}

// parsePhone parses a phone number from the selected country. It returns invalid numbers unchanged, so that the service
// rejects them.
func (r *parser) parsePhone(b *schema.Block, name, text, country string) string {
	own, _ := answertype.LookupPhoneCountry(formblock.Properties(b).DefaultCountry)
	read, ok := answertype.ParsePhone(text, cmp.Or(country, own))
	if !ok {
		if country != "" && strings.ContainsFunc(text, unicode.IsDigit) && !strings.HasSuffix(text, " "+country) {
			return text + " " + country // The letters make it invalid in every country.
		}
		return text
	}
	switch {
	case read.Other != "":
		r.addInterpretation(b.ID, name, true, "interpreted.instead_of", read.Text, read.Other)
	case r.Words != nil:
		// The form's default country may not be the respondent's country.
		stranger := read.National && country == own && r.Words.Region != "" && r.Words.Region != country
		r.addInterpretation(b.ID, name, stranger, "interpreted.as", read.Text, "")
	}
	return read.Number
}

var providers = []string{
	"gmail.com", "googlemail.com", "hotmail.com", "outlook.com", "live.com", "yahoo.com", "icloud.com", "aol.com", "protonmail.com",
	"hotmail.co.uk", "yahoo.co.uk", "yahoo.co.in", "yahoo.co.jp", "yahoo.com.br", "hotmail.fr", "yahoo.fr", "orange.fr", "wanadoo.fr", "laposte.net",
	"t-online.de", "web.de", "gmx.de", "gmx.net", "gmx.at", "bluewin.ch", "libero.it", "hotmail.it", "yahoo.es", "hotmail.es",
	"yandex.ru", "mail.ru", "rediffmail.com", "naver.com", "uol.com.br", "comcast.net", "verizon.net",
}

// similarProviders lists providers whose domains differ from another provider's domain by one letter.
var similarProviders = []string{"mail.com", "email.com", "ymail.com", "bol.com.br"}

// addEmailSuggestion adds an interpretation if the domain looks like a misspelled provider.
func (r *parser) addEmailSuggestion(block, name, text string) {
	at := strings.LastIndexAny(text, "@＠")
	domain := strings.ToLower(strings.Trim(text[max(0, at):], "@＠> \t\r\n"))
	if at < 0 || slices.Contains(providers, domain) || slices.Contains(similarProviders, domain) {
		return
	}
	if i := slices.IndexFunc(providers, func(p string) bool { return isTypo(domain, p) && !haveDifferentCountryDomains(domain, p) }); i >= 0 {
		r.addInterpretation(block, name, true, "interpreted.suggestion", providers[i], "")
	}
}

// haveDifferentCountryDomains reports whether two domains have different country codes. One provider may own both
// domains.
func haveDifferentCountryDomains(a, b string) bool {
	a, b = a[strings.LastIndexByte(a, '.')+1:], b[strings.LastIndexByte(b, '.')+1:]
	_, calling := answertype.LookupPhoneCountry(a)
	return a != b && len(a) == 2 && len(b) == 2 && calling != 0
}

// isTypo reports whether a equals b except for one extra, missing or wrong letter, or two swapped letters.
func isTypo(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
