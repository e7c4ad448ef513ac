package postgres

import (
	"fmt"
	"math/bits"
)

// sized returns a statement with a comment that says how large the table deliveries is,
// and attempts for a statement that reads that too, each to a power of four. A connection
// keeps the plan of a statement, and one that was made while the queue was nearly empty
// reads whole tables when it is not. So there is a plan for each size, and no more than a
// few of them.
func (s *Store) sized(text string, attemptsToo bool) string {
	sizes := s.sizes.Load()
	if !attemptsToo {
		return fmt.Sprintf("%s -- %d", text, sizes>>8)
	}
	return fmt.Sprintf("%s -- %d %d", text, sizes>>8, sizes&0xff)
}

// noteSizes takes the sizes of the tables deliveries and attempts in bytes.
func (s *Store) noteSizes(deliveries, attempts int64) {
	power := func(n int64) int64 { return int64(bits.Len64(uint64(n)/8192)+1) / 2 } // #nosec G115 -- a size
	s.sizes.Store(power(deliveries)<<8 | power(attempts))
}
