package handler

import (
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

func listWorkspaces(c *call) error {
	list := cursor.List{Name: "workspaces", Owner: c.principal.UserID}
	read := func(page storage.Page) ([]storage.Workspace, error) {
		return c.h.core.Storage.Workspaces(c.ctx(), c.actor(), page)
	}
	return writePage(c, c.parseQuery(), list, read,
		func(w *storage.Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} },
		writeWorkspace)
}

func createWorkspace(c *call, body []byte) error {
	w, err := c.h.core.CreateWorkspace(c.ctx(), c.principal.UserID, body)
	c.setCreated("/workspaces/", w.ID.String(), err)
	return c.sendWorkspace(w, err)
}

func getWorkspace(c *call) error {
	return c.sendWorkspace(c.h.core.Storage.Workspace(c.ctx(), c.actor(), c.pathID("workspaceId")))
}

func updateWorkspace(c *call, body []byte) error {
	return c.sendWorkspace(c.h.core.UpdateWorkspace(c.ctx(), c.actor(), c.pathID("workspaceId"), body))
}

func deleteWorkspace(c *call) error {
	return c.sendNoContent(c.h.core.DeleteWorkspace(c.ctx(), c.actor(), c.pathID("workspaceId")))
}

func (c *call) sendWorkspace(workspace storage.Workspace, err error) error {
	if err != nil {
		return err
	}
	return c.sendObject(func(w *jsontree.Writer) { writeWorkspace(w, &workspace) })
}

func writeWorkspace(w *jsontree.Writer, workspace *storage.Workspace) {
	w.Name("id").Hex(workspace.ID[:])
	w.Name("public_id").String(workspace.PublicID)
	w.Name("name").String(workspace.Name)
	w.Name("created_at").Time(workspace.CreatedAt)
	w.Name("updated_at").Time(workspace.UpdatedAt)
}
