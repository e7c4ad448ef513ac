package formpage

import (
	"strings"
	"sync"
	"testing"
)

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	var c cache[int, string]
	const each = maxCacheBytes / 4
	for i := range 50 {
		for range 2 { // what replaces an entry counts once
			c.put(i, "x", each-512)
		}
		if v, ok := c.get(i); !ok || v != "x" {
			t.Fatalf("entry %d is not there right after it was put", i)
		}
		if n := len(c.entries); n > 4 || c.size != n*each {
			t.Fatalf("%d entries of %d bytes, counted as %d", n, each, c.size)
		}
	}
	c.put(100, "too large", maxCacheBytes)
	if _, ok := c.get(100); ok || len(c.entries) != 4 {
		t.Errorf("an entry that is larger than the cache: %v, %d entries", ok, len(c.entries))
	}
	for i := range 3 * maxCacheBytes / 512 { // empty ones are bounded too
		c.put(i, strings.Repeat("y", i%2), i%2)
	}
	if c.size > maxCacheBytes || len(c.entries) > maxCacheBytes/512 {
		t.Errorf("%d entries, %d bytes", len(c.entries), c.size)
	}
}

func TestACacheIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var c cache[int, int]
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				c.put(i%7, i%7, maxCacheBytes/5)
				if v, ok := c.get((i + g) % 7); ok && v != (i+g)%7 {
					t.Errorf("entry %d is %d", (i+g)%7, v)
				}
			}
		})
	}
	all.Wait()
}
