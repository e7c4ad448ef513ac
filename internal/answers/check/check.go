// Package check checks one answer against its block and normalizes it for the storage.
package check

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/identity"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// hiddenPath is where hidden fields stand in the path of a Violation.
const hiddenPath = "/hidden"

// Input has the answers of a respondent and of the host.
type Input struct {
	// Answers are the respondent's, by block id.
	Answers map[string]json.RawMessage
	// HostAnswers are the answers to payment, file_upload and signature blocks, and to
	// any block that properties.hide hides. They come from the host alone: a respondent
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
	// there is no such setting, block or answer, or when the block is of a type that is
	// never compared.
	Unique []byte
}

// Writer builds the two shapes of an Answers side by side.
type Writer struct {
	list, byField, hidden, variables jsontree.Writer
	unique                           []byte
	LastRange                        [2]int // where the last answer stands in list; 0, 0: it was not written
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
	size = min(size, maxInitialSize)
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

// maxInitialSize bounds the room that is made before anything is checked.
const maxInitialSize = 64 << 10

// Answer checks one answer and writes it. Nothing is written when the block is
// unanswered or something is wrong. That an answer is missing is a fault of a
// response that is not partial.
func (w *Writer) Answer(b *compile.Block, raw json.RawMessage, r *answertype.Report, unique, partial bool) {
	w.LastRange = [2]int{}
	if len(raw) == 0 && !r.Required || b.Dropped {
		return
	}
	if len(raw) > 0 && w.writeAnswer(b, raw, r, unique) {
		return
	}
	if r.Required && !partial && b.Rule != nil && !r.HasViolations() {
		r.AddToAnswer(answertype.ViolationRequired)
	}
}

// given checks and writes the answer to a block. It is false when that means
// unanswered, or is wrong.
func (w *Writer) writeAnswer(b *compile.Block, raw json.RawMessage, r *answertype.Report, unique bool) bool {
	if b.Rule == nil {
		if !answertype.IsBlankJSON(raw) {
			r.AddToAnswer(answertype.NotAllowed("no_answer", "blocks of this type cannot be answered"))
		}
		return false
	}
	tree, err := jsontree.Parse(raw, answertype.ParseLimits)
	if err != nil {
		r.AddToAnswer(answertype.BadFormat("json", "cannot be read"))
		return false
	}
	defer tree.Release()
	n := tree.Root()
	switch {
	case n.HasNUL():
		r.AddToAnswer(answertype.NotPlainText())
		return false
	case answertype.IsBlank(n):
		return false
	}
	mark := w.list.Len()
	w.list.Raw(b.Head)
	start := w.list.Len()
	b.Rule.Check(&w.list, n, r)
	if r.HasViolations() || w.list.Len() == start {
		w.list.Truncate(mark)
		return false
	}
	value := w.endItem(mark, start, b.Key, &w.byField, r)
	if value != nil {
		w.LastRange = [2]int{start, start + len(value)}
	}
	if unique && value != nil {
		w.unique = identity.Unique(b.Type, value)
	}
	return true // answered, also when there is one fault for all
}

// end ends the item that was begun at mark, and writes its value again as a member of into. It
// returns the value, nil when the answers take too much with it.
func (w *Writer) endItem(mark, start int, key []byte, into *jsontree.Writer, r *answertype.Report) (value []byte) {
	if r.ExceedsLimit(&w.list) {
		w.list.Truncate(mark)
		return nil
	}
	value = w.list.Bytes()[start:]
	into.Raw(key)
	into.Raw(value)
	w.list.EndObject()
	return value
}

// HiddenField checks and writes the value of a hidden field.
func (w *Writer) HiddenField(h *compile.Hidden, text string, r *answertype.Report) {
	if bad := answertype.CheckHidden(text); bad.IsSet() {
		r.Put(jsontree.Pointer(hiddenPath, h.Name), h.Name, bad)
		return
	}
	mark := w.list.Len()
	w.list.Raw(h.Head)
	start := w.list.Len()
	w.list.String(text)
	if value := w.endItem(mark, start, h.Key, &w.hidden, r); value != nil {
		w.byField.Raw(h.Key)
		w.byField.Raw(value)
	}
}

// Variable writes a value that a rule has set.
func (w *Writer) Variable(v *compile.Variable, value any, r *answertype.Report) {
	mark := w.list.Len()
	w.list.Raw(v.Head)
	start := w.list.Len()
	switch value := value.(type) {
	case float64:
		w.list.Float(value)
	case string:
		w.list.String(value)
	}
	w.endItem(mark, start, v.Key, &w.variables, r)
}

// Answers ends all that was written.
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

// Stored returns an answer that was written; at is what Last was when it had been written.
func (w *Writer) Stored(at [2]int) []byte { return w.list.Bytes()[at[0]:at[1]] }

// HiddenFields checks the hidden fields of a response that is not finished, and returns them as
// an object of strings. An error is a *[schema.Error].
func HiddenFields(f *compile.Form, hidden map[string]string) (json.RawMessage, error) {
	w, r := NewWriter(f, Input{}), answertype.Report{Limit: math.MaxInt}
	for i := range f.Hidden {
		if text := hidden[f.Hidden[i].Name]; text != "" {
			w.HiddenField(&f.Hidden[i], text, &r)
		}
	}
	return w.Answers().Hidden, r.Violations.Err()
}

// PartialList returns the answers of a response that is not finished as a list like that of an
// Answers. The path does not matter. An answer with a fault stands there as it was sent, and
// one to a block that the form does not have like that to a short_text.
func PartialList(f *compile.Form, in Input) json.RawMessage {
	w := NewWriter(f, in)
	asSent := func(id, typ string, value json.RawMessage) {
		w.list.Raw(compile.NewItem(id, typ, "").Head)
		w.list.Raw(value)
		w.list.EndObject()
	}
	for id, raw := range in.Answers {
		at, known := f.Index[id]
		if !known {
			asSent(id, schema.TypeShortText, raw)
			continue
		}
		b, r := &f.Blocks[at], answertype.Report{Limit: math.MaxInt}
		if w.Answer(b, raw, &r, false, true); r.HasViolations() {
			asSent(id, b.Type, raw)
		}
	}
	for name, text := range in.Hidden {
		asSent(name, schema.TypeHidden, jsontree.AppendString(nil, text))
	}
	return w.Answers().List
}

// Sample returns made-up answers to all blocks and hidden fields, for a test event, whatever
// the rules say, and the variables that rules may set. The answers keep the form's rules and
// are the same at every call; a block for which no valid sample exists is left out. Unique is
// nil.
func Sample(f *compile.Form) Answers {
	w := NewWriter(f, Input{})
	r := answertype.Report{Limit: f.Limit} // takes the faults of samples that are left out
	for i := range f.Blocks {
		if b := &f.Blocks[i]; b.Rule != nil {
			r.Begin(b.ID, b.Path, b.Required)
			w.Answer(b, json.RawMessage(b.Rule.Sample()), &r, false, true)
		}
	}
	for i := range f.Hidden {
		w.HiddenField(&f.Hidden[i], "sample", &r)
	}
	for i := range f.Variables {
		if v := &f.Variables[i]; v.Head != nil {
			w.Variable(v, v.Initial, &r)
		}
	}
	return w.Answers()
}
