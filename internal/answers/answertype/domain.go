package answertype

import (
	"strings"

	"golang.org/x/net/idna"
)

// Bounds of a domain name in its ASCII form (RFC 1035).
const (
	maxDomain = 253
	maxLabel  = 63
)

// normalizeDomain returns a domain name of at least two labels in the form in which
// people read it, Unicode in lower case, and the length of its ASCII form. Names are
// mapped and checked by the lookup profile of IDNA, as a browser or mail program
// does before it asks for the address.
func normalizeDomain(text string) (domain string, asciiLength int, ok bool) {
	if len(text) > 4*maxDomain { // no name that is longer fits, and IDNA takes its time
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

// isEncoded reports whether a name has a label in the ASCII form of IDNA.
func isEncoded(name string) bool {
	return strings.Contains(name, "--") && strings.Contains(strings.ToLower(name), "xn--")
}

// isDomain reports whether an ASCII name has at least two labels of letters, digits
// and inner hyphens, the last of which does not make it an IPv4 address to a browser.
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
	return !isNumeric(last)
}

// isNumeric reports whether browsers read a label as a number of an IPv4 address:
// decimal, octal or hexadecimal (WHATWG URL, "ends in a number").
func isNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return isDigits(label)
}

func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// asciiHost is a domain name in lower case and its ASCII form, if it has one.
func asciiHost(host string) string {
	if !isPlainASCII(host) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			return ascii
		}
	}
	return foldText(host)
}

// allowIDNA counts an address whose domain is about to go through IDNA.
func allowIDNA(address string, r *Report) bool {
	if isPlainASCII(address) && !isEncoded(address) {
		return r.spendSlow(0)
	}
	return r.spendSlow(len(address))
}
