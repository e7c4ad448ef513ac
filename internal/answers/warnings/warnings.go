// Package warnings finds the parts of a form that make it unanswerable or have no
// effect.
package warnings

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/kinds"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// Of returns the parts of a form that make it unanswerable or have no effect. It is an
// error when a section is not in its stored form.
//
// Whether a block can be answered follows from its own bounds. Which blocks are reached
// follows from the order of the steps, where logic that has one outcome has its value and any
// other may hold or not. So no warning is wrong, and some are missed.
func Of(from compile.Source) (schema.Warnings, error) {
	d, err := compile.Read(from)
	if err != nil {
		return nil, err
	}
	f := d.Form
	w := warner{form: f, notes: make([][]func(), len(f.Steps))}
	w.never, w.misled = make(map[*logic.Logic]string), make(map[int]string)
	w.all, w.texts = make(map[int]*answers), make(map[int]string)
	w.service = fmt.Sprint(from.Limits.FileSize, from.TimeZone)
	w.list(d.Blocks)
	d.AddRules(compile.Watch{Ignored: w.ignored, Compiled: w.compiled})
	w.lastToEnd = lastToEnd(f)
	for step := range f.Steps {
		w.conditions(step)
	}
	w.reached, _ = w.graph(func(int) bool { return false })
	_, answerable := w.graph(w.stops)
	for i := range d.Blocks {
		w.block(&d.Blocks[i], jsontree.Pointer("/blocks", strconv.Itoa(i)), i, false)
	}
	if !answerable {
		w.add("/blocks", schema.WarnUnanswerableForm, kinds.Why{Message: "no response is accepted: every path includes a required block that cannot be answered"})
	}
	w.duplicateField(d.Settings.DuplicateField)
	return w.found, nil
}

type warner struct {
	form   *compile.Form
	blocks []*schema.Block // in the order of form.Blocks
	found  schema.Warnings
	notes  [][]func() // by step: warnings of its rule, which wait for all rules

	reached []bool // steps that a respondent may come to
	cost    int    // steps of all rules, each evaluated once

	constants int // steps of logic that reads nothing
	lastToEnd int // the last step with a jump to the end, -1: none

	never  map[*logic.Logic]string // why logic that reads something never holds
	misled map[int]string          // the same of a jump to a step
	all    map[int]*answers        // to blocks with few answers

	service string         // the settings of the service that answers depend on
	texts   map[int]string // blocks as JSON
}

// list adds blocks, and the children of groups, to w.blocks.
func (w *warner) list(blocks []schema.Block) {
	for i := range blocks {
		w.blocks = append(w.blocks, &blocks[i])
		if blocks[i].Type == schema.TypeGroup {
			w.list(blocks[i].Children)
		}
	}
}

func (w *warner) add(path, code string, why kinds.Why) {
	if why.Reason != "" {
		why.Params = maps.Clone(why.Params)
		if why.Params == nil {
			why.Params = make(map[string]any)
		}
		why.Params["reason"] = why.Reason
	}
	w.found = append(w.found, schema.Warning{Path: path, Code: code, Message: why.Message, Params: why.Params})
}

// note keeps a warning of a step's rule.
func (w *warner) note(step int, path, code string, why kinds.Why) {
	w.notes[step] = append(w.notes[step], func() { w.add(path, code, why) })
}

// ignored notes a part without effect in the rule of a step.
func (w *warner) ignored(step int, n jsontree.Node, code string, why kinds.Why) {
	w.note(step, n.Pointer(rulePath(step)), code, why)
}

// compiled notes the data that the logic l reads, which was made of n.
func (w *warner) compiled(step int, n jsontree.Node, l *logic.Logic, after bool) {
	path := n.Pointer(rulePath(step))
	w.notes[step] = append(w.notes[step], func() { w.reads(path, l, step, after) })
}

func rulePath(at int) string { return "/blocks/" + strconv.Itoa(at) + "/properties/rule" }

