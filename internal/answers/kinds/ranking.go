package kinds

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// rankingRule checks ranking.
type rankingRule struct{ *choices }

func newRanking(b *schema.Block, _ Service) Rule { return rankingRule{newChoices(b.Choices, false)} }

func (t rankingRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if n.Kind() != jsontree.Array {
		r.add(n, wrongType("array", "must be a list of all choices in order"))
		return
	}
	ranked := make([]bool, len(t.ids))
	count := 0
	w.Array()
	for _, item := range n.All() {
		if r.full() {
			return
		}
		p, wrong := t.pick(item, r)
		switch {
		case wrong.Found():
			r.add(item, wrong)
		case ranked[p.at]:
			r.add(item, Fault{Code: schema.CodeDuplicate, Message: "must not be ranked more than once"})
		default:
			ranked[p.at] = true
			count++
			if !r.Exceeds(w) {
				t.write(w, p)
			}
		}
	}
	if r.faults == 0 && count < len(t.ids) {
		r.add(n, Fault{schema.CodeTooFew, "must rank every choice", map[string]any{"min": len(t.ids), "unit": "choices"}})
	}
	w.EndArray()
}

func (t rankingRule) Sample() string { return Encoded(t.ids) }

func (t rankingRule) contradiction() (member string, why Why) {
	if len(t.ids) > 0 {
		return "", Why{}
	}
	return "/choices", Why{Reason: "no_choices", Message: "the ranking has no choices"}
}
