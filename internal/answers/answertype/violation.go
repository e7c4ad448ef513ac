package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Violation is a fault of an answer: a code, a sentence for the respondent, and the
// parameters of [schema.CodeParams], from which a page makes the sentence in its own
// language.
type Violation struct {
	Code, Message string
	Params        map[string]any
}

// IsSet reports whether there is a fault: the zero Fault stands for none.
func (f Violation) IsSet() bool { return f.Code != "" }

// ViolationRequired is for an answer, or a part of it, that must be there.
var ViolationRequired = Violation{Code: schema.CodeRequired, Message: "an answer is required"}

func wrongType(expected, message string) Violation {
	return Violation{schema.CodeWrongType, message, map[string]any{"type": expected}}
}

func notText() Violation { return wrongType("string", "must be text") }

// BadFormat is for an answer that is not in the format that is expected.
func BadFormat(expected, message string) Violation {
	return Violation{schema.CodeBadFormat, message, map[string]any{"format": expected}}
}

// NotPlainText is for text that has control characters.
func NotPlainText() Violation { return BadFormat("text", "must not contain control characters") }
func notOneLine() Violation   { return BadFormat("line", "must be a single line of text") }
func notURL() Violation {
	return BadFormat("url", "must be a website URL, such as https://example.com")
}

// maxAllowedValues is the longest list of allowed values that a fault carries.
const maxAllowedValues = schema.MaxViolations

// NotAllowed has a list of the allowed values, unless the list would be long or no list
// can name them.
func NotAllowed(reason, message string, allowed ...string) Violation {
	f := Violation{schema.CodeNotAllowed, message, map[string]any{"reason": reason}}
	if len(allowed) > 0 && len(allowed) <= maxAllowedValues {
		f.Params["allowed"] = allowed
	}
	return f
}

// tooLong is for a text of more than limit characters.
func tooLong(limit int) Violation {
	return Violation{schema.CodeTooLong, "must have at most " + FormatCount(limit, "character"), map[string]any{"limit": limit, "unit": "characters"}}
}

// Report collects the faults of one answer.
type Report struct {
	Violations    violation.List
	Limit         int  // bytes of all answers
	LimitExceeded bool // they would be more

	slowBytes int // see maxSlowBytes

	// Of the answer that is being checked:
	field    string
	path     string
	Required bool
	count    int // reported since it began
}

// Begin turns to the answer of another block.
func (r *Report) Begin(field, path string, required bool) {
	r.field, r.path, r.Required, r.count = field, path, required, 0
}

// add reports a fault of the answer or a part of it.
func (r *Report) add(n jsontree.Node, f Violation) {
	r.count++
	if !r.Violations.Full() {
		r.Put(n.Pointer(r.path), r.field, f)
	}
}

// accepts reports whether f is no fault of n, and adds it if it is one.
func (r *Report) accepts(n jsontree.Node, f Violation) bool {
	if f.IsSet() {
		r.add(n, f)
	}
	return !f.IsSet()
}

// addMember reports a fault of a member of an object, whether or not it is present.
func (r *Report) addMember(n jsontree.Node, name string, f Violation) {
	r.count++
	if !r.Violations.Full() {
		r.Put(n.MemberPointer(r.path, name), r.field, f)
	}
}

// AddToAnswer reports a fault of the answer, which may not be there or not be JSON.
func (r *Report) AddToAnswer(f Violation) {
	r.count++
	r.Put(r.path, r.field, f)
}

// Put notes a fault at a path of the request, in the answer to a field.
func (r *Report) Put(path, field string, f Violation) {
	r.Violations.Put(schema.Violation{Path: path, Field: field, Code: f.Code, Message: f.Message, Params: f.Params})
}

// full reports that there is no use in looking further at a long list.
func (r *Report) full() bool { return r.count >= schema.MaxViolations }

// ExceedsLimit reports that the written answers are larger than a response may be, so that
// no more are written. What copies labels asks after each of them: a matrix would turn
// kilobytes into megabytes otherwise.
func (r *Report) ExceedsLimit(w *jsontree.Writer) bool {
	exceeds := w.Len()+len("}]") > r.Limit
	r.LimitExceeded = r.LimitExceeded || exceeds
	return exceeds
}

// maxSlowBytes bounds the text that one response brings into NFC or through IDNA: bytes
// beyond ASCII in texts that are not in NFC, and in addresses. Both cost up to 70 ns a
// byte, 15 times what decoding JSON does; this many cost 5 ms. It is enough for 80,000
// characters of decomposed Vietnamese, which few systems send at all, and for 3,000
// addresses.
const maxSlowBytes = 64 << 10

// tooSlow is for an answer that is beyond maxSlowBytes, with those before it.
func tooSlow() Violation {
	return Violation{
		schema.CodeTooLong, "the answers have too many characters that are slow to check",
		map[string]any{"limit": maxSlowBytes, "unit": "bytes"},
	}
}

// spend counts bytes that take long to check. It is false when they are beyond maxSlowBytes.
func (r *Report) spendSlow(bytes int) bool {
	r.slowBytes += bytes
	return r.slowBytes <= maxSlowBytes
}

// HasViolations reports that something is wrong with the answer.
func (r *Report) HasViolations() bool { return r.count > 0 }
