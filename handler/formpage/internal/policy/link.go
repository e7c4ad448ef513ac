package policy

import (
	"html/template"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Origin returns the origin of an absolute http or https URL as a source of a
// policy, "" for everything else, and for a URL with a user name, which makes a foreign
// host look like a known one.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	if strings.ContainsFunc(u.Host, func(c rune) bool { return c > '~' }) {
		ascii, err := idna.Lookup.ToASCII(u.Hostname())
		if err != nil {
			return ""
		}
		if port := u.Port(); port != "" {
			ascii += ":" + port
		}
		u.Host = ascii
	}
	// What may stand in a host, and nothing that ends a source or a directive.
	if strings.ContainsFunc(u.Host, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`;,'"*\<>`, c)
	}) {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// Link returns an address that is fit for a link: http, https, or one of the other
// schemes. "" for everything else.
func Link(raw string, schemes ...string) template.URL {
	if Origin(raw) != "" {
		return template.URL(raw) //nolint:gosec // http or https
	}
	if scheme, _, ok := strings.Cut(raw, ":"); ok && slices.Contains(schemes, strings.ToLower(scheme)) {
		return template.URL(raw) //nolint:gosec // one of the schemes
	}
	return ""
}
