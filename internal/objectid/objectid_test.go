package objectid

import (
	"encoding/binary"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

func TestNewCarriesTheSecondAndIsUniqueUnderConcurrency(t *testing.T) {
	at := time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC)
	source := NewSource()
	const workers, each = 8, 2000
	made := make([][]storage.ID, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				made[w] = append(made[w], source.New(at))
			}
		})
	}
	wg.Wait()
	seen := map[storage.ID]bool{}
	for _, ids := range made {
		for _, id := range ids {
			expect.Require(t, !seen[id], "%s was made twice", id)
			seen[id] = true
			if got := int64(binary.BigEndian.Uint32(id[:4])); got != at.Unix() {
				t.Fatalf("%s carries second %d, want %d", id, got, at.Unix())
			}
		}
	}
}

func TestPublicIDUsesTheWholeAlphabet(t *testing.T) {
	used := map[rune]int{}
	for range 2000 {
		id := NewPublicID()
		expect.Require(t, len(id) == 12, "%q has %d characters, want 12", id, len(id))
		for _, c := range id {
			used[c]++
		}
	}
	expect.Require(t, len(used) == len(Base62), "%d different characters in 24,000, want %d", len(used), len(Base62))
}

func TestIsPublicID(t *testing.T) {
	for id, want := range map[string]bool{
		NewPublicID(): true, "contact": true, "a": true, "7-": true, "A_b-9": true, strings.Repeat("z", 64): true,
		"": false, "-": false, "_a": false, "-a": false, "a b": false, "a/b": false, "a.b": false, "ä": false, "a\x00": false, strings.Repeat("z", 65): false,
	} {
		expect.Equal(t, IsPublicID(id), want, "IsPublicID(%q)", id)
	}
}
