package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Where the parts of an AnswerInput stand in the path of a Violation.
const (
	answersPath     = "/answers"
	hostAnswersPath = "/host_answers"
	hiddenPath      = "/hidden"
)

// AnswerInput is what a respondent sent and what the host adds to it.
type AnswerInput struct {
	// Answers are the respondent's, by block id.
	Answers map[string]json.RawMessage
	// HostAnswers are those of payment, file_upload and signature blocks. They come
	// from the host alone: a respondent who could say them would forge them.
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
	// the definition, hidden fields last with the type "hidden".
	List json.RawMessage
	// ByField is an object of the same values by block id or hidden name.
	ByField json.RawMessage
	// Hidden is an object of strings: the declared hidden fields that were given.
	Hidden json.RawMessage
	// Unique is a SHA-256 over the id and the answer of the block that
	// settings.duplicateField names: the ids of what was chosen, so that neither a
	// choice's new label nor another order of the choices makes it a new answer, and
	// of everything else the normalised value. nil when there is no such setting,
	// block or answer.
	Unique []byte
}

// Check holds a response against the form and normalises it. Every fault is
// reported at once in an *Error whose paths begin with /answers, /host_answers or
// /hidden and whose Field is the block's id or the hidden field's name.
//
// null, [], "" and text of white space only mean unanswered, to a block of any
// type and whether it is required or not. An answer to a block that takes none
// (content, groups) is NOT_ALLOWED, one to an id that the form does not have
// UNKNOWN_FIELD. An answer to a captcha is accepted and not stored.
//
// What is accepted, and what is stored, by block type:
//
//   - short_text, long_text: a string, stored as given, of at most maxChars
//     characters or, where that is not set, 10,000 and 100,000. short_text has no
//     line break.
//   - email: one address of at most 254 characters; white space around it is
//     dropped, the domain lower-cased.
//   - phone, country: a string of at most 64 characters without line breaks,
//     stored as given but for white space around it.
//   - website: an http or https URL of at most 2,048 characters; https:// is added
//     when the scheme is missing and the host has a dot.
//   - number, rating, opinion_scale, nps: a JSON number, or a string that holds
//     one, as forms in a browser send it. The digits stay as they were sent, without
//     trailing zeros of a fraction; an exponent is written out where it is short.
//     opinion_scale goes from 1 to 10 in steps of 1 where from, to and scaleStep
//     are not set.
//   - yes_no, legal: true or false, or the strings "true" or "false". A legal block
//     that is required, or has legalStopFurther, is REQUIRED when it is false.
//   - single_choice, dropdown, picture_choice: a choice's id, or an object with it
//     as id, stored as {"id","label"} with the label of the form. With otherOption
//     {"other": text} too, of at most 10,000 characters.
//   - multiple_choice, and picture_choice with multiSelection: an array of those, or
//     one of them, stored as an array in the order of the definition, other last.
//   - ranking: an array of all choices, each once, the order is the answer.
//   - matrix: an object of a choice for each row id, with multiSelection an array.
//     Rows may be left out unless the block is required.
//   - date: YYYY-MM-DD; with showTimePicker an RFC 3339 time, stored in UTC and whole
//     seconds. afterDate and beforeDate are the first and the last day that can be
//     chosen; with showTimePicker a bound that is not midnight is exact.
//     disabledDays and specificDates go by the day in UTC.
//   - time: HH:MM; with showSeconds HH:MM:SS, where missing seconds are 00.
//   - address, contact_info: an object of strings, at most 1,000 characters each,
//     an email as above. Parts that are required must be there once one is.
//   - file_upload: an array of {"id","name","url","mime_type","size"}, or one such
//     object, at most 100. signature: one such object.
//   - payment: {"amount","currency","status","gateway","reference"}; the amount is
//     a decimal string or a number, stored as a string. currency and gateway may be
//     left out where the block names them, reference always.
func (f *Form) Check(in AnswerInput) (Answers, error) {
	var (
		found         violations
		r             = report{found: &found}
		w             = f.newWriter(in)
		known, hostly int // entries that belong to a block
		digest        []byte
	)
	for i := range f.blocks {
		b := &f.blocks[i]
		own, ok := in.Answers[b.id]
		if ok {
			known++
		}
		var foreign json.RawMessage
		if len(in.HostAnswers) > 0 {
			if foreign, ok = in.HostAnswers[b.id]; ok {
				hostly++
			}
		}
		if b.host {
			own, foreign = foreign, own
		}
		if len(foreign) > 0 {
			refuseForeign(b, foreign, &found)
		}
		value := w.answer(b, own, &r)
		if i == f.unique && value != nil {
			digest = uniqueDigest(b, value)
		}
	}
	if known < len(in.Answers) {
		f.refuseUnknown(answersPath, in.Answers, &found)
	}
	if hostly < len(in.HostAnswers) {
		f.refuseUnknown(hostAnswersPath, in.HostAnswers, &found)
	}
	for i := range f.hidden {
		h := &f.hidden[i]
		if text := in.Hidden[h.name]; text != "" {
			w.hiddenField(h, text, &found)
		}
	}
	if err := found.err(); err != nil {
		return Answers{}, err
	}
	answers := w.answers()
	answers.Unique = digest
	return answers, nil
}

