package storagetest_test

import (
	"fmt"
	"testing"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// A store's own test calls Run; a case that it cannot pass is left out by name.
func ExampleRun() {
	testStorage := func(t *testing.T) {
		storagetest.Run(t, func(*testing.T) storage.Storage { return memory.New() },
			storagetest.Skip("deliveries", "this product sends no webhooks"))
	}
	_ = testStorage // func TestStorage(t *testing.T)
	groups := map[string]bool{}
	for _, c := range storagetest.Cases() {
		groups[c.Group()] = true
	}
	fmt.Println(groups["submissions"], groups["deliveries"], groups["concurrency"])
	// Output: true true true
}
