package webhooks

import "testing"

// fill takes all the slots that a class gets.
func fill(s *slots, c class) (n int) {
	for s.room(c) {
		s.take(c)
		n++
	}
	return n
}

func TestEveryClassHasASlot(t *testing.T) {
	t.Parallel()
	for total := 1; total <= 300; total++ {
		for c := range classes {
			s := newSlots(total)
			n := fill(&s, c)
			if n < 1 || n > total {
				t.Fatalf("of %d slots class %d gets %d", total, c, n)
			}
			if total < 8 {
				continue // there are too few for all
			}
			for other := range classes {
				if other != c && !s.room(other) && (c != unproven || other != slow) {
					t.Errorf("of %d slots class %d leaves class %d none", total, c, other)
				}
			}
		}
	}
}

func TestFurtherRequestsLeaveSlotsForFirstOnes(t *testing.T) {
	t.Parallel()
	for total := 8; total <= 300; total++ {
		s := newSlots(total)
		for s.room(prompt) && s.roomForFurther(prompt) {
			s.take(prompt)
		}
		if !s.room(prompt) {
			t.Errorf("of %d slots further requests take all of their class", total)
		}
		if s.roomForFurther(unproven) {
			t.Errorf("of %d slots an unproven destination gets a second one", total)
		}
	}
}

// Two classes together cannot take all slots either.
func TestTwoClassesLeaveSlotsForTheThird(t *testing.T) {
	t.Parallel()
	for total := 8; total <= 300; total++ {
		for third := range classes {
			for first := range classes {
				second := classes - third - first
				if first == third || second == third || first == second || second < 0 || second >= classes {
					continue
				}
				s := newSlots(total)
				s.lines[third].push(&destination{}) // somebody waits
				fill(&s, first)
				fill(&s, second)
				if !s.room(third) {
					t.Errorf("of %d slots classes %d and %d, in this order, leave class %d none", total, first, second, third)
				}
			}
		}
	}
}
