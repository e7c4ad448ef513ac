package answertype

import (
	"strings"

	"golang.org/x/net/idna"
)

// Limits of an ASCII domain name (RFC 1035).
const (
	maxDomain = 253
	maxLabel  = 63
)

// normalizeDomain returns a domain name in lowercase Unicode and the length of its ASCII form. It requires at least two
// labels. Like browsers and mail programs, it maps and validates names with IDNA's lookup profile.
func normalizeDomain(text string) (domain string, asciiLength int, ok bool) {
	if len(text) > 4*maxDomain { // IDNA is slow, and longer names are always invalid
		return "", 0, false
	}
	ascii := strings.ToLower(text)
	domain = ascii
	if !isPlainASCII(text) || isEncoded(ascii) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(text); err != nil {
			return "", 0, false
		}
		if domain, err = idna.Lookup.ToUnicode(ascii); err != nil {
			return "", 0, false
		}
	}
	return domain, len(ascii), isDomain(ascii)
}

func isEncoded(name string) bool {
	return strings.Contains(name, "--") && strings.Contains(strings.ToLower(name), "xn--")
}

// isDomain reports whether an ASCII name has at least two labels of letters, digits and inner hyphens. The last label
// must not make browsers parse the name as an IPv4 address.
func isDomain(name string) bool {
	if len(name) > maxDomain || !strings.Contains(name, ".") {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(c rune) bool { return !isAlphanumeric(c) && c != '-' }) {
			return false
		}
		last = label
	}
	return !isNumericLabel(last)
}

// isNumeric reports whether browsers parse a label as a decimal, octal or hexadecimal part of an IPv4 address
// (WHATWG URL, "ends in a number").
func isNumericLabel(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return isDigits(label)
}

func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// toASCIIHost returns a domain name's lowercase ASCII form, or foldText of the name if it has no ASCII form.
func toASCIIHost(host string) string {
	if !isPlainASCII(host) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			return ascii
		}
	}
	return foldText(host)
}

// spendIDNA counts an address that needs IDNA toward maxSlowBytes. It returns false if the limit is exceeded.
func spendIDNA(address string, r *Report) bool {
	if isPlainASCII(address) && !isEncoded(address) {
		return r.spendSlow(0)
	}
	return r.spendSlow(len(address))
}
