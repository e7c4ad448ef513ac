package postgres

import (
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/storage"
)

// formCache remembers forms as they were read, with the version of their row. Every
// read still asks the server, which says whether the caller may see the form and which
// version it has now; only its bytes are not sent again. Nothing has to be told of a
// change, whoever makes it.
type formCache struct {
	mu    sync.RWMutex
	forms map[storage.ID]cachedForm
	bytes int
}

type cachedForm struct {
	version rowVersion
	form    storage.Form // its definition is shared with those who read it
}

// rowVersion is the transaction that wrote the row (xmin): every change of a row makes
// a version with another one. 0: there is no row.
type rowVersion uint32

// ScanUint32 implements [pgtype.Uint32Scanner].
func (v *rowVersion) ScanUint32(n pgtype.Uint32) error {
	*v = rowVersion(n.Uint32)
	return nil
}

const (
	// cacheBytes bounds the definitions that are remembered, for a store.
	cacheBytes = 8 << 20
	// cachedFormBytes is what a form takes beside its definition, and a bound for how
	// many there are.
	cachedFormBytes = 1 << 10
)

func sizeOfForm(f *storage.Form) int {
	d := &f.Definition
	return cachedFormBytes + len(d.Blocks) + len(d.Settings) + len(d.Theme) + len(d.Variables) + len(d.HiddenFields)
}

func (c *formCache) has(id storage.ID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.forms[id]
	return ok
}

// get returns the form if it is remembered in this version. A server that took over
// from one that was lost may give out numbers of transactions again, so the time counts
// too.
func (c *formCache) get(id storage.ID, version rowVersion, updatedAt time.Time) (storage.Form, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	got, ok := c.forms[id]
	return got.form, ok && got.version == version && got.form.UpdatedAt.Equal(updatedAt)
}

// put remembers a form. Any other ones make room for it.
func (c *formCache) put(f storage.Form, version rowVersion) {
	size := sizeOfForm(&f)
	if size > cacheBytes/8 || version == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(f.ID)
	for victim := range c.forms { // map order is random enough
		if c.bytes+size <= cacheBytes {
			break
		}
		c.remove(victim)
	}
	if c.forms == nil {
		c.forms = map[storage.ID]cachedForm{}
	}
	c.forms[f.ID] = cachedForm{version, f}
	c.bytes += size
}

func (c *formCache) remove(id storage.ID) {
	if old, ok := c.forms[id]; ok {
		c.bytes -= sizeOfForm(&old.form)
		delete(c.forms, id)
	}
}
