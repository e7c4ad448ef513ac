package walk

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/schema"
)

// Violations returns the faults of the answers to blocks: those faults of the path that are about
// these blocks, and required blocks without an answer. The host's are its own affair.
func Violations(blocks []schema.Block, path schema.Path, answers map[string]json.RawMessage) (faults []schema.Violation) {
	for _, v := range path.Violations {
		if Contains(blocks, v.Field) {
			faults = append(faults, v)
		}
	}
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

// FirstWithViolation returns the index of the first page with one of the faults, or where none has one the
// given one.
func FirstWithViolation(steps []Step, faults []schema.Violation, otherwise int) int {
	at := slices.IndexFunc(steps, func(s Step) bool {
		return slices.ContainsFunc(faults, func(v schema.Violation) bool { return Contains(s.Blocks, v.Field) })
	})
	if at < 0 {
		return otherwise
	}
	return at
}

// Unseen returns the blocks to answer that are on a page now and were not on the page that was
// sent, as its input Seen says. A page that was not made here does not say which blocks it showed.
func Unseen(on []schema.Block, seen []string) map[string]bool {
	unseen := map[string]bool{}
	if seen == nil {
		return unseen
	}
	known := slices.Sorted(slices.Values(seen))
	for _, id := range QuestionIDs(on) {
		if _, found := slices.BinarySearch(known, id); !found {
			unseen[id] = true
		}
	}
	return unseen
}

// NeedsConfirmation reports whether a page has a value that can be read in two ways, and has not shown
// the reading yet by its input Shown. Without a script the page comes back once with the
// reading.
func NeedsConfirmation(on []schema.Block, readings map[string]read.Reading, shown []string) bool {
	for name, r := range readings {
		if r.NeedsConfirmation && Contains(on, r.Block) && !slices.Contains(shown, r.Confirmation(name)) {
			return true
		}
	}
	return false
}
