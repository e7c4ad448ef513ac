package answertype

import (
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

const maxHostText = 2048 // maximum characters of a field

type hostObject struct {
	n jsontree.Node
	r *Report
}

// newHostObject reports a violation for each unknown field.
func newHostObject(n jsontree.Node, r *Report, names ...string) (hostObject, bool) {
	if n.Kind() != jsontree.Object {
		r.add(n, violationWrongType("object", "must be an object"))
		return hostObject{}, false
	}
	for _, member := range n.All() {
		if !slices.Contains(names, member.Name()) {
			r.add(member, Violation{Code: schema.CodeUnknownField, Message: "is not a known field"})
		}
		if r.isFull() {
			break
		}
	}
	return hostObject{n: n, r: r}, true
}

// readText returns a string field, or fallback if it is absent. If the field is absent and fallback is empty, it
// reports a violation.
func (o hostObject) readText(name, fallback string) string {
	if !IsBlank(o.n.Member(name)) {
		return o.readOptionalText(name)
	}
	if fallback == "" {
		o.addMissing(name)
	}
	return fallback
}

func (o hostObject) addMissing(name string) {
	o.r.addMember(o.n, name, Violation{Code: schema.CodeRequired, Message: "is required"})
}

// readOptionalText returns a string field, or "" if it is absent or invalid. It does not change the string, which may
// be an ID in another system.
func (o hostObject) readOptionalText(name string) string {
	n := o.n.Member(name)
	if IsBlank(n) {
		return ""
	}
	text := n.Text()
	switch {
	case n.Kind() != jsontree.String:
		o.r.add(n, violationNotText())
	case violation.LongerThan(text, maxHostText):
		o.r.add(n, violationTooLong(maxHostText))
	case strings.ContainsAny(text, "\r"+lineBreaks):
		o.r.add(n, violationNotOneLine())
	case strings.ContainsFunc(text, isForbidden):
		o.r.add(n, ViolationNotPlainText())
	default:
		return text
	}
	return ""
}
