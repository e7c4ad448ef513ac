package answers

import (
	"github.com/formsvc/formsvc/schema"
)

// fault is what is wrong with an answer: a code, a sentence for the respondent, and
// the parameters of [schema.CodeParams], from which a page makes the sentence in its
// own language.
type fault struct {
	code, message string
	params        map[string]any
}

// The zero fault stands for none.
func (f fault) found() bool { return f.code != "" }

var (
	faultRequired = fault{code: schema.CodeRequired, message: "an answer is required"}
)

func wrongType(expected, message string) fault {
	return fault{schema.CodeWrongType, message, map[string]any{"type": expected}}
}

// Wrong types that more than one rule reports.
func notText() fault { return wrongType("string", "must be text") }
func badFormat(expected, message string) fault {
	return fault{schema.CodeBadFormat, message, map[string]any{"format": expected}}
}

// Bad formats that more than one rule reports.
func notPlainText() fault { return badFormat("text", "must not contain control characters") }
func notOneLine() fault   { return badFormat("line", "must be one line of text") }
func notURL() fault {
	return badFormat("url", "must be the address of a website, such as https://example.com")
}

// mostAllowed is the longest list of what is allowed that a fault carries.
const mostAllowed = schema.MaxViolations

// notAllowed has a list of what is allowed unless that would be long, or is nothing
// that a list could say.
func notAllowed(reason, message string, allowed ...string) fault {
	f := fault{schema.CodeNotAllowed, message, map[string]any{"reason": reason}}
	if len(allowed) > 0 && len(allowed) <= mostAllowed {
		f.params["allowed"] = allowed
	}
	return f
}

// tooLong is for a text of more than limit characters.
func tooLong(limit int) fault {
	return fault{schema.CodeTooLong, "must have at most " + counted(limit, "character"), map[string]any{"limit": limit, "unit": "characters"}}
}
