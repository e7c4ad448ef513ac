package upload

import (
	"errors"
	"io"
	"sync/atomic"
)

// FileCost is what a file counts beside its bytes: its record, and the rest of a block.
const FileCost = 4096

// Metered is a file that takes space while it is read: several at once do not take more
// than there is.
type Metered struct {
	r     io.Reader
	used  *atomic.Int64
	most  int64 // negative: no bound
	full  error // what is returned beyond it
	taken int64
	err   error // the latest of r
}

// Meter counts a file in used while r is read, and fails with full beyond most bytes.
func Meter(r io.Reader, used *atomic.Int64, most int64, full error) *Metered {
	used.Add(FileCost)
	return &Metered{r: r, used: used, most: most, full: full, taken: FileCost}
}

func (m *Metered) Read(p []byte) (n int, err error) {
	n, m.err = m.r.Read(p)
	m.taken += int64(n)
	if m.used.Add(int64(n)) > m.most && m.most >= 0 {
		return 0, m.full
	}
	return n, m.err
}

// GiveBack frees the space of a file that was not stored.
func (m *Metered) GiveBack() { m.used.Add(-m.taken) }

// Broke reports whether the file ended before its end: the visitor left.
func (m *Metered) Broke() bool { return m.err != nil && !errors.Is(m.err, io.EOF) }
