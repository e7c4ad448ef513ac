package formpage

import (
	"net/http"
	"slices"
)

// crossOrigin compares hosts, not schemes: TLS may end at a proxy.
var crossOrigin http.CrossOriginProtection

// foreign reports whether a POST comes from a page of another origin that may not send it,
// as the browser says by Sec-Fetch-Site or Origin. What is no browser says neither, and has
// nobody's cookies. A "*" of AllowedOrigins is for routes that browsers send no cookies to
// from elsewhere.
func (h *Handler) foreign(r *http.Request, open bool) bool {
	origin, allowed := r.Header.Get("Origin"), h.config.AllowedOrigins
	if slices.Contains(allowed, origin) || open && slices.Contains(allowed, "*") || crossOrigin.Check(r) == nil {
		return false
	}
	h.logger.WarnContext(r.Context(), "a POST of another origin was refused", "origin", origin, "host", r.Host)
	return true
}

// refuseForeign shows what was typed, to be copied: a proxy that changes the Host header
// makes all pages foreign. Nothing is stored, and the host is asked for no answers.
func (c *call) refuseForeign() {
	c.form.Closed = true // no file is taken
	if values, _, err := c.read(c.h.config.MaxBody); err == nil {
		c.values = values
	}
	c.handBack(http.StatusForbidden, "broken.title", c.words.Get("foreign.text"), nil)
}
