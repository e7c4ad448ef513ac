package handler

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/core"
)

// A form's revision token is a strong entity tag made of its revision. Callers
// must treat it as opaque.
const etagPrefix = `"r`

func etag(revision int64) string {
	return etagPrefix + strconv.FormatInt(revision, 36) + `"`
}

func (c *call) setETag(revision int64) {
	c.w.Header()["Etag"] = []string{etag(revision)}
}

// ifMatch reads the If-Match header. It accepts what compressing proxies make of our tokens,
// because a token names a revision and not the bytes of a response. A header that names no
// revision matches nothing, so that the condition fails with 412.
func (c *call) ifMatch() core.Precondition {
	values := c.r.Header["If-Match"]
	if len(values) == 0 {
		return core.Precondition{}
	}
	p := core.Precondition{Set: true}
	tags, star := parseTags(values)
	if star {
		p.Any = true
		return p
	}
	for _, tag := range tags {
		own, ok := trimEncoding(tag)
		if !ok && tag != "" { // a list may have empty elements (RFC 9110, section 5.6.1)
			return core.Precondition{Set: true}
		}
		text := strings.TrimSuffix(strings.TrimPrefix(own, etagPrefix), `"`)
		if revision, err := strconv.ParseInt(text, 36, 64); err == nil && etag(revision) == own {
			p.Revisions = append(p.Revisions, revision)
		}
	}
	return p
}

// receivedTag matches an entity tag (RFC 9110, section 8.8.3) as a proxy may have changed it: nginx and
// Varnish put W/ in front of it; Apache, Caddy, Jetty and others add the name of the encoding
// behind a separator, inside the quotes or after them. No token of ours has a separator.
var receivedTag = regexp.MustCompile(`^(?:W/)?("[!#-~]*?)(?:[-+;:._~]{1,2}(?:x-)?(?:gzip|deflate|br|brotli|zstd|compress))?"(?:[-+;:._~]{1,2}(?:x-)?(?:gzip|deflate|br|brotli|zstd|compress))?$`)

// trimEncoding returns an entity tag as it was before a proxy changed it, and whether it is one.
func trimEncoding(tag string) (own string, ok bool) {
	parts := receivedTag.FindStringSubmatch(tag)
	if parts == nil {
		return "", false
	}
	return parts[1] + `"`, true
}

// parseTags returns the elements of a list, and whether it is * for any tag. Commas inside quotes
// belong to a tag.
func parseTags(values []string) (tags []string, star bool) {
	list, begin, quoted := strings.TrimSpace(strings.Join(values, ",")), 0, false
	for i := range len(list) {
		switch {
		case list[i] == '"':
			quoted = !quoted
		case list[i] == ',' && !quoted:
			tags, begin = append(tags, strings.TrimSpace(list[begin:i])), i+1
		}
	}
	return append(tags, strings.TrimSpace(list[begin:])), list == "*"
}