// refuseForeign reports an answer that came from the wrong side.
func refuseForeign(b *compiledBlock, raw json.RawMessage, found *violations) {
	if blank(raw) {
		return
	}
	if b.host {
		found.addField(pointer(answersPath, b.id), b.id, CodeNotAllowed, "only the host can give this answer")
		return
	}
	found.addField(pointer(hostAnswersPath, b.id), b.id, CodeNotAllowed, "the host gives no answer to a block of this type")
}

// refuseUnknown reports the entries whose id is none of the form's blocks.
func (f *Form) refuseUnknown(parent string, given map[string]json.RawMessage, found *violations) {
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
	for _, id := range unknown[:min(len(unknown), MaxViolations)] {
		found.addField(pointer(parent, id), id, CodeUnknownField, "the form has no such block")
	}
}

// blank reports whether raw means unanswered.
func blank(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	n, err := parseAnswer(raw)
	return err == nil && isBlank(n)
}

// isBlank reports whether n means unanswered: it is nil or null, text of white
// space only, or an empty array.
func isBlank(n *node) bool {
	if n == nil {
		return true
	}
	switch n.kind {
	case kindNull:
		return true
	case kindString:
		return strings.TrimSpace(n.text) == ""
	case kindArray:
		return len(n.items) == 0
	default:
		return false
	}
}

// report collects what is wrong with one answer.
type report struct {
	found  *violations
	field  string
	path   string // of the answer, or of the part that is being checked
	faults int    // reported since the answer began
}

func (r *report) add(code, message string) {
	r.faults++
	r.found.addField(r.path, r.field, code, message)
}

// addAt reports a fault of an item of an array.
func (r *report) addAt(index int, code, message string) {
	r.faults++
	if !r.found.full() {
		r.found.addField(r.path+"/"+strconv.Itoa(index), r.field, code, message)
	}
}

// addIn reports a fault of a member of an object.
func (r *report) addIn(name, code, message string) {
	r.faults++
	if !r.found.full() {
		r.found.addField(pointer(r.path, name), r.field, code, message)
	}
}

// full reports that there is no use in looking further at a long list.
func (r *report) full() bool { return r.faults >= MaxViolations }

// Messages that more than one rule uses.
const (
	messageRequired = "an answer is required"
	messageText     = "must be a string"
	messageObject   = "must be an object"
	messageMember   = "must be given"
)

// answerWriter builds the two shapes of an Answers side by side.
type answerWriter struct {
	list, byField, hidden []byte
}

