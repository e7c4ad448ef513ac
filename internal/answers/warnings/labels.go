package warnings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/kinds"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// mislabelled says why logic never holds: it compares the choice that a block takes with
// a choice's label, where the answer is an id. It is empty when the logic may hold.
func (w *warner) mislabelled(n jsontree.Node) string {
	operands := n.First()
	if n.Kind() != jsontree.Object || n.Len() != 1 || operands.Kind() != jsontree.Array {
		return ""
	}
	switch name := operands.Name(); {
	case name == "and":
		for _, operand := range operands.All() {
			if why := w.mislabelled(operand); why != "" {
				return why
			}
		}
	case (name == "==" || name == "===") && operands.Len() == 2:
		answer, text := operands.First(), operands.First().Next()
		if answer.Kind() == jsontree.String {
			answer, text = text, answer
		}
		path, label := answer.Member("var").Text(), text.Text()
		block, ok := w.form.Index[strings.TrimPrefix(path, "answers.")]
		if !ok || !strings.HasPrefix(path, "answers.") || text.Kind() != jsontree.String || label == "" {
			return ""
		}
		if w.labels[block] == nil {
			w.labels[block] = kinds.Labels(w.form.Blocks[block].Rule)
		}
		if id, there := w.labels[block][label]; there {
			return "the answer to " + kinds.Quoted(w.form.Blocks[block].ID) + " is compared with " + kinds.Quoted(label) + ", the label of a choice whose id is " + kinds.Quoted(id)
		}
	}
	return ""
}

// whyUnreached says why no respondent comes to the step at.
func (w *warner) whyUnreached(at int) string {
	why := cmp.Or(w.never[w.form.Steps[at].Rule.Show], w.misled[at])
	if may, _ := w.showing(at); !may {
		return cmp.Or(why, "its show never holds")
	}
	return cmp.Or(why, "each path ends before it or jumps over it")
}

// ruleMembers are the members of a rule, and otherShapes the members of rules as other
// programs write them.
var (
	ruleMembers = []string{"show", "require", "set", "next"}
	otherShapes = []string{
		"action", "actions", "condition", "conditions", "goto", "hide", "hideIf", "if", "jump", "jumpTo", "logic", "required", "requireIf", "showIf", "skipTo", "then", "when",
	}
)

// shape is about a rule that is written in another way than ours. counts: a member is ours.
func (w *warner) shape(b *schema.Block, path string) (counts bool) {
	tree, err := jsontree.Parse(b.Properties.Rule, kinds.Bounds)
	if err != nil {
		return false // there is none
	}
	defer tree.Release()
	const ours = "a rule has show, require, set and next"
	unknown := false
	for _, member := range tree.Root().All() {
		switch name := member.Name(); {
		case slices.Contains(ruleMembers, name):
			counts = counts || member.Kind() != jsontree.Null
		case slices.Contains(otherShapes, name):
			w.add(member.Pointer(path), schema.WarnMalformedRule, "this is ignored: "+ours)
		default:
			unknown = true
		}
	}
	if unknown && !counts {
		w.add(path, schema.WarnMalformedRule, "nothing in this rule counts: "+ours)
	}
	return counts
}
