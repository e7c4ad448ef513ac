package answers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// label finds a comparison that names a choice by its label, where an answer is the
// choice's id. why is empty when there is none.
func (w *warner) label(n jsontree.Node) (at jsontree.Node, why string) {
	if operands := n.First(); n.Kind() == jsontree.Object && operands.Kind() == jsontree.Array && operands.Len() == 2 &&
		slices.Contains([]string{"==", "===", "!=", "!==", "in"}, operands.Name()) {
		one, two := operands.First(), operands.First().Next()
		for _, pair := range [][2]jsontree.Node{{one, two}, {two, one}} {
			block, literals := answerOf(pair[0]), []jsontree.Node{pair[1]}
			for _, item := range pair[1].All() {
				literals = append(literals, item)
			}
			for _, literal := range literals {
				if id, ok := w.labels[block][literal.Text()]; ok && literal.Kind() == jsontree.String {
					return literal, "the answer to " + quoted(block) + " is compared with " + quoted(literal.Text()) + ", the label of a choice whose id is " + quoted(id)
				}
			}
		}
	}
	for _, child := range n.All() {
		if at, why = w.label(child); why != "" {
			return at, why
		}
	}
	return n, ""
}

// answerOf returns the block whose answer a var reads as a whole, "" when there is none.
func answerOf(n jsontree.Node) string {
	name := n.Member("var")
	if name.Kind() == jsontree.Array {
		name = name.First()
	}
	if block, ok := strings.CutPrefix(name.Text(), "answers."); ok {
		return block
	}
	return ""
}

// findLabels learns the labels of all choices.
func (w *warner) findLabels(list []schema.Block) {
	for i := range list {
		b, labels := &list[i], make(map[string]string)
		for _, c := range b.Choices {
			labels[c.Label] = c.ID
		}
		for _, c := range b.Choices {
			delete(labels, c.ID)
		}
		delete(labels, "")
		w.labels[b.ID] = labels
		w.findLabels(b.Children)
	}
}

// place is one of a step's conditions: that of a jump, by its index in next, or its show.
type place struct{ step, jump int }

const ofShow = -1

// findMisnamed looks for labels in what leads to a step: its show, and the jumps to it. A
// comparison of the one choice that is made with a label never holds.
func (w *warner) findMisnamed() {
	w.misnamed, w.never = make(map[int]string), make(map[place]bool)
	steps := min(len(w.list), len(w.form.steps))
	stepOf := make(map[string]int, steps)
	for i := range steps {
		stepOf[w.list[i].ID] = i
	}
	for i := range steps {
		tree, err := jsontree.Parse(ruleOf(&w.list[i]), answerBounds)
		if err != nil {
			continue
		}
		look := func(to, jump int, condition jsontree.Node) {
			at, why := w.label(condition)
			if why == "" {
				return
			}
			w.misnamed[to] = why
			operands := condition.First()
			if name := operands.Name(); name != "==" && name != "===" || operands.Len() != 2 {
				return
			}
			if one, two := operands.First(), operands.First().Next(); at == one || at == two {
				_, several := w.form.blocks[w.index[cmp.Or(answerOf(one), answerOf(two))]].rule.(multipleRule)
				w.never[place{i, jump}] = !several
			}
		}
		for j, item := range tree.Root().Member("next").All() {
			if to, ok := stepOf[item.Member("to").Text()]; ok {
				look(to, j, item.Member("if"))
			}
		}
		look(i, ofShow, tree.Root().Member("show"))
		tree.Release()
	}
}

// whyUnreached says why no respondent comes to the step at.
func (w *warner) whyUnreached(at int) string {
	may, _ := w.showing(at)
	rule := w.form.steps[at].rule
	switch why := w.misnamed[at]; {
	case why != "":
		return why
	case !may:
		return "its show never holds"
	case rule == nil || rule.show == nil:
		return "each path ends before it or jumps over it"
	}
	return "its show holds on no path that comes here"
}

// ruleMembers are what a rule consists of.
var ruleMembers = []string{"show", "require", "set", "next"}

// otherShapes are members of rules as they are written elsewhere.
var otherShapes = []string{
	"action", "actions", "condition", "conditions", "goto", "hide", "hideIf", "if", "jump", "jumpTo", "logic", "required", "requireIf", "showIf", "skipTo", "then", "when",
}

// shape is about a rule that is written in another way than ours.
func (w *warner) shape(rule jsontree.Node, path string) {
	const ours = "a rule has show, require, set and next"
	known, free := false, false
	for _, member := range rule.All() {
		switch {
		case slices.Contains(ruleMembers, member.Name()):
			known = known || member.Kind() != jsontree.Null
		case slices.Contains(otherShapes, member.Name()):
			w.add(member.Pointer(path), schema.WarnMalformedRule, "this is ignored: "+ours)
			known = true // said
		default:
			free = true
		}
	}
	if free && !known {
		w.add(path, schema.WarnMalformedRule, "nothing in this rule counts: "+ours)
	}
}