// newWriter guesses the room that is needed from the input.
func (f *Form) newWriter(in AnswerInput) answerWriter {
	size := 2
	for id, raw := range in.Answers {
		size += len(id) + len(raw)
	}
	for id, raw := range in.HostAnswers {
		size += len(id) + len(raw)
	}
	size = min(size, maxGuess)
	entries := min(len(in.Answers)+len(in.HostAnswers), len(f.blocks)) + len(f.hidden)
	return answerWriter{
		list:    append(make([]byte, 0, size+entries*(f.headSize+2)), '['),
		byField: append(make([]byte, 0, size+entries*4), '{'),
		hidden:  []byte{'{'},
	}
}

// maxGuess bounds the room that is made before anything is checked.
const maxGuess = 64 << 10

// answer checks one answer and writes it. It returns the value that was written,
// nil when none was: the block is unanswered or something is wrong. The value is
// valid until the next call.
func (w *answerWriter) answer(b *compiledBlock, raw json.RawMessage, r *report) []byte {
	r.field, r.path, r.faults = b.id, b.path, 0
	if len(raw) == 0 && !b.required || b.dropped {
		return nil
	}
	mark := len(w.list)
	if len(raw) > 0 {
		n, err := parseAnswer(raw)
		switch {
		case b.rule == nil:
			if err != nil || !isBlank(n) {
				r.add(CodeNotAllowed, "a block of this type takes no answer")
			}
		case err != nil:
			r.add(CodeBadFormat, "must be JSON in valid UTF-8, without duplicate members and within the bounds of a body")
		case n.nul:
			r.add(CodeBadFormat, messageNUL)
		case !isBlank(n):
			w.list = separate(w.list)
			w.list = append(w.list, b.head...)
			start := len(w.list)
			w.list = b.rule.check(w.list, n, r)
			if r.faults == 0 && len(w.list) > start {
				return w.keep(b.key, start)
			}
		}
	}
	w.list = w.list[:mark]
	if b.required && b.rule != nil && r.faults == 0 {
		r.add(CodeRequired, messageRequired)
	}
	return nil
}

// keep ends the item of list whose value begins at start, and copies the value.
func (w *answerWriter) keep(key []byte, start int) []byte {
	value := w.list[start:]
	w.byField = separate(w.byField)
	w.byField = append(w.byField, key...)
	w.byField = append(w.byField, value...)
	w.list = append(w.list, '}')
	return w.list[start : len(w.list)-1]
}

func (w *answerWriter) hiddenField(h *compiledHidden, text string, found *violations) {
	switch path := pointer(hiddenPath, h.name); {
	case !utf8.ValidString(text):
		found.addField(path, h.name, CodeBadFormat, "must be valid UTF-8")
	case hasNUL(text):
		found.addField(path, h.name, CodeBadFormat, messageNUL)
	case longerThan(text, maxShortText):
		found.addField(path, h.name, CodeTooLong, tooLong(maxShortText))
	default:
		w.list = separate(w.list)
		w.list = append(w.list, h.head...)
		start := len(w.list)
		w.list = appendQuoted(w.list, text)
		value := w.keep(h.key, start)
		w.hidden = separate(w.hidden)
		w.hidden = append(w.hidden, h.key...)
		w.hidden = append(w.hidden, value...)
	}
}

func (w *answerWriter) answers() Answers {
	return Answers{
		List:    append(w.list, ']'),
		ByField: append(w.byField, '}'),
		Hidden:  slices.Clip(append(w.hidden, '}')),
	}
}

// answerHead is what an item of Answers.List begins with.
func answerHead(id, typ, label string) []byte {
	head := appendQuoted([]byte(`{"field":{"id":`), id)
	head = appendQuoted(append(head, `,"type":`...), typ)
	head = appendQuoted(append(head, `,"label":`...), label)
	return append(head, `},"value":`...)
}

// answerKey is what a member of Answers.ByField begins with.
func answerKey(id string) []byte {
	return append(appendQuoted(nil, id), ':')
}
