package formsvc

import (
	"testing"

	"github.com/formsvc/formsvc/storage"
)

func TestTheFormCacheIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	c := newFormCache()
	const each = maxCachedBytes / 4
	for i := range 50 {
		id := storage.ID{byte(i)}
		c.put(id, &compiledForm{revision: 1, source: sized(each)})
		c.put(id, &compiledForm{revision: 2, source: sized(each)}) // replaces, and counts once
		if c.get(id) == nil {
			t.Fatalf("form %d is not there right after it was put", i)
		}
		if n := len(c.forms); n > 4 || c.size != n*each {
			t.Fatalf("%d forms of %d bytes, counted as %d", n, each, c.size)
		}
	}
	huge := storage.ID{99}
	c.put(huge, &compiledForm{revision: 1, source: sized(2 * maxCachedBytes)})
	if len(c.forms) != 1 || c.get(huge) == nil {
		t.Errorf("%d forms beside one that is larger than the cache", len(c.forms)-1)
	}
}

func TestTheFormCacheIsBoundedByCount(t *testing.T) {
	t.Parallel()
	c := newFormCache()
	for i := range 3 * maxCachedForms {
		c.put(storage.ID{byte(i), byte(i >> 8)}, &compiledForm{revision: 1, source: sized(1)})
	}
	if n := len(c.forms); n != maxCachedForms {
		t.Errorf("%d forms, want %d", n, maxCachedForms)
	}
}

func TestWhatReplacesAFormInTheCache(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		old, put compiledForm
		replaces bool
	}{
		{"an older one", compiledForm{revision: 2, committed: true}, compiledForm{revision: 1, committed: true}, false},
		{"a newer one", compiledForm{revision: 1, committed: true}, compiledForm{revision: 2, committed: true}, true},
		{"one of a transaction", compiledForm{revision: 1, committed: true}, compiledForm{revision: 2}, false},
		{"a committed one, after one of a transaction that was rolled back", compiledForm{revision: 2}, compiledForm{revision: 1, committed: true}, true},
		{"one of another transaction", compiledForm{revision: 2}, compiledForm{revision: 1}, true},
	} {
		cache, id := newFormCache(), storage.ID{1}
		cache.put(id, &c.old)
		cache.put(id, &c.put)
		if got := cache.get(id) == &c.put; got != c.replaces {
			t.Errorf("%s replaces: %v, want %v", c.name, got, c.replaces)
		}
	}
}

// sized is a source of n bytes.
func sized(n int) formSource { return formSource{blocks: make([]byte, n)} }
