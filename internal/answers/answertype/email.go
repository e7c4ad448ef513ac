package answertype

import (
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Length limits for email addresses (RFC 5321 and its erratum).
var maxEmail = maxTextLength(schema.TypeEmail) // in characters

const maxLocal = 64 // maximum bytes before the @

var emailRule = formatRule{sample: "ada@example.com", normalize: func(text string, r *Report) (string, Violation) {
	text = extractEmail(text)
	if violation.LongerThan(text, maxEmail) {
		return "", violationTooLong(maxEmail)
	}
	if !spendIDNA(text, r) {
		return "", violationTooSlow()
	}
	address, ok := normalizeEmail(text)
	if !ok {
		return "", ViolationBadFormat("email", "must be an email address, such as ada@example.com")
	}
	return address, Violation{}
}}

// extractEmail returns the address in "Ann <ann@example.com>" or "mailto:ann@example.com", which mail programs and web
// pages produce when users copy an address. If the name is a different address, the text is ambiguous and extractEmail
// returns it unchanged.
func extractEmail(text string) string {
	text = strings.Map(func(c rune) rune {
		if c >= '！' && c <= '～' { // full-width ASCII from Japanese keyboards
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

// extractMailto removes "mailto:" and parameters such as the subject.
func extractMailto(text string) string {
	text = textclean.Trim(text)
	if len(text) > 7 && strings.EqualFold(text[:7], "mailto:") {
		text, _, _ = strings.Cut(text[7:], "?")
	}
	return text
}

// normalizeEmail normalizes a bare address, without a name, quotes or a comment. It leaves the local part unchanged,
// because only the mail server knows whether case matters.
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

func isDotted(s string, allowed func(rune) bool) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return !allowed(c) }) {
			return false
		}
	}
	return true
}

// isLocalRune reports whether the local part may contain c. It allows the atom characters of RFC 5322 and the
// characters of RFC 6532, except ligatures such as "ﬁ", which come from text copied from PDFs.
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
	return foldText(text[:at]) + "@" + toASCIIHost(text[at+1:])
}
