package answers

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// Warnings returns what makes a form unanswerable, and what has no effect. It is an error
// when a section is not what is stored.
//
// Whether a block can be answered follows from its own bounds. Which blocks are reached
// follows from the order of the steps, where logic that reads nothing has its value and any
// other may hold or not. So no warning is wrong, and some are missed.
func Warnings(from Source) (schema.Warnings, error) {
	d, err := read(from)
	if err != nil {
		return nil, err
	}
	f := d.Form
	w := warner{form: f, index: make(map[string]int, len(f.blocks)), notes: make([][]func(), len(f.steps))}
	w.never, w.misled, w.labels = make(map[*logic.Logic]string), make(map[int]string), make(map[int]map[string]string)
	for i := range f.blocks {
		w.index[f.blocks[i].id] = i
	}
	d.addRules(watch{ignored: w.ignored, compiled: w.compiled})
	w.lastToEnd = lastToEnd(f)
	w.reach()
	for i := range d.Blocks {
		w.block(&d.Blocks[i], jsontree.Pointer("/blocks", strconv.Itoa(i)), i, false)
	}
	if w.unanswerable {
		w.add("/blocks", schema.WarnUnanswerableForm, "no response is ever accepted: no path avoids a required block that cannot be answered")
	}
	w.duplicateField(d.Settings.DuplicateField)
	return w.found, nil
}

type warner struct {
	form  *Form
	index map[string]int // in form.blocks, by id
	found schema.Warnings
	notes [][]func() // by step: warnings of its rule, which wait for all rules

	reached      []bool // steps that a respondent may come to
	unanswerable bool
	cost         int // steps of all rules, each evaluated once

	constants int // steps of logic that reads nothing
	lastToEnd int // the last step with a jump to the end, -1: none

	never  map[*logic.Logic]string   // why logic never holds, where that is because of a label
	misled map[int]string            // the same of a jump to a step
	labels map[int]map[string]string // of a block's choices, to their ids
}

func (w *warner) add(path, code, message string) {
	w.found = append(w.found, schema.Warning{Path: path, Code: code, Message: message})
}

// ignored notes what has no effect in the rule of a step.
func (w *warner) ignored(step int, n jsontree.Node, code, message string) {
	path := n.Pointer(rulePath(step))
	w.notes[step] = append(w.notes[step], func() { w.add(path, code, message) })
}

// compiled notes what the logic l reads, which was made of n.
func (w *warner) compiled(step int, n jsontree.Node, l *logic.Logic, after bool) {
	path := n.Pointer(rulePath(step))
	w.notes[step] = append(w.notes[step], func() { w.reads(path, l, step, after) })
	w.never[l] = w.mislabelled(n)
}

func rulePath(at int) string { return "/blocks/" + strconv.Itoa(at) + "/properties/rule" }

