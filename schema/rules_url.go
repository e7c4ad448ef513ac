package schema

import (
	"net/url"
	"strings"
)

// Which schemes an address in a definition may have.
type schemes uint8

const (
	webOnly      schemes = iota // http, https
	webOrContact                // also mailto and tel
)

// url checks the address in a member of an object. An empty one means unset, and
// what is no string has been reported already.
func (c *check) url(object *node, name string, allowed schemes, at *place) {
	n := object.member(name)
	if n == nil || n.kind != kindString || isAddress(n.text, allowed) {
		return
	}
	message := "must be an absolute http or https URL"
	if allowed == webOrContact {
		message = "must be an absolute http, https, mailto or tel URL"
	}
	c.found.add(at.pointerTo(name), CodeBadFormat, message)
}

// imageURL checks the url of an Image in a member of an object.
func (c *check) imageURL(object *node, name string, at *place) {
	if image := object.member(name); image != nil {
		here := at.member(name)
		c.url(image, "url", webOnly, &here)
	}
}

// isAddress goes by a list of what is allowed. Browsers skip control characters
// and white space, and take a backslash for a slash, so an address with one of
// them may lead elsewhere than it seems to.
func isAddress(s string, allowed schemes) bool {
	if s == "" {
		return true
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Hostname() != ""
	case "mailto", "tel":
		return allowed == webOrContact && u.Opaque != ""
	default:
		return false
	}
}
