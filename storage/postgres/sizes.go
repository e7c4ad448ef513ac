package postgres

import (
	"math/bits"
	"strconv"
)

// sized is a statement once for each size of the queue, with the size as a comment. A
// connection keeps the plan of a statement, and one that was made while the queue was
// nearly empty reads whole tables when it is not. So there is a plan for each size.
type sized [32]string

func forSizes(text string) (all sized) {
	for size := range all {
		all[size] = text + " -- " + strconv.Itoa(size)
	}
	return all
}

// now is the statement for the size of the queue that the store knows of.
func (t *sized) now(s *Store) string { return t[min(s.size.Load(), int64(len(t)-1))] }

// noteSizes takes the sizes of the tables deliveries and attempts in bytes, each to a power
// of four: the size of the queue is the sum of the powers.
func (s *Store) noteSizes(deliveries, attempts int64) {
	power := func(n int64) int64 { return int64(bits.Len64(uint64(n)/8192)+1) / 2 } // #nosec G115 -- a size
	s.size.Store(power(deliveries) + power(attempts))
}
