package answers

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Path returns the way through the form for answers that may be incomplete. Those that
// only the host can give, also to blocks that the form hides, stand among them and count
// as the host's: it is the way of [Form.Check] with them in HostAnswers. An error
// is a *[schema.Error]: the rules would take too long.
func (f *Form) Path(answers map[string]json.RawMessage, hidden map[string]string) (schema.Path, error) {
	k := f.newWalk(Input{Answers: answers, Hidden: hidden})
	k.partial, k.traced = true, true
	k.run()
	found, _ := k.r.found.Err().(*schema.Error) //nolint:errorlint // Err returns no other
	if k.tooMuch() {
		return schema.Path{}, found
	}
	path := schema.Path{Blocks: k.blocks, Ending: k.ending, Variables: k.data.all()}
	if found != nil {
		path.Faults = found.Violations
	}
	return path, nil
}

// walk takes a response through the form once, in definition order.
type walk struct {
	form *Form
	in   Input
	// partial: the response is not complete. What is missing is not a fault, and the
	// host's answers stand among the respondent's.
	partial bool

	r    report
	w    *answerWriter
	data *ruleData

	known, hostly int // entries of the input that belong to a block
	traced        bool
	blocks        []schema.PathBlock // those on the path, when it is traced
	ending        string
}

func (f *Form) newWalk(in Input) *walk {
	k := &walk{form: f, in: in, w: f.newWriter(in)}
	k.r.limit = f.limit
	k.data = newRuleData(k)
	return k
}

// run takes the answers of all blocks on the path and the host's to hidden blocks,
// and reports every fault.
func (k *walk) run() {
	next := 0 // the steps before it are passed over
	for i := range k.form.steps {
		next = k.step(i, next)
		if k.tooMuch() {
			k.r.put("", "", tooManySteps())
			return
		}
	}
	if k.known < len(k.in.Answers) {
		k.form.refuseUnknown(answersPath, k.in.Answers, &k.r)
	}
	if k.hostly < len(k.in.HostAnswers) {
		k.form.refuseUnknown(hostAnswersPath, k.in.HostAnswers, &k.r)
	}
	for i := range k.form.hidden {
		h := &k.form.hidden[i]
		if text := k.in.Hidden[h.name]; text != "" {
			k.w.hiddenField(h, text, &k.r)
		}
	}
	for i := range k.form.variables {
		v := &k.form.variables[i]
		if value, ok := k.data.changed[v.name]; ok {
			k.w.variable(v, value, &k.r)
		}
	}
	if k.r.beyond {
		k.r.put("", "", answersTooLong(k.form.limit))
	}
}

// tooMuch reports that the rules took all steps that they may, so that nothing that they
// said counts.
func (k *walk) tooMuch() bool { return k.data.budget.Exceeded() }

// step takes the answers of the step i and runs its rule when it is on the path. next is
// the first step that is not passed over; that of the following steps is returned.
func (k *walk) step(i, next int) int {
	s := &k.form.steps[i]
	on := i >= next && k.shows(s)
	required := on && k.requires(s)
	k.block(s.from, on, required)
	for j := s.from + 1; j < s.to; j++ {
		k.block(j, on, k.form.blocks[j].required)
	}
	if !on {
		return next
	}
	k.visit(s, required)
	return k.after(s, i)
}

// shows reports whether neither hide nor show takes a step off the path.
func (k *walk) shows(s *step) bool {
	if k.form.blocks[s.from].hide {
		return false
	}
	return s.rule == nil || s.rule.show == nil || s.rule.show.Holds(k.data, &k.data.budget)
}

func (k *walk) requires(s *step) bool {
	if s.rule == nil || s.rule.require == nil {
		return k.form.blocks[s.from].required
	}
	return s.rule.require.Holds(k.data, &k.data.budget)
}

// visit puts a step on the path and sets the variables that its rule sets.
func (k *walk) visit(s *step, required bool) {
	b := &k.form.blocks[s.from]
	if k.traced {
		k.blocks = append(k.blocks, schema.PathBlock{ID: b.id, Required: required && b.rule != nil})
	}
	if s.ending {
		k.ending = b.id
	}
	if s.rule != nil && s.rule.set != nil {
		k.data.set(s.rule.set)
	}
}

// after returns the first step that is not passed over after the step i, which was
// visited.
func (k *walk) after(s *step, i int) int {
	if s.ending {
		return len(k.form.steps)
	}
	if s.rule == nil {
		return i + 1
	}
	for _, j := range s.rule.next {
		if j.when != nil && !j.when.Holds(k.data, &k.data.budget) {
			continue
		}
		if j.to != toEnd {
			return j.to
		}
		k.visitEnding()
		return len(k.form.steps)
	}
	return i + 1
}

// visitEnding goes to the first ending that neither hide nor show takes off the path,
// wherever it stands.
func (k *walk) visitEnding() {
	for i := range k.form.steps {
		if s := &k.form.steps[i]; s.ending && k.shows(s) {
			k.visit(s, false)
			return
		}
	}
}

// block takes the answer to one block. Off the path, answers are dropped unchecked.
// A block that the form hides is off the path too, but the host may answer it.
func (k *walk) block(at int, on, required bool) {
	b := &k.form.blocks[at]
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
	case b.hide && k.partial:
		required = false
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
	k.w.answer(b, own, &k.r, at == k.form.unique, k.partial)
	if k.form.ruled {
		k.data.taken[at] = k.w.last
	}
}

// answersTooLong is for answers of more than limit bytes together.
func answersTooLong(limit int) fault {
	return fault{
		schema.CodeTooLong, "the answers, with the labels of what was chosen, would take more than " + counted(limit, "byte"),
		map[string]any{"limit": limit, "unit": "bytes"},
	}
}

// tooManySteps is for answers that make the form's rules take too long.
func tooManySteps() fault {
	return fault{
		schema.CodeTooMany, "the form's rules would take too long with these answers",
		map[string]any{"max": ruleSteps, "unit": "steps"},
	}
}

var faultNoBlock = fault{code: schema.CodeUnknownField, message: "the form has no such question"}
