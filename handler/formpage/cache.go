package formpage

import "sync"

// maxCacheBytes bounds each of a handler's caches: the sources of some hundred forms.
const maxCacheBytes = 8 << 20

// cache keeps values within maxCacheBytes. It is safe for concurrent use; its values are
// not changed once they are there.
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

// put keeps a value of a size, and drops any others until there is room. It reports whether
// the key is new.
func (c *cache[K, V]) put(key K, value V, size int) (added bool) {
	size += 512 // the entry itself
	if size > maxCacheBytes {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[K]sized[V]{}
	}
	_, there := c.entries[key]
	c.drop(key)
	for other := range c.entries {
		if c.size+size <= maxCacheBytes {
			break
		}
		c.drop(other)
	}
	c.entries[key] = sized[V]{value, size}
	c.size += size
	return !there
}

func (c *cache[K, V]) drop(key K) {
	c.size -= c.entries[key].size
	delete(c.entries, key)
}
