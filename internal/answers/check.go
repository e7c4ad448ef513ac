package answers

import (
	"encoding/json"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Where the parts of an Input stand in the path of a Violation.
const (
	answersPath     = "/answers"
	hostAnswersPath = "/host_answers"
	hiddenPath      = "/hidden"
)

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
	// names: the same for all answers of the same meaning, by [IdentityRules]. nil when
	// there is no such setting, block or answer, or it is of a type that is never
	// compared.
	Unique []byte
}

// Check holds a response against the form and normalises it. Every fault is
// reported at once in a *[schema.Error] whose paths begin with /answers, /host_answers or
// /hidden and whose Field is the block's id or the hidden field's name. Answers that
// would take more than Limits.Response together are TOO_LONG at the empty path.
//
// null, [] and text of which nothing can be seen mean unanswered, to a block of any type
// and whether it is required or not. An answer to a block that takes none (content,
// groups) is NOT_ALLOWED, one to an id that the form does not have UNKNOWN_FIELD. An
// answer to a captcha is accepted and not stored.
//
// Only the blocks on the respondent's path count, see [Form.Path]. Answers to other
// blocks are dropped unchecked, but for the host's to blocks that the form hides. To
// rules, a faulty answer is unanswered. A response whose rules take too many steps is
// TOO_MANY at the empty path.
//
// Accepted and stored, by block type:
//
//   - short_text, long_text: a string, stored in NFC with line feeds for line ends and
//     without white space at its ends, then of at most maxChars characters or, where
//     that is not set, 10,000 and 100,000. short_text is one line. FF, VT, U+2028 and
//     U+2029 are line ends, in one line a space. Other control characters but tab and
//     line feed are refused, and so are bidirectional overrides and embeddings that are
//     not balanced (U+202A to U+202E); those that are balanced are dropped. Other
//     invisible characters stay.
//   - email: one address of at most 254 characters: the part before the @ as it was
//     sent, the domain mapped by the lookup profile of IDNA and stored in Unicode and
//     lower case. "Ann <ann@example.com>" and "mailto:ann@example.com" are read as their
//     address, and a full-width @ as one.
//   - phone: a number that is valid by the data of libphonenumber, stored in E.164. A
//     national number only where the block's defaultCountry says whose. A number with
//     an extension is refused, as E.164 would lose it.
//   - website: an http or https URL of at most 2,048 characters, without credentials;
//     https:// is added when the scheme is missing. Its host is a domain as in an
//     email address, stored in the same form, or an address of the public internet.
//   - number, rating, opinion_scale, nps: a JSON number, or a string that holds one.
//     The digits stay as they were sent, without trailing zeros of a fraction; an
//     exponent is written out where it is short, and a fraction is rounded to what a
//     float64 holds. What is stored is what is compared with the bounds. opinion_scale goes from 1 to 10 in
//     steps of 1 where from, to and scaleStep are not set.
//   - yes_no, legal: true or false, or the strings "true" or "false". A legal block
//     that is required, or has legalStopFurther, is REQUIRED when it is false.
//   - single_choice, dropdown, picture_choice: a choice's id, or an object with it
//     as id, stored as {"id","label"} with the label of the form. With otherOption
//     {"other": text} too, a short text; a blank one chooses nothing.
//   - multiple_choice, and picture_choice with multiSelection: an array of those, or
//     one of them, stored as an array in the order of the definition, other last.
//   - ranking: an array of all choices, each once, the order is the answer.
//   - matrix: an object of a choice for each row id, with multiSelection an array.
//     Rows may be left out unless the block is required.
//   - date: YYYY-MM-DD; with showTimePicker an RFC 3339 time, stored in whole seconds
//     with the offset that was sent. afterDate and beforeDate are the first and the last
//     day that can be chosen. They, specificDates and disabledDays are calendar days of
//     Source.TimeZone; the day of an answer with a time is the one that it is written
//     with.
//   - time: HH:MM; with showSeconds HH:MM:SS, where missing seconds are 00.
//   - country: an ISO 3166-1 alpha-2 code, or an alpha-3 one, stored as the former.
//   - address, contact_info: an object of strings of one line, at most 1,000
//     characters each; email, phone and country as above. Parts that are required must
//     be there once one is.
//   - file_upload: an array of {"id","name","url","mime_type","size"}, or one such
//     object, at most 100. signature: one such object, a picture. The name has no path,
//     the type is one of allowedFiles.
//   - payment: {"amount","currency","status","gateway","reference"}; the amount is
//     a decimal string or a number, stored as a string. Amount and currency are those
//     that the block names. currency and gateway may be left out where it does,
//     reference always. A required payment has the status "paid".
//
// Words that a form post sends for these ("on", "1,5") are for whoever reads the post.
//
// Checking costs at most five times what json.Unmarshal of the same answers does, and
// 5 ms (BenchmarkCostlyResponses): of text that is not in NFC and of addresses beyond
// ASCII, one response has at most 64 KiB (TOO_LONG). A phone number takes some 10 µs, so
// only a form with more than 300 questions for one is beyond that.
func (f *Form) Check(in Input) (Answers, error) {
	k := f.newWalk(in)
	k.run()
	if err := k.r.found.Err(); err != nil {
		return Answers{}, err
	}
	return k.w.answers(), nil
}

