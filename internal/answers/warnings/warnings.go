// Package warnings finds the parts of a form that make it unanswerable or have no effect.
package warnings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// Find returns the parts of a form that make it unanswerable or have no effect. It returns an error if a section is
// not in the stored JSON format.
//
// Find considers each block's limits, the order of the steps, and logic that always has the same value. It assumes that
// all other logic can either hold or fail. So it never returns a false warning, but it can miss some problems.
func Find(from compile.Source) (schema.Warnings, error) {
	d, err := compile.ReadDefinition(from)
	if err != nil {
		return nil, err
	}
	f := d.Form
	w := warner{form: f, pending: make([][]func(), len(f.Blocks))}
	w.neverHolds, w.neverJumps = make(map[*logic.Logic]string), make(map[int]string)
	w.answersByBlock, w.blockTexts = make(map[int]*candidates), make(map[int]string)
	w.lists, w.hostChecks = from.Lists, from.Checks
	w.service = fmt.Sprint(from.Limits.FileSize, from.TimeZone)
	w.singlePage, w.onePerPage = d.Settings.SinglePage, from.Layout == "SINGLE"
	w.collectBlocks(d.Blocks, "/blocks")
	d.AddRules(compile.Observer{Ignored: w.addIgnored, Compiled: w.addPendingReads})
	w.lastToEnd = findLastToEnd(f)
	w.firstSet = make(map[int]int)
	for _, step := range slices.Backward(f.Steps) {
		for _, set := range step.Rule.Set {
			if !f.Blocks[step.From].Hide { // the rule of a hidden block does not run
				w.firstSet[set.Variable] = step.To
			}
		}
	}
	for step := range f.Steps {
		w.checkConditions(step)
	}
	w.reached, _ = w.walkPaths(func(int) bool { return false })
	_, answerable := w.walkPaths(w.alwaysStops)
	for i := range d.Blocks {
		w.checkBlock(&d.Blocks[i], i, false)
	}
	if !answerable {
		w.addWarning("/blocks", schema.WarnUnanswerableForm, answertype.Explanation{Message: "no response is accepted: every path leads to a required question that cannot be answered"})
	}
	if opens, closes := d.Settings.OpenAt, d.Settings.CloseAt; opens != nil && closes != nil && !opens.Before(*closes) {
		w.addWarning("/settings/openAt", schema.WarnUnanswerableForm, answertype.Explanation{Reason: "never_open", Message: "no response is accepted: the form closes before it opens"})
	}
	w.checkDuplicateField(d.Settings.DuplicateField)
	if d.Settings.OnePerRespondent && d.Settings.Anonymous {
		w.addWarning("/settings/onePerRespondent", schema.WarnNoEffect, answertype.Explanation{Reason: "anonymous", Message: "respondents are anonymous, so they can submit more than once"})
	}
	w.checkSettings(&d.Settings)
	return w.found, nil
}

type warner struct {
	form    *compile.Form
	blocks  []*schema.Block // by index in form.Blocks
	paths   []string        // of the blocks
	found   schema.Warnings
	pending [][]func() // by block; functions that add the warnings about its rule after all rules are compiled

	compiler logic.Compiler // of parts of conditions

	reached []bool // by step
	cost    int    // number of steps to evaluate each rule once

	constantStepsUsed int
	lastToEnd         int         // last step with a jump to the end, or -1
	firstSet          map[int]int // by variable; the block after the first step that sets the variable

	neverHolds     map[*logic.Logic]string // reasons why conditions never hold
	neverJumps     map[int]string          // reasons why jumps to a step never apply
	answersByBlock map[int]*candidates     // candidate answers of blocks with few possible answers

	singlePage, onePerPage bool // whether the form has one page, or one page for each question

	lists, hostChecks []schema.NamedItem // the host's choices and checks

	service    string         // the service's settings that affect answers
	blockTexts map[int]string // blocks as JSON
}

func (w *warner) collectBlocks(blocks []schema.Block, path string) {
	for i := range blocks {
		at := path + "/" + strconv.Itoa(i)
		w.blocks, w.paths = append(w.blocks, &blocks[i]), append(w.paths, at)
		if blocks[i].Type == schema.TypeGroup {
			w.collectBlocks(blocks[i].Children, at+"/children")
		}
	}
}

func (w *warner) addWarning(path, code string, why answertype.Explanation) {
	if why.Reason != "" {
		why.Params = maps.Clone(why.Params)
		if why.Params == nil {
			why.Params = make(map[string]any)
		}
		why.Params["reason"] = why.Reason
	}
	w.found = append(w.found, schema.Warning{Path: path, Code: code, Message: why.Message, Params: why.Params})
}

