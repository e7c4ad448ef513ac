package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

type rankingRule struct{ *choices }

func newRanking(b *schema.Block, _ ServiceConfig) Rule {
	return rankingRule{newChoices(b.Choices, false)}
}

func (t rankingRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if n.Kind() != jsontree.Array {
		r.add(n, violationWrongType("array", "must be a list of all choices in order"))
		return
	}
	ranked := make([]bool, len(t.ids))
	count := 0
	w.Array()
	for _, item := range n.All() {
		if r.isFull() {
			return
		}
		p, wrong := t.readSelection(item, r)
		switch {
		case wrong.IsSet():
			r.add(item, wrong)
		case ranked[p.index]:
			r.add(item, Violation{Code: schema.CodeDuplicate, Message: "must not be ranked more than once"})
		default:
			ranked[p.index] = true
			count++
			if !r.MarkIfLimitExceeded(w) {
				t.writeSelection(w, p)
			}
		}
	}
	if r.count == 0 && count < len(t.ids) {
		r.add(n, Violation{schema.CodeTooFew, "must rank every choice", map[string]any{"min": len(t.ids), "unit": "choices"}})
	}
	w.EndArray()
}

func (t rankingRule) Sample() string { return EncodeJSON(t.ids) }

func (t rankingRule) contradiction() (member string, why Explanation) {
	if len(t.ids) > 0 {
		return "", Explanation{}
	}
	return "/choices", Explanation{Reason: "no_choices", Message: "the ranking has no choices"}
}
