package warnings

import (
	"cmp"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

func (w *warner) whyUnreached(at int) answertype.Explanation {
	why := answertype.Explanation{Reason: "passed", Message: cmp.Or(w.neverJumps[at], "every path ends before it or skips it")}
	if may, _ := w.visibility(at); !may {
		why = answertype.Explanation{Reason: "show", Message: cmp.Or(w.neverHolds[w.form.Steps[at].Rule.Show], "its \"show\" condition is never true")}
	}
	why.Message = "no respondent can reach this block: " + why.Message
	return why
}

// ruleFields lists the fields of a rule. foreignFields lists fields from other form builders' rule formats.
var (
	ruleFields    = []string{"show", "require", "set", "next", "check", "choices"}
	foreignFields = []string{
		"action", "actions", "condition", "conditions", "goto", "hide", "hideIf", "if", "jump", "jumpTo", "logic", "required", "requireIf", "showIf", "skipTo", "then", "when",
	}
)

// checkShape adds warnings about unknown fields in a rule. It returns false if the rule has no known field.
func (w *warner) checkShape(rule jsontree.Node, path string) (ruled bool) {
	const ours = "a rule can only have show, require, set, next, check and choices"
	unknown, counts := false, false
	for _, member := range rule.All() {
		switch name := member.Name(); {
		case slices.Contains(ruleFields, name):
			counts = counts || member.Kind() != jsontree.Null
			ruled = ruled || member.Kind() != jsontree.Null && name != "check" && name != "choices"
		case slices.Contains(foreignFields, name):
			w.addWarning(member.Pointer(path), schema.WarnMalformedRule, answertype.Explanation{Reason: "member", Message: "this is ignored: " + ours, Params: map[string]any{"name": name}})
		default:
			unknown = true
		}
	}
	if unknown && !counts {
		w.addWarning(path, schema.WarnMalformedRule, answertype.Explanation{Reason: "nothing", Message: "this rule has no effect: " + ours})
	}
	return ruled
}
