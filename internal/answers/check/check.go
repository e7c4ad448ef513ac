// Package check holds one answer against its block and writes it as it is stored.
package check

import (
	"encoding/json"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/identity"
	"github.com/formsvc/formsvc/internal/answers/kinds"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// hiddenPath is where hidden fields stand in the path of a Violation.
const hiddenPath = "/hidden"

// Input is what a respondent sent and what the host adds to it.
type Input struct {
	// Answers are the respondent's, by block id.
	Answers map[string]json.RawMessage
	// HostAnswers are those of payment, file_upload and signature blocks, and of any
	// block that properties.hide hides. They come from the host alone: a respondent
	// who could say them would forge them.
	HostAnswers map[string]json.RawMessage
	// Hidden are the values of hidden fields, by name. Names that the form does not
	// declare are ignored.
	Hidden map[string]string
}

// Answers is a checked response in the one shape that is stored, listed, exported
// and delivered. Blocks that were not answered are absent. The slices are the
// caller's own.
type Answers struct {
	// List is an array of {"field":{"id","type","label"},"value"} in the order of
	// the definition: blocks, hidden fields with the type "hidden", and with the type
	// "variable" the variables that rules set.
	List json.RawMessage
	// ByField is an object of the same values by block id or hidden name, without the
	// variables.
	ByField json.RawMessage
	// Hidden is an object of strings: the declared hidden fields that were given.
	Hidden json.RawMessage
	// Variables is an object of numbers and strings: the variables that rules set.
	Variables json.RawMessage
	// Unique is a SHA-256 of the answer to the block that settings.duplicateField
	// names: the same for all answers of the same meaning, by [identity.Rules]. nil when
	// there is no such setting, block or answer, or it is of a type that is never
	// compared.
	Unique []byte
}

// Writer builds the two shapes of an Answers side by side.
type Writer struct {
	list, byField, hidden, variables jsontree.Writer
	unique                           []byte
	Last                             [2]int // where the last answer stands in list; 0, 0 when there was none
}

// NewWriter guesses the room that is needed from the input.
func NewWriter(f *compile.Form, in Input) *Writer {
	size := 2
	for id, raw := range in.Answers {
		size += len(id) + len(raw)
	}
	for id, raw := range in.HostAnswers {
		size += len(id) + len(raw)
	}
	size = min(size, maxGuess)
	entries := min(len(in.Answers)+len(in.HostAnswers), len(f.Blocks)) + len(f.Hidden)
	w := &Writer{
		list:    *jsontree.NewWriter(make([]byte, 0, size+entries*(f.HeadSize+2))),
		byField: *jsontree.NewWriter(make([]byte, 0, size+entries*4)),
	}
	w.list.Array()
	w.byField.Object()
	w.hidden.Object()
	w.variables.Object()
	return w
}

// maxGuess bounds the room that is made before anything is checked.
const maxGuess = 64 << 10

// Answer checks one answer and writes it. Nothing is written when the block is
// unanswered or something is wrong. That an answer is missing is a fault of a
// response that is not partial.
func (w *Writer) Answer(b *compile.Block, raw json.RawMessage, r *kinds.Report, unique, partial bool) {
	w.Last = [2]int{}
	if len(raw) == 0 && !r.Required || b.Dropped {
		return
	}
	if len(raw) > 0 && w.given(b, raw, r, unique) {
		return
	}
	if r.Required && !partial && b.Rule != nil && !r.Faulty() {
		r.AddWhole(kinds.FaultRequired)
	}
}

// given checks and writes what was sent to a block. It is false when that means
// unanswered, or is wrong.
func (w *Writer) given(b *compile.Block, raw json.RawMessage, r *kinds.Report, unique bool) bool {
	tree, err := jsontree.Parse(raw, kinds.Bounds)
	if err != nil {
		if b.Rule == nil {
			r.AddWhole(takesNoAnswer())
		} else {
			r.AddWhole(notJSON())
		}
		return false
	}
	defer tree.Release()
	n := tree.Root()
	switch {
	case b.Rule == nil:
		if !kinds.IsBlank(n) {
			r.AddWhole(takesNoAnswer())
		}
		return false
	case n.HasNUL():
		r.AddWhole(kinds.NotPlainText())
		return false
	case kinds.IsBlank(n):
		return false
	}
	mark := w.list.Len()
	w.list.Raw(b.Head)
	start := w.list.Len()
	b.Rule.Check(&w.list, n, r)
	if r.Faulty() || w.list.Len() == start {
		w.list.Truncate(mark)
		return false
	}
	if r.Exceeds(&w.list) {
		w.list.Truncate(mark)
		return true // answered, and one fault for all
	}
	w.Last = [2]int{start, w.list.Len()}
	value := w.list.Bytes()[start:]
	if unique {
		w.unique = identity.Unique(b.Type, value)
	}
	w.keep(b.Key, value)
	return true
}

func takesNoAnswer() kinds.Fault {
	return kinds.NotAllowed("no_answer", "a block of this type takes no answer")
}

// keep ends the last item of list and writes its value again.
func (w *Writer) keep(key, value []byte) {
	w.byField.Raw(key)
	w.byField.Raw(value)
	w.list.EndObject()
}

func (w *Writer) HiddenField(h *compile.Hidden, text string, r *kinds.Report) {
	if bad := kinds.BadHidden(text); bad.Found() {
		r.Put(jsontree.Pointer(hiddenPath, h.Name), h.Name, bad)
		return
	}
	mark := w.list.Len()
	w.list.Raw(h.Head)
	start := w.list.Len()
	w.list.String(text)
	if r.Exceeds(&w.list) {
		w.list.Truncate(mark)
		return
	}
	value := w.list.Bytes()[start:]
	w.hidden.Raw(h.Key)
	w.hidden.Raw(value)
	w.keep(h.Key, value)
}

// Variable writes a value that a rule has set.
func (w *Writer) Variable(v *compile.Variable, value any, r *kinds.Report) {
	mark := w.list.Len()
	w.list.Raw(v.Head)
	start := w.list.Len()
	switch value := value.(type) {
	case float64:
		w.list.Float(value)
	case string:
		w.list.String(value)
	}
	if r.Exceeds(&w.list) {
		w.list.Truncate(mark)
		return
	}
	w.variables.Raw(v.Key)
	w.variables.Raw(w.list.Bytes()[start:])
	w.list.EndObject()
}

func (w *Writer) Answers() Answers {
	w.list.EndArray()
	w.byField.EndObject()
	w.hidden.EndObject()
	w.variables.EndObject()
	return Answers{
		List:      w.list.Bytes(),
		ByField:   w.byField.Bytes(),
		Hidden:    slices.Clip(w.hidden.Bytes()),
		Variables: slices.Clip(w.variables.Bytes()),
		Unique:    w.unique,
	}
}

func notJSON() kinds.Fault { return kinds.BadFormat("json", "could not be read") }

// Stored returns an answer that was written, from what last was after it.
func (w *Writer) Stored(at [2]int) []byte { return w.list.Bytes()[at[0]:at[1]] }
