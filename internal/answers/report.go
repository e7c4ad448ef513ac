package answers

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/visible"
	"github.com/formsvc/formsvc/schema"
)

// answerBounds are those of a body, but for member names: an answer may name the
// rows of a matrix, and their ids have no bound of their own.
var answerBounds = jsontree.Bounds{Values: jsontree.MaxValues}

// blank reports whether raw means unanswered.
func blank(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	tree, err := jsontree.Parse(raw, answerBounds)
	if err != nil {
		return false
	}
	defer tree.Release()
	return isBlank(tree.Root())
}

// isBlank reports whether n means unanswered: it is not there or null, text of which
// nothing can be seen, or an empty array.
func isBlank(n jsontree.Node) bool {
	switch n.Kind() {
	case jsontree.Null:
		return true
	case jsontree.String:
		return visible.IsBlank(n.Text())
	case jsontree.Array:
		return n.Len() == 0
	default:
		return false
	}
}

// report collects what is wrong with one answer.
type report struct {
	found  faults.List
	limit  int  // bytes of all answers
	beyond bool // they would be more

	slow int // see maxSlow

	// Of the answer that is being checked:
	field    string
	path     string
	required bool
	faults   int // reported since it began
}

// begin turns to the answer of another block.
func (r *report) begin(field, path string, required bool) {
	r.field, r.path, r.required, r.faults = field, path, required, 0
}

// add reports a fault of the answer or a part of it.
func (r *report) add(n jsontree.Node, f fault) {
	r.faults++
	if !r.found.Full() {
		r.put(n.Pointer(r.path), r.field, f)
	}
}

// addMember reports a fault of a member of an object, whether or not it is present.
func (r *report) addMember(n jsontree.Node, name string, f fault) {
	r.faults++
	if !r.found.Full() {
		r.put(n.MemberPointer(r.path, name), r.field, f)
	}
}

// addWhole reports a fault of the answer, which may not be there or not be JSON.
func (r *report) addWhole(f fault) {
	r.faults++
	r.put(r.path, r.field, f)
}

func (r *report) put(path, field string, f fault) {
	r.found.Put(schema.Violation{Path: path, Field: field, Code: f.code, Message: f.message, Params: f.params})
}

// full reports that there is no use in looking further at a long list.
func (r *report) full() bool { return r.faults >= schema.MaxViolations }

// exceeds reports that what was written is more than a response may take, so that
// nothing more must be. What copies labels asks after each of them: a matrix would
// turn kilobytes into megabytes otherwise.
func (r *report) exceeds(w *jsontree.Writer) bool {
	exceeds := w.Len()+len("}]") > r.limit
	r.beyond = r.beyond || exceeds
	return exceeds
}

// maxSlow bounds what is brought into NFC or goes through IDNA in one response: bytes
// beyond ASCII in texts that are not in NFC, and of addresses that are not plain ASCII.
// Both cost up to 70 ns a byte, 15 times what decoding JSON does; this many cost 5 ms.
// It is enough for 80,000 characters of decomposed Vietnamese, which few systems send
// at all, and for 3,000 addresses.
const maxSlow = 64 << 10

// tooSlow is for an answer that is beyond maxSlow, with those before it.
func tooSlow() fault {
	return fault{
		schema.CodeTooLong, "the answers have too many characters that take long to check",
		map[string]any{"limit": maxSlow, "unit": "bytes"},
	}
}

// spend counts bytes that take long to check. It is false when they are beyond maxSlow.
func (r *report) spend(bytes int) bool {
	r.slow += bytes
	return r.slow <= maxSlow
}
