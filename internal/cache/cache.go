// Package cache implements a map with a size limit, for values that can be computed again.
package cache

import (
	"cmp"
	"sync"
)

const (
	// DefaultMax is the default limit of each cache in bytes.
	DefaultMax    = 8 << 20
	entryOverhead = 512 // added to each size, so that the number of entries is limited too
)

// Cache is a map with a size limit. In a full Cache, adding an entry evicts arbitrary entries. This works as well as
// evicting the oldest if nearly all entries fit. The zero Cache is ready to use. A Cache is safe for concurrent use.
// Values must not be modified. Values can be outdated, so callers must be able to check whether a value is current.
type Cache[K comparable, V any] struct {
	Max int // maximum total size in bytes; defaults to DefaultMax

	mu      sync.RWMutex
	entries map[K]entry[V]
	size    int
}

type entry[V any] struct {
	value V
	size  int
}

// Get returns the value for a key, if present. It does not allocate.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, ok
}

// Put stores a value of size bytes, unless it is larger than the whole cache. It returns the previous value, if any.
func (c *Cache[K, V]) Put(key K, value V, size int) (was V, there bool) {
	size += entryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	old, there := c.entries[key]
	c.remove(key)
	maxSize := cmp.Or(c.Max, DefaultMax)
	if size > maxSize {
		return old.value, there
	}
	for other := range c.entries { // map iteration order is random enough
		if c.size+size <= maxSize {
			break
		}
		c.remove(other)
	}
	if c.entries == nil {
		c.entries = make(map[K]entry[V])
	}
	c.entries[key] = entry[V]{value, size}
	c.size += size
	return old.value, there
}

func (c *Cache[K, V]) remove(key K) {
	c.size -= c.entries[key].size
	delete(c.entries, key)
}
