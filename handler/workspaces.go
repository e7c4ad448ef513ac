package handler

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
)

func listWorkspaces(c *call) error {
	list := cursor.List{Name: "workspaces", Owner: c.principal.UserID}
	page, err := c.query().page(list)
	if err != nil {
		return err
	}
	found, err := c.h.storage.Workspaces(c.ctx(), c.actor(), oneMore(page))
	if err != nil {
		return err
	}
	found, more := cutPage(page, found)
	return writePage(c, list, found, more,
		func(w *storage.Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} },
		writeWorkspace)
}

func createWorkspace(c *call) error {
	name, err := c.workspaceName()
	if err != nil {
		return err
	}
	w, err := c.h.createWorkspace(c.ctx(), c.principal.UserID, name)
	if errors.Is(err, storage.ErrLimitReached) {
		return errWorkspaceLimit
	}
	if err != nil {
		return err
	}
	c.setLocation(c.h.base(c.r) + "/workspaces/" + w.ID.String())
	return c.workspace(201, w)
}

// CreateWorkspace makes a workspace for a host. The name is held to the rules of
// the API. It returns [storage.ErrLimitReached] when the owner has as many
// workspaces as are allowed.
func (h *Handler) CreateWorkspace(ctx context.Context, owner storage.ID, name string) (storage.Workspace, error) {
	var body jsontree.Writer
	body.Object()
	body.Name("name").String(name)
	body.EndObject()
	name, err := h.writes.Workspace(body.Bytes())
	if err != nil {
		return storage.Workspace{}, err
	}
	return h.createWorkspace(ctx, owner, name)
}

func (h *Handler) createWorkspace(ctx context.Context, owner storage.ID, name string) (storage.Workspace, error) {
	now := h.now()
	w := storage.Workspace{
		ID:        h.config.NewID(now),
		PublicID:  objectid.PublicID(),
		OwnerID:   owner,
		Name:      name,
		CreatedAt: now,
		UpdatedAt: now,
	}
	return w, h.storage.CreateWorkspace(ctx, w, h.config.Limits.Workspaces)
}

func getWorkspace(c *call) error {
	id, err := c.idParam("workspaceId")
	if err != nil {
		return err
	}
	w, err := c.h.storage.Workspace(c.ctx(), c.actor(), id)
	if err != nil {
		return err
	}
	return c.workspace(200, w)
}

func updateWorkspace(c *call) error {
	name, err := c.workspaceName()
	if err != nil {
		return err
	}
	id, err := c.idParam("workspaceId")
	if err != nil {
		return err
	}
	w, err := c.h.storage.UpdateWorkspace(c.ctx(), c.actor(), id, storage.WorkspaceChange{Name: &name, At: c.h.now()})
	if err != nil {
		return err
	}
	return c.workspace(200, w)
}

func deleteWorkspace(c *call) error {
	id, err := c.idParam("workspaceId")
	if err != nil {
		return err
	}
	if err := c.h.storage.DeleteWorkspace(c.ctx(), c.actor(), id, c.h.now()); err != nil {
		return err
	}
	c.noContent()
	return nil
}

func (c *call) workspaceName() (string, error) {
	body, err := c.readBody()
	if err != nil {
		return "", err
	}
	return c.h.writes.Workspace(body)
}

func (c *call) workspace(status int, workspace storage.Workspace) error {
	return c.body(status, func(w *jsontree.Writer) { writeWorkspace(w, &workspace) })
}

func writeWorkspace(w *jsontree.Writer, workspace *storage.Workspace) {
	w.Object()
	w.Name("id").Hex(workspace.ID[:])
	w.Name("public_id").String(workspace.PublicID)
	w.Name("name").String(workspace.Name)
	w.Name("created_at").Time(workspace.CreatedAt)
	w.Name("updated_at").Time(workspace.UpdatedAt)
	w.EndObject()
}
