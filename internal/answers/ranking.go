package answers

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// rankingRule checks ranking.
type rankingRule struct{ *choices }

func (t rankingRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	if n.Kind() != jsontree.Array {
		r.add(n, schema.CodeWrongType, "must be an array of choices")
		return
	}
	ranked := make([]bool, len(t.ids))
	count := 0
	w.Array()
	for _, item := range n.All() {
		if r.full() {
			return
		}
		p, code, message := t.pick(item)
		switch {
		case code != "":
			r.add(item, code, message)
		case ranked[p.at]:
			r.add(item, schema.CodeDuplicate, "must not be ranked more than once")
		default:
			ranked[p.at] = true
			count++
			if !r.exceeds(w) {
				t.write(w, p)
			}
		}
	}
	if r.faults == 0 && count < len(t.ids) {
		r.add(n, schema.CodeTooFew, "must rank every choice")
	}
	w.EndArray()
}

// identity keeps the order, which is the answer.
func (t rankingRule) identity(n jsontree.Node) []byte {
	var ranked [][]byte
	for _, item := range n.All() {
		ranked = append(ranked, t.choices.identity(item))
	}
	return arrayOf(ranked)
}

func (t rankingRule) sample() string { return t.first(len(t.ids)) }
