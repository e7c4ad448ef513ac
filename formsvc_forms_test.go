package formsvc

import (
	"encoding/json"
	"strconv"
	"strings"
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

func TestDecodedFormsAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	var c decodedForms
	form := func(id, n int) Form {
		f := Form{ID: ID{byte(id), byte(id >> 8)}}
		f.Definition = storage.Definition{
			Blocks: json.RawMessage("[" + strings.Repeat(" ", n) + "]"), Settings: json.RawMessage(`{}`), Theme: json.RawMessage(`{}`),
			Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`),
		}
		return f
	}
	for i := range 40 {
		for _, n := range []int{1000, maxCachedBytes / 10} { // the second replaces the first
			f := form(i, n)
			first, err := c.of(f)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := c.of(form(i, n)); again != first {
				t.Fatalf("form %d of %d bytes is decoded again", i, n)
			}
			if !first.is(f.Definition) {
				t.Fatalf("form %d of %d bytes is another one", i, n)
			}
		}
		total := 0
		for _, d := range c.forms {
			total += d.size()
		}
		if total != c.size || total > maxCachedBytes {
			t.Fatalf("%d bytes are kept, %d are counted, the bound is %d", total, c.size, maxCachedBytes)
		}
	}
	for i := range 2 * maxCachedForms {
		if _, err := c.of(form(1000+i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.forms); n != maxCachedForms {
		t.Errorf("%d forms, want %d", n, maxCachedForms)
	}
	if _, err := c.of(form(1, maxCachedBytes)); err != nil || c.forms[ID{1}] != nil {
		t.Errorf("a form takes all of the cache, %v", err)
	}
}

// Each section counts: a form that differs in one of them is decoded anew.
func TestADecodedFormIsOfItsSections(t *testing.T) {
	t.Parallel()
	f := Form{ID: ID{1}, Definition: storage.Definition{
		Blocks: json.RawMessage(`[]`), Settings: json.RawMessage(`{}`), Theme: json.RawMessage(`{}`),
		Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`),
	}}
	for name, change := range map[string]func(d *storage.Definition){
		"format": func(d *storage.Definition) { d.Format++ },
		"blocks": func(d *storage.Definition) { d.Blocks = json.RawMessage(`[ ]`) }, "settings": func(d *storage.Definition) { d.Settings = json.RawMessage(`{ }`) },
		"theme": func(d *storage.Definition) { d.Theme = json.RawMessage(`{ }`) }, "variables": func(d *storage.Definition) { d.Variables = json.RawMessage(`{ }`) },
		"hidden fields": func(d *storage.Definition) { d.HiddenFields = json.RawMessage(`[ ]`) },
	} {
		var c decodedForms
		first, err := c.of(f)
		if err != nil {
			t.Fatal(err)
		}
		other := f
		change(&other.Definition)
		if second, err := c.of(other); err != nil || second == first || !second.is(other.Definition) {
			t.Errorf("with other %s the form is not decoded anew, %v", name, err)
		}
	}
}

func BenchmarkDecodeForm(b *testing.B) {
	blocks := "[" + strings.TrimSuffix(strings.Repeat(`{"id":"q","type":"single_choice","label":"Question","choices":[{"id":"a","label":"Never"},{"id":"b","label":"Often"}],"properties":{"otherOption":true}},`, 30), ",") + "]"
	f := Form{ID: ID{1}, Definition: storage.Definition{
		Blocks: json.RawMessage(blocks), Settings: json.RawMessage(`{}`), Theme: json.RawMessage(`{}`), Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`),
	}}
	for _, kept := range []bool{false, true} {
		b.Run("kept="+strconv.FormatBool(kept), func(b *testing.B) {
			b.ReportAllocs()
			var c decodedForms
			for b.Loop() {
				if !kept {
					c.remove(f.ID)
				}
				if _, err := c.of(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