func (w *warner) addPending(block int, path, code string, why answertype.Explanation) {
	w.pending[block] = append(w.pending[block], func() { w.addWarning(path, code, why) })
}

// addIgnored adds a pending warning about a rule part that has no effect.
func (w *warner) addIgnored(block int, n jsontree.Node, code string, why answertype.Explanation) {
	w.addPending(block, n.Pointer(w.rulePath(block)), code, why)
}

// addPendingReads adds pending warnings about unknown names in logic l, which was compiled from n.
func (w *warner) addPendingReads(block int, n jsontree.Node, l *logic.Logic, after bool) {
	path := n.Pointer(w.rulePath(block))
	w.pending[block] = append(w.pending[block], func() { w.checkReads(path, l, block, after) })
}

func (w *warner) rulePath(block int) string { return w.paths[block] + "/properties/rule" }

// checkBlock checks one block. at is the index of the top-level block that contains it.
func (w *warner) checkBlock(b *schema.Block, at int, inGroup bool) {
	block := w.form.Index[b.ID]
	c, path := &w.form.Blocks[block], w.paths[block]
	if member, why := answertype.FindContradiction(c.Rule); why.Reason != "" {
		why.Message = "no answer is accepted: " + why.Message
		w.addWarning(path+member, schema.WarnUnanswerableBlock, why)
	}
	answertype.WarnIneffective(c.Rule, b, func(name string, why answertype.Explanation) {
		w.addWarning(path+"/properties/"+name, schema.WarnNoEffect, why)
	})
	w.checkUnfinished(b, path)
	w.checkTexts(b, path, at)
	if b.Required && c.Rule == nil {
		why := answertype.Explanation{Reason: "no_answer", Message: "this block has no answer, so it cannot be required"}
		if c.Dropped {
			why = answertype.Explanation{Reason: "dropped", Message: "responses are accepted without an answer to this block"}
		}
		w.addWarning(path+"/required", schema.WarnNoEffect, why)
	}
	ruled := jsontree.Inspect(b.Properties.Rule, answertype.ParseLimits, func(rule jsontree.Node) bool { return w.checkShape(rule, path+"/properties/rule") })
	if inGroup {
		w.checkInGroup(b, path, ruled)
	} else {
		w.checkStep(b, path, at)
	}
	w.checkList(b, c, path+"/properties/rule/choices")
	if len(c.Checks) > 0 && c.Rule == nil && b.Type != schema.TypeGroup {
		w.addWarning(path+"/properties/rule/check", schema.WarnNoEffect, answertype.Explanation{Reason: "check", Message: "this block has no answer, so its checks do not run"})
	}
	if b.Type == schema.TypeGroup {
		for i := range b.Children {
			w.checkBlock(&b.Children[i], at, true)
		}
	}
}

func hasName(items []schema.NamedItem, name string) bool {
	return slices.ContainsFunc(items, func(i schema.NamedItem) bool { return i.Name == name })
}

// checkList adds warnings about a block's reference to a list of the host.
func (w *warner) checkList(b *schema.Block, c *compile.Block, path string) {
	switch {
	case c.List != nil && !hasName(w.lists, c.List.Name):
		w.addWarning(path+"/list", schema.WarnUnknownName, answertype.Explanation{Reason: "list", Message: "the list " + answertype.QuoteJSON(c.List.Name) + " does not exist, so no answer can be checked and accepted", Params: map[string]any{"name": c.List.Name}})
	case c.List != nil && len(b.Choices) > 0:
		w.addWarning(path, schema.WarnNoEffect, answertype.Explanation{Reason: "own_choices", Message: "the choices come from a list, so the block's own choices have no effect"})
	case c.List == nil && jsontree.Inspect(b.Properties.Rule, answertype.ParseLimits, func(rule jsontree.Node) bool { return rule.Member("choices").Member("list").Exists() }):
		w.addWarning(path, schema.WarnNoEffect, answertype.Explanation{Reason: "list_type", Message: "the choices of blocks of this type cannot come from a list"})
	}
}

func (w *warner) checkInGroup(b *schema.Block, path string, ruled bool) {
	if ruled {
		w.addWarning(path+"/properties/rule", schema.WarnNoEffect, answertype.Explanation{Reason: "in_group", Message: "in a group, only the checks and the list of choices of a rule have an effect"})
	}
	block := w.form.Index[b.ID]
	for _, warn := range w.pending[block] {
		warn()
	}
	if w.form.Blocks[block].Hide && len(w.form.Blocks[block].Checks) > 0 {
		w.addWarning(path+"/properties/rule", schema.WarnNoEffect, ruleOfHidden)
	}
	if b.Type == schema.TypeEnding {
		w.addWarning(path, schema.WarnNoEffect, answertype.Explanation{Reason: "ending_in_group", Message: "an ending inside a group has no effect"})
	}
}