// block looks at one block. at is its index at the top level, or the index of the group
// around it.
func (w *warner) block(b *schema.Block, path string, at int, inGroup bool) {
	c := &w.form.Blocks[w.form.Index[b.ID]]
	if member, why := kinds.Contradiction(c.Rule); why.Reason != "" {
		why.Message = "no answer is accepted: " + why.Message
		w.add(path+member, schema.WarnUnanswerableBlock, why)
	}
	kinds.Idle(c.Rule, b, func(name string, why kinds.Why) { w.add(path+"/properties/"+name, schema.WarnNoEffect, why) })
	w.unfinished(b, path)
	if b.Required && c.Rule == nil {
		why := kinds.Why{Reason: "no_answer", Message: "blocks of this type cannot be required"}
		if c.Dropped {
			why = kinds.Why{Reason: "dropped", Message: "responses without an answer to this block are accepted"}
		}
		w.add(path+"/required", schema.WarnNoEffect, why)
	}
	ruled := jsontree.Look(b.Properties.Rule, kinds.Bounds, func(rule jsontree.Node) bool { return w.shape(rule, path+"/properties/rule") })
	if inGroup {
		w.inGroup(b, path, ruled)
	} else {
		w.step(b, path, at)
	}
	if b.Type == schema.TypeGroup {
		for i := range b.Children {
			w.block(&b.Children[i], path+"/children/"+strconv.Itoa(i), at, true)
		}
	}
}

// inGroup warns of properties that have a meaning at the top level only.
func (w *warner) inGroup(b *schema.Block, path string, ruled bool) {
	if ruled {
		w.add(path+"/properties/rule", schema.WarnNoEffect, kinds.Why{Reason: "in_group", Message: "only the rules of top-level blocks have an effect"})
	}
	if b.Type == schema.TypeEnding {
		w.add(path, schema.WarnNoEffect, kinds.Why{Reason: "ending_in_group", Message: "an ending inside a group has no effect"})
	}
}

// step is about a top-level block on its path, and parts of its rule that have no effect.
func (w *warner) step(b *schema.Block, path string, at int) {
	hidden := w.form.Blocks[w.form.Steps[at].From].Hide
	if !w.reached[at] && !hidden {
		w.add(path, schema.WarnUnreachable, w.whyUnreached(at))
	}
	for _, warn := range w.notes[at] {
		warn()
	}
	rule, path := &w.form.Steps[at].Rule, rulePath(at)
	takesAnswer := w.form.Blocks[w.form.Steps[at].From].Rule != nil
	switch {
	case hidden && !rule.IsEmpty():
		w.add(path, schema.WarnNoEffect, kinds.Why{Reason: "hidden", Message: "the block is hidden, so its rule does not run"})
	case rule.Require != nil && !takesAnswer:
		w.add(path+"/require", schema.WarnNoEffect, kinds.Why{Reason: "no_answer", Message: "blocks of this type cannot be required"})
	}
	if b.Type == schema.TypeEnding && rule.Next != nil {
		w.add(path+"/next", schema.WarnNoEffect, kinds.Why{Reason: "ending", Message: "the form ends here, so jumps have no effect"})
	}
	if holds, constant := w.constantly(rule.Show); constant && holds && rule.Show != nil {
		w.add(path+"/show", schema.WarnNoEffect, kinds.Why{Reason: "always", Message: "this condition is always true"})
	}
	for _, a := range rule.Set {
		var storable bool
		constant := w.constant(a.Value, func(b *logic.Budget) { _, storable = compile.VariableValue(a.Value.Eval(nil, b)) })
		if constant && !storable {
			w.add(jsontree.Pointer(path+"/set", w.form.Variables[a.Variable].Name), schema.WarnNoEffect,
				kinds.Why{Reason: "set", Message: "the value is never a number or a text of at most " + kinds.Counted(kinds.MaxShortText, "character") + ", so the variable does not change"})
		}
	}
	w.jumps(rule, path, at)
	before := w.cost
	w.cost += size(rule)
	if before <= compile.RuleSteps && w.cost > compile.RuleSteps {
		w.add(path, schema.WarnCostlyRules, kinds.Why{Message: "the rules up to here can take more than " + kinds.Counted(compile.RuleSteps, "step") + ", and such responses are rejected"})
	}
}

// jumps is about jumps that are never made. The places of jumps that were ignored are not
// in rule.next.
func (w *warner) jumps(rule *compile.Branch, path string, step int) {
	// Without the last jumps to the next block, the form goes there as well.
	counting := len(rule.Next)
	for counting > 0 && rule.Next[counting-1].To == step+1 {
		counting--
	}
	always := false
	for i, j := range rule.Next {
		at := path + "/next/" + strconv.Itoa(j.Place)
		holds, constant := w.constantly(j.When)
		switch {
		case always:
			w.add(at, schema.WarnNoEffect, kinds.Why{Reason: "jumped", Message: "an earlier jump always applies"})
		case w.never[j.When] != "": // was noted
		case constant && !holds:
			w.add(at+"/if", schema.WarnNoEffect, kinds.Why{Reason: "never", Message: "this condition is never true"})
		case i >= counting:
			w.add(at, schema.WarnNoEffect, kinds.Why{Reason: "next", Message: "this jump goes to the next block, which follows anyway"})
		}
		always = always || constant && holds
	}
}

