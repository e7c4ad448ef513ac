package postgres

import (
	"testing"

	"github.com/formsvc/formsvc/storage"
)

// sweepAll sweeps until there is nothing more to do and adds up what was reported.
func sweepAll(t *testing.T, s *Store, p storage.SweepParams) storage.Swept {
	t.Helper()
	var sum storage.Swept
	for range 10_000 {
		swept, err := s.Sweep(t.Context(), p)
		must(t, err)
		sum.Forms += swept.Forms
		sum.Keys += swept.Keys
		sum.Events += swept.Events
		sum.BroughtBack += swept.BroughtBack
		if !swept.More {
			return sum
		}
	}
	t.Fatal("sweeps find more and more to do")
	return sum
}
