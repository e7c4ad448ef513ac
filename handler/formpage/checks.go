package formpage

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// stepFaults are what is wrong with the answers to blocks of the path.
func (c *call) stepFaults(blocks []schema.Block) []schema.Violation {
	var faults []schema.Violation
	on := ids(blocks)
	for _, v := range c.path.Faults {
		if slices.Contains(on, v.Field) {
			faults = append(faults, v)
		}
	}
	answers := maps.Clone(c.given.Answers)
	maps.Copy(answers, c.hostAnswers())
	return append(faults, missing(blocks, answers)...)
}

// missing are the required blocks without an answer. The host's are its own affair.
func missing(blocks []schema.Block, answers map[string]json.RawMessage) []schema.Violation {
	var faults []schema.Violation
	for b, hidden := range formblock.Walk(blocks) {
		if hidden || !b.Required || !b.TakesAnswer() || b.Type == schema.TypePayment {
			continue
		}
		var text string
		raw, there := answers[b.ID]
		blank := !there || json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) == ""
		refused := b.Type == schema.TypeLegal && text == "false"
		if blank || refused {
			faults = append(faults, schema.Violation{Field: b.ID, Code: schema.CodeRequired})
		}
	}
	return faults
}

// showFirst shows the first page with one of the faults, or the one that was sent.
func (c *call) showFirst(status int, faults []schema.Violation) {
	at := slices.IndexFunc(c.steps, func(s step) bool {
		return slices.ContainsFunc(faults, func(v schema.Violation) bool { return contains(s.blocks, v.Field) })
	})
	if at < 0 {
		at = c.at
	}
	c.showStep(status, at, faults)
}

// unseen reports whether a page has blocks to answer that the page that was sent had
// not. A page that was not made here says nothing of what it showed.
func (c *call) unseen(on []schema.Block) bool {
	seen, ok := c.values[input.Seen]
	if !ok {
		return false
	}
	known := make(map[string]bool, len(seen))
	for _, id := range seen {
		known[id] = true
	}
	return slices.ContainsFunc(ids(on), func(id string) bool { return !known[id] })
}
