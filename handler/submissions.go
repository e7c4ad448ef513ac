package handler

import (
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/storage"
)

// listSubmissions encodes each record straight from the storage's memory into the response.
func listSubmissions(c *call) error {
	form, q := c.pathID("formId"), c.parseQuery()
	params := storage.SubmissionsParams{MaxBytes: core.MaxPageBytes, SummaryOnly: true}
	params.Since, params.Until = q.parseTimeRange()
	list := cursor.List{
		Name:    "submissions " + form.String(),
		Owner:   c.principal.UserID,
		Filters: params.Since.Format(time.RFC3339Nano) + " " + params.Until.Format(time.RFC3339Nano),
	}
	var err error
	if params.Page, err = q.parsePage(list); err != nil {
		return err
	}
	if form.IsZero() {
		return apierror.ErrNotFound
	}

	body := append(c.borrowBuffer(), `{"items":[`...)
	var last storage.Position // The position of the last record written, or zero if none was written.
	more, err := c.h.core.Storage.Submissions(c.ctx(), c.actor(), form, params, func(s *storage.Submission) error {
		if !last.ID.IsZero() {
			body = append(body, ',')
		}
		body = export.AppendSubmission(body, s)
		last = storage.Position{Time: s.SubmittedAt, ID: s.ID}
		return nil
	})
	if err != nil {
		return err
	}
	body = append(body, `],"page":`...)
	body = appendPageEnd(body, list, more && !last.ID.IsZero(), last)
	c.sendBuffer(append(body, '}'))
	return nil
}

func getSubmission(c *call) error {
	s, err := c.h.core.Storage.Submission(c.ctx(), c.actor(), c.pathID("formId"), c.pathID("submissionId"))
	if err != nil {
		return err
	}
	c.sendBuffer(export.AppendSubmission(c.borrowBuffer(), &s))
	return nil
}

func deleteSubmission(c *call) error {
	return c.sendNoContent(c.h.core.DeleteSubmission(c.ctx(), c.actor(), c.pathID("formId"), c.pathID("submissionId")))
}