// block looks at one block. at is its index at the top level, or that of the group around
// it.
func (w *warner) block(b *schema.Block, path string, at int, inGroup bool) {
	c := &w.form.blocks[w.index[b.ID]]
	if member, why := contradiction(c.rule); why != "" {
		w.add(path+member, schema.WarnUnanswerableBlock, "no answer is ever accepted: "+why)
	}
	idle(c.rule, b, func(name, why string) { w.add(path+"/properties/"+name, schema.WarnNoEffect, why) })
	w.country(b, path)
	if b.Required && c.rule == nil {
		why := "a block of this type takes no answer that could be required"
		if c.dropped {
			why = "a response is accepted without an answer to a block of this type"
		}
		w.add(path+"/required", schema.WarnNoEffect, why)
	}
	ruled := w.shape(b, path+"/properties/rule")
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

// inGroup is about what has a meaning at the top level only.
func (w *warner) inGroup(b *schema.Block, path string, ruled bool) {
	if ruled {
		w.add(path+"/properties/rule", schema.WarnNoEffect, "only the rules of top-level blocks count")
	}
	if b.Type == schema.TypeEnding {
		w.add(path, schema.WarnNoEffect, "an ending inside a group ends nothing")
	}
}

// step is about a top-level block on its path.
func (w *warner) step(b *schema.Block, path string, at int) {
	if at >= len(w.form.steps) || w.form.blocks[w.form.steps[at].from].id != b.ID {
		return // ids that are not unique: no write stores them
	}
	hidden := w.form.blocks[w.form.steps[at].from].hide
	if !w.reached[at] && !hidden {
		w.add(path, schema.WarnUnreachable, "no respondent ever comes to this block: "+w.whyUnreached(at))
	}
	w.rule(b, at, hidden)
}

// rule is about what a rule says that has no effect.
func (w *warner) rule(b *schema.Block, at int, hidden bool) {
	for _, warn := range w.notes[at] {
		warn()
	}
	rule, path := w.form.steps[at].rule, rulePath(at)
	if rule == nil {
		return
	}
	takesAnswer := w.form.blocks[w.form.steps[at].from].rule != nil
	switch {
	case hidden:
		w.add(path, schema.WarnNoEffect, "the block is hidden, so nothing of its rule runs")
	case rule.require != nil && !takesAnswer:
		w.add(path+"/require", schema.WarnNoEffect, "a block of this type takes no answer that could be required")
	}
	if b.Type == schema.TypeEnding && rule.next != nil {
		w.add(path+"/next", schema.WarnNoEffect, "the form ends here, so nothing follows")
	}
	if holds, constant := w.constantly(rule.show); constant && holds && rule.show != nil {
		w.add(path+"/show", schema.WarnNoEffect, "this always holds")
	}
	for _, a := range rule.set {
		var storable bool
		constant := w.constant(a.value, func(b *logic.Budget) { _, storable = variableValue(a.value.Eval(nil, b)) })
		if constant && !storable {
			w.add(jsontree.Pointer(path+"/set", w.form.variables[a.variable].name), schema.WarnNoEffect,
				"this is never a number or a text of at most "+counted(maxShortText, "character")+", so the variable stays as it is")
		}
	}
	w.jumps(rule, path, at)
	before := w.cost
	w.cost += size(rule)
	if before <= ruleSteps && w.cost > ruleSteps {
		w.add(path, schema.WarnCostlyRules, "the rules up to here may take more than "+counted(ruleSteps, "step")+", and a response that takes more is refused")
	}
}

// jumps is about jumps that are never made. The places of jumps that were ignored are not
// in rule.next.
func (w *warner) jumps(rule *branch, path string, step int) {
	// Without the last jumps to the next block, the form goes there as well.
	counting := len(rule.next)
	for counting > 0 && rule.next[counting-1].to == step+1 {
		counting--
	}
	always := false
	for i, j := range rule.next {
		at := path + "/next/" + strconv.Itoa(j.place)
		holds, constant := w.constantly(j.when)
		switch {
		case always:
			w.add(at, schema.WarnNoEffect, "a jump before this one is always made")
		case constant && !holds:
			w.add(at+"/if", schema.WarnNoEffect, cmp.Or(w.never[j.when], "this never holds"))
		case i >= counting:
			w.add(at, schema.WarnNoEffect, "the block after this one follows without the jump too")
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
	left := min(ruleSteps, constantSteps-w.constants)
	if !l.Constant() || left < 0 {
		return false
	}
	budget := logic.NewBudget(left)
	evaluate(&budget)
	w.constants += left - budget.Left()
	return !budget.Exceeded()
}

// size is the number of steps that a rule takes when every logic in it is evaluated.
func size(b *branch) (total int) {
	all := []*logic.Logic{b.show, b.require}
	for _, a := range b.set {
		all = append(all, a.value)
	}
	for _, j := range b.next {
		all = append(all, j.when)
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
		switch kind {
		case "answers":
			w.readsAnswer(path, rest, at, after)
		case "hidden":
			if !nameOrPrefix(rest, func(name string) bool { return w.form.hiddenNames[name] }) {
				w.add(path, schema.WarnUnknownName, "this reads "+quoted(name)+", and the form has no such hidden field")
			}
		case "variables":
			if !nameOrPrefix(rest, func(name string) bool { _, ok := w.form.variableIndex[name]; return ok }) {
				w.add(path, schema.WarnUnknownName, "this reads "+quoted(name)+", and the form has no such variable")
			}
		default:
			w.add(path, schema.WarnUnknownName, "this reads "+quoted(name)+", and there are only answers, hidden and variables")
		}
	}
}

func (w *warner) readsAnswer(path, name string, at int, after bool) {
	var block int
	found := nameOrPrefix(name, func(name string) bool {
		i, ok := w.index[name]
		block = i
		return ok
	})
	if name == "" {
		return
	}
	if !found {
		w.add(path, schema.WarnUnknownName, "this reads "+quoted("answers."+name)+", and the form has no such block")
		return
	}
	b := &w.form.blocks[block]
	last := w.form.steps[at].from // blocks before this one are known
	if after {
		last = w.form.steps[at].to
	}
	if w.form.steps[at].ending && w.lastToEnd >= 0 {
		last = max(last, w.form.steps[w.lastToEnd].to) // a jump from there may come here
	}
	switch {
	case b.rule == nil:
		w.add(path, schema.WarnUnknownName, "this reads "+quoted("answers."+name)+", and that block takes no answer")
	case block >= last:
		w.add(path, schema.WarnNotYetKnown, "this reads "+quoted("answers."+name)+", and that is answered only later")
	}
}

// nameOrPrefix reports whether a path begins with a name, as a var finds it: the whole
// path, or what stands before its first dot. An empty path is that of all.
func nameOrPrefix(path string, known func(name string) bool) bool {
	if path == "" || known(path) {
		return true
	}
	first, _, dotted := strings.Cut(path, ".")
	return dotted && known(first)
}

// country is about phone numbers whose country nobody says.
func (w *warner) country(b *schema.Block, path string) {
	p := b.Properties
	part := cmp.Or(cmp.Or(p.AddressOrContact, new(schema.AddressFields)).Phone, new(schema.AddressField))
	asks := b.Type == schema.TypePhone || (b.Type == schema.TypeContactInfo || b.Type == schema.TypeAddress) && !part.Hide
	if asks && p.DefaultCountry == "" && !p.Hide {
		w.add(path, schema.WarnNoCountry, "there is no defaultCountry, so only phone numbers with the code of their country are accepted")
	}
}

// duplicateField is about the block whose answers must be new.
func (w *warner) duplicateField(id string) {
	const path = "/settings/duplicateField"
	if id == "" {
		return
	}
	if w.form.unique < 0 {
		w.add(path, schema.WarnDuplicateField, "the form has no block of this id, so no response counts as a duplicate")
		return
	}
	if typ := w.form.blocks[w.form.unique].typ; !IsCompared(typ) {
		w.add(path, schema.WarnDuplicateField, "answers to a block of the type "+typ+" are never compared, so no response counts as a duplicate")
	}
}
