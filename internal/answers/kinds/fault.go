package kinds

import (
	"github.com/formsvc/formsvc/schema"
)

// Fault is what is wrong with an answer: a code, a sentence for the respondent, and
// the parameters of [schema.CodeParams], from which a page makes the sentence in its
// own language.
type Fault struct {
	Code, Message string
	Params        map[string]any
}

// The zero fault stands for none.
func (f Fault) Found() bool { return f.Code != "" }

var (
	FaultRequired = Fault{Code: schema.CodeRequired, Message: "an answer is required"}
)

func wrongType(expected, message string) Fault {
	return Fault{schema.CodeWrongType, message, map[string]any{"type": expected}}
}

// Wrong types that more than one rule reports.
func notText() Fault { return wrongType("string", "must be text") }
func BadFormat(expected, message string) Fault {
	return Fault{schema.CodeBadFormat, message, map[string]any{"format": expected}}
}

// Bad formats that more than one rule reports.
func NotPlainText() Fault { return BadFormat("text", "must not contain control characters") }
func notOneLine() Fault   { return BadFormat("line", "must be one line of text") }
func notURL() Fault {
	return BadFormat("url", "must be the address of a website, such as https://example.com")
}

// mostAllowed is the longest list of what is allowed that a fault carries.
const mostAllowed = schema.MaxViolations

// NotAllowed has a list of what is allowed unless that would be long, or is nothing
// that a list could say.
func NotAllowed(reason, message string, allowed ...string) Fault {
	f := Fault{schema.CodeNotAllowed, message, map[string]any{"reason": reason}}
	if len(allowed) > 0 && len(allowed) <= mostAllowed {
		f.Params["allowed"] = allowed
	}
	return f
}

// tooLong is for a text of more than limit characters.
func tooLong(limit int) Fault {
	return Fault{schema.CodeTooLong, "must have at most " + Counted(limit, "character"), map[string]any{"limit": limit, "unit": "characters"}}
}
