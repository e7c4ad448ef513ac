package handler

import (
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

// ifMatch reads the If-Match header. Weak tags, foreign tags and a header that is no
// list of tags match nothing: such conditions fail with 412.
func (c *call) ifMatch() core.Precondition {
	values := c.r.Header["If-Match"]
	if len(values) == 0 {
		return core.Precondition{}
	}
	p := core.Precondition{Set: true}
	list := strings.TrimSpace(strings.Join(values, ","))
	if list == "*" {
		p.Any = true
		return p
	}
	for list != "" {
		var tag string
		tag, list = nextTag(list)
		if !isTag(tag) {
			return core.Precondition{Set: true}
		}
		text := strings.TrimSuffix(strings.TrimPrefix(tag, etagPrefix), `"`)
		if revision, err := strconv.ParseInt(text, 36, 64); err == nil && etag(revision) == tag {
			p.Revisions = append(p.Revisions, revision)
		}
	}
	return p
}

// isTag reports whether an element of a list is an entity tag, or empty, as a list
// allows (RFC 9110, sections 5.6.1 and 8.8.3).
func isTag(s string) bool {
	if s == "" {
		return true
	}
	s = strings.TrimPrefix(s, "W/")
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	return !strings.ContainsFunc(s[1:len(s)-1], func(c rune) bool { return c == '"' || c <= ' ' || c == 0x7f })
}

// nextTag cuts the first element off a list. Commas inside quotes belong to the
// tag.
func nextTag(list string) (tag, rest string) {
	quoted := false
	for i := range len(list) {
		switch {
		case list[i] == '"':
			quoted = !quoted
		case list[i] == ',' && !quoted:
			return strings.TrimSpace(list[:i]), list[i+1:]
		}
	}
	return strings.TrimSpace(list), ""
}
