package handler

import (
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

func listSubmissions(c *call) error {
	form, formErr := c.idParam("formId")
	q := c.query()
	since, until := q.time("since"), q.time("until")
	q.fault(core.CheckRange(since, until))
	list := cursor.List{
		Name:    "submissions " + form.String(),
		Owner:   c.principal.UserID,
		Filters: since.Format(time.RFC3339Nano) + " " + until.Format(time.RFC3339Nano),
	}
	page, err := q.page(list)
	if err != nil {
		return err
	}
	if formErr != nil {
		return formErr
	}
	found, err := c.h.core.Submissions(c.ctx(), c.actor(), form, storage.SubmissionQuery{Since: since, Until: until, Page: page})
	if err != nil {
		return err
	}
	return writePage(c, list, found.Submissions, found.More,
		func(s *storage.Submission) storage.Position { return storage.Position{Time: s.SubmittedAt, ID: s.ID} },
		export.WriteItem)
}

func getSubmission(c *call) error {
	form, id, err := c.submissionIDs()
	if err != nil {
		return err
	}
	s, err := c.h.storage.Submission(c.ctx(), c.actor(), form, id)
	if err != nil {
		return err
	}
	return c.body(200, func(w *jsontree.Writer) { export.WriteItem(w, &s) })
}

func deleteSubmission(c *call) error {
	form, id, err := c.submissionIDs()
	if err != nil {
		return err
	}
	if err := c.h.storage.DeleteSubmission(c.ctx(), c.actor(), form, id); err != nil {
		return err
	}
	c.noContent()
	return nil
}

func (c *call) submissionIDs() (form, id storage.ID, err error) {
	if form, err = c.idParam("formId"); err == nil {
		id, err = c.idParam("submissionId")
	}
	return form, id, err
}
