package memory

import "time"

// arena hands out copies cut from one allocation. It is made with the capacity
// for all of them; with less it still works, with more allocations.
type arena []byte

// copy returns a copy of b that no append can grow into its neighbour. Nil stays
// nil.
func (a *arena) copy(b []byte) []byte {
	if b == nil {
		return nil
	}
	start := len(*a)
	*a = append(*a, b...)
	return (*a)[start:len(*a):len(*a)]
}

// utc returns t as the store keeps it: in UTC and without a reading of the
// monotonic clock, so that equal times compare equal with ==.
func utc(t time.Time) time.Time { return t.Round(0).UTC() }
