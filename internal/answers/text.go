package answers

import (
	"strings"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// Most characters of texts whose block sets no bound of its own.
const (
	maxShortText = 10_000
	maxLongText  = 100_000
)

// lineBreaks are the characters that Unicode says end a line.
const lineBreaks = "\n\r\v\f\u0085\u2028\u2029"

// textRule checks short_text and long_text.
type textRule struct {
	max     int
	oneLine bool
}

func (t textRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	if n.Kind() != jsontree.String {
		r.add(n, notText())
		return
	}
	text := n.Text()
	before := r.faults
	if faults.LongerThan(text, t.max) {
		r.add(n, tooLong(t.max))
	}
	if t.oneLine && strings.ContainsAny(text, lineBreaks) {
		r.add(n, notOneLine())
	}
	if r.faults == before {
		w.String(text)
	}
}

func (t textRule) sample() string {
	const text = "Sample answer"
	return quoted(text[:min(len(text), t.max)])
}

// trimmed returns the text of an answer without white space around it. A value that
// is not a string is reported.
func trimmed(n jsontree.Node, r *report) (text string, ok bool) {
	if n.Kind() != jsontree.String {
		r.add(n, notText())
		return "", false
	}
	return strings.TrimSpace(n.Text()), true
}
