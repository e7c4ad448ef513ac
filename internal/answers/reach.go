package answers

// reach finds which steps a respondent may come to, and whether a response may be
// accepted at all.
func (w *warner) reach() {
	if w.form.ruled {
		if reached, accepted, known := w.possibilities(); known {
			w.reached, w.unanswerable = reached, !accepted
			return
		}
	}
	w.reached = w.graph(func(int) bool { return false }, nil)
	ended := false
	w.graph(w.form.stops, &ended)
	w.unanswerable = !ended
}

// graph walks all paths at once. It returns the steps that may be on one. A path ends
// unfinished at a step that stops it; ended becomes true when one is finished.
func (w *warner) graph(stops func(step int) bool, ended *bool) []bool {
	f := w.form
	on := make([]bool, len(f.steps))
	arrives := make([]bool, len(f.steps)+1)
	arrives[0] = true
	finish := func() {
		arrives[len(f.steps)] = true
	}
	for i := range f.steps {
		if !arrives[i] {
			continue
		}
		may, must := f.showing(i)
		if !must {
			arrives[i+1] = true
		}
		if !may || stops(i) {
			continue
		}
		on[i] = true
		if f.steps[i].ending {
			finish()
			continue
		}
		to, through := f.leads(i)
		for _, next := range to {
			if next == toEnd {
				f.markEndings(on)
				finish()
			} else {
				arrives[next] = true
			}
		}
		if through {
			arrives[i+1] = true
		}
	}
	if ended != nil {
		*ended = arrives[len(f.steps)]
	}
	return on
}

// showing reports whether a step may be on a path, and whether it must be on each that
// comes to it.
func (f *Form) showing(i int) (may, must bool) {
	s := &f.steps[i]
	if f.blocks[s.from].hide {
		return false, false
	}
	if s.rule == nil {
		return true, true
	}
	holds, constant := constantly(s.rule.show)
	return holds || !constant, holds && constant
}

// leads returns the targets of the jumps that may be made from a step, and whether there
// may be none.
func (f *Form) leads(i int) (to []int, through bool) {
	s := &f.steps[i]
	if s.rule == nil {
		return nil, true
	}
	for _, j := range s.rule.next {
		holds, constant := constantly(j.when)
		if constant && !holds {
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
func (f *Form) markEndings(on []bool) {
	for i := range f.steps {
		if !f.steps[i].ending {
			continue
		}
		may, must := f.showing(i)
		on[i] = on[i] || may
		if must {
			return
		}
	}
}

// stops reports whether every response whose path has a step is refused: the step
// requires an answer that is never accepted.
func (f *Form) stops(i int) bool {
	s := &f.steps[i]
	for j := s.from; j < s.to; j++ {
		b := &f.blocks[j]
		required := b.required
		if j == s.from && s.rule != nil && s.rule.require != nil {
			holds, constant := constantly(s.rule.require)
			required = holds && constant
		}
		if required && !b.hide && !b.dropped && f.contradicts(j) {
			return true
		}
	}
	return false
}

// contradicts reports whether no answer to a block is ever accepted.
func (f *Form) contradicts(block int) bool {
	c, ok := f.blocks[block].rule.(contradictory)
	if !ok {
		return false
	}
	_, why := c.contradiction()
	return why != ""
}
