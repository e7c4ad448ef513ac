package handler

import (
	"errors"
	"time"

	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
)

func listForms(c *call) error {
	q := c.query()
	list := cursor.List{Name: "forms", Owner: c.principal.UserID}
	workspace, filtered := q.id("workspace_id")
	if filtered {
		list.Filters = workspace.String()
	}
	page, err := q.page(list)
	if err != nil {
		return err
	}
	if filtered && workspace.IsZero() {
		return errNotFound // to the storage it would mean: no filter
	}
	found, err := c.h.storage.Forms(c.ctx(), c.actor(), storage.FormQuery{WorkspaceID: workspace, Page: oneMore(page)})
	if err != nil {
		return err
	}
	found, more := cutPage(page, found)
	view := c.formView()
	return writePage(c, list, found, more,
		func(f *storage.Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} },
		func(w *jsontree.Writer, f *storage.Form) {
			w.Object()
			view.writeSummary(w, f)
			w.EndObject()
		})
}

func createForm(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	w, err := c.h.writes.FormCreate(body)
	if err != nil {
		return err
	}
	workspace, err := storage.ParseID(*w.WorkspaceID)
	if err != nil {
		return errNotFound
	}
	sections, err := c.h.writes.NewDefinition(w)
	if err != nil {
		return err
	}
	now := c.h.now()
	f := storage.Form{
		ID:          c.h.config.NewID(now),
		PublicID:    objectid.PublicID(),
		WorkspaceID: workspace,
		Name:        *w.Name,
		Type:        "SINGLE",
		Status:      storage.StatusDraft,
		Revision:    1,
		CreatedAt:   now,
		UpdatedAt:   now,
		Definition:  sections,
	}
	if w.Type != nil {
		f.Type = *w.Type
	}
	if w.Gate != nil {
		f.Gate = *w.Gate
	}
	if err := c.h.storage.CreateForm(c.ctx(), c.actor(), f); err != nil {
		return err
	}
	c.setLocation(c.h.base(c.r) + "/forms/" + f.ID.String())
	return c.writeForm(201, &f)
}

func getForm(c *call) error {
	f, err := c.currentForm()
	if err != nil {
		return err
	}
	return c.writeForm(200, f)
}

func updateForm(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	w, err := c.h.writes.FormUpdate(body)
	if err != nil {
		return err
	}
	id, err := c.idParam("formId")
	if err != nil {
		return err
	}
	change := storage.FormChange{Name: w.Name, Status: w.Status, Gate: w.Gate, At: c.h.now()}
	if w.WorkspaceID != nil {
		workspace, err := storage.ParseID(*w.WorkspaceID)
		if err != nil {
			return errNotFound
		}
		change.WorkspaceID = &workspace
	}

	var f storage.Form
	if !w.HasSections() {
		change.IfRevision = c.ifMatch().onlyRevisions()
		f, err = c.h.storage.UpdateForm(c.ctx(), c.actor(), id, change)
	} else {
		f, err = c.updateFrom(id, func(stored *storage.Form) (_ storage.FormChange, err error) {
			if change.WorkspaceID != nil {
				if err := c.mayMove(stored.WorkspaceID, *change.WorkspaceID); err != nil {
					return change, err
				}
			}
			change.Definition, err = c.h.writes.ChangeDefinition(w, stored.Definition)
			return change, err
		})
	}
	if err != nil {
		return err
	}
	return c.writeForm(200, &f)
}

// mayMove returns what the storage would return first when a form moves from one
// workspace to another.
func (c *call) mayMove(from, to storage.ID) error {
	if _, err := c.h.storage.Workspace(c.ctx(), c.actor(), to); err != nil || from == to {
		return err
	}
	left, err := c.h.storage.Workspace(c.ctx(), c.actor(), from)
	if err == nil && left.OwnerID != c.principal.UserID {
		return storage.ErrNotOwner
	}
	return err
}