var ruleOfHidden = answertype.Explanation{Reason: "hidden", Message: "this block is hidden, so its logic has no effect"}

// checkStep adds warnings about an unreachable top-level block, and about parts of its rule that have no effect.
func (w *warner) checkStep(b *schema.Block, path string, at int) {
	step := &w.form.Steps[at]
	first := &w.form.Blocks[step.From]
	hidden := first.Hide
	if !w.reached[at] && !hidden {
		w.addWarning(path, schema.WarnUnreachable, w.whyUnreached(at))
	}
	for _, warn := range w.pending[step.From] {
		warn()
	}
	rule, path := &step.Rule, w.rulePath(step.From)
	switch {
	case hidden && (!rule.IsEmpty() || len(first.Checks) > 0):
		w.addWarning(path, schema.WarnNoEffect, ruleOfHidden)
	case rule.Require != nil && first.Rule == nil:
		w.addWarning(path+"/require", schema.WarnNoEffect, answertype.Explanation{Reason: "no_answer", Message: "this block has no answer, so it cannot be required"})
	}
	if b.Type == schema.TypeEnding && rule.Next != nil {
		w.addWarning(path+"/next", schema.WarnNoEffect, answertype.Explanation{Reason: "ending", Message: "the form ends with this block, so its jumps have no effect"})
	}
	if holds, constant := w.constantValue(rule.Show); constant && holds && rule.Show != nil {
		w.addWarning(path+"/show", schema.WarnNoEffect, answertype.Explanation{Reason: "always", Message: "this condition is always true"})
	}
	for _, a := range rule.Set {
		var storable bool
		constant := w.isConstant(a.Value, func(b *logic.Budget) { _, storable = compile.NormalizeVariable(a.Value.Eval(nil, b)) })
		if constant && !storable {
			w.addWarning(jsontree.JoinPointer(path+"/set", w.form.Variables[a.Variable].Name), schema.WarnNoEffect,
				answertype.Explanation{Reason: "set", Message: "the value is never a number or a text of at most " + answertype.FormatCount(answertype.MaxShortText, "character") + ", so the variable does not change"})
		}
	}
	w.checkJumps(rule, path, at)
	before := w.cost
	w.cost += countRuleSteps(rule)
	for _, b := range w.form.Blocks[step.From:step.To] {
		for _, c := range b.Checks {
			if c.If != nil {
				w.cost += c.If.Size()
			}
		}
	}
	if before <= compile.MaxRuleSteps && w.cost > compile.MaxRuleSteps {
		w.addWarning(path, schema.WarnCostlyRules, answertype.Explanation{Message: "the logic up to here can take more than " + answertype.FormatCount(compile.MaxRuleSteps, "step") + ", and such responses are rejected"})
	}
}

func (w *warner) checkJumps(rule *compile.StepRule, path string, step int) {
	// Trailing jumps to the next block have no effect.
	counting := len(rule.Next)
	for counting > 0 && rule.Next[counting-1].To == step+1 {
		counting--
	}
	always := false
	for i, j := range rule.Next {
		at := path + "/next/" + strconv.Itoa(j.Place)
		holds, constant := w.constantValue(j.When)
		switch {
		case always:
			w.addWarning(at, schema.WarnNoEffect, answertype.Explanation{Reason: "jumped", Message: "an earlier condition is always true, so this one is never checked"})
		case w.neverHolds[j.When] != "": // already reported
		case constant && !holds:
			w.addWarning(at+"/if", schema.WarnNoEffect, answertype.Explanation{Reason: "never", Message: "this condition is never true"})
		case i >= counting:
			w.addWarning(at, schema.WarnNoEffect, answertype.Explanation{Reason: "next", Message: "this has no effect because the next block follows anyway"})
		}
		always = always || constant && holds
	}
}

// constantSteps limits the steps spent on constant logic in one form. A step takes at most 45 ns, so the total is
// below 100 ms.
const constantSteps = 2_000_000

// constantValue reports whether logic holds and whether its value is the same for all submissions. Nil logic always
// holds. Once constantSteps steps are used up, no logic counts as constant.
func (w *warner) constantValue(l *logic.Logic) (holds, constant bool) {
	if l == nil {
		return true, true
	}
	if w.neverHolds[l] != "" {
		return false, true
	}
	constant = w.isConstant(l, func(b *logic.Budget) { holds = l.Holds(nil, b) })
	return holds && constant, constant
}

