package answers

import (
	"encoding/json"
	"maps"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Path is the way that a respondent takes through a form, as far as the answers that
// were given say.
type Path struct {
	// Blocks are the top-level blocks on the path in the order in which the respondent
	// meets them. A question without an answer counts as unanswered in the rules of
	// later blocks, so what follows it may still change. An ending that is reached is
	// the last.
	Blocks []PathBlock
	// Ending is the id of the ending block that the path ends at; "" when it ends
	// without one.
	Ending string
	// Variables are the variables of the form with the values that they have at the
	// end of the path: each a float64 or a string.
	Variables map[string]any
	// Faults are what is wrong with the answers that were given, sorted as in a
	// [*schema.Error]. A faulty answer counts as unanswered. That a required answer is
	// missing is not among them.
	Faults []schema.Violation
}

// PathBlock is one block on a path.
type PathBlock struct {
	ID string
	// Required: the response is refused without an answer to the block. It says
	// nothing about the children of a group, whose own required counts.
	Required bool
}

// Path returns the way through the form for answers that may be incomplete. Answers
// may contain those that only the host can give as well: nothing is stored. An error
// is a *[schema.Error]: the rules would take too long.
func (f *Form) Path(answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	k := f.newWalk(Input{Answers: answers, Hidden: hidden})
	k.partial = true
	k.run()
	path := Path{Blocks: k.blocks, Ending: k.ending, Variables: k.variables()}
	if faulty, ok := k.faults.Err().(*schema.Error); ok { //nolint:errorlint // Err returns no other
		path.Faults = faulty.Violations
	}
	return path, nil
}

// step is a top-level block: one step of the path.
type step struct {
	from, to int // its blocks in Form.blocks: itself, and the children of a group
	ending   bool
}

// walk takes a response through the form once, in definition order.
type walk struct {
	form *Form
	in   Input
	// partial: the response is not complete. What is missing is not a fault, and the
	// host's answers stand among the respondent's.
	partial bool

	faults faults.List
	r      report
	w      *answerWriter

	known, hostly int // entries of the input that belong to a block
	blocks        []PathBlock
	ending        string
}

func (f *Form) newWalk(in Input) *walk {
	k := &walk{form: f, in: in, w: f.newWriter(in)}
	k.r = report{found: &k.faults, limit: f.limit}
	return k
}

// run takes the answers of all blocks on the path and the host's to hidden blocks,
// and reports every fault.
func (k *walk) run() {
	f := k.form
	next := 0 // the steps before it are passed over
	for i := range f.steps {
		s := &f.steps[i]
		first := &f.blocks[s.from]
		on := i >= next && !first.hide
		for j := s.from; j < s.to; j++ {
			k.block(&f.blocks[j], on, f.blocks[j].required, j == f.unique)
		}
		if !on {
			continue
		}
		k.blocks = append(k.blocks, PathBlock{ID: first.id, Required: first.required && first.rule != nil})
		if s.ending {
			k.ending = first.id
			next = len(f.steps)
		}
	}
	if k.known < len(k.in.Answers) {
		f.refuseUnknown(answersPath, k.in.Answers, &k.r)
	}
	if k.hostly < len(k.in.HostAnswers) {
		f.refuseUnknown(hostAnswersPath, k.in.HostAnswers, &k.r)
	}
	for i := range f.hidden {
		h := &f.hidden[i]
		if text := k.in.Hidden[h.name]; text != "" {
			k.w.hiddenField(h, text, &k.r)
		}
	}
	if k.r.beyond {
		k.r.put("", "", answersTooLong(f.limit))
	}
}

// block takes the answer to one block. Off the path, answers are dropped unchecked.
// A block that the form hides is off the path too, but the host may answer it.
func (k *walk) block(b *compiledBlock, on, required, unique bool) {
	own, ok := k.in.Answers[b.id]
	if ok {
		k.known++
	}
	var foreign json.RawMessage
	if len(k.in.HostAnswers) > 0 {
		if foreign, ok = k.in.HostAnswers[b.id]; ok {
			k.hostly++
		}
	}
	path := b.path
	switch {
	case b.hide:
		path, own, foreign, required = jsontree.Pointer(hostAnswersPath, b.id), foreign, nil, false
	case !on:
		return
	case b.host && !k.partial:
		own, foreign = foreign, own
	}
	if len(foreign) > 0 {
		refuseForeign(b, foreign, &k.r)
	}
	k.r.begin(b.id, path, required)
	k.w.answer(b, own, &k.r, unique, k.partial)
}

// variables returns the variables with the values that they have now.
func (k *walk) variables() map[string]any { return maps.Clone(k.form.variables) }
