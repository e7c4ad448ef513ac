// Package check checks one answer against its block and normalizes it for storage.
package check

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/identity"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

const hiddenPath = "/hidden"

// Input holds the answers from a respondent and from the host.
type Input struct {
	Answers map[string]json.RawMessage // the respondent's answers by block ID
	// HostAnswers holds answers to payment, file_upload and signature blocks, and to blocks with properties.hide.
	// Only the host provides them, because respondents could forge them.
	HostAnswers map[string]json.RawMessage
	Hidden      map[string]string // hidden fields by name; undeclared names are ignored
	Now         time.Time         // of the submission, for the operator today; if zero, today is null
	// LegalTexts contains the texts of legal blocks that the respondent has seen, by block ID. Without an entry, the
	// current text counts.
	LegalTexts map[string]string
	// Labels contains the labels of the choices that the host offers, by block ID and choice ID. If a block with a list
	// has no entry, all its choices are accepted.
	Labels map[string]map[string]string
}

// Asked is what the host is asked about answers. It is empty if the form has no blocks with lists or the host's checks.
type Asked struct {
	Lists  []List
	Checks []Check // in the order in which they run
}

// List is a block on the path whose choices come from the host.
type List struct {
	Block, Name string
	By          string   // the value that determines the choices: a text or choice ID, or the JSON of another value
	IDs         []string // the selected choices
}

// Check is a check of the host for a block with a valid answer, or for a group whose answers are valid.
type Check struct{ Block, Path, Name string }

// Answers is a checked submission in the format used for storage, lists, exports and deliveries. It omits unanswered
// blocks. The caller owns the slices.
type Answers struct {
	// List is an array of {"field":{"id","type","label"},"value"} in definition order: blocks, then hidden fields of
	// type "hidden", then the variables that rules set, of type "variable". The field of a legal block also has its
	// "text".
	List      json.RawMessage
	ByField   json.RawMessage // an object of the same values by block ID or hidden field name, without variables
	Hidden    json.RawMessage // an object of strings with the declared hidden fields that have a value
	Variables json.RawMessage // an object with the numbers and strings that rules set
	Consents  json.RawMessage // an object with the texts of the legal blocks whose answer is true
	// Unique is a SHA-256 digest of the answer to the block in settings.duplicateField. Equivalent answers have the
	// same digest (see [identity.Rules]). Unique is nil if the setting, the block or the answer is missing, or if the
	// block type cannot be compared.
	Unique []byte
	Ending string // the ID of the ending that the path reaches; empty if there is none
	Asked
}

// Writer checks answers and encodes them in all formats of [Answers].
type Writer struct {
	list, byField, hidden, variables, consents jsontree.Writer
	unique                                     []byte
	LastRange                                  [2]int // the last answer's start and end in list; zeros if it was not written
}

// NewWriter preallocates memory based on the size of the input.
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
	w.consents.Object()
	return w
}

// maxInitialSize limits the preallocated memory, because the input is unchecked.
const maxInitialSize = 64 << 10

// WriteAnswer checks an answer and writes it if it is valid. It reports a missing required answer unless partial is
// true.
func (w *Writer) WriteAnswer(b *compile.Block, raw json.RawMessage, r *answertype.Report, unique, partial bool) {
	w.LastRange = [2]int{}
	if len(raw) == 0 && !r.Required || b.Dropped {
		return
	}
	if len(raw) > 0 && w.writeCheckedAnswer(b, raw, r, unique) {
		return
	}
	if r.Required && !partial && b.Rule != nil && !r.HasViolations() {
		r.AddToAnswer(answertype.ViolationRequired)
	}
}

