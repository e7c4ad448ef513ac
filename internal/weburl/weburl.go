// Package weburl parses absolute URLs. It accepts only URLs that all parsers interpret in the same way.
package weburl

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/textclean"
)

// Parse parses an absolute http, https, mailto or tel URL. It rejects other schemes, because they can be harmful, and
// misleading characters. Browsers skip control characters and whitespace, and treat a backslash as a slash. Quotes and
// angle brackets end a URL in a page. Invisible characters can make different URLs look the same. Joiners and variation
// selectors are allowed after the host, because words and emoji use them.
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
	case HasWebScheme(u):
		return u, u.Hostname() != "" && IsPortOrEmpty(u.Port())
	default:
		return u, (u.Scheme == "mailto" || u.Scheme == "tel") && u.Opaque != ""
	}
}

// HasWebScheme reports whether the scheme is http or https.
func HasWebScheme(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// IsPortOrEmpty reports whether s is a valid port or empty.
func IsPortOrEmpty(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// IsLink reports whether s can be the target of a link: a URL that [IsPlainWebURL] accepts, or a mailto or tel URL.
func IsLink(s string) bool {
	u, ok := Parse(s)
	return ok && u.User == nil
}

// IsPlainWebURL reports whether s is an http or https URL without credentials. Credentials can make an unknown host
// look familiar.
func IsPlainWebURL(s string) bool {
	u, ok := Parse(s)
	return ok && HasWebScheme(u) && u.User == nil
}
