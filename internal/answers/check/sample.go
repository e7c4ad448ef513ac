package check

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/kinds"
)

// Sample returns made-up answers to all blocks and hidden fields, for a test
// event, whatever the rules say, and the variables that rules may set. They keep the form's rules and are the same at every call; a block for which
// no valid sample exists is left out. Unique is nil.
func Sample(f *compile.Form) Answers {
	w := NewWriter(f, Input{})
	r := kinds.Report{Limit: f.Limit} // takes the faults of samples that are left out
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