// isConstant reports whether logic has the same value for all submissions. It calls evaluate to compute the value.
func (w *warner) isConstant(l *logic.Logic, evaluate func(*logic.Budget)) bool {
	left := min(compile.MaxRuleSteps, constantSteps-w.constantStepsUsed)
	if !l.IsConstant() || left < 0 {
		return false
	}
	budget := logic.NewBudget(left)
	evaluate(&budget)
	w.constantStepsUsed += left - budget.Left()
	return !budget.Exceeded()
}

func countRuleSteps(b *compile.StepRule) (total int) {
	all := []*logic.Logic{b.Show, b.Require}
	for _, a := range b.Set {
		all = append(all, a.Value)
	}
	for _, j := range b.Next {
		all = append(all, j.When)
	}
	for _, l := range all {
		if l != nil {
			total += l.Size()
		}
	}
	return total
}

// checkReads adds warnings about unknown names. If after is true, logic can read the answer to its own block.
func (w *warner) checkReads(path string, l *logic.Logic, at int, after bool) {
	names, _ := l.ReadPaths()
	for _, name := range names {
		kind, rest, _ := strings.Cut(name, ".")
		block, _, isBlock := lookupName(w.form.Index, rest)
		_, _, isHidden := lookupName(w.form.HiddenNames, rest)
		variable, own, isVariable := lookupName(w.form.VariableIndex, rest)
		part := strings.TrimPrefix(path, w.rulePath(at))
		why := answertype.Explanation{Params: map[string]any{"name": rest}}
		switch {
		case kind != "answers" && kind != "hidden" && kind != "variables":
			why.Reason, why.Message, why.Params["name"] = "data", "only answers, hidden and variables exist", name
		case rest == "": // logic reads all answers, hidden fields or variables
		case kind == "hidden" && !isHidden:
			why.Reason, why.Message = "hidden", "the form has no hidden field with this name"
		case kind == "variables" && !isVariable:
			why.Reason, why.Message = "variable", "the form has no variable with this name"
		case kind == "variables" && w.firstSet[variable] > w.firstUnknownBlock(at, strings.HasPrefix(part, "/next/")) && part != jsontree.JoinPointer("/set", own):
			w.addWarning(path, schema.WarnNotYetKnown, answertype.Explanation{Reason: "variable", Message: "this reads " + answertype.QuoteJSON(name) + ", but the variable is set only later", Params: map[string]any{"name": own}})
		case kind == "answers" && !isBlock:
			why.Reason, why.Message = "block", "the form has no block with this ID"
		case kind == "answers" && w.form.Blocks[block].Rule == nil:
			name, why.Params = w.blockName(block)
			w.addWarning(path, schema.WarnUnknownName, answertype.Explanation{Reason: "no_answer", Message: "this reads the answer to " + name + ", but that block cannot be answered", Params: why.Params})
		case kind == "answers" && block >= w.firstUnknownBlock(at, after):
			name, why.Params = w.blockName(block)
			w.addWarning(path, schema.WarnNotYetKnown, answertype.Explanation{Message: "this reads the answer to " + name + ", but that block comes later", Params: why.Params})
		}
		if why.Reason != "" {
			why.Message = "this reads " + answertype.QuoteJSON(name) + ", but " + why.Message
			w.addWarning(path, schema.WarnUnknownName, why)
		}
	}
}

// firstUnknownBlock returns the first block whose answer is unknown when logic of the block at runs.
func (w *warner) firstUnknownBlock(at int, after bool) int {
	known := at
	if after {
		known = w.form.Blocks[at].To
	}
	if w.form.Blocks[at].Type == schema.TypeEnding && w.lastToEnd >= 0 {
		known = max(known, w.form.Steps[w.lastToEnd].To) // a jump to the end can lead here
	}
	return known
}

// lookupName finds the name at the start of a path as the var operator does: the whole path, or the text before the
// first dot.
func lookupName[T any](all map[string]T, path string) (one T, name string, ok bool) {
	if one, ok = all[path]; ok {
		return one, path, true
	}
	first, _, dotted := strings.Cut(path, ".")
	one, ok = all[first]
	return one, first, ok && dotted
}

func (w *warner) checkDuplicateField(id string) {
	const path = "/settings/duplicateField"
	if id == "" {
		return
	}
	if w.form.Unique < 0 {
		w.addWarning(path, schema.WarnDuplicateField, answertype.Explanation{Reason: "missing", Message: "the form has no block with this ID, so duplicate responses are not prevented"})
		return
	}
	typ := w.form.Blocks[w.form.Unique].Type
	if k, _ := schema.LookupBlockType(typ); !k.IsCompared() {
		w.addWarning(path, schema.WarnDuplicateField, answertype.Explanation{Reason: "type", Message: "answers to blocks of the type " + typ + " are never compared, so duplicate responses are not prevented"})
	}
}
