package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// The whole suite in a host's transaction for each case, which is rolled back.
// The cases about concurrency stay on the pool: a transaction is for one
// goroutine.
func TestStorageInATransaction(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	schemas := newSchemas(t)
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	createTables(t, pool, schema)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if got, err := New(pool, WithSchema(schema)).Workspaces(ctx, storage.AsHost(), storage.Page{Limit: 1}); err != nil || len(got) != 0 {
			t.Errorf("after the rollbacks: %d workspaces, %v", len(got), err)
		}
	})
	storagetest.Run(t, func(t *testing.T) storage.Storage {
		if strings.Contains(t.Name(), "/concurren") {
			return New(pool, WithSchema(schemas.lend(t)))
		}
		schema := schema
		if strings.Contains(t.Name(), "/upkeep/") { // a note waits for no other transaction
			schema = schemas.lend(t)
		}
		tx, err := pool.Begin(t.Context())
		must(t, err)
		t.Cleanup(func() {
			if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("roll back: %v", err)
			}
		})
		return New(pool, WithSchema(schema)).On(tx)
	})
}

// The store's own time is not that of a host's transaction.
func TestOnlyTheHostBoundsItsTransaction(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	s := New(pool, WithSchema(outside.db.Schema), WithTimeout(time.Nanosecond))
	list := func(s *Store) error {
		_, err := s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1})
		return err
	}
	if err := list(s); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("on the pool: %v", err)
	}
	if err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return list(s.On(tx)) }); err != nil {
		t.Errorf("in a transaction: %v", err)
	}
}

// What a method answers is no error of the transaction.
func TestARefusalDoesNotEndTheHostsTransaction(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	tx, err := pool.Begin(t.Context())
	must(t, err)
	s := outside.On(tx)
	ctx, host := t.Context(), storage.AsHost()
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}}
	f := storage.Form{
		ID: storage.ID{3}, PublicID: "f", WorkspaceID: w.ID, Status: storage.StatusDraft,
		FormContent: noBlocks(),
	}
	user, key := storage.User{ID: storage.ID{2}}, storage.Key{ID: storage.ID{4}, UserID: storage.ID{2}}
	for _, step := range []struct {
		name string
		do   func() error
		want error
	}{
		{"CreateWorkspace", func() error { return s.CreateWorkspace(ctx, w, 1) }, nil},
		{"CreateWorkspace again", func() error { return s.CreateWorkspace(ctx, w, 0) }, storage.ErrConflict},
		{"CreateWorkspace, one too many", func() error { return s.CreateWorkspace(ctx, w, 1) }, storage.ErrLimitReached},
		{"CreateForm", func() error { return s.CreateForm(ctx, host, f) }, nil},
		{"CreateForm again", func() error { return s.CreateForm(ctx, host, f) }, storage.ErrConflict},
		{"CreateForm nowhere", func() error { return s.CreateForm(ctx, host, storage.Form{WorkspaceID: storage.ID{9}}) }, storage.ErrNotFound},
		{"UpdateForm at another revision", func() error {
			_, err := s.UpdateForm(ctx, host, f.ID, storage.FormChange{IfRevision: []int64{9}})
			return err
		}, storage.ErrRevisionMismatch},
		{"CreateKey", func() error { return s.CreateKey(ctx, storage.NewKey{User: user, Key: key, Hash: [32]byte{1}, Max: 1}) }, nil},
		{"CreateKey again", func() error { return s.CreateKey(ctx, storage.NewKey{User: user, Key: key, Hash: [32]byte{2}, Max: 0}) }, storage.ErrConflict},
		{"CreateKey, one too many", func() error { return s.CreateKey(ctx, storage.NewKey{User: user, Key: key, Hash: [32]byte{2}, Max: 1}) }, storage.ErrLimitReached},
		{"RestoreForm", func() error { return s.RestoreForm(ctx, f.ID, storage.ID{}, f.CreatedAt) }, storage.ErrNotFound},
		{"SetMember of the owner", func() error { return s.SetMember(ctx, w.ID, w.OwnerID, false) }, storage.ErrConflict},
		{"CheckVersion", func() error { return New(tx, WithSchema("no_such_schema")).CheckVersion(ctx) }, storage.ErrUnavailable},
		{"Form", func() error { _, err := s.Form(ctx, storage.As(w.OwnerID), f.ID); return err }, nil},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Fatalf("%s: %v, want %v", step.name, err, step.want)
		}
		if _, err := outside.Workspace(ctx, host, w.ID); !errors.Is(err, storage.ErrNotFound) {
			t.Fatalf("%s: outside of the transaction: %v", step.name, err)
		}
	}
	must(t, tx.Commit(ctx))
	if _, err := outside.Form(ctx, host, f.ID); err != nil {
		t.Errorf("after the commit: Form = %v", err)
	}
}

func TestAnErrorInTheHostsTransactionIsTheHosts(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		s := outside.On(tx)
		_, err := s.UpdateForm(t.Context(), storage.AsHost(), storage.ID{1}, storage.FormChange{Definition: storage.Definition{Theme: []byte(`{`)}})
		if !errors.Is(err, storage.ErrInvalidValue) {
			t.Errorf("UpdateForm = %v", err)
		}
		// The transaction is lost, and says so.
		_, err = s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1})
		return err
	})
	if conn.SQLState(err) != "25P02" {
		t.Errorf("the next call = %v", err)
	}
}
