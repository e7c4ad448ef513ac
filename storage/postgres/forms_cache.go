package postgres

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// formCache remembers forms, the keys that read them, and the version of each row.
// Every read still asks the server, which says whether the key is valid, whether its
// user may see the form and which versions they have now; only their bytes are not sent
// again, or not copied again. Nothing has to be told of a change, whoever makes it.
type formCache struct {
	forms cache.Cache[storage.ID, cachedForm]
	keys  cache.Cache[[32]byte, cachedKey] // by their hash
}

type cachedKey struct {
	version rowVersion
	key     storage.Key // its scopes are never handed out
	user    storage.User
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

// is reports whether the form is remembered in this version. A server that took over
// from one that was lost may give out numbers of transactions again, so the time counts
// too.
func (f *cachedForm) matches(version rowVersion, updatedAt time.Time) bool {
	return f.version == version && f.form.UpdatedAt.Equal(updatedAt)
}

// own remembers a form that was read, whose definition is borrowed from the connection,
// and gives it a definition of the process's own: the one that is remembered when that is
// the same, so that a process has it once.
func (c *formCache) remember(f *storage.Form, version rowVersion) {
	if c == nil {
		copyDefinition(&f.Definition)
		return
	}
	known, ok := c.forms.Get(f.ID)
	if ok && known.form.Definition.Equal(&f.Definition) {
		f.Definition = known.form.Definition
		if known.matches(version, f.UpdatedAt) {
			return
		}
	} else {
		copyDefinition(&f.Definition)
	}
	c.forms.Put(f.ID, cachedForm{version, *f}, f.Definition.Size())
}

func copyDefinition(d *storage.Definition) {
	var values []*json.RawMessage
	for _, section := range d.Sections() {
		values = append(values, section.Value)
	}
	conn.CopyBorrowed(values...)
}
