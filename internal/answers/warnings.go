package answers

import (
	"encoding/json"
	"iter"
	"slices"
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
	f, err := Compile(from)
	if err != nil {
		return nil, err
	}
	list, err := schema.DecodeBlocks(from.Blocks)
	if err != nil {
		return nil, err
	}
	settings, err := schema.DecodeSettings(from.Settings)
	if err != nil {
		return nil, err
	}
	w := warner{form: f, list: list, reading: f.newBranches(list), index: make(map[string]int, len(f.blocks))}
	for i := range f.blocks {
		w.index[f.blocks[i].id] = i
	}
	w.contradictions = make([]contradiction, len(f.blocks))
	for i := range f.blocks {
		w.contradictions[i] = f.contradiction(i)
	}
	w.lastToEnd = f.lastToEnd()
	w.reach()
	for i := range list {
		w.block(&list[i], jsontree.Pointer("/blocks", strconv.Itoa(i)), i, false)
	}
	if w.unanswerable {
		w.add("/blocks", schema.WarnUnanswerableForm, "no response is ever accepted: no path avoids a required block that cannot be answered")
	}
	w.duplicateField(settings.DuplicateField)
	return w.found, nil
}

type warner struct {
	form    *Form
	list    []schema.Block
	reading *branches      // nil: no rules
	index   map[string]int // in form.blocks, by id
	found   schema.Warnings

	reached      []bool // steps that a respondent may come to
	unanswerable bool
	cost         int // steps of all rules, each evaluated once

	contradictions []contradiction // by index in form.blocks
	constants      int             // steps of logic that reads nothing
	lastToEnd      int             // the last step with a jump to the end, -1: none
}

func (w *warner) add(path, code, message string) {
	w.found = append(w.found, schema.Warning{Path: path, Code: code, Message: message})
}

