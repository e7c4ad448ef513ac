package warnings

import (
	"cmp"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/kinds"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// whyUnreached says why no respondent comes to the step at.
func (w *warner) whyUnreached(at int) kinds.Why {
	why := kinds.Why{Reason: "passed", Message: cmp.Or(w.misled[at], "every path ends before it or skips it")}
	if may, _ := w.showing(at); !may {
		why = kinds.Why{Reason: "show", Message: cmp.Or(w.never[w.form.Steps[at].Rule.Show], "its \"show\" condition is never true")}
	}
	why.Message = "no respondent can reach this block: " + why.Message
	return why
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
func (w *warner) shape(rule jsontree.Node, path string) (counts bool) {
	const ours = "a rule can only have show, require, set and next"
	unknown := false
	for _, member := range rule.All() {
		switch name := member.Name(); {
		case slices.Contains(ruleMembers, name):
			counts = counts || member.Kind() != jsontree.Null
		case slices.Contains(otherShapes, name):
			w.add(member.Pointer(path), schema.WarnMalformedRule, kinds.Why{Reason: "member", Message: "this is ignored: " + ours, Params: map[string]any{"name": name}})
		default:
			unknown = true
		}
	}
	if unknown && !counts {
		w.add(path, schema.WarnMalformedRule, kinds.Why{Reason: "nothing", Message: "this rule has no effect: " + ours})
	}
	return counts
}
