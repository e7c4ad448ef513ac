package postgres

import (
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/storage"
)

// formCache remembers forms, and the keys they were read with, as they were, with the
// version of their row. Every read still asks the server, which says whether the key is
// valid, whether its user may see the form and which versions they have now; only their
// bytes are not sent again. Nothing has to be told of a change, whoever makes it.
type formCache struct {
	mu    sync.RWMutex
	forms map[storage.ID]cachedForm
	bytes int

	keys keyCache
}

// keyCache remembers keys by their hash.
type keyCache struct {
	mu   sync.RWMutex
	keys map[[32]byte]cachedKey
}

type cachedKey struct {
	version rowVersion
	key     storage.Key // its scopes are never handed out
	user    storage.User
}

// cachedKeys is how many keys are remembered, of about half a kilobyte each.
const cachedKeys = 4096

func (c *keyCache) get(hash [32]byte) (cachedKey, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.keys[hash]
	return k, ok
}

// put remembers a key. Any other one makes room for it.
func (c *keyCache) put(hash [32]byte, k cachedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[[32]byte]cachedKey{}
	}
	for victim := range c.keys { // map order is random enough
		if len(c.keys) < cachedKeys {
			break
		}
		delete(c.keys, victim)
	}
	c.keys[hash] = k
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

func (c *formCache) get(id storage.ID) (cachedForm, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f, ok := c.forms[id]
	return f, ok
}

// is reports whether the form is remembered in this version. A server that took over
// from one that was lost may give out numbers of transactions again, so the time counts
// too.
func (f *cachedForm) is(version rowVersion, updatedAt time.Time) bool {
	return f.version == version && f.form.UpdatedAt.Equal(updatedAt)
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