func deleteForm(c *call) error {
	id, err := c.idParam("formId")
	if err != nil {
		return err
	}
	p := storage.TrashParams{At: c.h.now(), IfRevision: c.ifMatch().onlyRevisions()}
	if err := c.h.storage.TrashForm(c.ctx(), c.actor(), id, p); err != nil {
		return err
	}
	c.noContent()
	return nil
}

// currentForm is the form of the path as it is now, or as it was when the key was
// resolved.
func (c *call) currentForm() (*storage.Form, error) {
	if c.formKnown {
		if c.form == nil {
			return nil, errNotFound
		}
		return c.form, nil
	}
	id, err := c.idParam("formId")
	if err != nil {
		return nil, err
	}
	f, err := c.h.storage.Form(c.ctx(), c.actor(), id)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// maxRaces bounds how often a write that others overtook is tried again. Each
// time it loses, another one has won.
const maxRaces = 100

// updateFrom makes a change that depends on the stored form: read, compute, write
// on the condition that the revision has not moved. Without If-Match a lost race
// is run again; with it, it is a failed precondition.
func (c *call) updateFrom(id storage.ID, compute func(*storage.Form) (storage.FormChange, error)) (storage.Form, error) {
	condition := c.ifMatch()
	stored, readErr := c.currentForm()
	for range maxRaces {
		if readErr != nil {
			return storage.Form{}, readErr
		}
		change, err := compute(stored)
		switch { // what is not there or not allowed comes before the precondition, and that before the state
		case errors.Is(err, errNotFound), errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrNotOwner):
			return storage.Form{}, err
		case !condition.holds(stored.Revision):
			return storage.Form{}, &storage.RevisionError{Current: stored.Revision}
		case err != nil:
			return storage.Form{}, err
		}
		change.IfRevision = []int64{stored.Revision}
		updated, err := c.h.storage.UpdateForm(c.ctx(), c.actor(), id, change)
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return updated, err
		}
		c.formKnown = false
		stored, readErr = c.currentForm()
	}
	return storage.Form{}, errUnavailable
}

func (c *call) writeForm(status int, f *storage.Form) error {
	c.setETag(f.Revision)
	view := c.formView()
	return c.body(status, func(w *jsontree.Writer) { view.writeForm(w, f) })
}

// formView is what the JSON of a form depends on beside the form.
type formView struct {
	base string    // what links begin with
	now  time.Time // decides is_closed
}

func (c *call) formView() formView {
	return formView{base: c.h.base(c.r), now: c.h.config.Now()}
}

// writeSummary writes the members of a form without its definition.
func (v formView) writeSummary(w *jsontree.Writer, f *storage.Form) {
	self := v.base + "/forms/" + f.ID.String()
	w.Name("id").Hex(f.ID[:])
	w.Name("public_id").String(f.PublicID)
	w.Name("workspace_id").Hex(f.WorkspaceID[:])
	w.Name("name").String(f.Name)
	w.Name("status").String(f.Status)
	w.Name("is_closed").Bool(f.Gate.IsClosed(f.Full, v.now))
	w.Name("created_at").Time(f.CreatedAt)
	w.Name("updated_at").Time(f.UpdatedAt)
	w.Name("links").Object()
	w.Name("self").String(self)
	w.Name("submissions").String(self + "/submissions")
	w.EndObject()
	w.Name("type").String(f.Type)
}

// writeForm passes the sections on as they are stored: a read decodes nothing.
func (v formView) writeForm(w *jsontree.Writer, f *storage.Form) {
	w.Object()
	v.writeSummary(w, f)
	w.Name("definition").Object()
	w.Name("blocks").Raw(f.Definition.Blocks)
	w.Name("settings").Raw(f.Definition.Settings)
	w.Name("theme").Raw(f.Definition.Theme)
	w.Name("variables").Raw(f.Definition.Variables)
	w.Name("hidden_fields").Raw(f.Definition.HiddenFields)
	w.EndObject()
	w.EndObject()
}
