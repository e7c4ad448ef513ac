package filter

import (
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/answers/path"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// data is the object that a condition reads. It has the same fields as the object that rules read, and "submission".
type data struct {
	filter  *Filter
	answers []schema.Answer
	ending  string
	budget  *logic.Budget
}

var sources = []string{"answers", "hidden", "variables", "submission"}

// Member implements [logic.Object].
func (d data) Member(name string) (any, bool) {
	if slices.Contains(sources, name) {
		return source{d, name}, true
	}
	return nil, false
}

// Members implements [logic.Object].
func (d data) Members() map[string]any {
	all := make(map[string]any)
	for _, name := range sources {
		all[name] = source{d, name}
	}
	return all
}

// source is one of the sources. It computes a value when the condition reads it.
type source struct {
	data
	name string
}

// has reports whether an answer belongs to the source.
func (s source) has(a *schema.Answer) bool {
	switch a.Type {
	case schema.TypeHidden:
		return s.name == "hidden"
	case schema.TypeVariable:
		return s.name == "variables"
	default:
		return s.name == "answers"
	}
}

func (s source) value(a *schema.Answer) any {
	known, _ := schema.LookupBlockType(a.Type)
	return path.StoredRuleValue(known.Shape, a.JSON, s.budget)
}

// Member implements [logic.Object]. A variable that no rule has set has its initial value.
func (s source) Member(name string) (any, bool) {
	for i := range s.answers {
		if a := &s.answers[i]; a.ID == name && s.has(a) {
			return s.value(a), true
		}
	}
	switch s.name {
	case "variables":
		initial, ok := s.filter.variables[name]
		return initial, ok
	case "submission":
		return s.ending, name == "ending" && s.ending != ""
	}
	return nil, false
}

// Members implements [logic.Object].
func (s source) Members() map[string]any {
	all := make(map[string]any)
	if s.name == "variables" {
		maps.Copy(all, s.filter.variables)
	}
	if s.name == "submission" && s.ending != "" {
		all["ending"] = s.ending
	}
	for i := range s.answers {
		if a := &s.answers[i]; s.has(a) {
			all[a.ID] = s.value(a)
		}
	}
	return all
}
