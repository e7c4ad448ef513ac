package cache

import (
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	var c Cache[int, string]
	const each = DefaultMax / 4
	for i := range 50 {
		for n := range 2 { // what replaces an entry counts once
			was, there := c.Put(i, "x", each-entryOverhead)
			expect.Require(t, (was == "x") == (n == 1) && there == (n == 1), "entry %d, put %d: there was %q, %v", i, n, was, there)
		}
		v, ok := c.Get(i)
		expect.Require(t, ok && v == "x", "entry %d is not there right after it was put", i)
		n := len(c.entries)
		expect.Require(t, n == min(i+1, 4) && c.size == n*each, "after %d: %d entries of %d bytes, counted as %d", i+1, n, each, c.size)
	}
	for i := range 3 * DefaultMax / entryOverhead { // empty ones are bounded too
		c.Put(i, strings.Repeat("y", i%2), i%2)
	}
	n := len(c.entries)
	expect.That(t, c.size <= DefaultMax && n <= DefaultMax/entryOverhead && n >= DefaultMax/entryOverhead/2, "%d entries, %d bytes", n, c.size)
}

func TestWhatIsLargerThanTheCacheIsNotKept(t *testing.T) {
	t.Parallel()
	var c Cache[int, string]
	c.Put(1, "one", 1)
	c.Put(2, "two", 2)
	was, there := c.Put(2, "too large", DefaultMax)
	expect.That(t, there && was == "two", "key 2 had %q, %v", was, there)
	v, ok := c.Get(2)
	expect.That(t, !ok, "key 2 has %q, want nothing: what it had before is out of date", v)
	v, ok = c.Get(1)
	expect.That(t, ok && v == "one" && c.size == 1+entryOverhead, "key 1 has %q, %v; %d bytes are counted", v, ok, c.size)
	was, there = c.Put(3, "too large", DefaultMax)
	expect.That(t, !there, "key 3 had %q", was)
}

func TestACacheIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var c Cache[int, int]
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				c.Put(i%7, i%7, DefaultMax/5)
				if v, ok := c.Get((i + g) % 7); ok && v != (i+g)%7 {
					t.Errorf("entry %d is %d", (i+g)%7, v)
				}
			}
		})
	}
	all.Wait()
}

func TestGetAllocatesNothing(t *testing.T) {
	var c Cache[storage.ID, storage.Form]
	id := storage.ID{1}
	c.Put(id, storage.Form{ID: id}, 0)
	allocations := testing.AllocsPerRun(100, func() {
		f, ok := c.Get(id)
		expect.That(t, ok && f.ID == id, "the form is not there")
	})
	expect.That(t, allocations == 0, "Get allocates %v times", allocations)
}

// BenchmarkGet is a hit among as many readers as there are processors: -cpu 1,2.
func BenchmarkGet(b *testing.B) {
	var c Cache[storage.ID, *storage.Form]
	id := storage.ID{1}
	c.Put(id, &storage.Form{ID: id}, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := c.Get(id); !ok {
				b.Error("the form is not there")
			}
		}
	})
}
