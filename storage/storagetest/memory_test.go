package storagetest_test

import (
	"testing"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/storagetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(*testing.T) storage.Storage { return memory.New() })
}
