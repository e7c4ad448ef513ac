// Package insertion resolves the names of insertions in texts, such as answers.name in {{answers.name}}.
package insertion

import (
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// Sources of inserted values.
const (
	Answers   = "answers"
	Variables = "variables"
	Hidden    = "hidden"
	Today     = "today"
)

// Reference is the value that an insertion refers to.
type Reference struct {
	Source   string // Answers, Variables, Hidden or Today
	ID       string // block ID, or name of a variable or hidden field
	Part     string // part of an address or contact; empty for the whole answer
	Decimals int    // number of decimals, or -1 if the insertion does not set it
}

const maxDecimals = 10

// Resolve resolves the text between the braces of an insertion. The function has reports whether the form has the
// block, variable or hidden field with an ID. Resolve tries the text after the source as an ID, then as an ID and a
// part, and then without the decimals at its end. If nothing matches, it tries again without surrounding spaces.
func Resolve(name string, has func(source, id string) bool) (Reference, bool) {
	for _, name := range []string{name, strings.TrimSpace(name)} {
		source, rest, dotted := strings.Cut(name, ".")
		if name == Today || dotted && (source == Answers || source == Variables || source == Hidden) {
			if r, ok := find(Reference{Source: source, Decimals: -1}, rest, has); ok {
				return r, true
			}
		}
	}
	return Reference{}, false
}

func find(r Reference, rest string, has func(source, id string) bool) (Reference, bool) {
	if r.ID = rest; r.Source == Today || has(r.Source, rest) {
		return r, true
	}
	if at := strings.LastIndexByte(rest, '.'); at >= 0 && r.Source == Answers && isPart(rest[at+1:]) && has(Answers, rest[:at]) {
		r.ID, r.Part = rest[:at], rest[at+1:]
		return r, true
	}
	at := strings.LastIndexByte(rest, ':')
	if at < 0 || r.Decimals >= 0 {
		return r, false
	}
	decimals, err := strconv.Atoi(rest[at+1:])
	if err != nil || decimals < 0 || decimals > maxDecimals || strconv.Itoa(decimals) != rest[at+1:] {
		return r, false
	}
	r.Decimals = decimals
	return find(r, rest[:at], has)
}

func isPart(name string) bool {
	return slices.ContainsFunc(schema.Contact{}.Parts(), func(p schema.ContactPart) bool { return p.Name == name })
}

// HasValue reports whether a text can show an answer of the given shape. part names a part of the answer, or is "" for
// the whole answer.
func HasValue(shape schema.AnswerShape, part string) bool {
	switch shape {
	case "", schema.ShapeFiles, schema.ShapeFile, schema.ShapeMatrix, schema.ShapePayment:
		return false
	}
	return part == "" || shape == schema.ShapeContact
}
