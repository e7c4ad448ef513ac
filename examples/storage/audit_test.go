package main

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/storagetest"
)

func TestMain(m *testing.M) { os.Exit(dialguard.Guard(m).Run()) }

// The decorator keeps the contract of package storage.
func TestStorage(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(*testing.T) storage.Storage {
		return Audited{memory.New(), slog.New(slog.DiscardHandler)}
	})
}

func TestRemovalsAreLogged(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	store := Audited{memory.New(), slog.New(slog.NewTextHandler(&text, nil))}
	now, owner := time.Now(), storage.ID{2}
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: owner, Name: "Research", CreatedAt: now, UpdatedAt: now}
	expect.NoError(t, store.CreateWorkspace(t.Context(), w, 0))
	for _, want := range []error{nil, storage.ErrNotFound} {
		expect.Error(t, "DeleteWorkspace", store.DeleteWorkspace(t.Context(), storage.As(owner), w.ID, now), want)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `msg="delete workspace" workspace=`+w.ID.String()+` actor=`+owner.String()) ||
		!strings.Contains(lines[1], `msg="delete workspace failed"`) {
		t.Errorf("logged %q", lines)
	}
}
