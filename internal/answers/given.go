package answers

import (
	"strings"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
)

const maxGiven = 64 // characters

// givenRule keeps a short text as it was given: phone and country.
type givenRule struct{ example string }

func (givenRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	text, ok := trimmed(n, r)
	switch {
	case !ok:
	case faults.LongerThan(text, maxGiven):
		r.add(n, tooLong(maxGiven))
	case strings.ContainsAny(text, lineBreaks):
		r.add(n, notOneLine())
	default:
		w.String(text)
	}
}

func (t givenRule) sample() string { return quoted(t.example) }
