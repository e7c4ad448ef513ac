package answers

import (
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
)

const maxEmail = 254 // characters

// emailRule checks one email address.
type emailRule struct{}

func (emailRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	text, ok := trimmed(n, r)
	if !ok {
		return
	}
	if faults.LongerThan(text, maxEmail) {
		r.add(n, tooLong(maxEmail))
		return
	}
	address, ok := normalEmail(text)
	if !ok {
		r.add(n, badFormat("email", "must be one email address, such as ada@example.com"))
		return
	}
	w.String(address)
}

func (emailRule) sample() string { return `"ada@example.com"` }

// normalEmail returns a bare address (no name, no quotes, no comment) with its
// domain in lower case.
func normalEmail(text string) (string, bool) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return "", false
	}
	local, domain := text[:at], strings.ToLower(text[at+1:])
	if len(local) > 64 || !isDotted(local, isLocalRune) || !isDomain(domain) {
		return "", false
	}
	return local + "@" + domain, !faults.LongerThan(local+"@"+domain, maxEmail)
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

// isLocalRune allows the atoms of RFC 5322 and the characters that RFC 6532 adds.
func isLocalRune(c rune) bool {
	if c < 0x80 {
		return isAlphanumeric(c) || strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", c)
	}
	return unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c)
}

func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isDomain reports whether s has at least two labels and a last one that is not
// a number. Letters beyond ASCII are allowed.
func isDomain(s string) bool {
	if len(s) > 253 || !strings.Contains(s, ".") {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	return strings.Trim(last, "0123456789") != "" && isDotted(s, func(c rune) bool {
		if c < 0x80 {
			return isAlphanumeric(c) || c == '-'
		}
		return unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c)
	})
}
