package answers

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/faults"
)

// possibleSteps bounds how long possibilities looks, in steps of rules: they take about
// 20 ns each, at worst 45, so that it gives up within 100 ms.
const possibleSteps = 2_000_000

// visitSteps is what a walk takes for one block beside the rule and the answer's text.
const visitSteps = 10

// possibilities decides exactly which steps a response may come to and whether one is ever
// accepted, by walking the form for every combination of the answers that its rules
// read. known is false when there are too many, as of a text, when the walks take too long,
// when a response would be longer than Limits.Response, which says nothing about others,
// or when rules read hidden fields or names that they compute; then the graph is all that
// is known.
func (w *warner) possibilities() (reached []bool, accepted, known bool) {
	read, known := w.readBlocks()
	if !known {
		return nil, false, false
	}
	f := w.form
	in, ok := w.neededAnswers(read)
	if !ok {
		return nil, false, false
	}
	values := make([][]string, len(read))
	combinations := 1
	for i, at := range read {
		if values[i], ok = w.values(at); !ok {
			return nil, false, false
		}
		if combinations *= len(values[i]); combinations*len(f.blocks)*visitSteps > possibleSteps {
			return nil, false, false
		}
	}
	reached = make([]bool, len(f.steps))
	chosen := make([]int, len(read))
	for range combinations {
		for i, at := range read {
			f.give(in, at, values[i][chosen[i]])
		}
		k := f.newWalk(in)
		k.traced = true
		k.run()
		w.spent += k.steps()
		if k.tooMuch() || k.r.beyond || w.spent > possibleSteps {
			return nil, false, false
		}
		accepted = accepted || k.faults.Err() == nil
		for _, b := range k.blocks {
			reached[w.stepOf[b.ID]] = true
		}
		for i := range chosen { // the next combination, as an odometer counts
			if chosen[i]++; chosen[i] < len(values[i]) {
				break
			}
			chosen[i] = 0
		}
	}
	return reached, accepted, true
}

// readBlocks returns the blocks whose answers rules read. known is false when they may
// read anything else that a response brings.
func (w *warner) readBlocks() (list []int, known bool) {
	read := make(map[int]bool)
	for i := range w.form.steps {
		if w.form.steps[i].rule == nil {
			continue
		}
		for l := range w.form.steps[i].rule.all() {
			names, others := l.Reads()
			if others {
				return nil, false
			}
			for _, name := range names {
				kind, rest, _ := strings.Cut(name, ".")
				if kind == "hidden" && rest != "" || rest == "" && (kind == "answers" || kind == "hidden") {
					return nil, false
				}
				if kind != "answers" {
					continue
				}
				for _, id := range []string{rest, before(rest, ".")} {
					if at, ok := w.index[id]; ok {
						read[at] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(read)), true
}

func before(s, separator string) string {
	first, _, _ := strings.Cut(s, separator)
	return first
}

// steps is what a walk took, in steps of rules. A parse takes a step for 8 bytes.
func (k *walk) steps() int {
	bytes := k.w.list.Len()
	for _, raw := range k.in.Answers {
		bytes += len(raw)
	}
	for _, raw := range k.in.HostAnswers {
		bytes += len(raw)
	}
	return len(k.form.blocks)*visitSteps + bytes/8 + ruleSteps - k.data.budget.Left()
}

// neededAnswers returns a response with an answer to each block that may be required and
// can be answered, but for those that rules read. Others may stay unanswered: with them a
// response may be too long. ok is false when one of the samples is refused.
func (w *warner) neededAnswers(read []int) (in Input, ok bool) {
	in = Input{Answers: make(map[string]json.RawMessage), HostAnswers: make(map[string]json.RawMessage)}
	f := w.form
	for i := range f.steps {
		s := &f.steps[i]
		for at := s.from; at < s.to; at++ {
			b := &f.blocks[at]
			needed := b.required || at == s.from && s.rule != nil && s.rule.require != nil
			if !needed || b.rule == nil || b.hide || b.dropped || w.contradicts(at, true) {
				continue
			}
			if _, found := slices.BinarySearch(read, at); found {
				continue
			}
			sample := b.rule.sample()
			if !f.accepts(at, sample, true) {
				return in, false
			}
			f.give(in, at, sample)
		}
	}
	return in, true
}

// give puts an answer into a response; "" takes it out.
func (f *Form) give(in Input, at int, raw string) {
	b := &f.blocks[at]
	answers := in.Answers
	if b.host || b.hide {
		answers = in.HostAnswers
	}
	if raw == "" {
		delete(answers, b.id)
	} else {
		answers[b.id] = json.RawMessage(raw)
	}
}

// accepts reports whether a block, required or not, takes an answer.
func (f *Form) accepts(at int, raw string, required bool) bool {
	b := &f.blocks[at]
	var found faults.List
	var w answerWriter
	w.list.Array()
	w.byField.Object()
	r := report{found: &found, limit: f.limit}
	r.begin(b.id, b.path, required)
	w.answer(b, json.RawMessage(raw), &r, false, false)
	return r.faults == 0 && !r.beyond
}

// values returns all answers to a block, with "" for none. ok is false when there are
// many.
func (w *warner) values(at int) (list []string, ok bool) {
	f := w.form
	b := &f.blocks[at]
	switch t := b.rule.(type) {
	case nil:
		return []string{""}, true
	case yesNoRule, legalRule:
		list = []string{"true", "false"}
	case numberRule:
		if list, ok = t.values(); !ok {
			return nil, false
		}
	case choiceRule:
		if t.other || len(t.ids) > 20 {
			return nil, false
		}
		for _, id := range t.ids {
			list = append(list, `{"id":`+quoted(id)+`}`) // a blank string means unanswered
		}
	case multipleRule:
		if t.other || len(t.ids) > 5 {
			return nil, false
		}
		for set := range 1 << len(t.ids) {
			var ids []string
			for i, id := range t.ids {
				if set>>i&1 == 1 {
					ids = append(ids, quoted(id))
				}
			}
			list = append(list, "["+strings.Join(ids, ",")+"]")
		}
	default:
		if !w.contradicts(at, false) {
			return nil, false
		}
	}
	if b.dropped {
		list = nil
	}
	list = slices.DeleteFunc(list, func(raw string) bool {
		return raw == "[]" || !f.accepts(at, raw, false)
	})
	return append(list, ""), true
}

// values returns the numbers that pass; ok is false when there are many.
func (t numberRule) values() (list []string, ok bool) {
	step := t.step
	if step == 0 && t.whole {
		step = 1
	}
	if t.least > t.most {
		return nil, true
	}
	if step == 0 && t.least < t.most || step > 0 && (t.most-t.least)/step > 20 {
		return nil, false
	}
	for i := 0; ; i++ {
		value := t.least + float64(i)*step
		if value > t.most || i > 0 && step == 0 {
			return list, true
		}
		list = append(list, formatFloat(value))
	}
}
