package formpage

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// maxCacheBytes bounds each of a handler's caches: the first pages of some hundred forms,
// and more style sheets than that.
const maxCacheBytes = 8 << 20

// cache keeps values within maxCacheBytes. Each value holds what it was made of and is
// compared with that by the caller, so an entry is never out of date. It is safe for
// concurrent use; its values are not changed once they are there.
type cache[K comparable, V any] struct {
	mu      sync.RWMutex
	entries map[K]sized[V]
	size    int
}

type sized[V any] struct {
	value V
	size  int
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, ok
}

// put keeps a value of a size, and drops any others until there is room.
func (c *cache[K, V]) put(key K, value V, size int) {
	size += 512 // the entry itself
	if size > maxCacheBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[K]sized[V]{}
	}
	c.drop(key)
	for other := range c.entries {
		if c.size+size <= maxCacheBytes {
			break
		}
		c.drop(other)
	}
	c.entries[key] = sized[V]{value, size}
	c.size += size
}

func (c *cache[K, V]) drop(key K) {
	c.size -= c.entries[key].size
	delete(c.entries, key)
}

// sheet is an author's style sheet and what is written of it.
type sheet struct{ given, written string }

// customCSS returns what is written of a form's style sheet: parsing one takes longer
// than drawing most pages.
func (h *Handler) customCSS(form *PublicForm) string {
	given := form.Theme.CustomCSS
	if given == "" {
		return ""
	}
	if s, ok := h.sheets.get(form.ID); ok && s.given == given {
		return s.written
	}
	s := sheet{strings.Clone(given), customCSS(given)}
	h.sheets.put(form.ID, s, len(s.given)+len(s.written))
	return s.written
}

// firstKey is what a first page without prefilled answers depends on beside the form.
type firstKey struct {
	form  storage.ID
	words *words
	up    string
}

// firstPage is the first page of a form, for everybody who comes without answers: two of
// them differ in the nonce and the visit's token alone. The templates take most of the
// time of a page, so they run once for each definition.
type firstPage struct {
	drawn

	token                string // of the visit, as it stands in body
	name, kind, publicID string
	definition           storage.Definition
	path                 Path
}

// first returns the first page from the cache, for the visit of this call.
func (c *call) first(path Path) (drawn, bool) {
	page, ok := c.h.firsts.get(c.firstKey())
	f := &c.form
	if !ok || page.name != f.Name || page.kind != f.Type || page.publicID != f.PublicID ||
		!sameDefinition(page.definition, f.Definition) || !reflect.DeepEqual(page.path, path) {
		return drawn{}, false
	}
	d, nonce := page.drawn, newNonce()
	// Nonce and token cannot be guessed, so nothing else of the page is equal to them.
	d.head = strings.ReplaceAll(d.head, d.nonce, nonce)
	d.policy = strings.ReplaceAll(d.policy, d.nonce, nonce)
	d.body = strings.Replace(d.body, page.token, c.token(), 1)
	d.nonce = nonce
	return d, true
}

// keepFirst puts the first page into the cache.
func (c *call) keepFirst(path Path, d drawn) {
	f, definition := &c.form, c.form.Definition
	page := firstPage{drawn: d, token: c.token(), name: f.Name, kind: f.Type, publicID: f.PublicID, path: clonePath(path)}
	size := len(d.title) + len(d.head) + len(d.body) + len(d.policy)
	for to, from := range map[*json.RawMessage]json.RawMessage{
		&page.definition.Blocks: definition.Blocks, &page.definition.Settings: definition.Settings, &page.definition.Theme: definition.Theme,
		&page.definition.Variables: definition.Variables, &page.definition.HiddenFields: definition.HiddenFields,
	} {
		*to = bytes.Clone(from) // the caller's may be cut from something larger
		size += len(from)
	}
	c.h.firsts.put(c.firstKey(), page, size)
}

func (c *call) firstKey() firstKey { return firstKey{c.form.ID, c.words, c.up()} }

func sameDefinition(a, b storage.Definition) bool {
	return bytes.Equal(a.Blocks, b.Blocks) && bytes.Equal(a.Settings, b.Settings) && bytes.Equal(a.Theme, b.Theme) &&
		bytes.Equal(a.Variables, b.Variables) && bytes.Equal(a.HiddenFields, b.HiddenFields)
}

func clonePath(p Path) Path {
	p.Blocks, p.Faults, p.Variables = slices.Clone(p.Blocks), slices.Clone(p.Faults), maps.Clone(p.Variables)
	return p
}

// sameForAll reports whether blocks look the same in every visit: choices are not mixed,
// and no captcha's widget is among them, which is asked for at each page.
func (h *Handler) sameForAll(blocks []schema.Block) bool {
	return !slices.ContainsFunc(blocks, func(b schema.Block) bool {
		return properties(&b).Randomize || h.verifier(&b) != nil || !h.sameForAll(b.Children)
	})
}