// constantSteps bounds what all logic that reads nothing may take together: steps take
// about 20 ns each, at worst 45, so all of it less than 100 ms.
const constantSteps = 2_000_000

// constantly returns whether logic holds, when that does not depend on the response. nil
// always holds. Once such logic has taken too many steps, it counts as depending on it.
func (w *warner) constantly(l *logic.Logic) (holds, constant bool) {
	if l == nil {
		return true, true
	}
	if w.never[l] != "" {
		return false, true
	}
	constant = w.constant(l, func(b *logic.Budget) { holds = l.Holds(nil, b) })
	return holds && constant, constant
}

// constant reports whether the value of logic, which evaluate asks for, does not depend on
// the response.
func (w *warner) constant(l *logic.Logic, evaluate func(*logic.Budget)) bool {
	left := min(compile.RuleSteps, constantSteps-w.constants)
	if !l.Constant() || left < 0 {
		return false
	}
	budget := logic.NewBudget(left)
	evaluate(&budget)
	w.constants += left - budget.Left()
	return !budget.Exceeded()
}

// size is the number of steps that a rule takes when every logic in it is evaluated.
func size(b *compile.Branch) (total int) {
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

// reads is about what logic reads. after: the answer of its own block is taken.
func (w *warner) reads(path string, l *logic.Logic, at int, after bool) {
	names, _ := l.Reads()
	for _, name := range names {
		kind, rest, _ := strings.Cut(name, ".")
		block, _, isBlock := named(w.form.Index, rest)
		_, _, isHidden := named(w.form.HiddenNames, rest)
		_, _, isVariable := named(w.form.VariableIndex, rest)
		why := kinds.Why{Params: map[string]any{"name": rest}}
		switch {
		case kind != "answers" && kind != "hidden" && kind != "variables":
			why.Reason, why.Message, why.Params["name"] = "data", "only answers, hidden and variables exist", name
		case rest == "": // all of them
		case kind == "hidden" && !isHidden:
			why.Reason, why.Message = "hidden", "the form has no hidden field with this name"
		case kind == "variables" && !isVariable:
			why.Reason, why.Message = "variable", "the form has no variable with this name"
		case kind == "answers" && !isBlock:
			why.Reason, why.Message = "block", "the form has no block with this ID"
		case kind == "answers" && w.form.Blocks[block].Rule == nil:
			name, why.Params = w.name(block)
			w.add(path, schema.WarnUnknownName, kinds.Why{Reason: "no_answer", Message: "this reads the answer to " + name + ", but that block cannot be answered", Params: why.Params})
		case kind == "answers" && block >= w.known(at, after):
			name, why.Params = w.name(block)
			w.add(path, schema.WarnNotYetKnown, kinds.Why{Message: "this reads the answer to " + name + ", but that block comes later", Params: why.Params})
		}
		if why.Reason != "" {
			why.Message = "this reads " + kinds.Quoted(name) + ", but " + why.Message
			w.add(path, schema.WarnUnknownName, why)
		}
	}
}

// known returns the first block whose answer is not known when logic of a step runs.
func (w *warner) known(at int, after bool) int {
	step := &w.form.Steps[at]
	known := step.From
	if after {
		known = step.To
	}
	if step.Ending && w.lastToEnd >= 0 {
		known = max(known, w.form.Steps[w.lastToEnd].To) // a jump from there may come here
	}
	return known
}

// named returns what a path begins with, and its name, as a var finds it: the whole path is a
// name, or the text before its first dot.
func named[T any](all map[string]T, path string) (one T, name string, ok bool) {
	if one, ok = all[path]; ok {
		return one, path, true
	}
	first, _, dotted := strings.Cut(path, ".")
	one, ok = all[first]
	return one, first, ok && dotted
}

// duplicateField is about the block whose answers must be new.
func (w *warner) duplicateField(id string) {
	const path = "/settings/duplicateField"
	if id == "" {
		return
	}
	if w.form.Unique < 0 {
		w.add(path, schema.WarnDuplicateField, kinds.Why{Reason: "missing", Message: "the form has no block with this ID, so duplicates are not detected"})
		return
	}
	typ := w.form.Blocks[w.form.Unique].Type
	if k, _ := schema.LookupBlockType(typ); !k.IsCompared() {
		w.add(path, schema.WarnDuplicateField, kinds.Why{Reason: "type", Message: "answers to blocks of the type " + typ + " are never compared, so duplicates are not detected"})
	}
}
