package storagetest_test

import (
	"fmt"
	"testing"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// A test of code that reads forms finds out whether the code writes to them.
func ExampleReadOnly() {
	testListing := func(t *testing.T) {
		store := storagetest.ReadOnly(t, memory.New())
		f, err := store.FormByPublicID(t.Context(), "2Vx9Kq")
		if err != nil {
			t.Fatal(err)
		}
		clear(f.Definition.Blocks) // fails the test when it ends
	}
	_ = testListing // func TestListing(t *testing.T)
}

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

// A storage that several processes share is tested with a second handle, as another process
// would open it.
func ExampleSecondHandle() {
	open := func(string) storage.Storage { return memory.New() } // the host's own, at an address
	testStorage := func(t *testing.T) {
		address := "of this test's server"
		storagetest.Run(t, func(*testing.T) storage.Storage { return open(address) },
			storagetest.SecondHandle(func(*testing.T, storage.Storage) storage.Storage { return open(address) }))
	}
	_ = testStorage // func TestStorage(t *testing.T)
}
