package webhooks

import "time"

// class is how a destination answers. Requests of one class cannot take all the
// slots, so that destinations which do not answer delay no other.
type class int

// In the order in which they get slots: what has not been tried waits for nobody.
const (
	// unproven destinations have not been tried in this run, nor failed before it.
	unproven class = iota
	// prompt destinations answered within slowAfter.
	prompt
	// slow destinations took longer, or do so right now, or answer without end.
	slow
	classes
)

// Shares of Config.InFlight, in sixteenths. Unproven requests fill at most seven
// eighths, slow ones among them one eighth. Prompt ones never take more than five
// eighths: they would have no more than that either while many new destinations
// are tried, and what they can do alone they can do beside others.
//
// A destination's second and further requests begin only while its class holds
// less than its share for these, and those of an unproven one not at all.
var shares = [classes]struct{ all, further int }{
	unproven: {all: 14, further: 0},
	prompt:   {all: 10, further: 8},
	slow:     {all: 2, further: 1},
}

// class returns how a destination answers at this moment.
func (s *destination) class(now time.Time) class {
	switch {
	case s.slow, s.inFlight > 0 && now.Sub(s.progress) > slowAfter:
		return slow
	case s.last == 0:
		return unproven
	}
	return prompt
}

// slots are the requests that a process may have under way.
type slots struct {
	total int
	held  [classes]int
	lines [classes]line
}

func newSlots(total int) slots { return slots{total: total} }

func (s *slots) take(c class)  { s.held[c]++ }
func (s *slots) free(c class)  { s.held[c]-- }
func (s *slots) inFlight() int { return s.held[prompt] + s.held[unproven] + s.held[slow] }

// share is so many sixteenths of all slots, rounded up.
func (s *slots) share(sixteenths int) int { return (s.total*sixteenths + 15) / 16 }

// holds counts what a class's share bounds.
func (s *slots) holds(c class) int {
	if c == unproven {
		return s.held[unproven] + s.held[slow]
	}
	return s.held[c]
}

// room reports whether a request of a class may begin.
func (s *slots) room(c class) bool {
	return s.inFlight() < s.total && s.holds(c) < s.share(shares[c].all)
}

// roomForFurther reports whether one may begin to a destination that has requests
// under way.
func (s *slots) roomForFurther(c class) bool {
	return s.holds(c) < s.share(shares[c].further)
}

// line is a queue of destinations with deliveries that wait, first in, first out.
type line struct{ all []*destination }

func (l *line) push(s *destination) { l.all = append(l.all, s) }

func (l *line) pop() *destination {
	s := l.all[0]
	l.all[0] = nil
	l.all = l.all[1:]
	return s
}

// lineUp has a destination wait for a slot, if it has something to send.
func (r *run) lineUp(s *destination) {
	if s.lined || len(s.waiting) == 0 {
		return
	}
	s.lined = true
	r.slots.lines[s.class(time.Now())].push(s)
}

// startPosts sends what waits, a delivery of each destination in turn, as far as
// there are slots. A destination that may have no more requests leaves the line
// until one of its own ends.
func (r *run) startPosts() {
	now := time.Now()
	for again := true; again; {
		again = false
		for c := range classes {
			for l := &r.slots.lines[c]; len(l.all) > 0 && r.slots.room(c) && !r.tooManyUnrecorded(); {
				s := l.pop()
				s.lined = false
				if to := s.class(now); to != c { // since it lined up
					r.lineUp(s)
					again = again || to < c
					continue
				}
				if s.inFlight >= s.limit(r.d.config) || s.inFlight > 0 && !r.slots.roomForFurther(c) {
					continue
				}
				r.sendNext(s, now)
				r.lineUp(s)
			}
		}
	}
}

// sendNext sends or gives back the delivery that is the destination's next.
func (r *run) sendNext(s *destination, now time.Time) {
	if len(s.waiting) == 0 {
		return
	}
	w := s.waiting[0]
	s.waiting[0] = waiting{}
	s.waiting = s.waiting[1:]
	r.claims.waiting--
	if r.tooLate(w, now) || s.pausedUntil.After(r.d.now()) { // claimed before the pause
		r.release(w.delivery)
		return
	}
	r.post(s, w.delivery, now)
}
