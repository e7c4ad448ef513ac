package formpage

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// stepFaults are what is wrong with the answers of one page.
func (c *call) stepFaults(given Given, path schema.Path, s step) []schema.Violation {
	var faults []schema.Violation
	on := ids(s.blocks)
	for _, v := range path.Faults {
		if slices.Contains(on, v.Field) {
			faults = append(faults, v)
		}
	}
	answers := maps.Clone(given.Answers)
	if host, err := c.hostAnswers(); err == nil { // it is known: path asked for it
		maps.Copy(answers, host)
	}
	return append(faults, missing(s.blocks, answers)...)
}

// missing are the required blocks without an answer. The host's are its own affair.
func missing(blocks []schema.Block, answers map[string]json.RawMessage) []schema.Violation {
	var faults []schema.Violation
	for i := range blocks {
		b := &blocks[i]
		if properties(b).Hide {
			continue
		}
		faults = append(faults, missing(b.Children, answers)...)
		if !b.Required || !takesAnswer(b.Type) || b.Type == schema.TypePayment {
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

// firstStep is the first page with one of the faults, or the one that was sent.
func firstStep(steps []step, faults []schema.Violation, at int) int {
	first := -1
	for _, v := range faults {
		if s := stepOf(steps, v.Field); s >= 0 && (first < 0 || s < first) {
			first = s
		}
	}
	if first < 0 {
		return at
	}
	return first
}

// unseen reports whether a page has blocks to answer that the page that was sent had
// not. A page that was not made here says nothing of what it showed.
func (c *call) unseen(s step) bool {
	seen, ok := c.values[ctrlSeen]
	if !ok {
		return false
	}
	known := make(map[string]bool, len(seen))
	for _, id := range seen {
		known[id] = true
	}
	return slices.ContainsFunc(ids(s.blocks), func(id string) bool { return !known[id] })
}
