// Package cache implements a map with a limit in bytes. All caches of the service use it, for values
// that can be computed again.
package cache

import (
	"cmp"
	"sync"
)

const (
	// DefaultMax bounds each cache, as its callers count.
	DefaultMax = 8 << 20
	// entryOverhead is counted for each entry beside its value, so that the number of
	// entries is bounded too.
	entryOverhead = 512
)

// Cache keeps values by their keys. A new one makes room by taking the place of any
// others, which is as good as the oldest where nearly everything fits. The zero Cache is
// ready for use. It is safe for concurrent use, and its values are not changed once they
// are there.
//
// A value may be out of date: whoever gets one knows how to tell.
type Cache[K comparable, V any] struct {
	// Max bounds the bytes of all values. Defaults to Bytes.
	Max int

	mu      sync.RWMutex
	entries map[K]entry[V]
	size    int
}

type entry[V any] struct {
	value V
	size  int
}

// Get returns the value of a key, if it is there. It allocates nothing.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, ok
}

// Put keeps a value of size bytes, and returns the key's value before, if any. What is
// larger than the whole cache is not kept.
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
