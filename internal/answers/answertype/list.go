package answertype

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// listRule checks answers to a block whose choices come from the host. The choices in the answer are its only choices.
type listRule struct {
	choose func(*choices) Rule
	other  bool
}

// fromList returns the rule for a block's answers: rule, unless the block's choices come from the host.
func fromList(b *schema.Block, rule Rule) Rule {
	if b.ListRef().List == "" {
		return rule
	}
	switch t := rule.(type) {
	case choiceRule:
		return listRule{func(c *choices) Rule { return choiceRule{c} }, t.other}
	case multipleRule:
		return listRule{func(c *choices) Rule { t.choices = c; return t }, t.other}
	}
	return rule
}

const (
	maxListID     = 200 // characters
	maxListChoice = 500 // choices in an answer, as many as a block can have of its own
)

// Check accepts all IDs if r.Labels is nil, and otherwise only the IDs in r.Labels.
func (t listRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	ids := listedIDs(n)
	if len(ids) > maxListChoice {
		r.add(n, Violation{schema.CodeTooMany, "choose at most " + spellCount(maxListChoice), map[string]any{"max": maxListChoice, "unit": "choices"}})
		return
	}
	var offered []schema.Choice
	for _, id := range ids {
		label, ok := r.Labels[id]
		if ok || r.Labels == nil && IsListID(id) {
			offered = append(offered, schema.Choice{ID: id, Label: cmp.Or(label, id)})
		}
	}
	t.choose(newChoices(offered, t.other)).Check(w, n, r)
}

// listedIDs returns the IDs of the choices in an answer, without duplicates.
func listedIDs(n jsontree.Node) (ids []string) {
	switch {
	case n.Kind() == jsontree.Array:
		for _, item := range n.All() {
			if item.Kind() != jsontree.Array {
				ids = append(ids, listedIDs(item)...)
			}
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	case n.Kind() == jsontree.String:
		return []string{n.Text()}
	case n.Member("id").Kind() == jsontree.String:
		return []string{n.Member("id").Text()}
	}
	return nil
}

// StoredIDs returns the IDs of the choices in a stored answer.
func StoredIDs(stored []byte) []string { return jsontree.Inspect(stored, ParseLimits, listedIDs) }

// IsListID reports whether a list can contain a choice with this ID.
func IsListID(id string) bool {
	return !textclean.IsBlank(id) && !violation.LongerThan(id, maxListID) && !strings.ContainsFunc(id, unicode.IsControl)
}

func (t listRule) Sample() string {
	return t.choose(newChoices([]schema.Choice{{ID: "sample", Label: "Sample"}}, t.other)).Sample()
}

// candidates covers nothing, because the host decides which choices exist.
func (t listRule) candidates(ComparedValues) ([]any, Coverage) {
	return []any{parseSample(t)}, CoversNothing
}