// refuseForeign reports an answer that came from the wrong side.
func refuseForeign(b *compiledBlock, raw json.RawMessage, r *report) {
	if blank(raw) {
		return
	}
	if b.host {
		r.put(jsontree.Pointer(answersPath, b.id), b.id, notAllowed("host", "only the host can give this answer"))
		return
	}
	r.put(jsontree.Pointer(hostAnswersPath, b.id), b.id, notAllowed("respondent", "the host can answer this block only while it is hidden"))
}

// refuseUnknown reports the entries whose id is none of the form's blocks.
func (f *Form) refuseUnknown(parent string, given map[string]json.RawMessage, r *report) {
	blocks := make(map[string]bool, len(f.blocks))
	for i := range f.blocks {
		blocks[f.blocks[i].id] = true
	}
	var unknown []string
	for id := range given {
		if !blocks[id] {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown) // a map has no order, but the same input has the same faults
	for _, id := range unknown[:min(len(unknown), schema.MaxViolations)] {
		r.put(jsontree.Pointer(parent, id), id, faultNoBlock)
	}
}

// answerWriter builds the two shapes of an Answers side by side.
type answerWriter struct {
	list, byField, hidden, variables jsontree.Writer
	unique                           []byte
	last                             [2]int // where the last answer stands in list; 0, 0 when there was none
}

// newWriter guesses the room that is needed from the input.
func (f *Form) newWriter(in Input) *answerWriter {
	size := 2
	for id, raw := range in.Answers {
		size += len(id) + len(raw)
	}
	for id, raw := range in.HostAnswers {
		size += len(id) + len(raw)
	}
	size = min(size, maxGuess)
	entries := min(len(in.Answers)+len(in.HostAnswers), len(f.blocks)) + len(f.hidden)
	w := &answerWriter{
		list:    *jsontree.NewWriter(make([]byte, 0, size+entries*(f.headSize+2))),
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

// answer checks one answer and writes it. Nothing is written when the block is
// unanswered or something is wrong. That an answer is missing is a fault of a
// response that is not partial.
func (w *answerWriter) answer(b *compiledBlock, raw json.RawMessage, r *report, unique, partial bool) {
	w.last = [2]int{}
	if len(raw) == 0 && !r.required || b.dropped {
		return
	}
	if len(raw) > 0 && w.given(b, raw, r, unique) {
		return
	}
	if r.required && !partial && b.rule != nil && r.faults == 0 {
		r.addWhole(faultRequired)
	}
}

// given checks and writes what was sent to a block. It is false when that means
// unanswered, or is wrong.
func (w *answerWriter) given(b *compiledBlock, raw json.RawMessage, r *report, unique bool) bool {
	tree, err := jsontree.Parse(raw, answerBounds)
	if err != nil {
		if b.rule == nil {
			r.addWhole(takesNoAnswer())
		} else {
			r.addWhole(notJSON())
		}
		return false
	}
	defer tree.Release()
	n := tree.Root()
	switch {
	case b.rule == nil:
		if !isBlank(n) {
			r.addWhole(takesNoAnswer())
		}
		return false
	case n.HasNUL():
		r.addWhole(notPlainText())
		return false
	case isBlank(n):
		return false
	}
	mark := w.list.Len()
	w.list.Raw(b.head)
	start := w.list.Len()
	b.rule.check(&w.list, n, r)
	if r.faults > 0 || w.list.Len() == start {
		w.list.Truncate(mark)
		return false
	}
	if r.exceeds(&w.list) {
		w.list.Truncate(mark)
		return true // answered, and one fault for all
	}
	w.last = [2]int{start, w.list.Len()}
	value := w.list.Bytes()[start:]
	if unique {
		w.unique = uniqueDigest(b.typ, value)
	}
	w.keep(b.key, value)
	return true
}

func takesNoAnswer() fault { return notAllowed("no_answer", "a block of this type takes no answer") }

// keep ends the last item of list and writes its value again.
func (w *answerWriter) keep(key, value []byte) {
	w.byField.Raw(key)
	w.byField.Raw(value)
	w.list.EndObject()
}

func (w *answerWriter) hiddenField(h *compiledHidden, text string, r *report) {
	if bad := badHidden(text); bad.found() {
		r.put(jsontree.Pointer(hiddenPath, h.name), h.name, bad)
		return
	}
	mark := w.list.Len()
	w.list.Raw(h.head)
	start := w.list.Len()
	w.list.String(text)
	if r.exceeds(&w.list) {
		w.list.Truncate(mark)
		return
	}
	value := w.list.Bytes()[start:]
	w.hidden.Raw(h.key)
	w.hidden.Raw(value)
	w.keep(h.key, value)
}

// variable writes a value that a rule has set.
func (w *answerWriter) variable(v *compiledVariable, value any, r *report) {
	mark := w.list.Len()
	w.list.Raw(v.head)
	start := w.list.Len()
	switch value := value.(type) {
	case float64:
		w.list.Float(value)
	case string:
		w.list.String(value)
	}
	if r.exceeds(&w.list) {
		w.list.Truncate(mark)
		return
	}
	w.variables.Raw(v.key)
	w.variables.Raw(w.list.Bytes()[start:])
	w.list.EndObject()
}

func (w *answerWriter) answers() Answers {
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

func notJSON() fault { return badFormat("json", "could not be read") }
