package conn

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

// The records of a page share blocks, and still have nothing to do with each other.
func TestValuesInAnArenaAreApart(t *testing.T) {
	t.Parallel()
	var values Arena
	var kept []json.RawMessage
	driver := make([]byte, 1000)
	for i := range 300 { // several blocks
		for j := range driver {
			driver[j] = byte(i)
		}
		v, none := json.RawMessage(driver), json.RawMessage(nil)
		values.CopyBorrowed(&v, &none)
		if none != nil {
			t.Fatal("nil became a value")
		}
		kept = append(kept, v)
	}
	big := json.RawMessage(make([]byte, 2*arenaBlock))
	values.CopyBorrowed(&big)
	for i, v := range kept {
		_ = append(v, "!!!"...)
		if len(v) != 1000 || bytes.Count(v, []byte{byte(i)}) != 1000 {
			t.Fatalf("value %d was overwritten", i)
		}
	}
}

func TestAnIDOfAnotherLengthIsAnError(t *testing.T) {
	t.Parallel()
	var id storage.ID
	if err := (*idColumn)(&id).ScanBytes([]byte("short")); err == nil {
		t.Error("ScanBytes of 5 bytes = nil")
	}
}
