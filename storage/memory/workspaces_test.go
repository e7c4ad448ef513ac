package memory

import (
	"context"
	"errors"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

// The store keeps users by id, and a host may by mistake name the zero id.
func TestZeroActor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t)
	b.addWebhook(t, 1)
	must(t, b.store.CreateWorkspace(ctx, storage.Workspace{ID: id('w', 2), PublicID: "w2", CreatedAt: start}, 0))
	must(t, b.store.SetMember(ctx, b.workspace, storage.ID{}, true))
	for name, who := range map[string]storage.Actor{"The zero actor": {}, "The actor for the zero id": storage.As(storage.ID{})} {
		t.Run(name+" sees nothing, not even what the zero id owns", func(t *testing.T) {
			t.Parallel()
			workspaces, err := b.store.Workspaces(ctx, who, storage.Page{Limit: 9})
			must(t, err)
			forms, err := b.store.Forms(ctx, who, storage.FormsParams{Page: storage.Page{Limit: 9}})
			must(t, err)
			webhooks, err := b.store.Webhooks(ctx, who, storage.Page{Limit: 9})
			must(t, err)
			if n := len(workspaces) + len(forms) + len(webhooks); n != 0 {
				t.Errorf("listed %d records, want none", n)
			}
			for _, w := range []storage.ID{b.workspace, id('w', 2)} {
				if _, err := b.store.Workspace(ctx, who, w); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("Workspace = %v, want ErrNotFound", err)
				}
			}
		})
	}
}