// writeCheckedAnswer checks and writes the answer to a block. It returns false if the answer is empty or invalid.
func (w *Writer) writeCheckedAnswer(b *compile.Block, raw json.RawMessage, r *answertype.Report, unique bool) bool {
	if b.Rule == nil {
		if !answertype.IsBlankJSON(raw) {
			r.AddToAnswer(answertype.ViolationNotAllowed("no_answer", "blocks of this type cannot be answered"))
		}
		return false
	}
	tree, err := jsontree.Parse(raw, answertype.ParseLimits)
	if err != nil {
		r.AddToAnswer(answertype.ViolationBadFormat("json", "cannot be read"))
		return false
	}
	defer tree.Release()
	n := tree.Root()
	switch {
	case n.HasNUL():
		r.AddToAnswer(answertype.ViolationNotPlainText())
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
	if b.Consent != nil && string(value) == "true" {
		w.consents.Raw(b.Key)
		w.consents.Raw(b.Consent)
	}
	if unique && value != nil {
		w.unique = identity.UniqueDigest(b.Type, value)
	}
	return true // even if the total size of all answers exceeds the limit
}

// endItem ends the list item that starts at mark and copies its value to into. It returns the value, or nil if the
// total size of all answers exceeds the limit.
func (w *Writer) endItem(mark, start int, key []byte, into *jsontree.Writer, r *answertype.Report) (value []byte) {
	if r.MarkIfLimitExceeded(&w.list) {
		w.list.Truncate(mark)
		return nil
	}
	value = w.list.Bytes()[start:]
	into.Raw(key)
	into.Raw(value)
	w.list.EndObject()
	return value
}

// WriteHiddenField checks and writes the value of a hidden field.
func (w *Writer) WriteHiddenField(h *compile.Hidden, text string, r *answertype.Report) {
	if bad := answertype.CheckHiddenText(text); bad.IsSet() {
		r.AddAt(jsontree.JoinPointer(hiddenPath, h.Name), h.Name, bad)
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

// WriteVariable writes the value of a variable.
func (w *Writer) WriteVariable(v *compile.Variable, value any, r *answertype.Report) {
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

// Finish returns all written answers.
func (w *Writer) Finish() Answers {
	w.list.EndArray()
	w.byField.EndObject()
	w.hidden.EndObject()
	w.variables.EndObject()
	w.consents.EndObject()
	return Answers{
		List:      w.list.Bytes(),
		ByField:   w.byField.Bytes(),
		Hidden:    slices.Clip(w.hidden.Bytes()),
		Variables: slices.Clip(w.variables.Bytes()),
		Consents:  slices.Clip(w.consents.Bytes()),
		Unique:    w.unique,
	}
}

// StoredValue returns a written answer. at is the value that LastRange had after the answer was written.
func (w *Writer) StoredValue(at [2]int) []byte { return w.list.Bytes()[at[0]:at[1]] }

// EncodeHiddenFields checks and encodes the hidden fields of a partial submission. It returns a *[schema.Error] if a
// value is invalid.
func EncodeHiddenFields(f *compile.Form, hidden map[string]string) (json.RawMessage, error) {
	w, r := NewWriter(f, Input{}), answertype.Report{Limit: math.MaxInt}
	for i := range f.Hidden {
		if text := hidden[f.Hidden[i].Name]; text != "" {
			w.WriteHiddenField(&f.Hidden[i], text, &r)
		}
	}
	return w.Finish().Hidden, r.Violations.Err()
}

// PartialList returns the answers of a partial submission in the format of Answers.List, regardless of the path. It
// leaves invalid answers as sent, and treats unknown blocks as short_text.
func PartialList(f *compile.Form, in Input) json.RawMessage {
	w := NewWriter(f, in)
	asSent := func(id, typ string, value json.RawMessage) {
		w.list.Raw(compile.NewItem(id, typ, "", "").Head)
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
		if w.WriteAnswer(b, raw, &r, false, true); r.HasViolations() {
			asSent(id, b.Type, raw)
		}
	}
	for name, text := range in.Hidden {
		asSent(name, schema.TypeHidden, jsontree.AppendString(nil, text))
	}
	return w.Finish().List
}

// SampleAnswers returns valid sample answers for a test event; see [answers.Form.Sample].
func SampleAnswers(f *compile.Form) Answers {
	w := NewWriter(f, Input{})
	r := answertype.Report{Limit: f.Limit} // its violations are dropped, because invalid samples are omitted
	for i := range f.Blocks {
		if b := &f.Blocks[i]; b.Rule != nil {
			r.BeginAnswer(b.ID, b.Path, b.Required)
			w.WriteAnswer(b, json.RawMessage(b.Rule.Sample()), &r, false, true)
		}
	}
	for i := range f.Hidden {
		w.WriteHiddenField(&f.Hidden[i], "sample", &r)
	}
	for i := range f.Variables {
		if v := &f.Variables[i]; v.Head != nil {
			w.WriteVariable(v, v.Initial, &r)
		}
	}
	return w.Finish()
}
