package core

import (
	"context"

	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// CreateWorkspace creates a workspace. It returns [storage.ErrLimitReached] if the owner has the maximum number of
// workspaces.
func (c *Core) CreateWorkspace(ctx context.Context, owner storage.ID, body []byte) (storage.Workspace, error) {
	name, err := c.validator.ParseWorkspaceName(body)
	if err != nil {
		return storage.Workspace{}, err
	}
	now := c.Now()
	w := storage.Workspace{
		ID:        c.NewID(now),
		PublicID:  objectid.NewPublicID(),
		OwnerID:   owner,
		Name:      name,
		CreatedAt: now,
		UpdatedAt: now,
	}
	return w, c.Storage.CreateWorkspace(ctx, w, c.Limits.Workspaces)
}

// UpdateWorkspace changes a workspace.
func (c *Core) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, body []byte) (storage.Workspace, error) {
	name, err := c.validator.ParseWorkspaceName(body)
	if err != nil {
		return storage.Workspace{}, err
	}
	return c.Storage.UpdateWorkspace(ctx, actor, id, storage.WorkspaceChange{Name: &name, At: c.Now()})
}

// DeleteWorkspace deletes a workspace and moves its forms to the trash.
func (c *Core) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID) error {
	return c.Storage.DeleteWorkspace(ctx, actor, id, c.Now())
}

// AddMember gives a user access to a workspace.
func (c *Core) AddMember(ctx context.Context, workspace, user storage.ID) error {
	if err := requireUser("/user", user); err != nil {
		return err
	}
	return c.Storage.SetMember(ctx, workspace, user, true)
}

// TransferWorkspace makes another user the owner and the previous owner a member.
func (c *Core) TransferWorkspace(ctx context.Context, workspace, owner storage.ID) error {
	if err := requireUser("/owner", owner); err != nil {
		return err
	}
	_, err := c.Storage.UpdateWorkspace(ctx, storage.AsHost(), workspace, storage.WorkspaceChange{Owner: &owner, At: c.Now()})
	return err
}

// requireUser rejects the zero ID, because the storage treats it as no user.
func requireUser(path string, id storage.ID) error {
	if id.IsZero() {
		return violation.New(path, schema.CodeRequired, "is required")
	}
	return nil
}
