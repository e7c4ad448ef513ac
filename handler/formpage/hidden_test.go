package formpage

import (
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// The path takes answers to hidden blocks for the host's, so none of a respondent's is
// passed on.
func TestAnswersToHiddenBlocksAreNotPassedOn(t *testing.T) {
	t.Parallel()
	hide := &schema.Properties{Hide: true}
	blocks := []schema.Block{
		{ID: "shown"}, {ID: "secret", Properties: hide},
		{ID: "box", Properties: hide, Children: []schema.Block{{ID: "inner"}}},
		{ID: "open", Children: []schema.Block{{ID: "kept"}, {ID: "covered", Properties: hide}}},
	}
	answers := map[string]json.RawMessage{"shown": nil, "secret": nil, "inner": nil, "kept": nil, "covered": nil, "unknown": nil}
	dropHidden(blocks, answers, false)
	for _, id := range []string{"shown", "kept", "unknown"} {
		if _, ok := answers[id]; !ok {
			t.Errorf("%s was dropped", id)
		}
		delete(answers, id)
	}
	if len(answers) > 0 {
		t.Errorf("passed on: %v", answers)
	}
}
