package core

import (
	"context"

	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
)

// CreateWorkspace takes a WorkspaceWrite. It returns [storage.ErrLimitReached] when the
// owner has as many workspaces as are allowed.
func (c *Core) CreateWorkspace(ctx context.Context, owner storage.ID, body []byte) (storage.Workspace, error) {
	name, err := c.writes.Workspace(body)
	if err != nil {
		return storage.Workspace{}, err
	}
	now := c.Now()
	w := storage.Workspace{
		ID:        c.NewID(now),
		PublicID:  objectid.PublicID(),
		OwnerID:   owner,
		Name:      name,
		CreatedAt: now,
		UpdatedAt: now,
	}
	return w, c.Storage.CreateWorkspace(ctx, w, c.Limits.Workspaces)
}

// UpdateWorkspace takes a WorkspaceWrite.
func (c *Core) UpdateWorkspace(ctx context.Context, who storage.Actor, id storage.ID, body []byte) (storage.Workspace, error) {
	name, err := c.writes.Workspace(body)
	if err != nil {
		return storage.Workspace{}, err
	}
	return c.Storage.UpdateWorkspace(ctx, who, id, storage.WorkspaceChange{Name: &name, At: c.Now()})
}

// DeleteWorkspace moves the workspace's forms to the trash.
func (c *Core) DeleteWorkspace(ctx context.Context, who storage.Actor, id storage.ID) error {
	return c.Storage.DeleteWorkspace(ctx, who, id, c.Now())
}
