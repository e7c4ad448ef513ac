package schema

import (
	"fmt"
	"math"
	"strings"
)

// choices are what a block offers, in definition order, ready to be written.
type choices struct {
	ids    []string
	values [][]byte // {"id":…,"label":…}
	index  map[string]int
	other  bool // a text of the respondent's own is allowed
}

// newChoices keeps the first of choices with the same id.
func newChoices(list []Choice, other bool) *choices {
	c := &choices{index: make(map[string]int, len(list)), other: other}
	for i := range list {
		id := list[i].ID
		if _, there := c.index[id]; there {
			continue
		}
		c.index[id] = len(c.ids)
		c.ids = append(c.ids, id)
		value := appendQuoted([]byte(`{"id":`), id)
		value = appendQuoted(append(value, `,"label":`...), list[i].Label)
		c.values = append(c.values, append(value, '}'))
	}
	return c
}

// pick is one chosen thing: an index of choices, or len(ids) for a text of the
// respondent's own.
type pick struct {
	at    int
	other string
}

func (c *choices) appendPick(dst []byte, p pick) []byte {
	if p.at < len(c.ids) {
		return append(dst, c.values[p.at]...)
	}
	return append(appendQuoted(append(dst, `{"other":`...), p.other), '}')
}

// pick reads a choice's id, or an object with it as id, or an object with other.
// code is not empty when that fails.
func (c *choices) pick(n *node) (p pick, code, message string) {
	switch n.kind {
	case kindString:
		return c.byID(n.text)
	case kindObject:
	default:
		return p, CodeWrongType, "must be the id of a choice or an object with it"
	}
	id, other := present(n.member("id")), present(n.member("other"))
	switch {
	case id != nil && other != nil:
		return p, CodeBadFormat, "must have id or other, not both"
	case id != nil && id.kind == kindString:
		return c.byID(id.text)
	case id == nil && other != nil && other.kind == kindString:
		return c.byOther(other.text)
	}
	return p, CodeWrongType, "must be the id of a choice or an object with it"
}

// present returns nil for a member that is null.
func present(n *node) *node {
	if n == nil || n.kind == kindNull {
		return nil
	}
	return n
}

func (c *choices) byID(id string) (p pick, code, message string) {
	at, ok := c.index[id]
	if !ok {
		return p, CodeNotAChoice, "must be one of the block's choices"
	}
	return pick{at: at}, "", ""
}

func (c *choices) byOther(text string) (p pick, code, message string) {
	switch {
	case !c.other:
		return p, CodeNotAChoice, "must be one of the block's choices"
	case strings.TrimSpace(text) == "":
		return p, CodeTooShort, "other must have a text"
	case longerThan(text, maxShortText):
		return p, CodeTooLong, tooLong(maxShortText)
	}
	return pick{at: len(c.ids), other: text}, "", ""
}

// set reads several choices, or one, and appends them in definition order. It
// returns their number.
func (c *choices) set(dst []byte, n *node, r *report) ([]byte, int) {
	if n.kind != kindArray {
		p, code, message := c.pick(n)
		if code != "" {
			r.add(code, message)
			return dst, 0
		}
		return append(c.appendPick(append(dst, '['), p), ']'), 1
	}
	chosen := make([]bool, len(c.ids)+1)
	var other string
	count := 0
	for i := range n.items {
		if r.full() {
			return dst, 0
		}
		p, code, message := c.pick(&n.items[i])
		switch {
		case code != "":
			r.addAt(i, code, message)
		case chosen[p.at]:
			r.addAt(i, CodeDuplicate, "must be chosen once")
		default:
			chosen[p.at] = true
			count++
			if p.other != "" {
				other = p.other
			}
		}
	}
	dst = append(dst, '[')
	for at, is := range chosen {
		if is {
			dst = c.appendPick(separate(dst), pick{at: at, other: other})
		}
	}
	return append(dst, ']'), count
}

// choiceRule checks what has one choice as its answer.
type choiceRule struct{ *choices }

func (t choiceRule) check(dst []byte, n *node, r *report) []byte {
	p, code, message := t.pick(n)
	if code != "" {
		r.add(code, message)
		return dst
	}
	return t.appendPick(dst, p)
}

// multipleRule checks what has a set of choices as its answer.
type multipleRule struct {
	*choices
	least, most float64
}

func newMultipleRule(b *Block, p *Properties) multipleRule {
	rule := multipleRule{choices: newChoices(b.Choices, p.OtherOption), most: math.Inf(1)}
	if p.Limit != nil && *p.Limit > 0 {
		rule.most = float64(*p.Limit)
	}
	if p.MaxVal && p.Max != nil {
		rule.most = min(rule.most, *p.Max)
	}
	if p.MinVal && p.Min != nil {
		rule.least = *p.Min
	}
	return rule
}

func (t multipleRule) check(dst []byte, n *node, r *report) []byte {
	dst, count := t.set(dst, n, r)
	if r.faults > 0 {
		return dst
	}
	if float64(count) > t.most {
		r.add(CodeTooMany, fmt.Sprintf("must have at most %v choices", t.most))
	}
	if float64(count) < t.least {
		r.add(CodeTooFew, fmt.Sprintf("must have at least %v choices", t.least))
	}
	return dst
}

// rankingRule checks ranking.
type rankingRule struct{ *choices }

func (t rankingRule) check(dst []byte, n *node, r *report) []byte {
	if n.kind != kindArray {
		r.add(CodeWrongType, "must be an array of choices")
		return dst
	}
	ranked := make([]bool, len(t.ids))
	count := 0
	dst = append(dst, '[')
	for i := range n.items {
		if r.full() {
			return dst
		}
		p, code, message := t.pick(&n.items[i])
		switch {
		case code != "":
			r.addAt(i, code, message)
		case ranked[p.at]:
			r.addAt(i, CodeDuplicate, "must be ranked once")
		default:
			ranked[p.at] = true
			count++
			dst = t.appendPick(separate(dst), p)
		}
	}
	if r.faults == 0 && count < len(t.ids) {
		r.add(CodeTooFew, "must rank every choice")
	}
	return append(dst, ']')
}
