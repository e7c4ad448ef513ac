package warnings

import (
	"cmp"
	"slices"
	"sort"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
)

// walkPaths follows all possible paths and returns which steps can be on a path. A path stops at a step for which
// stops returns true. ended is true if a path reaches the end.
func (w *warner) walkPaths(stops func(step int) bool) (on []bool, ended bool) {
	f := w.form
	last := len(f.Steps)
	on = make([]bool, last)
	arrives := make([]bool, last+1)
	arrives[0] = true
	for i := range f.Steps {
		if !arrives[i] {
			continue
		}
		may, must := w.visibility(i)
		if !must {
			arrives[i+1] = true
		}
		if !may || stops(i) {
			continue
		}
		on[i] = true
		if f.Steps[i].Ending {
			arrives[last] = true
			continue
		}
		to, through := w.jumpTargets(i)
		for _, next := range to {
			if next == compile.ToEnd {
				w.markEndings(on)
				arrives[last] = true
			} else {
				arrives[next] = true
			}
		}
		if through {
			arrives[i+1] = true
		}
	}
	return on, arrives[last]
}

func (w *warner) visibility(i int) (may, must bool) {
	s := &w.form.Steps[i]
	if w.form.Blocks[s.From].Hide {
		return false, false
	}
	holds, constant := w.constantValue(s.Rule.Show)
	return holds || !constant, holds && constant
}

// jumpTargets returns the targets of a step's possible jumps. through is true if a path can also continue to the next
// step.
func (w *warner) jumpTargets(i int) (to []int, through bool) {
	for _, j := range w.form.Steps[i].Rule.Next {
		holds, constant := w.constantValue(j.When)
		if constant && !holds {
			w.neverJumps[j.To] = cmp.Or(w.neverJumps[j.To], w.neverHolds[j.When])
			continue
		}
		to = append(to, j.To)
		if constant {
			return to, false
		}
	}
	return to, true
}

func (w *warner) markEndings(on []bool) {
	f := w.form
	for i := range f.Steps {
		if !f.Steps[i].Ending {
			continue
		}
		may, must := w.visibility(i)
		on[i] = on[i] || may
		if must {
			return
		}
	}
}

// alwaysStops reports whether a step requires an answer that is always rejected, so that no submission through it is
// accepted.
func (w *warner) alwaysStops(i int) bool {
	s := &w.form.Steps[i]
	for j := s.From; j < s.To; j++ {
		b := &w.form.Blocks[j]
		if _, why := answertype.FindContradiction(b.Rule); why.Reason != "" && w.alwaysRequired(s, j) && !b.Hide {
			return true
		}
	}
	return false
}

// isRequired reports whether a block always requires an answer when it is on the path.
func (w *warner) isRequired(block int) bool {
	step := sort.Search(len(w.form.Steps), func(i int) bool { return w.form.Steps[i].To > block })
	return !w.form.Blocks[block].Hide && w.alwaysRequired(&w.form.Steps[step], block)
}

// alwaysRequired reports whether the block at index at is required whenever step s is on the path.
func (w *warner) alwaysRequired(s *compile.Step, at int) bool {
	if at == s.From && s.Rule.Require != nil {
		holds, constant := w.constantValue(s.Rule.Require)
		return holds && constant
	}
	return w.form.Blocks[at].Required
}

func findLastToEnd(f *compile.Form) int {
	last := -1
	for i := range f.Steps {
		if slices.ContainsFunc(f.Steps[i].Rule.Next, func(j compile.Jump) bool { return j.To == compile.ToEnd }) {
			last = i
		}
	}
	return last
}
