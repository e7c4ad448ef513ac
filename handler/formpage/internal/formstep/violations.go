package formstep

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/schema"
)

// Violations returns the path's violations in blocks, and a violation for each required block that has no answer. It
// skips payment blocks, because the host answers them.
func Violations(blocks []schema.Block, path schema.Path, answers map[string]json.RawMessage) (violations []schema.Violation) {
	for _, v := range path.Violations {
		if ContainsBlock(blocks, v.Field) {
			violations = append(violations, v)
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
			violations = append(violations, schema.Violation{Field: b.ID, Code: schema.CodeRequired})
		}
	}
	return violations
}

// FirstStepWithViolation returns the index of the first page that contains a violation, or otherwise if no page does.
func FirstStepWithViolation(steps []Step, violations []schema.Violation, otherwise int) int {
	at := slices.IndexFunc(steps, func(s Step) bool {
		return slices.ContainsFunc(violations, func(v schema.Violation) bool { return ContainsBlock(s.Blocks, v.Field) })
	})
	if at < 0 {
		return otherwise
	}
	return at
}

// UnseenQuestions returns the question blocks that are now on a page but were not on it when it was submitted. If seen
// is nil, it returns no blocks, because the page did not report its blocks.
func UnseenQuestions(on []schema.Block, seen []string) map[string]bool {
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

// NeedsConfirmation reports whether a page contains an ambiguous value and the respondent has not seen how it was
// interpreted. Without JavaScript, the page is then shown again with the interpretation.
func NeedsConfirmation(on []schema.Block, interpretations map[string]formdata.Interpretation, shown []string) bool {
	for name, r := range interpretations {
		if r.NeedsConfirmation && ContainsBlock(on, r.Block) && !slices.Contains(shown, r.Confirmation(name)) {
			return true
		}
	}
	return false
}
