package schema

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Which schemes an address in a definition may have.
type schemes uint8

const (
	webOnly      schemes = iota // http, https
	webOrContact                // also mailto and tel
)

// url checks the address in a member of an object. An empty one means unset, and
// what is no string is a fault of another kind, found by the walk.
func (c *check) url(object *node, name string, allowed schemes, at *place) {
	n := object.member(name)
	if n == nil || n.kind != kindString || isAddress(n.text, allowed) {
		return
	}
	message := "must be an absolute http or https URL"
	if allowed == webOrContact {
		message = "must be an absolute http, https, mailto or tel URL"
	}
	c.addIn(at, name, CodeBadFormat, message)
}

// imageURL checks the url of an Image in a member of an object.
func (c *check) imageURL(object *node, name string, at *place) {
	if image := object.member(name); image != nil {
		here := at.member(name)
		c.url(image, "url", webOnly, &here)
	}
}

// isAddress reports whether an address of a definition is unset or may be used.
func isAddress(s string, allowed schemes) bool {
	if s == "" {
		return true
	}
	u, ok := parseAddress(s)
	return ok && (isWeb(u) || allowed == webOrContact)
}

// isWebURL reports whether an address in an answer is an http or https URL without
// credentials, which make a foreign host look like a known one.
func isWebURL(s string) bool {
	u, ok := parseAddress(s)
	return ok && isWeb(u) && u.User == nil
}

// parseAddress reads an absolute URL that every reader takes for the same one; it
// goes by a list of the schemes that are known to do no harm. Browsers skip control
// characters and white space, and take a backslash for a slash, so an address with
// one of them may lead elsewhere than it seems to; quotes and angle brackets end it
// in a page.
func parseAddress(s string) (*url.URL, bool) {
	if strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("\\\"<>", c)
	}) {
		return nil, false
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, false
	case isWeb(u):
		return u, u.Hostname() != "" && isPort(u.Port())
	default:
		return u, (u.Scheme == "mailto" || u.Scheme == "tel") && u.Opaque != ""
	}
}

func isWeb(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// isPort reports whether the port of a URL is one, or is not given.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}
