package answers

import (
	"cmp"
	"slices"
)

// reach finds the steps that no respondent comes to, and whether a response may be
// accepted at all, as far as that can be said without trying answers.
func (w *warner) reach() {
	w.reached, _ = w.graph(func(int) bool { return false })
	_, ended := w.graph(w.stops)
	w.unanswerable = !ended
}

// graph walks all paths at once. It returns the steps that may be on one. A path ends
// unfinished at a step that stops it; ended: one is finished.
func (w *warner) graph(stops func(step int) bool) (on []bool, ended bool) {
	f := w.form
	last := len(f.steps)
	on = make([]bool, last)
	arrives := make([]bool, last+1)
	arrives[0] = true
	for i := range f.steps {
		if !arrives[i] {
			continue
		}
		may, must := w.showing(i)
		if !must {
			arrives[i+1] = true
		}
		if !may || stops(i) {
			continue
		}
		on[i] = true
		if f.steps[i].ending {
			arrives[last] = true
			continue
		}
		to, through := w.leads(i)
		for _, next := range to {
			if next == toEnd {
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

// showing reports whether a step may be on a path, and whether it must be on each that
// comes to it.
func (w *warner) showing(i int) (may, must bool) {
	s := &w.form.steps[i]
	if w.form.blocks[s.from].hide {
		return false, false
	}
	if s.rule == nil {
		return true, true
	}
	holds, constant := w.constantly(s.rule.show)
	return holds || !constant, holds && constant
}

// leads returns the targets of the jumps that may be made from a step, and whether there
// may be none.
func (w *warner) leads(i int) (to []int, through bool) {
	s := &w.form.steps[i]
	if s.rule == nil {
		return nil, true
	}
	for _, j := range s.rule.next {
		holds, constant := w.constantly(j.when)
		if constant && !holds {
			w.misled[j.to] = cmp.Or(w.misled[j.to], w.never[j.when])
			continue
		}
		to = append(to, j.to)
		if constant {
			return to, false
		}
	}
	return to, true
}

// markEndings marks the endings that a jump to the end may come to.
func (w *warner) markEndings(on []bool) {
	f := w.form
	for i := range f.steps {
		if !f.steps[i].ending {
			continue
		}
		may, must := w.showing(i)
		on[i] = on[i] || may
		if must {
			return
		}
	}
}

// stops reports whether every response whose path has a step is refused: the step
// requires an answer that is never accepted.
func (w *warner) stops(i int) bool {
	s := &w.form.steps[i]
	for j := s.from; j < s.to; j++ {
		b := &w.form.blocks[j]
		if _, why := contradiction(b.rule); why != "" && w.alwaysRequired(s, j) && !b.hide {
			return true
		}
	}
	return false
}

// alwaysRequired reports whether every response whose path has the step s must answer its
// block at.
func (w *warner) alwaysRequired(s *step, at int) bool {
	if at == s.from && s.rule != nil && s.rule.require != nil {
		holds, constant := w.constantly(s.rule.require)
		return holds && constant
	}
	return w.form.blocks[at].required
}

// lastToEnd returns the last step with a jump to the first ending, -1 when there is none.
func lastToEnd(f *Form) int {
	last := -1
	for i := range f.steps {
		if r := f.steps[i].rule; r != nil && slices.ContainsFunc(r.next, func(j jump) bool { return j.to == toEnd }) {
			last = i
		}
	}
	return last
}
