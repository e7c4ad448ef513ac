package handler

import (
	"net/http"
	"slices"
)

func getOpenAPI(c *call) error {
	h := c.w.Header()
	h["Etag"] = []string{c.h.descriptionETag}
	h["Cache-Control"] = []string{"public, max-age=300"}
	if matchesIfNoneMatch(c.r.Header["If-None-Match"], c.h.descriptionETag) {
		c.sendHeader(http.StatusNotModified)
		return nil
	}
	c.sendBody(http.StatusOK, c.h.description)
	return nil
}

// matchesIfNoneMatch reports whether an If-None-Match header matches tag by weak comparison (RFC 9110, section 13.1.2).
// It also accepts entity tags that a compressing proxy has changed.
func matchesIfNoneMatch(values []string, tag string) bool {
	tags, star := parseTags(values)
	return star || slices.ContainsFunc(tags, func(candidate string) bool {
		own, _ := trimEncoding(candidate)
		return own == tag
	})
}