// block looks at one block. at is its index at the top level, or that of the group around
// it.
func (w *warner) block(b *schema.Block, path string, at int, inGroup bool) {
	index := w.index[b.ID]
	required := at < len(w.form.steps) && w.alwaysRequired(&w.form.steps[at], index)
	if w.contradicts(index, required) {
		c := &w.contradictions[index]
		w.add(path+c.member, schema.WarnUnanswerableBlock, "no answer is ever accepted: "+c.why)
	}
	w.switches(b, path+"/properties")
	w.offered(b, path+"/properties")
	if c := &w.form.blocks[index]; b.Required && (c.rule == nil || c.dropped) {
		why := "a block of this type takes no answer that could be required"
		if c.dropped {
			why = "a response is accepted without an answer to a block of this type"
		}
		w.add(path+"/required", schema.WarnNoEffect, why)
	}
	if inGroup {
		w.inGroup(b, path)
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
func (w *warner) inGroup(b *schema.Block, path string) {
	if saysSomething(ruleOf(b)) {
		w.add(path+"/properties/rule", schema.WarnNoEffect, "only the rules of top-level blocks count")
	}
	if b.Type == schema.TypeEnding {
		w.add(path, schema.WarnNoEffect, "an ending inside a group ends nothing")
	}
}

// saysSomething reports whether a rule has one of the members that count at the top level.
func saysSomething(raw json.RawMessage) bool {
	tree, err := jsontree.Parse(raw, answerBounds)
	if len(raw) == 0 || err != nil {
		return false
	}
	defer tree.Release()
	return slices.ContainsFunc([]string{"show", "require", "set", "next"}, func(name string) bool {
		return tree.Root().Member(name).Kind() != jsontree.Null
	})
}

// step is about a top-level block on its path.
func (w *warner) step(b *schema.Block, path string, at int) {
	if at >= len(w.form.steps) || w.form.blocks[w.form.steps[at].from].id != b.ID {
		return // ids that are not unique: no write stores them
	}
	hidden := w.form.blocks[w.form.steps[at].from].hide
	if !w.reached[at] && !hidden {
		w.add(path, schema.WarnUnreachable, "no respondent ever comes to this block")
	}
	if raw := ruleOf(b); len(raw) > 0 {
		w.rule(b, raw, path+"/properties/rule", at, hidden)
	}
}

// rule is about what a rule says that has no effect.
func (w *warner) rule(b *schema.Block, raw json.RawMessage, path string, at int, hidden bool) {
	w.reading.ignored = func(n jsontree.Node, code, message string) { w.add(n.Pointer(path), code, message) }
	w.reading.compiled = func(n jsontree.Node, l *logic.Logic, after bool) { w.reads(n.Pointer(path), l, at, after) }
	rule := w.reading.read(raw, at)
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
	w.cost += rule.size()
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
			w.add(at+"/if", schema.WarnNoEffect, "this never holds")
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

// all ranges over the logic of a rule.
func (b *branch) all() iter.Seq[*logic.Logic] {
	return func(yield func(*logic.Logic) bool) {
		each := func(l *logic.Logic) bool { return l == nil || yield(l) }
		if !each(b.show) || !each(b.require) {
			return
		}
		for _, a := range b.set {
			if !each(a.value) {
				return
			}
		}
		for _, j := range b.next {
			if !each(j.when) {
				return
			}
		}
	}
}

// size is the steps that a rule takes when every logic in it is evaluated.
func (b *branch) size() int {
	total := 0
	for l := range b.all() {
		total += l.Size()
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

// switches is about bounds that do not count because their switch is off, and switches
// without a bound.
func (w *warner) switches(b *schema.Block, path string) {
	p := b.Properties
	if p == nil {
		return
	}
	off := func(name, why string) { w.add(path+"/"+name, schema.WarnNoEffect, why) }
	switch b.Type {
	case schema.TypePictureChoice:
		if !p.MultiSelection {
			return
		}
		fallthrough
	case schema.TypeNumber, schema.TypeMultipleChoice:
		if p.Min != nil && !p.MinVal {
			off("min", "min counts only when minVal is true")
		}
		if p.Max != nil && !p.MaxVal {
			off("max", "max counts only when maxVal is true")
		}
		if p.MinVal && p.Min == nil {
			off("minVal", "there is no min")
		}
		if p.MaxVal && p.Max == nil {
			off("maxVal", "there is no max")
		}
		if b.Type != schema.TypeNumber && p.Limit != nil && *p.Limit <= 0 {
			off("limit", "a limit below 1 is none")
		}
	case schema.TypeShortText, schema.TypeLongText:
		if p.MaxChars != nil && *p.MaxChars <= 0 {
			off("maxChars", "a bound below 1 is none")
		}
	case schema.TypeOpinionScale:
		if p.ScaleStep != nil && *p.ScaleStep <= 0 {
			off("scaleStep", "a step of 0 or less counts as 1")
		}
	case schema.TypePayment:
		if p.Amount != "" && !isDecimal(p.Amount) {
			off("amount", "an amount that is not a number such as 10.00 is not compared with the payment")
		}
		if p.Currency != "" && !isCurrency(strings.ToUpper(p.Currency)) {
			off("currency", "a currency that is not a code of three letters is not compared with the payment")
		}
	case schema.TypeRating:
		if p.To != nil && *p.To < 1 {
			off("to", "a rating whose highest value is below 1 goes up to 5")
		}
	}
}

// offered is about limits on how many choices are chosen that are above their number, and
// about countries that there are not.
func (w *warner) offered(b *schema.Block, path string) {
	p := b.Properties
	if p == nil {
		return
	}
	switch t := w.form.blocks[w.index[b.ID]].rule.(type) {
	case multipleRule:
		all := t.offered()
		why := "there are only " + spelled(all) + " to choose from"
		if p.MaxVal && p.Max != nil && *p.Max > float64(all) {
			w.add(path+"/max", schema.WarnNoEffect, why)
		}
		if p.Limit != nil && float64(*p.Limit) > float64(all) {
			w.add(path+"/limit", schema.WarnNoEffect, why)
		}
	case phoneRule:
		if p.DefaultCountry != "" && t.country == "" {
			w.add(path+"/defaultCountry", schema.WarnNoEffect, "there is no such country with phone numbers, so only international numbers are accepted")
		}
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
	var find func(list []schema.Block) *schema.Block
	find = func(list []schema.Block) *schema.Block {
		for i := range list {
			if list[i].ID == id {
				return &list[i]
			}
			if b := find(list[i].Children); b != nil {
				return b
			}
		}
		return nil
	}
	if b := find(w.list); b != nil && !IsCompared(b.Type) {
		w.add(path, schema.WarnDuplicateField, "answers to a block of the type "+b.Type+" are never compared, so no response counts as a duplicate")
	}
}
