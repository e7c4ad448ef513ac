package kinds

import (
	"fmt"
	"math"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// set reads several choices, or one, and writes them in definition order. It
// returns their number. Of no choices it writes nothing.
func (c *choices) set(w *jsontree.Writer, n jsontree.Node, r *Report) int {
	items := n.All()
	if n.Kind() != jsontree.Array {
		items = func(yield func(int, jsontree.Node) bool) { yield(0, n) }
	}
	chosen := make([]bool, len(c.ids)+1)
	var other string
	count := 0
	for _, item := range items {
		if r.full() {
			return 0
		}
		p, wrong := c.pick(item, r)
		switch {
		case wrong.Found():
			r.add(item, wrong)
		case p.at == nothing:
		case chosen[p.at]:
			r.add(item, Fault{Code: schema.CodeDuplicate, Message: "must not be selected more than once"})
		default:
			chosen[p.at] = true
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
		if is && !r.Exceeds(w) {
			c.write(w, pick{at: at, other: other})
		}
	}
	w.EndArray()
	return count
}

// multipleRule checks answers of several choices: multiple_choice, and picture_choice
// with multiSelection.
type multipleRule struct {
	*choices
	least, most int
}

func newMultiple(b *schema.Block, _ Service) Rule {
	p := b.Properties
	rule := multipleRule{choices: newChoices(b.Choices, p.OtherOption), most: math.MaxInt32}
	if p.Limit != nil && *p.Limit > 0 {
		rule.most = wholeCount(float64(*p.Limit))
	}
	if p.MaxVal && p.Max != nil {
		rule.most = min(rule.most, wholeCount(math.Floor(*p.Max)))
	}
	if p.MinVal && p.Min != nil {
		rule.least = wholeCount(math.Ceil(*p.Min))
	}
	return rule
}

// wholeCount is a count of choices. More than any list has is as good as any number
// beyond it.
func wholeCount(f float64) int { return int(max(math.MinInt32, min(f, math.MaxInt32))) }

func (t multipleRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	count := t.set(w, n, r)
	if r.faults > 0 || count == 0 {
		return
	}
	if count > t.most {
		r.add(n, Fault{schema.CodeTooMany, "choose at most " + spelled(t.most), map[string]any{"max": t.most, "unit": "choices"}})
	}
	if count < t.least {
		r.add(n, Fault{schema.CodeTooFew, "choose at least " + spelled(t.least), map[string]any{"min": t.least, "unit": "choices"}})
	}
}

func (t multipleRule) Sample() string {
	var chosen []any
	for _, id := range t.ids[:min(max(t.least, 1), len(t.ids))] {
		chosen = append(chosen, id)
	}
	if t.other && max(t.least, 1) > len(t.ids) {
		chosen = append(chosen, map[string]string{"other": "Sample answer"})
	}
	return Encoded(chosen)
}

func (t multipleRule) contradiction() (member string, why Why) {
	all := t.offered()
	least := max(1, t.least) // an empty list is no answer
	switch {
	case all == 0:
		return "/choices", Why{Reason: "no_choices", Message: "the block has no choices"}
	case t.most < 1:
		return "/properties", Why{Reason: "limit", Message: "the limit does not allow any choice"}
	case t.most < least:
		return "/properties", Why{Reason: "counts", Message: fmt.Sprintf("the maximum number of choices, %s, is less than the minimum, %s", spelled(t.most), spelled(least)), Params: map[string]any{"min": least, "max": t.most}}
	case all < least:
		return "/properties", Why{Reason: "few_choices", Message: fmt.Sprintf("the number of choices, %s, is less than the minimum, %s", spelled(all), spelled(least)), Params: map[string]any{"count": all, "min": least}}
	}
	return "", Why{}
}

// offered is how many choices an answer may have.
func (c *choices) offered() int {
	if c.other {
		return len(c.ids) + 1
	}
	return len(c.ids)
}

func (t multipleRule) idle(b *schema.Block, warn func(name string, why Why)) {
	p := b.Properties
	idleBounds(p, warn)
	if p.Limit != nil && *p.Limit <= 0 {
		warn("limit", Why{Reason: "no_limit", Message: "a limit below 1 means no limit"})
	}
	all := t.offered()
	why := Why{Reason: "beyond_choices", Message: "the block has fewer choices than this: " + spelled(all), Params: map[string]any{"count": all}}
	if p.MaxVal && p.Max != nil && *p.Max > float64(all) {
		warn("max", why)
	}
	if p.Limit != nil && float64(*p.Limit) > float64(all) {
		warn("limit", why)
	}
}
