package handler

import (
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/storage"
)

// submissionPage is a request for a page of submissions, and the answer as it grows: each
// record goes from the storage's memory into the response's bytes.
type submissionPage struct {
	form  storage.ID
	query storage.SubmissionsParams
	list  cursor.List

	found, more bool
	body        []byte
	items       int
	last        storage.Position
}

// submissionPage reads the request as the user's.
func (c *call) submissionPage(user storage.ID) (*submissionPage, error) {
	form, q := c.namedID("formId"), c.query()
	p := &submissionPage{form: form, query: storage.SubmissionsParams{MaxBytes: core.MaxPageBytes, Brief: true}}
	p.query.Since, p.query.Until = q.bounds()
	p.list = cursor.List{
		Name:    "submissions " + form.String(),
		Owner:   user,
		Filters: p.query.Since.Format(time.RFC3339Nano) + " " + p.query.Until.Format(time.RFC3339Nano),
	}
	var err error
	if p.query.Page, err = q.page(p.list); err != nil {
		return nil, err
	}
	if form.IsZero() {
		return nil, errNotFound
	}
	p.body = append(c.borrow(), `{"items":[`...)
	return p, nil
}

// add appends an item.
func (p *submissionPage) add(s *storage.Submission) error {
	if p.items > 0 {
		p.body = append(p.body, ',')
	}
	p.body = export.AppendItem(p.body, s)
	p.items++
	p.last = storage.Position{Time: s.SubmittedAt, ID: s.ID}
	return nil
}

func listSubmissions(c *call) error {
	p := c.page
	if p == nil {
		var err error
		if p, err = c.submissionPage(c.principal.UserID); err != nil {
			return err
		}
		if p.more, err = c.h.core.Storage.Submissions(c.ctx(), c.actor(), p.form, p.query, p.add); err != nil {
			return err
		}
	} else if !p.found {
		return errNotFound
	}
	p.body = append(p.body, `],"page":`...)
	p.body = appendPageEnd(p.body, p.list, p.more && p.items > 0, p.last)
	p.body = append(p.body, '}')
	c.send(p.body)
	return nil
}

func getSubmission(c *call) error {
	s, err := c.h.core.Storage.Submission(c.ctx(), c.actor(), c.namedID("formId"), c.namedID("submissionId"))
	if err != nil {
		return err
	}
	c.send(export.AppendItem(c.borrow(), &s))
	return nil
}

func deleteSubmission(c *call) error {
	return c.deleted(c.h.core.DeleteSubmission(c.ctx(), c.actor(), c.namedID("formId"), c.namedID("submissionId")))
}
