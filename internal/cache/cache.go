// Package cache implements a map with a limit in bytes. All caches of the service use it, for values that can be
// computed again.
package cache

import (
	"cmp"
	"sync"
)

const (
	// DefaultMax is the default limit of each cache, in bytes.
	DefaultMax = 8 << 20
	// entryOverhead is added to the size of each value, so that the number of entries is also limited.
	entryOverhead = 512
)

// Cache is a map with a size limit. A new entry evicts arbitrary others, which works as well as evicting the oldest
// if nearly all entries fit. The zero Cache is ready for use. It is safe for concurrent use. Its values must not be
// modified.
//
// A value may be outdated, so callers must be able to check it.
type Cache[K comparable, V any] struct {
	// Max limits the total size in bytes. Defaults to DefaultMax.
	Max int

	mu      sync.RWMutex
	entries map[K]entry[V]
	size    int
}

type entry[V any] struct {
	value V
	size  int
}

// Get returns the value of a key, if present. It does not allocate.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, ok
}

// Put stores a value of size bytes and returns the key's previous value, if any. It does not store values that exceed
// the whole cache.
func (c *Cache[K, V]) Put(key K, value V, size int) (was V, there bool) {
	size += entryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	old, there := c.entries[key]
	c.remove(key)
	most := cmp.Or(c.Max, DefaultMax)
	if size > most {
		return old.value, there
	}
	for other := range c.entries { // the order of a map is random enough
		if c.size+size <= most {
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
