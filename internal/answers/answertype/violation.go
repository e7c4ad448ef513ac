package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Violation describes what is wrong with an answer. Message is a sentence for the respondent. Params holds the
// parameters listed in [schema.CodeParams], which a form page uses to write the message in its own language.
type Violation struct {
	Code, Message string
	Params        map[string]any
}

// IsSet reports whether f is a violation. The zero Violation means that the answer is valid.
func (f Violation) IsSet() bool { return f.Code != "" }

// ViolationRequired reports a missing required answer or part.
var ViolationRequired = Violation{Code: schema.CodeRequired, Message: "an answer is required"}

func violationWrongType(expected, message string) Violation {
	return Violation{schema.CodeWrongType, message, map[string]any{"type": expected}}
}

func violationNotText() Violation { return violationWrongType("string", "must be text") }

// ViolationBadFormat returns the violation for an answer in the wrong format.
func ViolationBadFormat(expected, message string) Violation {
	return Violation{schema.CodeBadFormat, message, map[string]any{"format": expected}}
}

// ViolationNotPlainText returns the violation for text with control characters.
func ViolationNotPlainText() Violation {
	return ViolationBadFormat("text", "must not contain control characters")
}
func violationNotOneLine() Violation {
	return ViolationBadFormat("line", "must be a single line of text")
}
func violationNotURL() Violation {
	return ViolationBadFormat("url", "must be a website URL, such as https://example.com")
}

const maxAllowedValues = schema.MaxViolations

// ViolationNotAllowed returns the violation for a value that is not allowed. It lists the allowed values unless there
// are none or too many.
func ViolationNotAllowed(reason, message string, allowed ...string) Violation {
	f := Violation{schema.CodeNotAllowed, message, map[string]any{"reason": reason}}
	if len(allowed) > 0 && len(allowed) <= maxAllowedValues {
		f.Params["allowed"] = allowed
	}
	return f
}

func violationTooLong(limit int) Violation {
	return Violation{schema.CodeTooLong, "must have at most " + FormatCount(limit, "character"), map[string]any{"limit": limit, "unit": "characters"}}
}

// Report collects the violations in all answers.
type Report struct {
	Violations    violation.List
	Limit         int  // maximum total size in bytes of all answers
	LimitExceeded bool // the answers exceed Limit

	slowBytes int // see maxSlowBytes

	// These fields describe the current answer.
	field    string
	path     string
	Required bool
	Labels   map[string]string // labels of the choices that the host offers, by ID; nil to accept all choices
	count    int               // violations in the answer so far
}

// BeginAnswer starts the answer to the next block.
func (r *Report) BeginAnswer(field, path string, required bool) {
	r.field, r.path, r.Required, r.Labels, r.count = field, path, required, nil, 0
}

func (r *Report) add(n jsontree.Node, f Violation) {
	r.count++
	if !r.Violations.IsFull() {
		r.AddAt(n.Pointer(r.path), r.field, f)
	}
}

// addIfSet adds the violation f at n and returns true, or returns false if f is zero.
func (r *Report) addIfSet(n jsontree.Node, f Violation) (added bool) {
	if f.IsSet() {
		r.add(n, f)
	}
	return f.IsSet()
}

func (r *Report) addMember(n jsontree.Node, name string, f Violation) {
	r.count++
	if !r.Violations.IsFull() {
		r.AddAt(n.MemberPointer(r.path, name), r.field, f)
	}
}

// AddToAnswer adds a violation for the whole answer, which may be absent or invalid JSON.
func (r *Report) AddToAnswer(f Violation) {
	r.count++
	r.AddAt(r.path, r.field, f)
}

// AddAt adds a violation at a path in the request.
func (r *Report) AddAt(path, field string, f Violation) {
	r.Violations.AddViolation(schema.Violation{Path: path, Field: field, Code: f.Code, Message: f.Message, Params: f.Params})
}

// isFull reports whether the answer has so many violations that checking can stop.
func (r *Report) isFull() bool { return r.count >= schema.MaxViolations }

// MarkIfLimitExceeded reports whether the written answers exceed the size limit, in which case writing must stop. Call
// it after copying each label, because the labels of a matrix can turn kilobytes into megabytes.
func (r *Report) MarkIfLimitExceeded(w *jsontree.Writer) bool {
	exceeds := w.Len()+len("}]") > r.Limit
	r.LimitExceeded = r.LimitExceeded || exceeds
	return exceeds
}

// maxSlowBytes limits how much text in a submission can need NFC or IDNA. It counts the bytes of addresses and the
// non-ASCII bytes of text that is not in NFC. Each of these bytes takes up to 70 ns, 15 times as long as decoding JSON,
// so reaching the limit takes 5 ms. It allows 80,000 characters of decomposed Vietnamese, which few systems send, and
// 3,000 addresses.
const maxSlowBytes = 64 << 10

func violationTooSlow() Violation {
	return Violation{
		schema.CodeTooLong, "the answers have too many characters that are slow to check",
		map[string]any{"limit": maxSlowBytes, "unit": "bytes"},
	}
}

// spendSlow adds to the number of slow bytes. It returns false if the total exceeds maxSlowBytes.
func (r *Report) spendSlow(bytes int) bool {
	r.slowBytes += bytes
	return r.slowBytes <= maxSlowBytes
}

// HasViolations reports whether the current answer is invalid.
func (r *Report) HasViolations() bool { return r.count > 0 }
