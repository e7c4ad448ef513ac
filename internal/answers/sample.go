package answers

import (
	"encoding/json"
)

// Sample returns made-up answers to all blocks and hidden fields, for a test
// event, whatever the rules say, and the variables that rules may set. They keep the form's rules and are the same at every call; a block for which
// no valid sample exists is left out. Unique is nil.
func (f *Form) Sample() Answers {
	w := f.newWriter(Input{})
	r := report{limit: f.limit} // takes the faults of samples that are left out
	for i := range f.blocks {
		if b := &f.blocks[i]; b.rule != nil {
			r.begin(b.id, b.path, b.required)
			w.answer(b, json.RawMessage(b.rule.sample()), &r, false, true)
		}
	}
	for i := range f.hidden {
		w.hiddenField(&f.hidden[i], "sample", &r)
	}
	for i := range f.variables {
		if v := &f.variables[i]; v.head != nil {
			w.variable(v, v.initial, &r)
		}
	}
	return w.answers()
}
