package handler

import (
	"strconv"
	"strings"
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

// precondition is what If-Match demands (RFC 9110, section 13.1.1).
type precondition struct {
	set       bool    // there is a condition
	any       bool    // "*": the form exists
	revisions []int64 // it is at one of these
}

// ifMatch reads the If-Match header. Tags that are weak or foreign match nothing,
// and neither does a header that is not a list of tags: such conditions fail with
// 412.
func (c *call) ifMatch() precondition {
	values := c.r.Header["If-Match"]
	if len(values) == 0 {
		return precondition{}
	}
	p := precondition{set: true}
	list := strings.TrimSpace(strings.Join(values, ","))
	if list == "*" {
		p.any = true
		return p
	}
	for list != "" {
		var tag string
		tag, list = nextTag(list)
		if !isTag(tag) {
			return precondition{set: true}
		}
		text, ok := strings.CutPrefix(tag, etagPrefix)
		if !ok {
			continue
		}
		revision, err := strconv.ParseInt(strings.TrimSuffix(text, `"`), 36, 64)
		if err == nil && etag(revision) == tag {
			p.revisions = append(p.revisions, revision)
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
	for _, c := range []byte(s[1 : len(s)-1]) {
		if c == '"' || c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
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

// holds reports whether the condition is met by a form at this revision.
func (p precondition) holds(revision int64) bool {
	if !p.set || p.any {
		return true
	}
	for _, r := range p.revisions {
		if r == revision {
			return true
		}
	}
	return false
}

// onlyRevisions is the condition as the storage takes it: nil for none. A header
// that matches nothing becomes a revision that no form has.
func (p precondition) onlyRevisions() []int64 {
	if !p.set || p.any {
		return nil
	}
	if len(p.revisions) == 0 {
		return []int64{0}
	}
	return p.revisions
}
