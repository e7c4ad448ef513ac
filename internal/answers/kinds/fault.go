package kinds

import (
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Fault is a fault of an answer: a code, a sentence for the respondent, and the
// parameters of [schema.CodeParams], from which a page makes the sentence in its own
// language.
type Fault struct {
	Code, Message string
	Params        map[string]any
}

// Found reports whether there is a fault: the zero Fault stands for none.
func (f Fault) Found() bool { return f.Code != "" }

// FaultRequired is for an answer, or a part of it, that must be there.
var FaultRequired = Fault{Code: schema.CodeRequired, Message: "an answer is required"}

func wrongType(expected, message string) Fault {
	return Fault{schema.CodeWrongType, message, map[string]any{"type": expected}}
}

func notText() Fault { return wrongType("string", "must be text") }

// BadFormat is for an answer that is not in the format that is expected.
func BadFormat(expected, message string) Fault {
	return Fault{schema.CodeBadFormat, message, map[string]any{"format": expected}}
}

// NotPlainText is for text that has control characters.
func NotPlainText() Fault { return BadFormat("text", "must not contain control characters") }
func notOneLine() Fault   { return BadFormat("line", "must be a single line of text") }
func notURL() Fault {
	return BadFormat("url", "must be a website URL, such as https://example.com")
}

// mostAllowed is the longest list of allowed values that a fault carries.
const mostAllowed = schema.MaxViolations

// NotAllowed has a list of the allowed values, unless the list would be long or no list
// can name them.
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

// Report collects the faults of one answer.
type Report struct {
	Faults faults.List
	Limit  int  // bytes of all answers
	Beyond bool // they would be more

	slow int // see maxSlow

	// Of the answer that is being checked:
	field    string
	path     string
	Required bool
	faults   int // reported since it began
}

// Begin turns to the answer of another block.
func (r *Report) Begin(field, path string, required bool) {
	r.field, r.path, r.Required, r.faults = field, path, required, 0
}

// add reports a fault of the answer or a part of it.
func (r *Report) add(n jsontree.Node, f Fault) {
	r.faults++
	if !r.Faults.Full() {
		r.Put(n.Pointer(r.path), r.field, f)
	}
}

// accepts reports whether f is no fault of n, and adds it if it is one.
func (r *Report) accepts(n jsontree.Node, f Fault) bool {
	if f.Found() {
		r.add(n, f)
	}
	return !f.Found()
}

// addMember reports a fault of a member of an object, whether or not it is present.
func (r *Report) addMember(n jsontree.Node, name string, f Fault) {
	r.faults++
	if !r.Faults.Full() {
		r.Put(n.MemberPointer(r.path, name), r.field, f)
	}
}

// AddWhole reports a fault of the answer, which may not be there or not be JSON.
func (r *Report) AddWhole(f Fault) {
	r.faults++
	r.Put(r.path, r.field, f)
}

// Put notes a fault at a path of the request, in the answer to a field.
func (r *Report) Put(path, field string, f Fault) {
	r.Faults.Put(schema.Violation{Path: path, Field: field, Code: f.Code, Message: f.Message, Params: f.Params})
}

// full reports that there is no use in looking further at a long list.
func (r *Report) full() bool { return r.faults >= schema.MaxViolations }

// Exceeds reports that the written answers are larger than a response may be, so that
// no more are written. What copies labels asks after each of them: a matrix would turn
// kilobytes into megabytes otherwise.
func (r *Report) Exceeds(w *jsontree.Writer) bool {
	exceeds := w.Len()+len("}]") > r.Limit
	r.Beyond = r.Beyond || exceeds
	return exceeds
}

// maxSlow bounds the text that one response brings into NFC or through IDNA: bytes
// beyond ASCII in texts that are not in NFC, and in addresses. Both cost up to 70 ns a
// byte, 15 times what decoding JSON does; this many cost 5 ms. It is enough for 80,000
// characters of decomposed Vietnamese, which few systems send at all, and for 3,000
// addresses.
const maxSlow = 64 << 10

// tooSlow is for an answer that is beyond maxSlow, with those before it.
func tooSlow() Fault {
	return Fault{
		schema.CodeTooLong, "the answers have too many characters that are slow to check",
		map[string]any{"limit": maxSlow, "unit": "bytes"},
	}
}

// spend counts bytes that take long to check. It is false when they are beyond maxSlow.
func (r *Report) spend(bytes int) bool {
	r.slow += bytes
	return r.slow <= maxSlow
}

// Faulty reports that something is wrong with the answer.
func (r *Report) Faulty() bool { return r.faults > 0 }
