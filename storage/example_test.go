package storage_test

import (
	"context"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// audited is a storage around another one. The embedded interface passes every other
// method through, also those that later versions add.
type audited struct{ storage.Storage }

func (a audited) DeleteWorkspace(ctx context.Context, who storage.Actor, id storage.ID, at time.Time) error {
	err := a.Storage.DeleteWorkspace(ctx, who, id, at)
	fmt.Printf("delete %s: %v\n", id, err)
	return err // as it is: callers compare with errors.Is
}

// A decorator adds to a storage what the host needs beside it. For a storage from
// scratch see examples/storage.
func Example_decorator() {
	ctx := context.Background()
	store := audited{memory.New()}
	now := time.Now()
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}, Name: "Research", CreatedAt: now, UpdatedAt: now}
	if err := store.CreateWorkspace(ctx, w, 0); err != nil {
		fmt.Println(err)
	}
	_ = store.DeleteWorkspace(ctx, storage.As(w.OwnerID), w.ID, now)
	_ = store.DeleteWorkspace(ctx, storage.As(w.OwnerID), w.ID, now)
	// Output:
	// delete 010000000000000000000000: <nil>
	// delete 010000000000000000000000: storage: not found
}
