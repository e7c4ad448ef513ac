package schema

import (
	"strings"
	"unicode"
)

// Most characters of texts whose block sets no bound of its own.
const (
	maxShortText = 10_000
	maxLongText  = 100_000
	maxGiven     = 64
	maxEmail     = 254
	maxWebsite   = 2048
)

// lineBreaks are the characters that Unicode says end a line.
const lineBreaks = "\n\r\v\f\u0085\u2028\u2029"

// textRule checks short_text and long_text.
type textRule struct {
	max     int
	oneLine bool
}

func (t textRule) check(dst []byte, n *node, r *report) []byte {
	if n.kind != kindString {
		r.add(CodeWrongType, messageText)
		return dst
	}
	if longerThan(n.text, t.max) {
		r.add(CodeTooLong, tooLong(t.max))
	}
	if t.oneLine && strings.ContainsAny(n.text, lineBreaks) {
		r.add(CodeBadFormat, "must be one line")
	}
	if r.faults > 0 {
		return dst
	}
	return appendQuoted(dst, n.text)
}

// trimmed returns the text of an answer without white space around it. What is no
// string is reported.
func trimmed(n *node, r *report) (text string, ok bool) {
	if n.kind != kindString {
		r.add(CodeWrongType, messageText)
		return "", false
	}
	return strings.TrimSpace(n.text), true
}

// givenRule keeps a short text as it was given: phone and country.
type givenRule struct{ example string }

func (givenRule) check(dst []byte, n *node, r *report) []byte {
	text, ok := trimmed(n, r)
	if !ok {
		return dst
	}
	if longerThan(text, maxGiven) {
		r.add(CodeTooLong, tooLong(maxGiven))
		return dst
	}
	if strings.ContainsAny(text, lineBreaks) {
		r.add(CodeBadFormat, "must be one line")
		return dst
	}
	return appendQuoted(dst, text)
}

// emailRule checks one email address.
type emailRule struct{}

func (emailRule) check(dst []byte, n *node, r *report) []byte {
	text, ok := trimmed(n, r)
	if !ok {
		return dst
	}
	if longerThan(text, maxEmail) {
		r.add(CodeTooLong, tooLong(maxEmail))
		return dst
	}
	address, ok := normalEmail(text)
	if !ok {
		r.add(CodeBadFormat, "must be one email address")
		return dst
	}
	return appendQuoted(dst, address)
}

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
	return local + "@" + domain, !longerThan(local+"@"+domain, maxEmail)
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

// isDomain reports whether s has at least two labels and a last one that is no
// number. Letters beyond ASCII are allowed.
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

// websiteRule checks the address of a page.
type websiteRule struct{}

func (websiteRule) check(dst []byte, n *node, r *report) []byte {
	text, ok := trimmed(n, r)
	if !ok {
		return dst
	}
	address, ok := normalWebsite(text)
	if !ok {
		r.add(CodeBadFormat, "must be an http or https URL")
		return dst
	}
	if longerThan(address, maxWebsite) {
		r.add(CodeTooLong, tooLong(maxWebsite))
		return dst
	}
	return appendQuoted(dst, address)
}

// normalWebsite returns text as an absolute URL with a scheme in lower case.
// Credentials are refused: they make a foreign host look like a known one.
func normalWebsite(text string) (string, bool) {
	scheme, rest, hasScheme := strings.Cut(text, "://")
	if hasScheme && !isDotted(scheme, isAlphanumeric) { // "example.com/?next=https://…"
		hasScheme = false
	}
	if hasScheme {
		scheme = strings.ToLower(scheme)
	} else {
		scheme, rest = "https", text
	}
	if scheme != "http" && scheme != "https" {
		return "", false
	}
	address := scheme + "://" + rest
	if !isWebURL(address) {
		return "", false
	}
	host, _, _ := strings.Cut(rest, "/")
	return address, hasScheme || strings.Contains(host, ".")
}
