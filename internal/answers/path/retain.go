package path

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// Retained holds the parts of a partial submission to store.
type Retained struct {
	Answers json.RawMessage // JSON object of the answers as sent, by block ID
	Hidden  json.RawMessage // JSON object of strings by field name
	Dropped []string        // sorted block IDs of answers that are not stored
}

// Retain selects which answers of a partial submission to store; see [answers.Form.Retain].
func Retain(f *compile.Form, answers map[string]json.RawMessage, hidden map[string]string, now time.Time) (retained Retained, err error) {
	found, _, err := Compute(f, check.Input{Answers: answers, Hidden: hidden, Now: now})
	if err != nil {
		return retained, err
	}
	on := make(map[string]bool, len(found.Blocks))
	for _, b := range found.Blocks {
		on[b.ID] = true
	}
	dropped := maps.Clone(answers)
	maps.DeleteFunc(dropped, func(_ string, raw json.RawMessage) bool { return len(raw) == 0 }) // empty answers do not count as dropped
	var w jsontree.Writer
	w.Object()
	for _, s := range f.Steps {
		for _, b := range f.Blocks[s.From:s.To] {
			raw := answers[b.ID]
			if on[f.Blocks[s.From].ID] && !b.Host && !b.Hide && b.Rule != nil && answertype.IsStorable(raw) {
				w.Raw(b.Key)
				w.Raw(raw)
				delete(dropped, b.ID)
			}
		}
	}
	w.EndObject()
	retained.Answers, retained.Dropped = w.Bytes(), slices.Sorted(maps.Keys(dropped))
	retained.Hidden, err = check.EncodeHiddenFields(f, hidden)
	return retained, err
}
