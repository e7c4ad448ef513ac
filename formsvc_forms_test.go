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
		c.put(id, &compiledForm{revision: 1, size: each})
		c.put(id, &compiledForm{revision: 2, size: each}) // replaces, and counts once
		if c.get(id) == nil {
			t.Fatalf("form %d is not there right after it was put", i)
		}
		if n := len(c.forms); n > 4 || c.size != n*each {
			t.Fatalf("%d forms of %d bytes, counted as %d", n, each, c.size)
		}
	}
	huge := storage.ID{99}
	c.put(huge, &compiledForm{revision: 1, size: 2 * maxCachedBytes})
	if len(c.forms) != 1 || c.get(huge) == nil {
		t.Errorf("%d forms beside one that is larger than the cache", len(c.forms)-1)
	}
}

func TestTheFormCacheIsBoundedByCount(t *testing.T) {
	t.Parallel()
	c := newFormCache()
	for i := range 3 * maxCachedForms {
		c.put(storage.ID{byte(i), byte(i >> 8)}, &compiledForm{revision: 1, size: 1})
	}
	if n := len(c.forms); n != maxCachedForms {
		t.Errorf("%d forms, want %d", n, maxCachedForms)
	}
}

func TestAnOlderFormDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	c, id := newFormCache(), storage.ID{1}
	c.put(id, &compiledForm{revision: 2})
	c.put(id, &compiledForm{revision: 1})
	if got := c.get(id).revision; got != 2 {
		t.Errorf("revision %d, want 2", got)
	}
	var none *formCache
	none.put(id, &compiledForm{})
	if none.get(id) != nil {
		t.Error("no cache keeps a form")
	}
}
