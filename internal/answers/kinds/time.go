package kinds

import (
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// timeRule checks time.
type timeRule struct{ seconds bool }

func newTime(b *schema.Block, _ Service) Rule { return timeRule{seconds: b.Properties.ShowSeconds} }

func (t timeRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	text, ok := trimmed(n, r)
	if !ok {
		return
	}
	if len(text) == len("15:04") {
		text += ":00"
	}
	if !isClock(text) || !t.seconds && text[len("15:04"):] != ":00" {
		example := "08:30"
		if t.seconds {
			example = "08:30:00"
		}
		r.add(n, BadFormat("time", "must be a time of day, such as "+example))
		return
	}
	if !t.seconds {
		text = text[:len("15:04")]
	}
	w.String(text)
}

// isClock reports whether text is HH:MM:SS.
func isClock(text string) bool {
	if len(text) != len(time.TimeOnly) {
		return false // time.Parse would take one digit for the hour, and fractions
	}
	_, err := time.Parse(time.TimeOnly, text)
	return err == nil
}

func (timeRule) Sample() string { return `"10:30"` }
