package answers

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// rankingRule checks ranking.
type rankingRule struct{ *choices }

func newRanking(b *schema.Block, _ *Source) rule { return rankingRule{newChoices(b.Choices, false)} }

func (t rankingRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	if n.Kind() != jsontree.Array {
		r.add(n, wrongType("array", "must list all choices in order"))
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
		case wrong.found():
			r.add(item, wrong)
		case ranked[p.at]:
			r.add(item, faultRankedTwice)
		default:
			ranked[p.at] = true
			count++
			if !r.exceeds(w) {
				t.write(w, p)
			}
		}
	}
	if r.faults == 0 && count < len(t.ids) {
		r.add(n, tooFewRanked(len(t.ids)))
	}
	w.EndArray()
}

func (t rankingRule) sample() string { return encoded(t.ids) }
