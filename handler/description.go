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
	if matchesWeakly(c.r.Header["If-None-Match"], c.h.descriptionETag) {
		c.begin(http.StatusNotModified)
		return nil
	}
	c.write(http.StatusOK, c.h.description)
	return nil
}

// matchesWeakly is the comparison of If-None-Match (RFC 9110, section 13.1.2), with tags that a
// compressing proxy changed.
func matchesWeakly(values []string, tag string) bool {
	tags, star := tagsOf(values)
	return star || slices.ContainsFunc(tags, func(candidate string) bool {
		own, _ := uncompressed(candidate)
		return own == tag
	})
}
