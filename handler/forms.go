package handler

import (
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

func listForms(c *call) error {
	q := c.parseQuery()
	list := cursor.List{Name: "forms", Owner: c.principal.UserID}
	workspace, filtered := q.parseID("workspace_id")
	if filtered {
		list.Filters = workspace.String()
	}
	read := func(page storage.Page) ([]storage.Form, error) {
		if filtered && workspace.IsZero() {
			return nil, apierror.ErrNotFound // The storage would treat a zero ID as no filter.
		}
		return c.h.core.Storage.Forms(c.ctx(), c.actor(), storage.FormsParams{WorkspaceID: workspace, Page: page})
	}
	view := c.newFormView()
	return writePage(c, q, list, read,
		func(f *storage.Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} },
		view.writeSummary)
}

func createForm(c *call, body []byte) error {
	f, err := c.h.core.CreateForm(c.ctx(), c.actor(), body)
	c.setCreated("/forms/", f.ID.String(), err)
	return c.sendForm(&f, err)
}

func getForm(c *call) error {
	return c.sendForm(c.h.core.Form(c.ctx(), c.actor(), c.formTarget()))
}

func updateForm(c *call, body []byte) error {
	f, err := c.h.core.UpdateForm(c.ctx(), c.actor(), c.formTarget(), body, c.parseIfMatch())
	return c.sendForm(&f, err)
}

func deleteForm(c *call) error {
	return c.sendNoContent(c.h.core.TrashForm(c.ctx(), c.actor(), c.pathID("formId"), c.parseIfMatch()))
}

func (c *call) sendForm(f *storage.Form, err error) error {
	if err != nil {
		return err
	}
	c.setETag(f.Revision)
	view := c.newFormView()
	return c.sendObject(func(w *jsontree.Writer) { view.writeForm(w, f) })
}

// formView holds the values that a form's JSON needs in addition to the form itself.
type formView struct {
	linkBase string    // The prefix of all links.
	now      time.Time // Used to compute is_closed.
}

func (c *call) newFormView() formView {
	return formView{linkBase: c.linkBase(), now: c.h.core.Clock()}
}

func (v formView) writeSummary(w *jsontree.Writer, f *storage.Form) {
	const submissions = "/submissions"
	link := v.linkBase + "/forms/" + f.ID.String() + submissions
	w.Name("id").Hex(f.ID[:])
	w.Name("public_id").String(f.PublicID)
	w.Name("workspace_id").Hex(f.WorkspaceID[:])
	w.Name("name").String(f.Name)
	w.Name("status").String(f.Status)
	w.Name("is_closed").Bool(f.IsClosed(v.now))
	w.Name("created_at").Time(f.CreatedAt)
	w.Name("updated_at").Time(f.UpdatedAt)
	w.Name("links").Object()
	w.Name("self").String(strings.TrimSuffix(link, submissions))
	w.Name("submissions").String(link)
	w.EndObject()
	w.Name("type").String(f.Type)
}

// writeForm writes a form as JSON. It copies the stored sections without decoding them.
func (v formView) writeForm(w *jsontree.Writer, f *storage.Form) {
	v.writeSummary(w, f)
	w.Name("definition").Object()
	for _, section := range f.Sections() {
		w.Name(section.Name).Raw(*section.Value)
	}
	w.EndObject()
}
