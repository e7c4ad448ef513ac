package formpage

import (
	"errors"
	"io"
	"sync/atomic"
)

// ErrNoSpace is what a [FileStore] returns that has no room for a file: the page says so.
var ErrNoSpace = errors.New("formpage: no room for more files")

// What files that no response has may take together.
const (
	defaultVisitFiles = 32 << 20
	defaultUnsent     = 1 << 30
)

// fileCost is what a file counts beside its bytes: its record, and the rest of a block.
const fileCost = 4096

// metered is a file that takes space while it is read: several at once do not take more
// than there is.
type metered struct {
	r     io.Reader
	used  *atomic.Int64
	most  int64 // negative: no bound
	full  error // what is returned beyond it
	taken int64
	err   error // the latest of r
}

func meter(r io.Reader, used *atomic.Int64, most int64, full error) *metered {
	used.Add(fileCost)
	return &metered{r: r, used: used, most: most, full: full, taken: fileCost}
}

func (m *metered) Read(p []byte) (n int, err error) {
	n, m.err = m.r.Read(p)
	m.taken += int64(n)
	if m.used.Add(int64(n)) > m.most && m.most >= 0 {
		return 0, m.full
	}
	return n, m.err
}

// giveBack frees the space of a file that was not stored.
func (m *metered) giveBack() { m.used.Add(-m.taken) }

// broke reports whether the file ended before its end: the visitor left.
func (m *metered) broke() bool { return m.err != nil && !errors.Is(m.err, io.EOF) }

// visitFiles counts the files of a visit that are in no response.
func (h *Handler) visitFiles(visit string) *atomic.Int64 {
	h.unsentMu.Lock()
	defer h.unsentMu.Unlock()
	used, ok := h.unsent.get(visit)
	if !ok {
		used = new(atomic.Int64)
		h.unsent.put(visit, used, len(visit))
	}
	return used
}

// filesSent begins to count anew. A file that is still being read gives its space back to the
// count before.
func (h *Handler) filesSent(visit string) { h.unsent.put(visit, new(atomic.Int64), len(visit)) }
