package webhooks

import (
	"slices"
	"time"
)

// class is how a destination answers. Requests of one class cannot take all the
// slots, so that destinations which do not answer delay no other.
type class int

// The classes, in the order in which they get slots: what has not been tried waits
// for nobody.
const (
	// unproven destinations are those of which nothing is known: they have not
	// answered lately, and the store has no failure of theirs.
	unproven class = iota
	// prompt destinations answered within slowAfter.
	prompt
	// slow destinations took longer, or do so right now, or answer without end.
	slow
	classes
)

// Shares of Config.InFlight, in sixteenths. all is the most that a class gets, for
// unproven ones together with slow ones. Prompt destinations have no more than five
// eighths even when nobody else wants any: what they can do alone they can do beside
// others. kept is what no other class takes.
//
// A destination's second and further requests begin only while its class holds
// less than its share for these, and those of an unproven one not at all.
var shares = [classes]struct{ all, further, kept int }{
	unproven: {all: 14, further: 0, kept: 1},
	prompt:   {all: 10, further: 8, kept: 2},
	slow:     {all: 2, further: 1, kept: 1},
}

// class returns how a destination answers at this moment.
func (s *destination) class(now time.Time) class {
	switch {
	case s.slow, s.stalled(now):
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
	moved time.Time // when a prompt destination last gave one back
}

func newSlots(total int) slots { return slots{total: total} }

func (s *slots) take(c class)  { s.held[c]++ }
func (s *slots) inFlight() int { return s.held[prompt] + s.held[unproven] + s.held[slow] }

func (s *slots) free(c class, now time.Time) {
	s.held[c]--
	if c == prompt {
		s.moved = now
	}
}

// share is so many sixteenths of all slots, rounded up.
func (s *slots) share(sixteenths int) int { return (s.total*sixteenths + 15) / 16 }

// keptFree is how many slots must stay free for the other classes: for slow ones
// only when some wait. When there are few slots, whoever comes first has them.
func (s *slots) keptFree(c class) (n int) {
	if s.total < 8 {
		return 0
	}
	for other := range classes {
		if other != c && (other != slow || len(s.lines[slow].all) > 0) {
			n += max(0, s.share(shares[other].kept)-s.held[other])
		}
	}
	return n
}

// room reports whether a request of a class may begin.
func (s *slots) room(c class) bool {
	held := s.held[c]
	if c == unproven {
		held += s.held[slow]
	}
	return s.inFlight()+s.keptFree(c) < s.total && held < s.share(shares[c].all)
}

// roomForFurther reports whether one may begin to a destination that has requests
// under way.
func (s *slots) roomForFurther(c class) bool {
	return s.held[c] < s.share(shares[c].further)
}

// line is a queue of destinations with deliveries that wait.
type line struct{ all []*destination }

func (l *line) push(s *destination) { l.all = append(l.all, s) }

// pop takes out the first.
func (l *line) pop() *destination {
	s := l.all[0]
	l.all[0] = nil
	l.all = l.all[1:]
	return s
}

// popLongest takes out the one that was sent nothing for the longest time.
func (l *line) popLongest() *destination {
	i := 0
	for j, s := range l.all {
		if s.sent.Before(l.all[i].sent) {
			i = j
		}
	}
	s := l.all[i]
	l.all = slices.Delete(l.all, i, i+1)
	return s
}

// next takes out whose turn it is. Slow destinations wait for long and are given
// back and claimed again meanwhile, so their order in the line says little.
func (l *line) next(c class) *destination {
	if c == slow {
		return l.popLongest()
	}
	return l.pop()
}

// remove takes out those that f picks.
func (l *line) remove(f func(*destination) bool) {
	l.all = slices.DeleteFunc(l.all, func(s *destination) bool {
		picked := f(s)
		if picked {
			s.lined = false
		}
		return picked
	})
}

// lineUp has a destination wait for a slot of its class at this moment, if it has
// something to send. The moment is the caller's: to a later one the class may be
// another, and whoever goes through the lines would find it in the wrong one again
// and again.
func (r *run) lineUp(s *destination, now time.Time) {
	c := s.class(now)
	if s.lined && s.line != c { // it answers otherwise than when it lined up
		r.slots.lines[s.line].remove(func(other *destination) bool { return other == s })
	}
	if s.lined || len(s.waiting) == 0 {
		return
	}
	s.lined, s.line = true, c
	r.slots.lines[c].push(s)
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
				s := l.next(c)
				s.lined = false
				if to := s.class(now); to != c { // since it lined up
					r.lineUp(s, now)
					again = again || to < c
					continue
				}
				if s.inFlight >= s.limit(r.d.config) || s.stalled(now) || s.inFlight > 0 && !r.slots.roomForFurther(c) {
					continue
				}
				r.sendNext(s, now)
				r.lineUp(s, now)
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
	if r.tooLate(w, now) || s.pausedUntil.After(r.d.now()) || w.delivery.URL != s.url { // claimed before the pause, or the new URL
		r.claims.wanted = true
		r.release(w.delivery)
		return
	}
	r.post(s, w.delivery, now)
}
