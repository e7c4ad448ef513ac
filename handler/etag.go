package handler

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/core"
)

// etagPrefix is the prefix of a form's ETag, a strong entity tag with the revision. Clients must treat it as opaque.
const etagPrefix = `"r`

func etag(revision int64) string {
	return etagPrefix + strconv.FormatInt(revision, 36) + `"`
}

func (c *call) setETag(revision int64) {
	c.w.Header()["Etag"] = []string{etag(revision)}
}

// parseIfMatch parses the If-Match header. It accepts tags that compressing proxies have changed, because a tag
// identifies a revision and not the bytes of a response. If the header contains no revision, the request fails with
// 412.
func (c *call) parseIfMatch() core.Precondition {
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
		if !ok && tag != "" { // Lists may contain empty elements (RFC 9110, section 5.6.1).
			return core.Precondition{Set: true}
		}
		text := strings.TrimSuffix(strings.TrimPrefix(own, etagPrefix), `"`)
		if revision, err := strconv.ParseInt(text, 36, 64); err == nil && etag(revision) == own {
			p.Revisions = append(p.Revisions, revision)
		}
	}
	return p
}

// receivedTag matches an entity tag (RFC 9110, section 8.8.3) that a proxy may have changed. nginx and Varnish prepend
// W/. Apache, Caddy, Jetty and others append a separator and the encoding's name, before or after the closing quote.
// The tags that this package sends contain no separator.
var receivedTag = regexp.MustCompile(`^(?:W/)?("[!#-~]*?)(?:[-+;:._~]{1,2}(?:x-)?(?:gzip|deflate|br|brotli|zstd|compress))?"(?:[-+;:._~]{1,2}(?:x-)?(?:gzip|deflate|br|brotli|zstd|compress))?$`)

// trimEncoding returns tag as it was before a proxy changed it, and reports whether tag is an entity tag.
func trimEncoding(tag string) (own string, ok bool) {
	parts := receivedTag.FindStringSubmatch(tag)
	if parts == nil {
		return "", false
	}
	return parts[1] + `"`, true
}

// parseTags returns the tags in a header, and reports whether it is *, which matches any tag. Tags can contain commas.
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
