// Package weburl parses absolute URLs and accepts only URLs that all parsers interpret in the same way.
package weburl

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/textclean"
)

// Parse reads an absolute http, https, mailto or tel URL, the schemes that are
// known to do no harm. Browsers skip control characters and white space, and take a
// backslash for a slash, so an address with one of them may lead elsewhere than it
// seems to; quotes and angle brackets end it in a page; invisible characters make it another
// address than people read: all of them are refused. Joiners and variation
// selectors belong to words and emoji, and may stand behind the host.
func Parse(s string) (*url.URL, bool) {
	if textclean.CleanName(s) != s || textclean.IsMisleading(s) || strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("\\\"<>", c)
	}) {
		return nil, false
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, textclean.HasInvisible(u.Host):
		return nil, false
	case IsWeb(u):
		return u, u.Hostname() != "" && IsPort(u.Port())
	default:
		return u, (u.Scheme == "mailto" || u.Scheme == "tel") && u.Opaque != ""
	}
}

// IsWeb reports whether the scheme of a URL is http or https.
func IsWeb(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// IsPort reports whether the port of a URL is one, or is not given.
func IsPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// IsPlain reports whether s is an http or https URL without credentials, which
// make a foreign host look like a known one.
func IsPlain(s string) bool {
	u, ok := Parse(s)
	return ok && IsWeb(u) && u.User == nil
}
