package answertype

import (
	"fmt"
	"math"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// writeSelections parses one or more choices, writes them in definition order, and returns how many it wrote, which can
// be zero.
func (c *choices) writeSelections(w *jsontree.Writer, n jsontree.Node, r *Report) int {
	items := n.All()
	if n.Kind() != jsontree.Array {
		items = func(yield func(int, jsontree.Node) bool) { yield(0, n) }
	}
	chosen := make([]bool, len(c.ids)+1)
	var other string
	count := 0
	for _, item := range items {
		if r.isFull() {
			return 0
		}
		p, wrong := c.readSelection(item, r)
		switch {
		case wrong.IsSet():
			r.add(item, wrong)
		case p.index == noSelection:
		case chosen[p.index]:
			r.add(item, Violation{Code: schema.CodeDuplicate, Message: "must not be selected more than once"})
		default:
			chosen[p.index] = true
			count++
			if p.other != "" {
				other = p.other
			}
		}
	}
	if count == 0 {
		return 0
	}
	w.Array()
	for at, is := range chosen {
		if is && !r.MarkIfLimitExceeded(w) {
			c.writeSelection(w, selection{index: at, other: other})
		}
	}
	w.EndArray()
	return count
}

// multipleRule checks multiple_choice blocks, and picture_choice blocks with multiSelection.
type multipleRule struct {
	*choices
	minCount, maxCount int
}

func newMultiple(b *schema.Block, _ ServiceConfig) Rule {
	p := b.Properties
	rule := multipleRule{choices: newChoices(b.Choices, p.OtherOption), maxCount: math.MaxInt32}
	if p.Limit != nil && *p.Limit > 0 {
		rule.maxCount = clampCount(float64(*p.Limit))
	}
	if p.MaxVal && p.Max != nil {
		rule.maxCount = min(rule.maxCount, clampCount(math.Floor(*p.Max)))
	}
	if p.MinVal && p.Min != nil {
		rule.minCount = clampCount(math.Ceil(*p.Min))
	}
	return rule
}

// clampCount converts a limit of any size to an int.
func clampCount(f float64) int { return int(max(math.MinInt32, min(f, math.MaxInt32))) }

func (t multipleRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	count := t.writeSelections(w, n, r)
	if r.count > 0 || count == 0 {
		return
	}
	if count > t.maxCount {
		r.add(n, Violation{schema.CodeTooMany, "choose at most " + spellCount(t.maxCount), map[string]any{"max": t.maxCount, "unit": "choices"}})
	}
	if count < t.minCount {
		r.add(n, Violation{schema.CodeTooFew, "choose at least " + spellCount(t.minCount), map[string]any{"min": t.minCount, "unit": "choices"}})
	}
}

func (t multipleRule) Sample() string {
	var chosen []any
	for _, id := range t.ids[:min(max(t.minCount, 1), len(t.ids))] {
		chosen = append(chosen, id)
	}
	if t.other && max(t.minCount, 1) > len(t.ids) {
		chosen = append(chosen, map[string]string{"other": "Sample answer"})
	}
	return EncodeJSON(chosen)
}

func (t multipleRule) contradiction() (member string, why Explanation) {
	all := t.maxSelections()
	minimum := max(1, t.minCount) // an empty list is not an answer
	switch {
	case all == 0:
		return "/choices", Explanation{Reason: "no_choices", Message: "the block has no choices"}
	case t.maxCount < 1:
		return "/properties", Explanation{Reason: "limit", Message: "the limit allows no selections"}
	case t.maxCount < minimum:
		return "/properties", Explanation{Reason: "counts", Message: fmt.Sprintf("the minimum selections (%s) exceed the maximum selections (%s)", spellCount(minimum), spellCount(t.maxCount)), Params: map[string]any{"min": minimum, "max": t.maxCount}}
	case all < minimum:
		return "/properties", Explanation{Reason: "few_choices", Message: fmt.Sprintf("the minimum selections (%s) exceed the number of choices (%s)", spellCount(minimum), spellCount(all)), Params: map[string]any{"count": all, "min": minimum}}
	}
	return "", Explanation{}
}

func (c *choices) maxSelections() int {
	if c.other {
		return len(c.ids) + 1
	}
	return len(c.ids)
}

func (t multipleRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	p := b.Properties
	warnIneffectiveLimits(p, warn)
	if p.Limit != nil && *p.Limit <= 0 {
		warn("limit", Explanation{Reason: "no_limit", Message: "a limit below 1 has no effect"})
	}
	all := t.maxSelections()
	why := Explanation{Reason: "beyond_choices", Message: "this has no effect because the number of choices is " + spellCount(all), Params: map[string]any{"count": all}}
	if p.MaxVal && p.Max != nil && *p.Max > float64(all) {
		warn("max", why)
	}
	if p.Limit != nil && float64(*p.Limit) > float64(all) {
		warn("limit", why)
	}
}
