package path

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// Retained is what is kept of a response that is not finished.
type Retained struct {
	Answers json.RawMessage // an object of answers as they were sent, by block id
	Hidden  json.RawMessage // an object of strings
	Dropped []string        // the sorted ids of the other answers
}

// Retain takes what can be kept of a response that is not finished. An error is a *[schema.Error].
func Retain(f *compile.Form, answers map[string]json.RawMessage, hidden map[string]string) (kept Retained, err error) {
	way, err := Compute(f, answers, hidden)
	if err != nil {
		return kept, err
	}
	on := make(map[string]bool, len(way.Blocks))
	for _, b := range way.Blocks {
		on[b.ID] = true
	}
	dropped := maps.Clone(answers)
	maps.DeleteFunc(dropped, func(_ string, raw json.RawMessage) bool { return len(raw) == 0 }) // that is no answer
	var w jsontree.Writer
	w.Object()
	for _, s := range f.Steps {
		for _, b := range f.Blocks[s.From:s.To] {
			raw := answers[b.ID]
			if on[f.Blocks[s.From].ID] && !b.Host && !b.Hide && b.Rule != nil && answertype.Storable(raw) {
				w.Raw(b.Key)
				w.Raw(raw)
				delete(dropped, b.ID)
			}
		}
	}
	w.EndObject()
	kept.Answers, kept.Dropped = w.Bytes(), slices.Sorted(maps.Keys(dropped))
	kept.Hidden, err = check.HiddenFields(f, hidden)
	return kept, err
}
