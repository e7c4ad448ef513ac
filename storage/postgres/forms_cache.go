package postgres

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// formCache stores forms, the API keys that read them, and the version of each row. Every read still asks the server
// whether the key is valid, whether the user has access, and which versions are current. The cache only avoids sending
// and copying unchanged bytes, so it needs no invalidation.
type formCache struct {
	forms cache.Cache[storage.ID, cachedForm]
	keys  cache.Cache[[32]byte, cachedKey] // by hash
}

type cachedKey struct {
	version rowVersion
	key     storage.Key // callers must clone its scopes
	user    storage.User
}

type cachedForm struct {
	version rowVersion
	form    storage.Form // its definition is shared with callers
}

// rowVersion identifies the transaction that wrote the row (xmin), so it differs after every change. A zero value means
// that the row does not exist.
type rowVersion uint32

func (v *rowVersion) ScanUint32(n pgtype.Uint32) error {
	*v = rowVersion(n.Uint32)
	return nil
}

// matches reports whether the cached form has this version. It also compares the times, because a server can reuse a
// transaction ID after a failover.
func (f *cachedForm) matches(version rowVersion, updatedAt time.Time) bool {
	return f.version == version && f.form.UpdatedAt.Equal(updatedAt)
}

// remember caches a form whose definition is borrowed from the connection. It replaces the definition with the cached
// definition if they are equal, and otherwise with a copy, so that a process stores it only once.
func (c *formCache) remember(f *storage.Form, version rowVersion) {
	if c == nil {
		detachDefinition(&f.Definition)
		return
	}
	known, ok := c.forms.Get(f.ID)
	if ok && known.form.Definition.Equal(&f.Definition) {
		f.Definition = known.form.Definition
		if known.matches(version, f.UpdatedAt) {
			return
		}
	} else {
		detachDefinition(&f.Definition)
	}
	c.forms.Put(f.ID, cachedForm{version, *f}, f.Definition.Size())
}

func detachDefinition(d *storage.Definition) {
	var values []*json.RawMessage
	for _, section := range d.Sections() {
		values = append(values, section.Value)
	}
	conn.CopyBorrowed(values...)
}
