// Package path computes the path of a submission through a form from the form's rules. Only answers to blocks on the
// path are checked and stored.
package path

import (
	"encoding/json"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// Check checks and normalizes a submission. Any error it returns is a *[schema.Error]. With an error, only Ending is set,
// unless the rules take too many steps.
func Check(f *compile.Form, in check.Input) (check.Answers, error) {
	k := newWalk(f, in)
	k.walkSteps()
	if err := k.r.Violations.Err(); err != nil {
		return check.Answers{Ending: k.ending}, err
	}
	checked := k.w.Finish()
	checked.Asked, checked.Ending = k.asked, k.ending
	return checked, nil
}

// Compute returns the path for answers that may be incomplete; see [answers.Form.Path]. It also returns what must be
// asked of the host about these answers.
func Compute(f *compile.Form, in check.Input) (schema.Path, check.Asked, error) {
	k := newWalk(f, in)
	k.partial = true
	result := k.walkTraced()
	result.Answers = k.w.Finish().List
	found, _ := k.r.Violations.Err().(*schema.Error) //nolint:errorlint // Err returns no wrapped errors
	if k.budgetExceeded() {
		return schema.Path{}, check.Asked{}, found
	}
	if found != nil {
		result.Violations = found.Violations
	}
	return result, k.asked, nil
}

// Trace returns the path of a complete submission and how many steps its rules took. Tests compare the result with a
// second implementation.
func Trace(f *compile.Form, in check.Input) (result schema.Path, steps int) {
	k := newWalk(f, in)
	return k.walkTraced(), compile.MaxRuleSteps - k.budget.Left()
}

type walk struct {
	form    *compile.Form
	in      check.Input
	partial bool // missing answers are not violations, and in.Answers includes host answers

	r answertype.Report
	w *check.Writer

	budget logic.Budget
	// answerRanges holds the start and end of each answer in the list, by index in Form.Blocks. Zeros mean a missing
	// answer.
	answerRanges [][2]int
	ruleValues   []any // answers that rules have read, by index in Form.Blocks; nil until a rule reads one
	setVariables map[string]any

	asked check.Asked

	respondentAnswers, hostAnswers int // number of answers to existing blocks
	traced                         bool
	blocks                         []schema.PathBlock // only filled if traced is true
	ending                         string
}

func newWalk(f *compile.Form, in check.Input) *walk {
	k := &walk{form: f, in: in, w: check.NewWriter(f, in), budget: logic.NewBudget(compile.MaxRuleSteps)}
	k.r.Limit = f.Limit
	if f.HasRules {
		k.answerRanges = make([][2]int, len(f.Blocks))
		if !in.Now.IsZero() {
			k.budget.Now = in.Now.In(f.Zone)
		}
	}
	return k
}

func (k *walk) walkTraced() schema.Path {
	k.traced = true
	k.walkSteps()
	return schema.Path{Blocks: k.blocks, Ending: k.ending, Variables: k.allVariables()}
}

// walkSteps processes the answers to blocks on the path and the host's answers to hidden blocks. It reports all
// violations.
func (k *walk) walkSteps() {
	next := 0 // steps before next are skipped
	for i := range k.form.Steps {
		next = k.takeStep(i, next)
		if k.budgetExceeded() {
			k.ending = ""
			k.r.AddAt("", "", answertype.Violation{
				Code:    schema.CodeTooMany,
				Message: "the form's rules take too many steps with these answers",
				Params:  map[string]any{"max": compile.MaxRuleSteps, "unit": "steps"},
			})
			return
		}
	}
	if k.respondentAnswers < len(k.in.Answers) {
		reportUnknownIDs(k.form, compile.AnswersPath, k.in.Answers, &k.r)
	}
	if k.hostAnswers < len(k.in.HostAnswers) {
		reportUnknownIDs(k.form, compile.HostAnswersPath, k.in.HostAnswers, &k.r)
	}
	for i := range k.form.Hidden {
		h := &k.form.Hidden[i]
		if text := k.in.Hidden[h.Name]; text != "" {
			k.w.WriteHiddenField(h, text, &k.r)
		}
	}
	for i := range k.form.Variables {
		v := &k.form.Variables[i]
		if value, ok := k.setVariables[v.Name]; ok {
			k.w.WriteVariable(v, value, &k.r)
		}
	}
	if k.r.LimitExceeded {
		k.r.AddAt("", "", answertype.Violation{
			Code:    schema.CodeTooLong,
			Message: "the answers and the labels of selected choices exceed " + answertype.FormatCount(k.form.Limit, "byte"),
			Params:  map[string]any{"limit": k.form.Limit, "unit": "bytes"},
		})
	}
}

// budgetExceeded reports whether the rules exceeded their budget. If so, the rules' results are meaningless.
func (k *walk) budgetExceeded() bool { return k.budget.Exceeded() }

// takeStep processes the answers to step i and runs its rule if the step is on the path. Steps before next are
// skipped. It returns the new value of next.
func (k *walk) takeStep(i, next int) int {
	s := &k.form.Steps[i]
	on := i >= next && k.isShown(s)
	required := on && k.isRequired(s)
	k.takeBlock(s.From, on, required)
	if !on {
		return next
	}
	k.visitStep(s, required)
	return k.nextStep(s, i)
}

// isShown reports whether a step is visible according to its property "hide" and its rule's "show" part.
func (k *walk) isShown(s *compile.Step) bool {
	return !k.form.Blocks[s.From].Hide && (s.Rule.Show == nil || s.Rule.Show.Holds(ruleData{k}, &k.budget))
}

func (k *walk) isRequired(s *compile.Step) bool {
	if s.Rule.Require == nil {
		return k.form.Blocks[s.From].Required
	}
	return s.Rule.Require.Holds(ruleData{k}, &k.budget)
}

func (k *walk) visitStep(s *compile.Step, required bool) {
	b := &k.form.Blocks[s.From]
	if k.traced {
		k.blocks = append(k.blocks, schema.PathBlock{ID: b.ID, Required: required && b.Rule != nil})
	}
	if s.Ending {
		k.ending = b.ID
	}
	if s.Rule.Set != nil {
		k.assignVariables(s.Rule.Set)
	}
}

func (k *walk) nextStep(s *compile.Step, i int) int {
	if s.Ending {
		return len(k.form.Steps)
	}
	for _, j := range s.Rule.Next {
		if j.When != nil && !j.When.Holds(ruleData{k}, &k.budget) {
			continue
		}
		if j.To != compile.ToEnd {
			return j.To
		}
		k.visitFirstEnding()
		return len(k.form.Steps)
	}
	return i + 1
}

func (k *walk) visitFirstEnding() {
	for i := range k.form.Steps {
		if s := &k.form.Steps[i]; s.Ending && k.isShown(s) {
			k.visitStep(s, false)
			return
		}
	}
}

// takeBlock takes the answers to a block and its nested blocks, and runs its checks. It reports whether the answers are
// valid.
func (k *walk) takeBlock(at int, on, required bool) (valid bool) {
	b := &k.form.Blocks[at]
	valid = k.takeAnswer(at, on, required)
	if b.List != nil && (on || k.answerRanges[at] != [2]int{}) {
		k.askList(at)
	}
	for j := at + 1; j < b.To; j = k.form.Blocks[j].To {
		valid = k.takeBlock(j, on, k.form.Blocks[j].Required) && valid
	}
	if !on || !valid || b.Hide || b.Type != schema.TypeGroup && len(b.Checks) > 0 && k.answerRanges[at] == [2]int{} {
		return valid
	}
	return k.passesChecks(at)
}

// askList records the choices of a block whose choices come from the host.
func (k *walk) askList(at int) {
	b := &k.form.Blocks[at]
	list := check.List{Block: b.ID, Name: b.List.Name}
	if b.List.By != nil {
		switch by := b.List.By.Eval(ruleData{k}, &k.budget).(type) {
		case nil:
		case string:
			list.By = by
		default:
			list.By = answertype.EncodeJSON(by)
		}
	}
	if r := k.answerRanges[at]; r != [2]int{} {
		list.IDs = answertype.StoredIDs(k.w.StoredValue(r))
	}
	k.asked.Lists = append(k.asked.Lists, list)
}

// passesChecks runs a block's checks, except for the host's, and reports the first that fails. Rules treat an answer
// that fails a check as unanswered, like any invalid answer.
func (k *walk) passesChecks(at int) bool {
	b := &k.form.Blocks[at]
	for _, c := range b.Checks {
		if c.Host != "" {
			k.asked.Checks = append(k.asked.Checks, check.Check{Block: b.ID, Path: b.Path, Name: c.Host})
			continue
		}
		fails := c.If.Holds(ruleData{k}, &k.budget)
		if k.budgetExceeded() {
			return true // run reports it
		}
		if fails {
			k.r.AddAt(b.Path, b.ID, answertype.Violation{Code: schema.CodeCheckFailed, Message: c.Message, Params: map[string]any{"say": c.Say}})
			k.answerRanges[at] = [2]int{}
			return false
		}
	}
	return true
}

// takeAnswer processes the answer to one block. Answers to blocks off the path are dropped, except the host's answers
// to hidden blocks.
func (k *walk) takeAnswer(at int, on, required bool) (valid bool) {
	b := &k.form.Blocks[at]
	own, ok := k.in.Answers[b.ID]
	if ok {
		k.respondentAnswers++
	}
	var foreign json.RawMessage
	if len(k.in.HostAnswers) > 0 {
		if foreign, ok = k.in.HostAnswers[b.ID]; ok {
			k.hostAnswers++
		}
	}
	path := b.Path
	switch {
	case b.Hide && k.partial:
		required = false
	case b.Hide:
		path, own, foreign, required = jsontree.JoinPointer(compile.HostAnswersPath, b.ID), foreign, nil, false
	case !on:
		return true
	case b.Host && !k.partial:
		own, foreign = foreign, own
	}
	if len(foreign) > 0 {
		reportWrongSource(b, foreign, &k.r)
	}
	k.r.BeginAnswer(b.ID, path, required)
	if seen, ok := k.in.LegalTexts[b.ID]; ok && seen != b.LegalText && !answertype.IsBlankJSON(own) {
		k.r.AddToAnswer(answertype.ViolationNotAllowed("text_changed", "the text of this question has changed"))
		return
	}
	k.r.Labels = k.in.Labels[b.ID]
	k.w.WriteAnswer(b, own, &k.r, at == k.form.Unique, k.partial)
	if k.form.HasRules {
		k.answerRanges[at] = k.w.LastRange
	}
	missing := required && b.Rule != nil && k.w.LastRange == [2]int{}
	return !missing && !k.r.HasViolations()
}

// reportWrongSource reports a respondent's answer that only the host may give, or a host's answer that only
// respondents may give.
func reportWrongSource(b *compile.Block, raw json.RawMessage, r *answertype.Report) {
	if answertype.IsBlankJSON(raw) {
		return
	}
	path, why := jsontree.JoinPointer(compile.HostAnswersPath, b.ID), answertype.ViolationNotAllowed("respondent", "the host can answer this block only if it is hidden")
	if b.Host {
		path, why = jsontree.JoinPointer(compile.AnswersPath, b.ID), answertype.ViolationNotAllowed("host", "only the host can set this answer")
	}
	r.AddAt(path, b.ID, why)
}

func reportUnknownIDs(f *compile.Form, parent string, answers map[string]json.RawMessage, r *answertype.Report) {
	var unknown []string
	for id := range answers {
		if _, known := f.Index[id]; !known {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown) // for deterministic violations
	for _, id := range unknown[:min(len(unknown), schema.MaxViolations)] {
		r.AddAt(jsontree.JoinPointer(parent, id), id, answertype.Violation{Code: schema.CodeUnknownField, Message: "this form does not have this question"})
	}
}
