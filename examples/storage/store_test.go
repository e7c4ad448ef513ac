package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func workspace(n int) storage.Workspace {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return storage.Workspace{
		ID: storage.ID{'w', byte(n >> 8), byte(n)}, PublicID: fmt.Sprint("w", n), OwnerID: storage.ID{'u'}, Name: "Research",
		CreatedAt: at, UpdatedAt: at,
	}
}

// endsAt is a context that ends when somebody looks at it for the nth time.
type endsAt struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *endsAt) look() {
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
}

func (c *endsAt) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *endsAt) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// Whenever a context ends, a call has its whole effect or none, and the error says
// which.
func TestContextEndsDuringAWrite(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "formsvc.sqlite"))
	for n := range 100 {
		inner, cancel := context.WithCancel(t.Context())
		ctx := &endsAt{Context: inner, cancel: cancel}
		ctx.left.Store(int64(n))
		err := store.CreateWorkspace(ctx, workspace(n), 0)
		cancel()
		_, found := store.Workspace(t.Context(), storage.AsHost(), workspace(n).ID)
		switch {
		case err == nil && found == nil && n < 2:
			t.Error("it looks at its context less than twice: before it begins and before it commits")
		case err == nil && found == nil:
			return
		case !errors.Is(err, context.Canceled) || !errors.Is(found, storage.ErrNotFound):
			t.Errorf("%d: CreateWorkspace says %v, Workspace %v", n, err, found)
		}
	}
	t.Error("no call was ever done")
}

// A context that ends while f runs, after f has written, undoes what f wrote, and the
// store goes on.
func TestContextEndsBeforeTheCommit(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "formsvc.sqlite"))
	ctx, cancel := context.WithCancel(t.Context())
	err := store.write(ctx, func(tx *tx) error {
		_, err := tx.exec(`INSERT INTO users (id, name, email) VALUES (x'01', '', '')`)
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	err = store.write(t.Context(), func(tx *tx) error {
		found, err := tx.exists(`SELECT 1 FROM users`)
		if found {
			t.Error("the row is there")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A file that is opened again has what was stored.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "with spaces & ?.sqlite")
	first := open(t, name)
	if err := first.CreateWorkspace(t.Context(), workspace(1), 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, name).Workspace(t.Context(), storage.AsHost(), workspace(1).ID); err != nil || got != workspace(1) {
		t.Errorf("%+v, %v", got, err)
	}
}
