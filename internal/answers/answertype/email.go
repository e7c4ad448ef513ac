package answertype

import (
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Bounds of an address (RFC 5321, with the erratum on its length).
var maxEmail = maxText(schema.TypeEmail) // characters

const maxLocal = 64 // bytes before the @

// emailRule checks one email address.
var emailRule = formatRule{sample: "ada@example.com", normalize: func(text string, r *Report) (string, Violation) {
	text = extractEmail(text)
	if violation.LongerThan(text, maxEmail) {
		return "", tooLong(maxEmail)
	}
	if !allowIDNA(text, r) {
		return "", tooSlow()
	}
	address, ok := normalizeEmail(text)
	if !ok {
		return "", BadFormat("email", "must be an email address, such as ada@example.com")
	}
	return address, Violation{}
}}

// extractEmail returns the address of what mail programs and pages give when one is copied:
// Ann <ann@example.com>, mailto:ann@example.com. A name that is itself an address, and
// another one, stays: which of the two is meant, nobody knows.
func extractEmail(text string) string {
	text = strings.Map(func(c rune) rune {
		if c >= '！' && c <= '～' { // as Japanese keyboards write ASCII
			return c - '！' + '!'
		}
		return c
	}, text)
	inner := text
	if name, rest, ok := strings.Cut(text, "<"); ok && strings.HasSuffix(rest, ">") {
		inner = extractMailto(strings.TrimSuffix(rest, ">"))
		if strings.Contains(name, "@") && extractMailto(name) != inner {
			return text
		}
	}
	return extractMailto(inner)
}

// extractMailto returns the address of a mailto link, without its parameters such as the
// subject.
func extractMailto(text string) string {
	text = textclean.Trim(text)
	if len(text) > 7 && strings.EqualFold(text[:7], "mailto:") {
		text, _, _ = strings.Cut(text[7:], "?")
	}
	return text
}

// normalizeEmail returns a bare address (no name, no quotes, no comment). The local part
// stays as it was typed, because only its own server knows the meaning. [normalizeDomain]
// writes the domain.
func normalizeEmail(text string) (string, bool) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return "", false
	}
	local := text[:at]
	if len(local) > maxLocal || !isDotted(local, isLocalRune) {
		return "", false
	}
	domain, length, ok := normalizeDomain(text[at+1:])
	return local + "@" + domain, ok && at+1+length <= maxEmail
}

// isDotted reports whether s is made of parts, none of them empty, with dots in
// between.
func isDotted(s string, allowed func(rune) bool) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return !allowed(c) }) {
			return false
		}
	}
	return true
}

// isLocalRune allows the atoms of RFC 5322 and the characters that RFC 6532 adds, but not
// the ligatures that a PDF makes of "fi" and its like.
func isLocalRune(c rune) bool {
	if c < 0x80 {
		return isAlphanumeric(c) || strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", c)
	}
	return (c < 'ﬀ' || c > 'ﬆ') && (unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c))
}

func emailIdentity(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return foldText(text)
	}
	return foldText(text[:at]) + "@" + asciiHost(text[at+1:])
}
