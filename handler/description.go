package handler

import (
	"net/http"
	"slices"
)

// getOpenAPI serves the description. It is public and may be cached.
func getOpenAPI(c *call) error {
	h := c.w.Header()
	h["Etag"] = []string{c.h.descriptionETag}
	h["Cache-Control"] = []string{"public, max-age=300"}
	if matchesIfNoneMatch(c.r.Header["If-None-Match"], c.h.descriptionETag) {
		c.sendHeader(http.StatusNotModified)
		return nil
	}
	c.write(http.StatusOK, c.h.description)
	return nil
}

// matchesIfNoneMatch is the comparison of If-None-Match (RFC 9110, section 13.1.2), with tags that a
// compressing proxy changed.
func matchesIfNoneMatch(values []string, tag string) bool {
	tags, star := parseTags(values)
	return star || slices.ContainsFunc(tags, func(candidate string) bool {
		own, _ := trimEncoding(candidate)
		return own == tag
	})
}
